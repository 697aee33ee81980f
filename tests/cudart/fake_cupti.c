/* libcupti for the tests of calls that do not come through the wrappers: the functions that harness/cuda asks for,
 * with CUPTI's own types. FAKE_CUPTI_REFUSES: the code that cuptiSubscribe comes to. */
#include "fake_cupti.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { DOMAINS = CUPTI_CB_DOMAIN_SIZE, IDS = 2048 };
static CUpti_CallbackFunc subscriber;
static void *subscriber_data;
static bool enabled[DOMAINS][IDS];

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *data) {
  const char *refuses = getenv("FAKE_CUPTI_REFUSES");
  if (refuses) return (CUptiResult)atoi(refuses);
  if (subscriber) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  subscriber = callback;
  subscriber_data = data;
  *out = (CUpti_SubscriberHandle)(void *)&subscriber;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle) {
  (void)handle;
  subscriber = NULL;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
  (void)handle;
  memset(enabled[domain], enable != 0, sizeof enabled[domain]);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  (void)handle;
  if (id >= IDS) return CUPTI_ERROR_INVALID_PARAMETER;
  enabled[domain][id] = enable != 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult code, const char **out) {
  static char text[32];
  snprintf(text, sizeof text, "FAKE_ERROR_%d", (int)code);
  *out = text;
  return CUPTI_SUCCESS;
}

void fake_cupti_deliver(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *data) {
  if (subscriber && enabled[domain][id]) subscriber(subscriber_data, domain, id, data);
}

/* fake_cudart.c is compiled without CUPTI's headers. code: NULL at the function's beginning. */
void fake_cupti_tell(const char *function, int *code);
void fake_cupti_tell(const char *function, int *code) {
  static const struct {
    const char *name;
    CUpti_CallbackId id;
  } functions[] = {{"cudaGetLastError", CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020},
                   {"cudaMemcpyAsync", CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020},
                   {"cudaLaunchKernel", CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000},
                   {"cudaCtxResetPersistingL2Cache", CUPTI_RUNTIME_TRACE_CBID_cudaCtxResetPersistingL2Cache_v11000}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (strcmp(functions[i].name, function) != 0) continue;
    CUpti_CallbackData data;
    memset(&data, 0, sizeof data);
    data.callbackSite = code ? CUPTI_API_EXIT : CUPTI_API_ENTER;
    data.functionName = functions[i].name;
    data.functionReturnValue = code;
    fake_cupti_deliver(CUPTI_CB_DOMAIN_RUNTIME_API, functions[i].id, &data);
  }
}
