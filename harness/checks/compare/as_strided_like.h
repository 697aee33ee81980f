/* Operators that address positions in a storage, as at::as_strided does. The layout of their arguments is part of the
 * input: another layout correctly gives another result.
 *
 * Ownership: nothing is kept. Threads: one. */
#pragma once

#include "checks/call/call.h"

/* For a call that returned and whose arguments are alive. True in *out: every output has the sizes given by one list
 * argument of integers, and its elements are read from an argument's storage with the strides given by another. The
 * offset is that argument's own or an integer argument. Indexing the argument's elements instead of its storage would
 * give other values. */
opc_status_t opc_call_is_as_strided_like(const opc_call_t *call, bool *out, opc_error_t *error) OPC_CHECKED;
