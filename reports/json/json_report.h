/* The JSON report, `opcheck-c/report/1`.
 *
 * Threads: constant. */
#pragma once

#include "reports/format/report.h"

extern const opc_report_t opc_report_json;
