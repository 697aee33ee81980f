/* Verdicts, severities and skip reasons (users' reports depend on the texts): one X-macro each defines the enum and its
 * texts. */
#pragma once

#define OPC_VERDICTS(X) X(PASS, "pass") X(FAIL, "fail") X(SKIP, "skip") X(ERROR, "error")
#define OPC_SKIP_REASONS(X)           \
  X(NONE, "")                         \
  X(REJECTED, "rejected")             \
  X(NO_DEVICE, "no_device")           \
  X(NO_SAMPLE, "no_sample")           \
  X(NO_KERNEL, "no_kernel")           \
  X(NOT_APPLICABLE, "not_applicable") \
  X(FAKE_IN_PYTHON, "fake_in_python") \
  X(XFAIL, "xfail")                   \
  X(BUDGET, "budget")                 \
  X(AFTER_CRASH, "after_crash")       \
  X(SIMULATED, "simulated")

typedef enum opc_verdict_kind {
#define X(constant, text) OPC_VERDICT_##constant,
  OPC_VERDICTS(X)
#undef X
      OPC_VERDICT_COUNT
} opc_verdict_kind_t;

typedef enum opc_skip_reason {
#define X(constant, text) OPC_SKIP_##constant,
  OPC_SKIP_REASONS(X)
#undef X
      OPC_SKIP_COUNT
} opc_skip_reason_t;

typedef enum opc_severity { OPC_SEVERITY_ERROR = 0, OPC_SEVERITY_WARNING } opc_severity_t;

const char *opc_verdict_name(opc_verdict_kind_t verdict);
const char *opc_skip_reason_name(opc_skip_reason_t reason);
const char *opc_severity_name(opc_severity_t severity);   /* "error", "warning" */
int opc_verdict_find(const char *name);                   /* -1: no such verdict */
opc_skip_reason_t opc_skip_reason_find(const char *name); /* OPC_SKIP_NONE: no such reason */
