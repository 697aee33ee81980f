#include "reports/reports.h"

const opc_report_t *const opc_reports[] = {
#define OPC_REPORT(name) &opc_report_##name,
#include "reports/reports.def"
#undef OPC_REPORT
};
const size_t opc_report_count = sizeof opc_reports / sizeof opc_reports[0];
