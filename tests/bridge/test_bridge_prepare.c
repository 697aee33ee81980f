/* Libraries as wheels bring them, and libraries that cannot be loaded: prepared, loaded, or refused in words. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/api/prepare.h"
#include "bridge_test.h"

static void assert_refused(opc_status_t status, opc_status_t expected, const opc_error_t *error, const char *text) {
  if (status != expected || strstr(error->message, text) == NULL) {
    fail_msg("status %d and not %d, '%s' not in: %s", (int)status, (int)expected, text, error->message);
  }
}

/* Prepares and loads, siblings first, as the worker does. */
static opc_status_t load(const char *path, opc_error_t *error) {
  opc_prepared_t prepared;
  opc_status_t status = opc_bridge_prepare(path, false, &prepared, error);
  for (size_t i = 0; status == OPC_OK && i < prepared.sibling_count; i++)
    status = opc_bridge_load(prepared.siblings[i], path, error);
  if (status == OPC_OK) status = opc_bridge_load(path, path, error);
  opc_prepared_clear(&prepared);
  return status;
}

static void test_files_that_are_no_libraries(void **state) {
  (void)state;
  opc_error_t error = {0};
  assert_refused(load("/no/such/file.so", &error), OPC_ERR_IO, &error, "No such file");
  assert_refused(load("/dev/null", &error), OPC_ERR_LIBRARY, &error, "not a regular file");
  assert_refused(load("/", &error), OPC_ERR_LIBRARY, &error, "not a regular file");
  assert_refused(load(__FILE__, &error), OPC_ERR_LIBRARY, &error, "not an ELF file");
}

static void test_missing_library_is_named(void **state) {
  (void)state;
  opc_error_t refusal = {0};
  assert_refused(load(TEST_ORPHAN_LIBRARY, &refusal), OPC_ERR_LIBRARY, &refusal,
                 "libbridge_test_sibling.so: cannot open");
  assert_ok(opc_bridge_preload(TEST_SIBLING_LIBRARY, &error));
  assert_ok(load(TEST_ORPHAN_LIBRARY, &error));
}

static int report_pipe;
static void report(const char *text) {
  if (write(report_pipe, text, strlen(text)) < 0) _exit(1);
}

/* What std::terminate is called for in a child that runs `body`. */
static void terminate_text(void (*body)(void), char *text, size_t size) {
  int ends[2], status = 0;
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    report_pipe = ends[1];
    opc_bridge_on_terminate(report);
    body();
    _exit(2);
  }
  close(ends[1]);
  const ssize_t length = read(ends[0], text, size - 1);
  close(ends[0]);
  text[length > 0 ? length : 0] = '\0';
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void load_throwing(void) {
  opc_error_t error = {0};
  if (opc_bridge_load(TEST_THROWING_LIBRARY, TEST_THROWING_LIBRARY, &error) == OPC_OK) _exit(3);
}

/* A static initialiser that throws ends the process, and says why first. */
static void test_throwing_initialiser(void **state) {
  (void)state;
  char text[256];
  terminate_text(load_throwing, text, sizeof text);
  assert_string_equal(text, "std::runtime_error: this initialiser always throws");
}

static void call_python(void) {
  void *(*function)(void) = NULL;
  *(void **)&function = dlsym(RTLD_DEFAULT, "use_python");
  (void)function();
}

static void read_python_data(void) {
  int (*function)(void) = NULL;
  *(void **)&function = dlsym(RTLD_DEFAULT, "read_python_data");
  if (function() == 0) abort();
}

/* It loads with all symbols bound; a call is an error that names the function, data are zeros, and no interpreter is
 * initialised. */
static void test_python_is_inert(void **state) {
  (void)state;
  char text[256];
  opc_prepared_t prepared;
  assert_ok(opc_bridge_prepare(TEST_PYTHON_LIBRARY, false, &prepared, &error));
  assert_non_null(strstr(opc_text_c(&prepared.note),
                         "Python is not loaded: a call that needs one of its 5 symbols (PyExc_ValueError, "
                         "PyLong_FromLong, Py_IsInitialized, …)"));
  opc_prepared_clear(&prepared);
  assert_ok(opc_bridge_load(TEST_PYTHON_LIBRARY, TEST_PYTHON_LIBRARY, &error));
  terminate_text(call_python, text, sizeof text);
  assert_string_equal(
      text, "this operator called PyLong_FromLong: it needs a Python interpreter, and there is none in this process");
  terminate_text(read_python_data, text, sizeof text);
  assert_string_equal(text, "");
}

