/* Which kernels a library has, by its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inspect/fatbin.h"

static void identifiers(void **state) {
  static const struct {
    const char *mangled, *name;
  } cases[] = {{"_Z6kernelPf", "kernel"},
               {"_Z15identity_kernelIfEvPKT_PS0_l", "identity_kernel"},
               {"_ZN6my_ops11copy_kernelImEEvPKT_PS2_l", "copy_kernel"},
               {"_ZN6my_ops55_GLOBAL__N__55d2c500_16_identity_conv_cu_681cd5d1_2873011copy_kernelINS0_7Word128EEEvPKT_"
                "PS3_lNS0_6LayoutE",
                "copy_kernel"},
               {"_ZN2opL6staticEi", "static"},
               {"_ZL6hiddenPf", "hidden"},
               {"_Z", NULL},
               {"_ZN", NULL},
               {"_Z9kernel", NULL},
               {"_Z0kernel", NULL},
               {"_Z99999999999999999999kernel", NULL},
               {"_ZTV3Foo", NULL},
               {"kernel", NULL},
               {"", NULL}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *name = NULL;
    size_t length = 0;
    assert_int_equal(opc_kernel_identifier(cases[i].mangled, &name, &length), cases[i].name != NULL);
    if (cases[i].name == NULL) continue;
    assert_int_equal(length, strlen(cases[i].name));
    assert_memory_equal(name, cases[i].name, length);
  }
}

static void read_names(const char *path, opc_kernel_names_t *out) {
  opc_elf_file_t *file = NULL;
  opc_error_t error = {0};
  if (opc_elf_open(path, &file, &error) != OPC_OK || opc_kernel_names_read(file, out, &error) != OPC_OK)
    fail_msg("%s", error.message);
  opc_elf_close(file);
}

static void names_of_a_library(void **state) {
  static const char *const names[] = {"copy_kernel", "my_kernel", "plain_kernel"};
  opc_kernel_names_t found = {0};
  (void)state;
  read_names(OPC_SANITIZE_FOLDER "/kernels.so", &found);
  assert_int_equal(found.count, 3);
  for (size_t i = 0; i < 3; i++) {
    bool there = false;
    for (size_t k = 0; k < found.count; k++) there |= strcmp(found.items[k], names[i]) == 0;
    assert_true(there);
  }
  opc_kernel_names_clear(&found);
}

static void a_library_without_gpu_code_has_none(void **state) {
  opc_kernel_names_t found = {0};
  (void)state;
  read_names(OPC_FAKE_FOLDER "/fake_good.so", &found);
  assert_int_equal(found.count, 0);
  opc_kernel_names_clear(&found);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(identifiers), cmocka_unit_test(names_of_a_library),
                                     cmocka_unit_test(a_library_without_gpu_code_has_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
