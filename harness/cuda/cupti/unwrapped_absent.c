/* Where opcheck-c was built without CUPTI's headers. */
#include "cuda/cupti/unwrapped.h"

const char *opc_unwrapped_watch(bool (*is_own)(const char *library)) {
  (void)is_own;
  return "opcheck-c was built without CUPTI's headers: build it again with nvidia-cuda-cupti beside libtorch";
}
