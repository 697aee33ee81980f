#include "checks/framework/check.h"

const opc_check_t *const opc_checks[] = {
#define OPC_CHECK(stage, kinds, name, summary) &opc_check_##name,
#include "catalogue/checks.def"
};
