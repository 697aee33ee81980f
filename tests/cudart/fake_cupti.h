/* A fake CUPTI for tests: subscribers see a CUDA function that contains these two macros, as they see those of the real
 * libraries. */
#ifndef OPC_TESTS_FAKE_CUPTI_H
#define OPC_TESTS_FAKE_CUPTI_H

#include <string.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda_runtime_api.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <generated_cuda_meta.h>
#include <generated_cuda_runtime_api_meta.h>

void fake_cupti_deliver(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *data)
    __attribute__((weak));

/* Used before and after the work of a function whose local variables are `data` and `code`. */
#define FAKE_ENTER(domain, id, name, parameters, symbol)                                               \
  CUpti_CallbackData data;                                                                             \
  memset(&data, 0, sizeof data);                                                                       \
  data.callbackSite = CUPTI_API_ENTER, data.functionName = (name), data.functionParams = (parameters), \
  data.symbolName = (symbol);                                                                          \
  if (fake_cupti_deliver) fake_cupti_deliver(CUPTI_CB_DOMAIN_##domain##_API, CUPTI_##domain##_TRACE_CBID_##id, &data)
#define FAKE_EXIT(domain, id, code)                                       \
  data.callbackSite = CUPTI_API_EXIT, data.functionReturnValue = &(code); \
  if (fake_cupti_deliver) fake_cupti_deliver(CUPTI_CB_DOMAIN_##domain##_API, CUPTI_##domain##_TRACE_CBID_##id, &data)

#endif
