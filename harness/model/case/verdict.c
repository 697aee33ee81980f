#include "model/case/case.h"

#include <string.h>

#define X(constant, text) text,
static const char *const verdict_names[] = {OPC_VERDICTS(X)};
static const char *const reason_names[] = {OPC_SKIP_REASONS(X)};
#undef X

const char *opc_verdict_name(opc_verdict_kind_t verdict) {
  return (unsigned)verdict < OPC_VERDICT_COUNT ? verdict_names[verdict] : "unknown";
}

const char *opc_skip_reason_name(opc_skip_reason_t reason) {
  return (unsigned)reason < OPC_SKIP_COUNT ? reason_names[reason] : "unknown";
}

const char *opc_severity_name(opc_severity_t severity) {
  return severity == OPC_SEVERITY_WARNING ? "warning" : "error";
}

int opc_verdict_find(const char *name) {
  for (int i = 0; name && i < OPC_VERDICT_COUNT; i++)
    if (strcmp(verdict_names[i], name) == 0) return i;
  return -1;
}

opc_skip_reason_t opc_skip_reason_find(const char *name) {
  for (int i = OPC_SKIP_NONE + 1; name && i < OPC_SKIP_COUNT; i++)
    if (strcmp(reason_names[i], name) == 0) return (opc_skip_reason_t)i;
  return OPC_SKIP_NONE;
}
