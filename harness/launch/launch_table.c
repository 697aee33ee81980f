/* The worker's end: the table of the wrappers that it was preloaded with. */
#include <dlfcn.h>

#include "launch/launch.h"

const opc_launch_api_t *opc_launch(void) {
  static bool asked;
  static const opc_launch_api_t *table;
  if (asked) return table;
  asked = true;
  table = dlsym(RTLD_DEFAULT, OPC_LAUNCH_API_SYMBOL);
  if (table && table->version != OPC_LAUNCH_API_VERSION) table = NULL;
  return table;
}
