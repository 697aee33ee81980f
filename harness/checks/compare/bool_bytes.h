/* Booleans in memory: the bytes 0 and 1, and no other.
 *
 * Ownership: nothing is kept. Threads: one, while no operator runs. */
#ifndef OPC_CHECKS_COMPARE_BOOL_BYTES_H
#define OPC_CHECKS_COMPARE_BOOL_BYTES_H

#include "checks/call/result.h"

typedef struct opc_bool_bytes {
  size_t item;          /* of the result */
  int64_t first, count; /* elements; count 0: all are in order */
  unsigned char byte;   /* of the first */
} opc_bool_bytes_t;

/* The first tensor of dtype bool in a result that holds another byte. What lies in an argument's memory is left out,
 * unless the argument is one that the call may write, was of dtype bool before it and shares its memory with no other:
 * there are bytes in between that were never meant as booleans. `result` is the call's, with its arguments and not
 * borrowed from it. */
opc_bool_bytes_t opc_bool_bytes_find(const opc_result_t *result, const opc_call_t *call);

#endif
