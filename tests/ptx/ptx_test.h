/* Shared by the tests of PTX: modules from texts, launches with memory that is watched. */
#ifndef OPC_TESTS_PTX_H
#define OPC_TESTS_PTX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/unit.h"
#include "cuda/ptx/ptx_run.h"

/* What a kernel may access. */
typedef struct memory {
  opc_ptx_range_t ranges[8];
  size_t count;
} memory_t;

static inline bool memory_find(void *context, uint64_t address, opc_ptx_range_t *out) {
  const memory_t *memory = context;
  for (size_t i = 0; i < memory->count; i++) {
    *out = memory->ranges[i];
    if (address >= out->begin && address < out->end) return true;
  }
  return false;
}

/* Fails with the reason where the text cannot be read. */
static inline opc_ptx_module_t *module_of(const char *text, size_t size) {
  opc_ptx_problem_t problem;
  opc_ptx_module_t *module = opc_ptx_module_read(text, size, &problem);
  if (!module || problem.message[0] != '\0') fail_msg("line %u: %s", problem.line, problem.message);
  return module;
}

/* Of the kernel with this name, or else of the first whose name has it as a part. */
static inline opc_ptx_program_t *program_of(const opc_ptx_module_t *module, const char *kernel) {
  opc_ptx_problem_t problem;
  size_t found = opc_ptx_kernel_count(module);
  for (size_t i = opc_ptx_kernel_count(module); i-- > 0;)
    if (strstr(opc_ptx_kernel_name(module, i), kernel)) found = i;
  for (size_t i = 0; i < opc_ptx_kernel_count(module); i++)
    if (strcmp(opc_ptx_kernel_name(module, i), kernel) == 0) found = i;
  if (found == opc_ptx_kernel_count(module)) fail_msg("there is no kernel %s", kernel);
  opc_ptx_program_t *program = opc_ptx_program_make(module, found, &problem);
  if (!program) fail_msg("%s: line %u: %s", kernel, problem.line, problem.message);
  return program;
}

/* A launch that is prepared: parameters, and the arrays that they name. */
typedef struct call {
  unsigned char parameters[4096];
  size_t bytes;
  memory_t memory;
  uint32_t blocks, threads, shared;
  bool cooperative;
  uint64_t budget;
  uint32_t watch;
  opc_written_t *written;
  opc_ptx_order_t order;
  uint64_t seed;
  opc_ptx_outcome_t outcome;
} call_t;

/* A parameter; structures have the alignment of their largest member. */
static inline void give_aligned(call_t *call, const void *value, size_t size, size_t align) {
  call->bytes = (call->bytes + align - 1) / align * align;
  memcpy(call->parameters + call->bytes, value, size);
  call->bytes += size;
}

static inline void give(call_t *call, const void *value, size_t size) { give_aligned(call, value, size, size); }

static inline void give_array(call_t *call, const void *array, size_t size) {
  const uint64_t begin = (uintptr_t)array;
  call->memory.ranges[call->memory.count++] = (opc_ptx_range_t){begin, begin + size};
  give(call, &begin, sizeof begin);
}

static inline void give_number(call_t *call, int number) { give(call, &number, sizeof number); }

static inline void call_run(call_t *call, const opc_ptx_module_t *module, const char *kernel) {
  opc_ptx_program_t *program = program_of(module, kernel);
  const opc_ptx_launch_t launch = {.grid = {call->blocks, 1, 1},
                                   .block = {call->threads, 1, 1},
                                   .dynamic_shared = call->shared,
                                   .parameters = call->parameters,
                                   .cooperative = call->cooperative,
                                   .budget = call->budget != 0 ? call->budget : 100000000,
                                   .find = memory_find,
                                   .find_context = &call->memory,
                                   .watch = call->watch,
                                   .order = call->order,
                                   .seed = call->seed,
                                   .written = call->written};
  assert_int_equal(opc_ptx_program_parameter_bytes(program), call->bytes);
  opc_ptx_launch_run(program, &launch, &call->outcome);
  opc_ptx_program_free(program);
}

/* Everything is watched, and nothing may be found. */
static inline void call_run_well(call_t *call, const opc_ptx_module_t *module, const char *kernel) {
  call->watch = OPC_PTX_WATCH_RACES | OPC_PTX_WATCH_VALUES;
  call_run(call, module, kernel);
  if (call->outcome.finding_count != 0)
    fail_msg("%s: %zu findings, first kind %d, line %u: %s", kernel, call->outcome.finding_count,
             call->outcome.findings[0].kind, call->outcome.findings[0].ptx_line, call->outcome.findings[0].text);
  assert_int_equal(OPC_PTX_FINISHED, call->outcome.end);
}

#endif
