#include "supervise/common/run_options.h"

void opc_run_options_default(opc_run_options_t *options) {
  *options = (opc_run_options_t){.neighbours = -1, .timeout = 10, .operator_time = 300, .memory_mib = 4096};
}

double opc_run_pace(const opc_run_options_t *options) {
  return options->memcheck ? OPC_MEMCHECK_PACE : options->sanitize ? OPC_SANITIZE_PACE : 1;
}
