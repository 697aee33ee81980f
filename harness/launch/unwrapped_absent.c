/* Where opcheck-c was built without CUPTI's headers. */
#include "launch/unwrapped.h"

const char *opc_unwrapped_watch(void) { return "opcheck-c was built without CUPTI's headers: build it again with nvidia-cuda-cupti beside libtorch"; }
