/* PTX, NVIDIA's virtual instruction set: reading a module, and running its kernels without a GPU.
 *
 * Ownership: a module owns everything that was read from it and is released with opc_ptx_module_free; programs belong
 * to their caller and must be released before their module. The text is copied. Threads: but for the memory of its
 * variables, which launches write, a module is constant once made, and so is a program; one launch uses one thread.
 * Fork: no shared state. The text is untrusted: damage ends in a message. Source of all that is read here: PTX ISA 9.0,
 * https://docs.nvidia.com/cuda/parallel-thread-execution */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_ptx_module opc_ptx_module_t;
typedef struct opc_ptx_program opc_ptx_program_t;

/* Why something cannot be read or run. */
typedef struct opc_ptx_problem {
  uint32_t line;     /* of the PTX text, 1 is the first; 0: none in particular */
  char form[64];     /* the instruction that is missing, "wgmma.fence.sync.aligned"; "": something else is wrong */
  char message[192]; /* for people; "": nothing is wrong */
} opc_ptx_problem_t;

/* NULL: nothing in the text can be used (problem says why), or out of memory. A kernel that is damaged does not make
 * the others unusable. */
opc_ptx_module_t *opc_ptx_module_read(const char *text, size_t size, opc_ptx_problem_t *problem);
void opc_ptx_module_free(opc_ptx_module_t *module);

/* Kernels in the order of the text. A declaration without a body is none. */
size_t opc_ptx_kernel_count(const opc_ptx_module_t *module);
const char *opc_ptx_kernel_name(const opc_ptx_module_t *module, size_t kernel);

/* The memory of a variable of the module, global or constant, and its size; NULL: there is none of this name. */
void *opc_ptx_module_variable(const opc_ptx_module_t *module, const char *name, size_t *out_size);

/* What the results of an instruction are worth. */
typedef enum opc_ptx_exactness {
  OPC_PTX_EXACT = 0, /* the bits that PTX defines */
  OPC_PTX_BOUNDED    /* within the error that PTX documents for an approximation; other bits than a GPU's */
} opc_ptx_exactness_t;

/* A kernel with all functions that it calls, ready to run. NULL: it cannot be run, problem says why: an instruction
 * that has no entry in instructions.def, recursion, an indirect call, damage. */
opc_ptx_program_t *opc_ptx_program_make(const opc_ptx_module_t *module, size_t kernel, opc_ptx_problem_t *problem);
void opc_ptx_program_free(opc_ptx_program_t *program);

/* Whether all of its instructions are exact. */
opc_ptx_exactness_t opc_ptx_program_exactness(const opc_ptx_program_t *program);
/* Bytes of its parameters, and of its static shared memory. */
uint32_t opc_ptx_program_parameter_bytes(const opc_ptx_program_t *program);
uint32_t opc_ptx_program_shared_bytes(const opc_ptx_program_t *program);
size_t opc_ptx_program_size(const opc_ptx_program_t *program); /* instructions, those of called functions included */

#ifdef __cplusplus
}
#endif
