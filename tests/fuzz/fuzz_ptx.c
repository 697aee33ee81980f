/* A PTX text, and the programs that are made of its kernels. None is run. */
#include "fuzz.h"

#include "cuda/image/kernel_image.h"
#include "cuda/ptx/ptx.h"

static void ptx_program(const opc_ptx_module_t *module, size_t kernel) {
  opc_ptx_problem_t problem = {0};
  opc_ptx_program_t *program = opc_ptx_program_make(module, kernel, &problem);
  fuzz_expect(program || problem.message[0], "a refusal without words");
  if (!program) return;
  (void)opc_ptx_program_exactness(program);
  (void)opc_ptx_program_parameter_bytes(program);
  (void)opc_ptx_program_shared_bytes(program);
  fuzz_expect(opc_ptx_program_size(program) > 0, "a program without instructions");
  opc_ptx_program_free(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  opc_ptx_problem_t problem = {0};
  opc_kernel_image_t image;
  opc_ptx_module_t *module = opc_ptx_module_read((const char *)bytes, size, &problem);
  fuzz_expect(module || problem.message[0], "a refusal without words");
  for (size_t i = 0; module && i < opc_ptx_kernel_count(module); i++) {
    ptx_program(module, i);
    (void)opc_ptx_read((const char *)bytes, size, opc_ptx_kernel_name(module, i), &image);
  }
  if (module) opc_ptx_module_free(module);
  return 0;
}
