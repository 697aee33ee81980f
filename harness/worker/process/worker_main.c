#include "worker/process/worker_main.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "checks/call/call.h"
#include "checks/runner/slow_input.h"
#include "memory/valgrind_requests.h"
#include "wire/protocol.h"
#include "worker/child/child_folder.h"
#include "worker/loading/loading.h"
#include "worker/process/confine.h"
#include "worker/process/fork_server.h"

/* Work that every child would repeat: the first calls in a process bind libtorch's functions by name and trigger its
 * one-time initialisation. If done before any fork, all children share the result in memory.
 *
 * Runs before any library under test is loaded, so that none of its code runs here. Uses only libtorch's own operators
 * on four elements: starts no thread, changes no generator and no setting. Threads: before any is started. Fork: before
 * any. */
/* Together they cover: allocation with and without strides, copies within and across layouts, casts, element-wise
 * operations with and without a wider dtype, a sum, views, refusals of an index and of a dtype; each recorded for a
 * gradient. */
#define STRIDED "{\"tensor\": {\"shape\": [2, 2], \"strides\": [1, 2], \"requires_grad\": true}}"
#define OTHER "{\"tensor\": {\"shape\": [2, 2]}}"
#define INTEGERS "{\"tensor\": {\"shape\": [2, 2], \"dtype\": \"int32\"}}"
static const struct {
  const char *name, *arguments;
} warmed[] = {
    {"aten::clone", "[" STRIDED "]"},
    {"aten::add.Tensor", "[" STRIDED ", " OTHER "]"},
    {"aten::mul.Tensor", "[" STRIDED ", " OTHER "]"},
    {"aten::mul.Tensor", "[" INTEGERS ", " OTHER "]"},
    {"aten::mul_.Scalar", "[" INTEGERS ", 0.5]"},
    {"aten::detach", "[" STRIDED "]"},
    {"aten::copy_", "[" OTHER ", {\"tensor\": {\"shape\": [2, 2], \"dtype\": \"float64\"}}]"},
    {"aten::contiguous", "[" STRIDED "]"},
    {"aten::empty_like", "[" STRIDED "]"},
    {"aten::zero_", "[" OTHER "]"},
    {"aten::sum", "[" STRIDED "]"},
    {"aten::select.int", "[" STRIDED ", 0, 1]"},
    {"aten::select.int", "[" STRIDED ", 0, 2]"},
};

static void warm_returns(const opc_call_t *call) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0, size;
  if (opc_call_outputs(call, &outputs, &count, NULL) != OPC_OK) return;
  for (size_t i = 0; i < count; i++) {
    void *bytes = NULL;
    if (opc_tensor_logical_bytes(outputs[i].tensor, &bytes, &size, NULL) == OPC_OK) free(bytes);
  }
}

static void warm_call(opc_op_handle_t *handle, const opc_operator_t *op, const opc_sample_t *sample,
                      opc_device_type_t device) {
  const opc_device_t where = {.type = device, .index = -1};
  opc_call_t call = {0};
  bool replaced[2];
  opc_value_t *returns = NULL;
  size_t count = 0;
  if (opc_call_make(&call, op, sample, where, 0, NULL) != OPC_OK) return;
  call.outcome = opc_op_call(handle, call.arguments, call.absent, call.argument_count, &call.returns,
                             &call.return_count, &call.message);
  if (call.outcome == OPC_CALL_RETURNED && device == OPC_DEVICE_CPU) warm_returns(&call);
  if (device == OPC_DEVICE_CPU &&
      opc_op_call_functional(handle, call.arguments, call.absent, call.argument_count, replaced, call.tensor_arg_count,
                             &returns, &count, &call.message) == OPC_CALL_RETURNED)
    opc_returns_free(returns, count);
  opc_call_clear(&call);
}

static void warm_operator(const char *name, const char *arguments) {
  OPC_SCOPED(opc_operator_clear) opc_operator_t op = {0};
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  opc_op_handle_t *handle = NULL;
  json_auto_t *json = json_pack("{s:s, s:o*}", "operator", name, "args", json_loads(arguments, 0, NULL));
  if (opc_bridge_describe(name, &op, NULL) != OPC_OK ||
      opc_sample_from_json(json, &op, NULL, &sample, NULL, 0, NULL) != OPC_OK ||
      opc_op_find(name, &handle, NULL) != OPC_OK)
    return;
  warm_call(handle, &op, &sample, OPC_DEVICE_CPU);
  warm_call(handle, &op, &sample, OPC_DEVICE_META);
  opc_op_free(handle);
}

