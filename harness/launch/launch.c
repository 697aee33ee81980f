#include "launch/launch.h"

#include <dlfcn.h>

const opc_launch_api_t *opc_launch(void) {
  const opc_launch_api_t *api = dlsym(RTLD_DEFAULT, OPC_LAUNCH_API_SYMBOL);
  return api && api->version == OPC_LAUNCH_API_VERSION ? api : NULL;
}
