/* Operators that are asked for places in a storage, as at::as_strided is: the layout of their arguments is part of what
 * they are asked, and another one rightly gives another result.
 *
 * Ownership: nothing is kept. Threads: one. */
#ifndef OPC_CHECKS_COMPARE_AS_STRIDED_LIKE_H
#define OPC_CHECKS_COMPARE_AS_STRIDED_LIKE_H

#include "checks/call/call.h"

/* Of a call that returned, its arguments being alive: every output has the sizes that one list of integers among the
 * arguments says, its elements are what lies in an argument's storage at the strides that another such list says, from
 * that argument's own offset or one that is an argument; and counted in the argument's elements, not in its storage,
 * some would be others. */
opc_status_t opc_call_names_places(const opc_call_t *call, bool *out, opc_error_t *error) OPC_CHECKED;

#endif
