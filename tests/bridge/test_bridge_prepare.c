/* Libraries as wheels bring them, and libraries that cannot be loaded: prepared, loaded, or refused in words. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/load_error.h"
#include "bridge/prepare.h"
#include "bridge_test.h"

static void assert_refused(opc_status_t status, opc_status_t expected, const opc_error_t *error, const char *text) {
  if (status != expected || strstr(error->message, text) == NULL) {
    fail_msg("status %d and not %d, '%s' not in: %s", (int)status, (int)expected, text, error->message);
  }
}

static void test_files_that_are_no_libraries(void **state) {
  (void)state;
  opc_error_t error = {0};
  assert_refused(opc_bridge_prepare("/no/such/file.so", TEST_STUBS, &error), OPC_ERR_IO, &error, "No such file");
  assert_refused(opc_bridge_prepare("/dev/null", TEST_STUBS, &error), OPC_ERR_LIBRARY, &error, "no regular file");
  assert_refused(opc_bridge_prepare("/", TEST_STUBS, &error), OPC_ERR_LIBRARY, &error, "no regular file");
  assert_refused(opc_bridge_prepare(__FILE__, TEST_STUBS, &error), OPC_ERR_LIBRARY, &error, "no ELF file");
}

static void test_python_symbols_are_named(void **state) {
  (void)state;
  opc_error_t error = {0};
  assert_refused(opc_bridge_prepare(TEST_PYTHON_LIBRARY, TEST_STUBS, &error), OPC_ERR_LIBRARY, &error,
                 "it uses 2 symbols of Python (PyLong_FromLong, _PyObject_New): not loadable without an interpreter");
}

static void test_missing_library_is_named(void **state) {
  (void)state;
  opc_error_t refusal = {0};
  assert_ok(opc_bridge_prepare(TEST_ORPHAN_LIBRARY, TEST_STUBS, &error));
  assert_refused(opc_bridge_load(TEST_ORPHAN_LIBRARY, &refusal), OPC_ERR_LIBRARY, &refusal,
                 "it needs libbridge_test_sibling.so, found neither beside it nor in the search path (--preload");
  assert_ok(opc_bridge_preload(TEST_SIBLING_LIBRARY, &error));
  assert_ok(opc_bridge_load(TEST_ORPHAN_LIBRARY, &error));
}

static void assert_explained(const char *words, const char *cause) {
  opc_error_t error = {0};
  assert_refused(opc_load_error_explain("/x/lib.so", words, "2.11.0", &error), OPC_ERR_LIBRARY, &error, cause);
  assert_non_null(strstr(error.message, words));
}

static void test_causes(void **state) {
  (void)state;
  assert_explained(
      "/x/lib.so: undefined symbol: _ZN5torch7Library4_defEON3c1014FunctionSchemaEPNS1_12OperatorNameERKSt6vectorIN5torch"
      "10headeronly3TagESaIS8_EENS_17_RegisterOrVerifyE",
      "2.12 or newer, and this is 2.11.0");
  assert_explained("/x/lib.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs", "string ABI");
  assert_explained("/x/lib.so: undefined symbol: _ZN2at4_ops9some_gone4callERKNS_6TensorE", "another libtorch than this 2.11.0");
  assert_explained("/x/lib.so: undefined symbol: PyInstanceMethod_Type", "it uses Python");
  assert_explained("libcudart.so.12: cannot open shared object file: No such file or directory", "another CUDA");
  assert_explained("/x/lib.so: undefined symbol: my_helper", "undefined symbol: my_helper");
}

static int report_pipe;
static void report(const char *text) {
  if (write(report_pipe, text, strlen(text)) < 0) _exit(1);
}

/* A static initialiser that throws ends the process, and says why first. */
static void test_throwing_initialiser(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    report_pipe = ends[1];
    opc_bridge_on_terminate(report);
    opc_error_t error = {0};
    _exit(opc_bridge_load(TEST_THROWING_LIBRARY, &error) == OPC_OK ? 2 : 3);
  }
  close(ends[1]);
  char text[256] = "";
  const ssize_t length = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(length > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  assert_string_equal(text, "std::runtime_error: this initialiser always throws");
}

/* One that names libtorch.so and nothing of CUDA gets the empty libtorch.so: libtorch_cuda stays out. */
static void test_libtorch_without_cuda(void **state) {
  (void)state;
  assert_ok(opc_bridge_prepare(TEST_NEEDS_TORCH_LIBRARY, TEST_STUBS, &error));
  assert_ok(opc_bridge_load(TEST_NEEDS_TORCH_LIBRARY, &error));
  assert_null(dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD));
}

static void test_parts_beside_a_library_are_prepared(void **state) {
  (void)state;
  opc_error_t error = {0};
  assert_refused(opc_bridge_prepare(TEST_COMPOUND_LIBRARY, TEST_STUBS, &error), OPC_ERR_LIBRARY, &error,
                 "libbridge_test_python_part.so, which it needs: it uses 2 symbols of Python");
}

typedef struct tally {
  size_t operators;
  const char *library;
  char names[4096];
} tally_t;

static void count_operator(const opc_operator_t *op, void *context) {
  tally_t *tally = context;
  if (strcmp(op->library, tally->library) != 0) return;
  tally->operators++;
  strncat(tally->names, op->name, sizeof tally->names - strlen(tally->names) - 2);
  strcat(tally->names, " ");
}

/* Beside this libtorch, where the whole set of dependencies is installed. */
static void load_wheel(const char *relative, size_t operators, const char *one_of_them) {
  static char path[1024];
  (void)snprintf(path, sizeof path, "%s/../../%s", opc_bridge_torch_folder(), relative);
  if (access(path, R_OK) != 0) {
    print_message("no %s here\n", relative);
    skip();
  }
  assert_ok(opc_bridge_prepare(path, TEST_STUBS, &error));
  assert_ok(opc_bridge_load(path, &error));
  tally_t tally = {.library = path};
  assert_ok(opc_bridge_list(count_operator, NULL, &tally, &error));
  print_message("%s: %zu operators: %s\n", relative, tally.operators, tally.names);
  assert_int_equal(tally.operators, operators);
  assert_non_null(strstr(tally.names, one_of_them));
  assert_false(opc_bridge_cuda_initialised());
}

static void test_torchvision(void **state) {
  (void)state;
  load_wheel("torchvision/_C.so", 12, "torchvision::roi_align ");
}

static void test_torchaudio(void **state) {
  (void)state;
  load_wheel("torchaudio/lib/libtorchaudio.abi3.so", 4, "torchaudio::forced_align ");
}

static void test_torchvision_image_uses_python(void **state) {
  (void)state;
  char path[1024];
  (void)snprintf(path, sizeof path, "%s/../../torchvision/image.so", opc_bridge_torch_folder());
  if (access(path, R_OK) != 0) skip();
  opc_error_t error = {0};
  assert_refused(opc_bridge_prepare(path, TEST_STUBS, &error), OPC_ERR_LIBRARY, &error, "symbols of Python");
  print_message("%s\n", error.message);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_files_that_are_no_libraries),
      cmocka_unit_test(test_python_symbols_are_named),
      cmocka_unit_test(test_missing_library_is_named),
      cmocka_unit_test(test_causes),
      cmocka_unit_test(test_throwing_initialiser),
      cmocka_unit_test(test_libtorch_without_cuda),
      cmocka_unit_test(test_parts_beside_a_library_are_prepared),
      cmocka_unit_test(test_torchvision_image_uses_python),
      cmocka_unit_test(test_torchvision),
      cmocka_unit_test(test_torchaudio),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
