/* The report formats that go to a file: reports.def.
 *
 * Threads: constant. */
#pragma once

#include "reports/format/report.h"

#define OPC_REPORT(name) extern const opc_report_t opc_report_##name;
#include "reports/reports.def"
#undef OPC_REPORT
extern const opc_report_t *const opc_reports[];
extern const size_t opc_report_count;
