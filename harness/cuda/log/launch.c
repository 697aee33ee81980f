#include "cuda/log/launch.h"

#include <dlfcn.h>
#include <stdatomic.h>

const opc_launch_api_t *opc_launch(void) {
  /* The wrappers are preloaded or never loaded. A failed lookup makes the linker search every library: 4 us, which each
   * case would spend twice. */
  static const opc_launch_api_t *_Atomic found;
  static atomic_bool asked;
  if (!asked) {
    const opc_launch_api_t *api = dlsym(RTLD_DEFAULT, OPC_LAUNCH_API_SYMBOL);
    found = api && api->version == OPC_LAUNCH_API_VERSION ? api : NULL;
    asked = true;
  }
  return found;
}

bool opc_cuda_simulated(void) {
  const opc_launch_api_t *launch = opc_launch();
  return launch && launch->mode == OPC_LAUNCH_SIMULATED;
}
