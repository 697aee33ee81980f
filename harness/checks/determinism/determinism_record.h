/* Inside check determinism: outcomes as bytes, for memory shared by two processes.
 *
 * Ownership: the caller clears what is read. Threads: any, each on its own memory. Fork: both sides are the same
 * program at the same address, so structs are copied unchanged; but the operator may have damaged the bytes. */
#pragma once

#include "checks/determinism/determinism_trial.h"

/* The call that an outcome belongs to. */
typedef struct opc_record_key {
  size_t stage, sample;
} opc_record_key_t;

/* Bytes used; 0: there is not enough room. */
size_t opc_record_write(void *room, size_t size, opc_record_key_t key, const opc_trial_outcome_t *outcome);
/* Bytes used; 0: there is no whole record, and nothing to clear. */
size_t opc_record_read(const void *bytes, size_t size, opc_record_key_t *out_key, opc_trial_outcome_t *out);
