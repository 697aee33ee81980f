/* Shared by the tests of the wrapped runtime: the wrappers are preloaded (CMakeLists.txt), and opc_launch() finds their
 * table. */
#ifndef OPC_TESTS_SIM_TEST_H
#define OPC_TESTS_SIM_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <cuda_runtime_api.h>

#include "cuda/log/launch.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define assert_cuda(expected, call) assert_string_equal(cudaGetErrorName(call), cudaGetErrorName(expected))
#define assert_fine(call) assert_cuda(cudaSuccess, call)

static inline uint64_t number(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

/* The nth call of a kind; fails the test if there is none. */
static inline const opc_cuda_call_t *logged(const opc_cuda_log_t *log, opc_cuda_kind_t kind, size_t nth) {
  for (size_t i = 0; i < log->count; i++)
    if (log->calls[i].kind == kind && nth-- == 0) return &log->calls[i];
  fail_msg("the log has no such call of kind %d", kind);
  return NULL;
}

#endif
