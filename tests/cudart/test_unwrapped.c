/* Calls that do not come through the wrappers, over a CUPTI, a driver and runtimes of the tests' own: of a library that
 * has a runtime linked into it, and of the driver. What comes through the wrappers is in the log once, though CUPTI
 * reports it too. usage: test_unwrapped <library> <another library> */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks/cuda_log/cuda_analysis.h"
#include "sim_test.h"
#include "static_user.h"

static const opc_launch_api_t *api;
static const static_user_t *user, *other;
static void *nothing, *arguments[] = {&nothing, &nothing};

static bool is_own(const char *library) { return strstr(library, "libstatic_user.so") != NULL; }

/* The only call in the log. */
static const opc_cuda_call_t *only(const opc_cuda_log_t *log, opc_cuda_kind_t kind) {
  assert_int_equal(1, log->count);
  assert_int_equal(kind, log->calls[0].kind);
  return log->calls;
}

static void test_stub(void **state) {
  (void)state;
  cudaStream_t stream;
  void *memory = NULL, *given[] = {&memory, &nothing};
  assert_fine(user->stream_create(&stream)); /* no log is open, and they are known all the same */
  assert_fine(user->allocate(&memory, 100));
  api->log_begin();
  user->stub(11, stream, given);
  const opc_cuda_log_t log = api->log_end();
  const opc_cuda_call_t *call = only(&log, OPC_CUDA_LAUNCH);
  assert_string_equal("__cudaLaunchKernel", call->function);
  assert_true(call->unwrapped);
  assert_non_null(strstr(call->library, "libstatic_user.so"));
  assert_string_equal("_Z11copy_kernelPKvPv", call->kernel);
  assert_string_equal(call->library, call->kernel_library);
  const uint32_t grid[] = {11, 2, 3}, block[] = {4, 5, 6};
  assert_memory_equal(grid, call->grid, sizeof grid);
  assert_memory_equal(block, call->block, sizeof block);
  assert_int_equal(7, call->shared);
  assert_int_equal(number(stream), call->stream);
  assert_int_equal(OPC_CUDA_STREAM_CREATED, call->stream_kind);
  assert_int_equal(0, call->code);
  /* The library's fat binary says what the kernel's parameters are. */
  assert_true(call->parameters_known);
  assert_int_equal(1, call->pointer_count);
  assert_int_equal(number(memory), call->pointers[0].value);
  assert_int_equal(OPC_CUDA_DEVICE, call->pointers[0].place);
  assert_true(call->alone[0]);
}

static void test_launches(void **state) {
  (void)state;
  api->log_begin();
  assert_cuda(cudaErrorInvalidConfiguration, user->launch(0, NULL));
  assert_cuda(cudaErrorInvalidConfiguration, user->last_error());
  assert_fine(user->launch_bare(5, NULL));
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(3, log.count);
  assert_string_equal("cudaLaunchKernel", log.calls[0].function);
  assert_int_equal(cudaErrorInvalidConfiguration, log.calls[0].code);
  assert_int_equal(OPC_CUDA_STREAM_LEGACY, log.calls[0].stream_kind);
  assert_int_equal(OPC_CUDA_LAST_ERROR, log.calls[1].kind);
  assert_int_equal(cudaErrorInvalidConfiguration, log.calls[1].code);
  /* Without parameters of its own it is what the driver launches for it. */
  assert_string_equal("__cudaLaunchKernel", log.calls[2].function);
  assert_int_equal(5, log.calls[2].grid[0]);
  assert_int_equal(32, log.calls[2].block[0]);
  assert_string_equal("_Z11copy_kernelPKvPv", log.calls[2].kernel);
  assert_false(log.calls[2].parameters_known);
  for (size_t i = 0; i < log.count; i++) assert_non_null(strstr(log.calls[i].library, "libstatic_user.so"));
}

