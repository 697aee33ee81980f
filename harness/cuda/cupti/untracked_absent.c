/* For opcheck-c built without CUPTI's headers. */
#include "cuda/cupti/untracked.h"

const char *opc_untracked_watch(bool (*is_own)(const char *library)) {
  (void)is_own;
  return OPC_CUDART_MAJOR < 13
             ? "opcheck-c watches CUPTI from CUDA 13 on: use a libtorch that is built for it"
             : "opcheck-c was built without CUPTI's headers: build it again with nvidia-cuda-cupti next to libtorch";
}
