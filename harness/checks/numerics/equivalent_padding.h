/* Whether what lies behind a length changes the result. Part of check equivalent.
 *
 * A row of lengths says how many elements of each row of a batch count. It is recognised by its name, and by the
 * learned relation that its integers are at most the size of the other dimension of the batch. Threads: one. */
#pragma once

#include "checks/framework/case_run.h"

/* Changes the values of again->replay, and restores them. Decides the finding only if it fails; adds the number of rows
 * that were tried to *out_rows. `call`: one with the values of the replay. Only batches of integers, or only the
 * others. */
opc_status_t opc_equivalent_padding(const opc_again_t *again, const opc_call_t *call, bool integers, size_t *out_rows,
                                    opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