static void test_driver(void **state) {
  (void)state;
  void *memory = NULL;
  assert_fine(user->allocate(&memory, 100));
  api->log_begin();
  assert_int_equal(0, user->driver_launch(3, NULL));
  assert_int_equal(1, user->driver_launch(0, NULL));
  assert_int_equal(0, user->driver_copy(memory, (char *)memory + 50, 50, cudaStreamPerThread));
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(3, log.count);
  assert_string_equal("cuLaunchKernel", log.calls[0].function);
  assert_int_equal(3, log.calls[0].grid[0]);
  assert_int_equal(1, log.calls[1].code);
  assert_string_equal("cuMemcpyDtoDAsync", log.calls[2].function);
  assert_int_equal(OPC_CUDA_COPY, log.calls[2].kind);
  assert_int_equal(OPC_CUDA_DEVICE, log.calls[2].to.place);
  assert_int_equal(number(memory), log.calls[2].from.allocation);
  assert_int_equal(50, log.calls[2].bytes);
  assert_int_equal(OPC_CUDA_STREAM_PER_THREAD, log.calls[2].stream_kind);
  for (size_t i = 0; i < log.count; i++)
    assert_true(log.calls[i].unwrapped && strstr(log.calls[i].library, "libstatic_user.so"));
}

static void test_memory_and_waits(void **state) {
  (void)state;
  void *memory = NULL;
  api->log_begin();
  assert_fine(user->allocate(&memory, 100));
  assert_fine(user->wait(cudaStreamPerThread));
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(2, log.count);
  assert_int_equal(OPC_CUDA_ALLOCATE, log.calls[0].kind);
  assert_int_equal(number(memory), log.calls[0].to.value);
  assert_int_equal(100, log.calls[0].bytes);
  assert_int_equal(OPC_CUDA_STREAM_SYNCHRONIZE, log.calls[1].kind);
  assert_true(log.calls[1].synchronous);
  opc_cuda_allocation_t alive[8];
  const size_t count = api->allocations(alive, COUNT(alive));
  bool found = false;
  for (size_t i = 0; i < count && i < COUNT(alive); i++)
    found = found || (alive[i].at.value == number(memory) && strstr(alive[i].library, "libstatic_user.so"));
  assert_true(found);
}

/* Each is seen by CUPTI as well: the wrapper's is the one. What the wrappers ask of the runtime for themselves is
 * nobody's call. */
static void test_wrapped(void **state) {
  (void)state;
  static const char kernel;
  const dim3 one = {1, 1, 1};
  char from[4] = "abc", to[4];
  api->log_begin();
  assert_fine(cudaLaunchKernel(&kernel, one, one, NULL, 0, NULL));
  assert_fine(cudaMemcpyAsync(to, from, sizeof to, cudaMemcpyHostToHost, NULL));
  assert_int_equal(0, api->last_error());
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(2, log.count);
  for (size_t i = 0; i < log.count; i++) assert_false(log.calls[i].unwrapped);
  /* A function without a wrapper of its own, too, which does its work by the driver. */
  api->log_begin();
  assert_fine(cudaCtxResetPersistingL2Cache());
  assert_int_equal(0, api->log_end().count);
}

static void test_owners(void **state) {
  (void)state;
  api->log_begin();
  other->stub(1, NULL, arguments);
  user->stub(1, NULL, arguments);
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(2, log.count);
  assert_non_null(strstr(log.calls[0].library, "libstatic_other.so"));
  assert_non_null(strstr(log.calls[1].library, "libstatic_user.so"));
  assert_true(log.calls[0].caller != log.calls[1].caller);
  assert_false(log.calls[0].parameters_known); /* another one's kernels are not looked at */
}

/* ---- what the judges say of such logs ---- */

static opc_cuda_owner_t owner(const char *library, const void *context) {
  (void)context;
  return is_own(library) ? OPC_CUDA_OF_OWN : OPC_CUDA_OF_OTHERS;
}