/* A failure here only costs time later. */
static void worker_warm_up(void) {
  int64_t settings[OPC_SETTING_COUNT];
  opc_fills_share();
  opc_slow_inputs_share();
  for (size_t i = 0; i < sizeof warmed / sizeof *warmed; i++) warm_operator(warmed[i].name, warmed[i].arguments);
  opc_bridge_settings_read(settings);
}

typedef struct options {
  opc_loading_t loading;
  bool cuda, exec_batch, memcheck, gpu;
  double sandbox_since; /* 0: no sandbox */
  long long memory_mib;
} options_t;

typedef struct lists { /* of options that may be repeated, as many as there are words */
  const char **preloads, **namespaces, **modules;
} lists_t;

static opc_status_t options_parse(int argc, char **argv, options_t *options, const lists_t *lists, opc_error_t *error) {
  static const struct option longs[] = {{"exec-batch", required_argument, NULL, 'e'},
                                        {"preload", required_argument, NULL, 'p'},
                                        {"mode", required_argument, NULL, 'm'},
                                        {"namespace", required_argument, NULL, 'n'},
                                        {"module", required_argument, NULL, 'y'},
                                        {"tool", required_argument, NULL, 't'},
                                        {"package", required_argument, NULL, 'k'},
                                        {"sandbox", required_argument, NULL, 's'},
                                        {NULL, 0, NULL, 0}};
  size_t preload_count = 0, namespace_count = 0, module_count = 0;
  opterr = optind = 0; /* optind: an interpreter may have used getopt */
  for (int option; (option = getopt_long(argc, argv, "+", longs, NULL)) != -1;) {
    if (option == 'e') {
      options->exec_batch = true;
      options->memory_mib = atoll(optarg);
    } else if (option == 'p') {
      lists->preloads[preload_count++] = optarg;
    } else if (option == 'n') {
      lists->namespaces[namespace_count++] = optarg;
    } else if (option == 'y') {
      lists->modules[module_count++] = optarg;
    } else if (option == 'm') {
      options->cuda = options->loading.cuda = strcmp(optarg, "cpu") != 0;
      options->gpu = strcmp(optarg, "cuda") == 0;
    } else if (option == 'k') {
      options->loading.package = optarg;
      setenv("AOTI_RUNTIME_CHECK_INPUTS", "1", 0); /* if a model gets other inputs than it was compiled for, it reports
                                                      that instead of reading out of bounds */
    } else if (option == 's') {
      options->sandbox_since = atof(optarg);
    } else if (option == 't') {
      options->memcheck = strcmp(optarg, "memcheck") == 0;
    } else {
      return opc_error_set(error, OPC_ERR_USAGE, "opcheck-worker is started by opcheck-c; it does not know %s",
                           argv[optind - 1]);
    }
  }
  if (options->memcheck && !opc_valgrind_known())
    return opc_error_set(
        error, OPC_ERR_UNSUPPORTED,
        "--tool memcheck: this opcheck-worker was built without Valgrind's headers; install them (apt-get install "
        "valgrind) and build again");
  if (options->memcheck && !opc_valgrind_active())
    return opc_error_set(error, OPC_ERR_USAGE, "--tool memcheck: this process does not run under Valgrind");
  if (options->memcheck) {
    close(OPC_LOG_FD); /* by now Valgrind has its own descriptor for it */
    opc_valgrind_leave_leaks();
  }
  options->loading.preloads = lists->preloads;
  options->loading.preload_count = preload_count;
  options->loading.modules = lists->modules;
  options->loading.module_count = module_count;
  options->loading.namespaces = lists->namespaces;
  options->loading.namespace_count = namespace_count;
  options->loading.libraries = (const char *const *)argv + optind;
  options->loading.library_count = (size_t)(argc - optind);
  return OPC_OK;
}

static opc_status_t control_take(opc_channel_t *control, opc_error_t *error) {
  int fd = fcntl(OPC_CONTROL_FD, F_DUPFD_CLOEXEC, OPC_OWN_FD_AT_LEAST);
  if (fd < 0)
    return opc_error_set(error, OPC_ERR_USAGE, "opcheck-worker is started by opcheck-c: descriptor 3 is its channel");
  close(OPC_CONTROL_FD);
  *control = (opc_channel_t){.fd = fd};
  return OPC_OK;
}

