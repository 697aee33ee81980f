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

static inline opc_ptx_program_t *program_of(const opc_ptx_module_t *module, const char *kernel) {
  opc_ptx_problem_t problem;
  for (size_t i = 0; i < opc_ptx_kernel_count(module); i++) {
    if (strcmp(opc_ptx_kernel_name(module, i), kernel) != 0) continue;
    opc_ptx_program_t *program = opc_ptx_program_make(module, i, &problem);
    if (!program) fail_msg("%s: line %u: %s", kernel, problem.line, problem.message);
    return program;
  }
  fail_msg("there is no kernel %s", kernel);
  return NULL;
}

#endif
