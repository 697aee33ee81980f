/* The PTX of a library that was built. */
#ifndef OPC_TESTS_PTX_LIBRARY_H
#define OPC_TESTS_PTX_LIBRARY_H

#include "cuda/image/kernel_image.h"
#include "inspect/elf_file.h"
#include "inspect/fatbin.h"
#include "ptx_test.h"

static inline void find_ptx(const opc_fatbin_t *fatbin, void *context) {
  opc_ptx_module_t **module = context;
  opc_ptx_problem_t problem;
  unsigned char *unpacked;
  size_t size;
  if (*module || !fatbin->ptx.bytes) return;
  const unsigned char *plain = opc_fatbin_image_plain(&fatbin->ptx, &size, &unpacked);
  if (plain) *module = opc_ptx_module_read((const char *)plain, size, &problem);
  opc_image_unpacked_free(unpacked, size);
}

/* The PTX of the first source file of a library. */
static inline opc_ptx_module_t *module_in(const char *path) {
  opc_elf_file_t *file = NULL;
  opc_ptx_module_t *module = NULL;
  opc_error_t error;
  size_t size = 0;
  assert_ok(opc_elf_open(path, &file, &error), error);
  const unsigned char *bytes = opc_elf_section(file, ".nv_fatbin", &size);
  assert_non_null(bytes);
  assert_true(opc_fatbin_visit(bytes, size, find_ptx, &module));
  opc_elf_close(file);
  assert_non_null(module);
  return module;
}

#endif