static opc_call_outcome_t call_with(const char *name, int64_t n, opc_text_t *message) {
  opc_op_handle_t *op = NULL;
  opc_value_t *returns = NULL, argument = {.kind = OPC_VALUE_INT, .integer = n};
  size_t count = 0;
  assert_ok(opc_op_find(name, &op, &error));
  const opc_call_outcome_t outcome = opc_op_call(op, &argument, NULL, 1, &returns, &count, message);
  opc_returns_free(returns, count);
  opc_op_free(op);
  return outcome;
}

/* Such a call says that the operator cannot run here, and leaves it as it was. */
static void test_operators_that_use_python(void **state) {
  (void)state;
  opc_text_t message = {0};
  assert_ok(load(TEST_PYTHON_OPS_LIBRARY, &error));
  for (int i = 0; i < 3; i++) {
    assert_int_equal(call_with("bridge_test_python::always", 1, &message), OPC_CALL_NO_KERNEL);
    assert_non_null(strstr(opc_text_c(&message), "called PyErr_SetString: it needs a Python interpreter"));
  }
  assert_int_equal(call_with("bridge_test_python::for_negative", 1, &message), OPC_CALL_RETURNED);
  assert_int_equal(call_with("bridge_test_python::for_negative", -1, &message), OPC_CALL_NO_KERNEL);
  opc_text_clear(&message);
}

/* libtorch.so would draw in libtorch_cuda: an empty one stands in. */
static void test_libtorch_without_cuda(void **state) {
  (void)state;
  assert_ok(load(TEST_NEEDS_TORCH_LIBRARY, &error));
  assert_null(dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD));
}

/* A part of it that lies beside it, where the loader does not look, and that uses Python. */
static void test_siblings(void **state) {
  (void)state;
  opc_prepared_t prepared;
  assert_ok(opc_bridge_prepare(TEST_COMPOUND_LIBRARY, false, &prepared, &error));
  assert_int_equal(prepared.sibling_count, 1);
  assert_non_null(strstr(prepared.siblings[0], "/libbridge_test_python_part.so"));
  opc_prepared_clear(&prepared);
  assert_ok(load(TEST_COMPOUND_LIBRARY, &error));
}

/* CUDA of another version, and a driver, that no machine has: what the library takes from them is inert. */
static void test_missing_cuda_is_inert(void **state) {
  (void)state;
  opc_prepared_t prepared;
  assert_ok(opc_bridge_prepare(TEST_CUDA_LIBRARY, false, &prepared, &error));
  assert_non_null(strstr(opc_text_c(&prepared.note), "libcudart.so.99 is not loaded"));
  opc_prepared_clear(&prepared);
  assert_ok(opc_bridge_load(TEST_CUDA_LIBRARY, TEST_CUDA_LIBRARY, &error));
  int (*count)(void) = NULL;
  *(void **)&count = dlsym(RTLD_DEFAULT, "count_devices");
  assert_int_equal(count(), 0);
}

/* Each function is reported for its own library, whichever is named first; what libtorch_cuda would bring along is
 * inert as it is. */
static void test_missing_libraries_are_told_apart(void **state) {
  (void)state;
  opc_prepared_t prepared;
  if (access(TEST_TORCH_CUDA, R_OK) != 0) {
    puts("no libtorch_cuda here, which says what it would bring along");
    skip();
  }
  assert_ok(opc_bridge_prepare(TEST_ACCELERATORS_LIBRARY, false, &prepared, &error));
  const char *note = opc_text_c(&prepared.note);
  if (strstr(note, "libcuda.so.99 is not loaded: a call that needs its symbol (cuNobodyHas)") == NULL ||
      strstr(note, "libnvrtc.so.99 is not loaded: a call that needs its symbol (nvrtcNobodyHas)") == NULL)
    fail_msg("%s", note);
  opc_prepared_clear(&prepared);
  assert_ok(opc_bridge_load(TEST_ACCELERATORS_LIBRARY, TEST_ACCELERATORS_LIBRARY, &error));
}

