/* Inside of check determinism: outcomes as bytes, for memory that two processes share.
 *
 * Ownership: the caller clears what is read. Threads: any, on memory of its own. Fork: both sides are one program at
 * one address, so that structs are kept as they are; the bytes may be damaged all the same, for an operator ran
 * between. */
#ifndef OPC_CHECKS_DETERMINISM_DETERMINISM_RECORD_H
#define OPC_CHECKS_DETERMINISM_DETERMINISM_RECORD_H

#include "checks/determinism/determinism_trial.h"

/* Which call an outcome is of. */
typedef struct opc_record_key {
  size_t stage, sample;
} opc_record_key_t;

/* Bytes used; 0: there is not enough room. */
size_t opc_record_write(void *room, size_t size, opc_record_key_t key, const opc_trial_outcome_t *outcome);
/* Bytes used; 0: there is no whole record, and nothing to clear. */
size_t opc_record_read(const void *bytes, size_t size, opc_record_key_t *out_key, opc_trial_outcome_t *out);

#endif