/* Runs one batch in this process, because a process with threads or CUDA cannot be forked. */
static opc_status_t batch_run(options_t *options, opc_error_t *error) {
  char directory[PATH_MAX];
  OPC_SCOPED(opc_channel_close) opc_channel_t control = OPC_CHANNEL_INIT;
  json_t *operators = NULL;
  int fds[OPC_BATCH_FDS];
  for (int i = 0; i < OPC_BATCH_FDS; i++) {
    fds[i] = fcntl(OPC_BATCH_FD + i, F_DUPFD_CLOEXEC, OPC_OWN_FD_AT_LEAST);
    if (fds[i] < 0)
      return opc_error_set(error, OPC_ERR_USAGE, "--exec-batch: descriptor %d is missing", OPC_BATCH_FD + i);
  }
  for (int i = 0; i < OPC_BATCH_FDS; i++) close(OPC_BATCH_FD + i);
  OPC_RETURN_IF_ERROR(control_take(&control, error));
  options->loading.control = &control;
  OPC_RETURN_IF_ERROR(opc_loading_run(&options->loading, &operators, error));
  opc_channel_close(&control);
  if (options->memcheck) opc_valgrind_only_operators();
  OPC_RETURN_IF_ERROR(opc_child_folder_make(directory, error));
  opc_sandbox_t sandbox = {.batch = fds[0],
                           .crash_record = fds[1],
                           .output = fds[2],
                           .directory = directory,
                           .memory_mib = options->cuda ? 0 : options->memory_mib,
                           .parent = getppid(),
                           .operators = operators};
  opc_interpreter_release();
  opc_sandbox_run(&sandbox);
}

static opc_status_t fork_server_run(options_t *options, opc_error_t *error) {
  OPC_SCOPED(opc_channel_close) opc_channel_t control = OPC_CHANNEL_INIT;
  json_auto_t *operators = NULL;
  OPC_RETURN_IF_ERROR(control_take(&control, error));
  options->loading.control = &control;
  if (!options->memcheck) worker_warm_up();
  OPC_RETURN_IF_ERROR(opc_loading_run(&options->loading, &operators, error));
  if (options->memcheck) opc_valgrind_only_operators();
  return opc_fork_server_run(&control, operators, !options->cuda, error);
}

/* The CUDA runtime wrappers are loaded by now, and must not be loaded into processes that an operator starts. */
static void preload_forget(void) {
  const char *preload = getenv("LD_PRELOAD");
  if (!preload || !strstr(preload, "libopcheck-cudart.so.")) return;
  const char *rest = strchr(preload, ':');
  OPC_SCOPED(opc_scope_free) char *kept = rest ? strdup(rest + 1) : NULL;
  if (kept) setenv("LD_PRELOAD", kept, 1);
  else unsetenv("LD_PRELOAD");
}

static opc_status_t worker_run(int argc, char **argv, const lists_t *lists, opc_error_t *error) {
  options_t options = {0};
  struct rlimit no_core = {1, 1}; /* an initialiser may crash; for the number see sandbox.c */
  if (!lists->preloads || !lists->namespaces || !lists->modules) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(options_parse(argc, argv, &options, lists, error));
  setrlimit(RLIMIT_CORE, &no_core);
  OPC_RETURN_IF_ERROR(opc_child_folder_open(error));
  const bool confined = options.sandbox_since > 0 && !opc_valgrind_active();
  if (confined && !options.gpu) opc_confine_open(&options.loading, options.sandbox_since);
  options.loading.sandbox_misses =
      confined && options.gpu ? "it was never tried with a GPU, and is off here" : opc_confine_missing();
  return options.exec_batch ? batch_run(&options, error) : fork_server_run(&options, error);
}

int opc_worker_main(int argc, char **argv) {
  preload_forget();
  opc_error_t error = {0};
  const lists_t lists = {.preloads = calloc((size_t)argc, sizeof *lists.preloads),
                         .namespaces = calloc((size_t)argc, sizeof *lists.namespaces),
                         .modules = calloc((size_t)argc, sizeof *lists.modules)};
  const opc_status_t status = worker_run(argc, argv, &lists, &error);
  if (status != OPC_OK) fprintf(stderr, "opcheck-worker: %s\n", error.message);
  opc_child_folder_close();
  free(lists.preloads);
  free(lists.namespaces);
  free(lists.modules);
  fflush(NULL);
  /* Not exit: static destructors of libraries under test may crash or hang. */
  _exit(status != OPC_OK ? OPC_SANDBOX_BROKEN : 0);
}
