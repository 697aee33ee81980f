/* The place in the operator's own library that a finding names: function and line, or symbol and offset.
 *
 * Ownership: plain data. Threads: pure functions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "result/case_result.h"

typedef struct opc_code_place {
  uint64_t key;       /* equal for the same place; never 0 where there is one */
  char function[160]; /* without arguments of templates and of functions; "" where the library has no name for it */
  char text[320];     /* "kernel (ops.cpp:33)", "kernel (libops.so+0x1234)" */
} opc_code_place_t;

/* Of a result's frames; library is the operator's, NULL where it is not known. False, and a zeroed place, where the
 * finding names none. */
bool opc_code_place_of(const opc_case_result_t *result, const char *library, opc_code_place_t *out);