/* The rule that is found first; "": none is. */
static const char *judged(cudaStream_t current) {
  static opc_cuda_founds_t founds;
  const opc_cuda_facts_t facts = {.log = api->log_end(), .stream = number(current), .returned = true, .owner = owner};
  founds.count = 0;
  opc_cuda_analyse_launches(&facts, &founds);
  opc_cuda_analyse_pointers(&facts, &founds);
  opc_cuda_analyse_streams(&facts, &founds);
  opc_cuda_analyse_devices(&facts, &founds);
  opc_cuda_analyse_waits(&facts, &founds);
  return founds.count ? opc_rule_name(founds.items[0].rule) : "";
}

static void test_judged(void **state) {
  (void)state;
  cudaStream_t stream;
  void *word = &word, *of_host[] = {&word, &nothing};
  assert_fine(cudaSetDevice(0));
  assert_fine(user->stream_create(&stream));
  api->log_begin();
  user->stub(1, stream, arguments);
  assert_fine(user->last_error());
  assert_string_equal("", judged(stream));

  api->log_begin();
  user->stub(1, stream, arguments);
  (void)cudaGetLastError(); /* of a runtime that has not launched it */
  assert_string_equal("launch.unchecked", judged(stream));

  api->log_begin();
  user->stub(1, NULL, arguments);
  assert_fine(user->last_error());
  assert_string_equal("stream.legacy", judged(stream));

  api->log_begin();
  user->stub(1, stream, of_host);
  assert_fine(user->last_error());
  assert_string_equal("launch.host_pointer", judged(stream));

  api->log_begin();
  assert_fine(user->wait(stream));
  assert_string_equal("sync.stream", judged(stream));

  api->log_begin();
  assert_fine(user->launch(1, stream)); /* whose result the caller has in his hand */
  assert_int_equal(0, user->driver_launch(1, stream));
  other->stub(1, NULL, arguments); /* another one's mistake */
  assert_string_equal("", judged(stream));
}

static void *other_thread(void *unused) {
  user->stub(1, NULL, arguments);
  return unused;
}

static void test_threads(void **state) {
  (void)state;
  pthread_t thread;
  api->log_begin();
  user->stub(1, NULL, arguments);
  assert_int_equal(0, pthread_create(&thread, NULL, other_thread, NULL));
  assert_int_equal(0, pthread_join(thread, NULL));
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(2, log.count);
  assert_int_equal(0, log.calls[0].thread);
  assert_int_equal(1, log.calls[1].thread);
}

static void test_refused(void **state) {
  (void)state;
  const char *why = api->watch_untracked(is_own), *code = getenv("FAKE_CUPTI_REFUSES");
  assert_non_null(strstr(why, code));
  assert_non_null(strstr(why, strcmp(code, "39") == 0
                                  ? "another one has it: a profiler, a debugger or compute-sanitizer"
                              : strcmp(code, "35") == 0 ? "to this user"
                                                        : "CUPTI refuses"));
  api->log_begin();
  user->stub(1, NULL, arguments);
  assert_int_equal(0, api->log_end().count);
  assert_string_equal(why, api->watch_untracked(is_own));
}

static const static_user_t *user_of(const char *path) {
  void *handle = dlopen(path, RTLD_NOW);
  static_user_get_t *get = NULL;
  if (handle) *(void **)&get = dlsym(handle, "static_user");
  else printf("%s\n", dlerror());
  return get ? get() : NULL;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stub),    cmocka_unit_test(test_launches),
      cmocka_unit_test(test_driver),  cmocka_unit_test(test_memory_and_waits),
      cmocka_unit_test(test_wrapped), cmocka_unit_test(test_owners),
      cmocka_unit_test(test_threads), cmocka_unit_test(test_judged),
  };
  const struct CMUnitTest refused[] = {cmocka_unit_test(test_refused)};
  api = opc_launch();
  if (argc != 3 || !api || !(user = user_of(argv[1])) || !(other = user_of(argv[2])))
    return 1; /* the wrappers are not preloaded */
  if (getenv("FAKE_CUPTI_REFUSES")) return cmocka_run_group_tests(refused, NULL, NULL);
  if (api->watch_untracked(is_own)[0]) {
    printf("%s\n", api->watch_untracked(is_own));
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
