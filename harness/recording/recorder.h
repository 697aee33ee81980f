/* State of one process's observer: which operators are wanted, which classes of calls were already written, how many
 * calls there were; and the file for new calls. Independent of libtorch.
 *
 * Ownership: everything lives as long as the process. Threads: any. Fork: a child continues with its parent's state, in
 * its own file. A file is open only while a line is written, so that a program that closes or counts its descriptors
 * never sees one of ours. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "recording/reasons.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_recorded_operator opc_recorded_operator_t;

opc_status_t opc_recorder_start(const char *folder, opc_error_t *error) OPC_CHECKED;
/* NULL: calls of this operator are not wanted. Names as in RecordFunction: "ns::op" and its overload. is_operator
 * distinguishes operators from other functions that libtorch observes; it is called once per name that is otherwise
 * wanted. */
typedef bool opc_is_operator_t(const char *name, const char *overload);
opc_recorded_operator_t *opc_recorder_find(const char *name, const char *overload, opc_is_operator_t *is_operator);
void opc_recorder_seen(opc_recorded_operator_t *op);
/* True: the class is new; the caller must then call opc_recorder_write or opc_recorder_leave. */
bool opc_recorder_claim(opc_recorded_operator_t *op, uint64_t class_);
/* Leaves out this call and all later ones of its class. */
void opc_recorder_leave(opc_recorded_operator_t *op, uint64_t class_, opc_reason_t reason);
/* Counts one call without a class as left out. */
void opc_recorder_count(opc_recorded_operator_t *op, opc_reason_t reason);
/* Writes the line immediately; line.failed counts as OPC_REASON_TROUBLE. */
void opc_recorder_write(opc_recorded_operator_t *op, uint64_t class_, const opc_text_t *sample);

/* For side files: reserves bytes of the output limit; false: not enough are left. */
bool opc_recorder_take_bytes(size_t bytes);
bool opc_recorder_wants_namespace(const char *name);
const char *opc_recorder_folder(void);
const char *opc_recorder_values_folder(void); /* "" without --values */
int64_t opc_recorder_elements(void);

#ifdef __cplusplus
}
#endif
