#include "cuda/cupti/untracked.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cuda/cupti/untracked_calls.h"

#define OPC_TEXT_OF(x) #x
#define OPC_TEXT(x) OPC_TEXT_OF(x)
static const char cupti_name[] = "libcupti.so." OPC_TEXT(OPC_CUDART_MAJOR), driver_name[] = "libcuda.so.1";

typedef struct cupti {
  __typeof__(cuptiSubscribe) *subscribe;
  __typeof__(cuptiUnsubscribe) *unsubscribe;
  __typeof__(cuptiEnableDomain) *enable_domain;
  __typeof__(cuptiEnableCallback) *enable_callback;
  __typeof__(cuptiGetResultString) *result_string;
} cupti_t;

/* libtorch links it, so it is already loaded; otherwise it is next to the runtime, in its own wheel or in the toolkit's
 * extras folder. */
static void *library_open(void) {
  static const char *const places[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64"};
  char path[4096];
  Dl_info runtime;
  void *handle = dlopen(cupti_name, RTLD_LAZY | RTLD_NOLOAD), *inside = opc_real_function("cudaGetLastError");
  if (!handle) handle = dlopen(cupti_name, RTLD_LAZY);
  const char *file = dladdr(inside, &runtime) != 0 && runtime.dli_fname ? runtime.dli_fname : "",
             *slash = strrchr(file, '/');
  for (size_t i = 0; !handle && slash && i < sizeof places / sizeof *places; i++)
    if (snprintf(path, sizeof path, "%.*s%s/%s", (int)(slash - file), file, places[i], cupti_name) < (int)sizeof path)
      handle = dlopen(path, RTLD_LAZY);
  return handle;
}

static bool functions_find(void *handle, cupti_t *out) {
  *(void **)&out->subscribe = dlsym(handle, "cuptiSubscribe");
  *(void **)&out->unsubscribe = dlsym(handle, "cuptiUnsubscribe");
  *(void **)&out->enable_domain = dlsym(handle, "cuptiEnableDomain");
  *(void **)&out->enable_callback = dlsym(handle, "cuptiEnableCallback");
  *(void **)&out->result_string = dlsym(handle, "cuptiGetResultString");
  return out->subscribe && out->unsubscribe && out->enable_domain && out->enable_callback && out->result_string;
}

static void describe_refusal(const cupti_t *cupti, CUptiResult code, char *out, size_t size) {
  const char *name = NULL;
  if (cupti->result_string(code, &name) != CUPTI_SUCCESS || !name) name = "an error without a name";
  switch ((int)code) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      snprintf(out, size,
               "CUPTI serves one tool in a process, and another one has it: a profiler, a debugger or "
               "compute-sanitizer (%s)",
               name);
      break;
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      snprintf(out, size, "the driver refuses CUPTI to this user (%s)", name);
      break;
    default:
      snprintf(out, size, "CUPTI refuses (%s, %d)", name, (int)code);
  }
}

/* Enables every function of the runtimes, so that the driver calls inside one are recognised as part of it; of the
 * driver, only functions that have an entry. */
static CUptiResult callbacks_enable(const cupti_t *cupti, CUpti_SubscriberHandle subscriber) {
  size_t count = 0;
  const uint32_t *ids = opc_untracked_driver_calls(&count);
  CUptiResult code = cupti->enable_domain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  for (size_t i = 0; i < count && code == CUPTI_SUCCESS; i++)
    code = cupti->enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, ids[i]);
  return code;
}

static char why[256];
static void subscribe(void) {
  cupti_t cupti;
  CUpti_SubscriberHandle subscriber = NULL;
  void *handle = library_open();
  if (!handle) {
    snprintf(why, sizeof why, "%s is not there: install nvidia-cuda-cupti, or CUPTI of the CUDA toolkit", cupti_name);
  } else if (!functions_find(handle, &cupti)) {
    snprintf(why, sizeof why, "%s lacks functions of the callback interface", cupti_name);
  } else if (!dlopen(driver_name,
                     RTLD_LAZY)) { /* CUPTI is not called then: CUDA 13.2's would recurse until the stack overflows */
    snprintf(why, sizeof why, "there is no CUDA driver (%s)", driver_name);
  } else {
    CUptiResult code = cupti.subscribe(&subscriber, opc_untracked_callback, NULL);
    if (code == CUPTI_SUCCESS) {
      code = callbacks_enable(&cupti, subscriber);
      if (code != CUPTI_SUCCESS) (void)cupti.unsubscribe(subscriber);
    }
    if (code != CUPTI_SUCCESS) describe_refusal(&cupti, code, why, sizeof why);
  }
}

const char *opc_untracked_watch(bool (*is_own)(const char *library)) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  opc_runtime_ready();
  if (opc_runtime.simulated) return "nothing but the shared runtime is simulated";
  opc_untracked_kernels_of(is_own);
  pthread_once(&once, subscribe);
  if (why[0]) return why;
  return opc_untracked_lost() ? "CUPTI shows them, but the stack does not show who made them" : "";
}