/* A symbol that belongs to nothing that is replaced stays undefined: the loader tells. */
static void test_other_symbols_stay_undefined(void **state) {
  (void)state;
  opc_error_t error = {0};
  assert_refused(load(TEST_UNDEFINED_LIBRARY, &error), OPC_ERR_LIBRARY, &error, "undefined symbol: nobody_has_this");
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

/* A library of a wheel, and how many operators it has. Its name differs between the releases for the versions of
 * libtorch. */
typedef struct wheel {
  const char *relative;
  size_t operators;
} wheel_t;
static const wheel_t torchvision[] = {{"torchvision/_C.so", 12}, {"torchvision/_C_stable.so", 15}};
static const wheel_t torchvision_image[] = {{"torchvision/image.so", 13}, {"torchvision/image_stable.so", 13}};
static const wheel_t torchaudio[] = {{"torchaudio/lib/libtorchaudio.abi3.so", 4}};
#define RELEASES(wheels) wheels, sizeof(wheels) / sizeof *(wheels)

/* Beside this libtorch, where the whole set of dependencies is installed. Gives the wheel of the release that is there;
 * skips the test where none is. */
static const wheel_t *find_wheel(const wheel_t *wheels, size_t releases, char path[static 1024]) {
  for (size_t i = 0; i < releases; i++) {
    (void)snprintf(path, 1024, "%s/../../%s", opc_bridge_torch_folder(), wheels[i].relative);
    if (access(path, R_OK) == 0) return &wheels[i];
  }
  print_message("no %s here\n", wheels->relative);
  skip();
  return NULL;
}

static void load_wheel(const wheel_t *wheels, size_t releases, const char *one_of_them) {
  static char path[1024];
  const wheel_t *wheel = find_wheel(wheels, releases, path);
  assert_ok(load(path, &error));
  tally_t tally = {.library = path};
  assert_ok(opc_bridge_list(count_operator, NULL, &tally, &error));
  print_message("%s: %zu operators: %s\n", wheel->relative, tally.operators, tally.names);
  /* Beside torchvision's twelve, from 0.27 on, and from 0.28 on. */
  static const char *const later[] = {"::box_iou_rotated ", "::qnms ", "::qroi_align "};
  size_t more = 0;
  for (size_t i = 0; i < sizeof later / sizeof *later; i++)
    more += strcmp(wheel->relative, "torchvision/_C.so") == 0 && strstr(tally.names, later[i]) != NULL;
  assert_int_equal(tally.operators, wheel->operators + more);
  assert_non_null(strstr(tally.names, one_of_them));
  assert_false(opc_bridge_cuda_initialised());
}

static void test_torchvision(void **state) {
  (void)state;
  load_wheel(RELEASES(torchvision), "torchvision::roi_align ");
}

static void test_torchaudio(void **state) {
  (void)state;
  load_wheel(RELEASES(torchaudio), "torchaudio::forced_align ");
}

/* For a CUDA device libtorch_cuda itself is loaded, where it can be; in a child, because it stays. */
static void test_for_a_cuda_device(void **state) {
  (void)state;
  static char path[1024];
  (void)find_wheel(RELEASES(torchvision), path);
  const pid_t child = fork();
  if (child == 0) {
    opc_prepared_t prepared;
    opc_error_t error = {0};
    if (opc_bridge_prepare(path, true, &prepared, &error) != OPC_OK || opc_bridge_load(path, path, &error) != OPC_OK)
      _exit(1);
    const void *cuda = dlsym(RTLD_DEFAULT, "_ZN2at4cuda26getCurrentDevicePropertiesEv");
    Dl_info info = {0};
    _exit(dladdr(cuda, &info) != 0 && strstr(info.dli_fname, "libtorch_cuda.so") != NULL ? 0 : 2);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_torchvision_image(void **state) {
  (void)state;
  load_wheel(RELEASES(torchvision_image), "image::decode_png ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_files_that_are_no_libraries),
      cmocka_unit_test(test_missing_library_is_named),
      cmocka_unit_test(test_throwing_initialiser),
      cmocka_unit_test(test_libtorch_without_cuda),
      cmocka_unit_test(test_python_is_inert),
      cmocka_unit_test(test_operators_that_use_python),
      cmocka_unit_test(test_siblings),
      cmocka_unit_test(test_missing_cuda_is_inert),
      cmocka_unit_test(test_other_symbols_stay_undefined),
      cmocka_unit_test(test_for_a_cuda_device),
      cmocka_unit_test(test_torchvision_image),
      cmocka_unit_test(test_torchvision),
      cmocka_unit_test(test_torchaudio),
      cmocka_unit_test(test_missing_libraries_are_told_apart), /* last, for the inert libtorch_cuda stays */
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
