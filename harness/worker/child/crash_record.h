/* The crash record for a case or a try: written before it starts, so that a crash is attributed to it.
 *
 * Ownership: the caller owns the record. Threads: one writes; the supervisor reads at any time. */
#pragma once

#include "wire/protocol.h"

void opc_batch_begin(opc_crash_record_t *box, const char *case_id, const char *phase);
void opc_batch_phase(opc_crash_record_t *box, const char *phase);
void opc_batch_end(opc_crash_record_t *box);
