#include "checks/framework/check.h"

const opc_check_t *const opc_checks[] = {
#define OPC_CHECK(name, calls, summary) &opc_check_##name,
#include "checks/catalogue/checks.def"
#undef OPC_CHECK
};
