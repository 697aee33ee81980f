/* The crash record for a case or a try: written before it starts, so that a crash is attributed to it.
 *
 * Ownership: the caller owns the record. Threads: one writes; the supervisor reads at any time. */
#pragma once

#include "model/case/call_kind.h"
#include "wire/protocol.h"

void opc_batch_begin(opc_crash_record_t *box, const char *case_id, opc_call_label_t label);
void opc_batch_announce(opc_crash_record_t *box, opc_call_label_t label);
void opc_batch_end(opc_crash_record_t *box);
