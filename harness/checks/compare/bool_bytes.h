/* Booleans in memory may only be the bytes 0 and 1.
 *
 * Ownership: nothing is kept. Threads: one, while no operator runs. */
#pragma once

#include "checks/call/result.h"

typedef struct opc_bool_bytes {
  size_t item;          /* of the result */
  int64_t first, count; /* elements; count 0: all bytes are valid */
  unsigned char byte;   /* of the first invalid element */
} opc_bool_bytes_t;

/* The first bool tensor in a result that contains another byte. Skips tensors in an argument's memory, which may hold
 * bytes never meant as booleans, except a mutable argument that was bool before the call, is still in place and shares
 * its memory with no other argument. `result` is the call's, with arguments and not borrowed. */
opc_bool_bytes_t opc_bool_bytes_find(const opc_result_t *result, const opc_call_t *call);
