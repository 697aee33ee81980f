/* A case and its id: `ns::op.overload/check/device/dtype/SAMPLE/VARIANT`, with "-" for a part that does not apply. The
 * id is the filter, the JUnit name, and the argument of --case (users' scripts depend on its form). */
#pragma once

#include <stdint.h>

#include "base/text.h"

/* Verdicts, severities and skip reasons (users' reports depend on the texts): one X-macro each defines the enum and
 * its texts. */

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
  X(SIMULATED, "simulated")           \
  X(OFF, "off")

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

/* The provenance of a case: who vouches for its input, and what the variant changed in it. Reports show it as
 * "SOURCE/CHANGE"; catalogue/rules.h says for which provenances a finding can be an error.
 *
 * Threads: any. Ownership: texts are constant. */

#define OPC_SOURCES(X) \
  X(NONE, "") X(DECLARED, "declared") X(RECORDED, "recorded") X(RECIPE, "recipe") X(SEARCHED, "searched")
#define OPC_INPUT_CHANGES(X) X(SAME_VALUES, "same_values") X(RELATED, "related") X(ALONE, "alone")

/* Who says that the base sample is valid. */
typedef enum opc_source {
#define X(constant, text) OPC_SOURCE_##constant,
  OPC_SOURCES(X)
#undef X
      OPC_SOURCE_COUNT
} opc_source_t;

/* What a variant changed. SAME_VALUES: at most layout, offset or bits. RELATED: values or sizes, and every known
 * relation between the arguments still holds. ALONE: not covered by known relations. */
typedef enum opc_input_change {
#define X(constant, text) OPC_INPUT_##constant,
  OPC_INPUT_CHANGES(X)
#undef X
      OPC_INPUT_CHANGE_COUNT
} opc_input_change_t;

typedef struct opc_provenance {
  opc_source_t source; /* NONE: the case has no input */
  opc_input_change_t change;
  bool plain; /* the unmodified sample, not a variant; not part of the text */
} opc_provenance_t;

enum { OPC_PROVENANCE_SIZE = 32 };

/* "declared/same_values"; "" if the case has no input. */
void opc_provenance_format(const opc_provenance_t *provenance, char out[OPC_PROVENANCE_SIZE]);
/* The reverse; false: not a provenance. Sets `plain` to false. */
bool opc_provenance_parse(const char *text, opc_provenance_t *out);

/* The input comes from a person or a real program, and the variant kept all known relations. */
bool opc_provenance_is_valid(const opc_provenance_t *provenance);

/* 0: the best. A failure at one rank says nothing about inputs of a better rank. Cases without input have rank 0. */
enum { OPC_PROVENANCE_RANKS = 7 };
int opc_provenance_rank(const opc_provenance_t *provenance);

enum { OPC_CASE_ID_SIZE = 768 };

typedef struct opc_case_id {
  char operator_name[256];
  char check[32];
  char device[16];
  char dtype[16];
  char sample[128];
  char variant[256];
} opc_case_id_t;

/* Formats into out (OPC_CASE_ID_SIZE bytes); empty parts become "-". */
void opc_case_id_format(const opc_case_id_t *id, char out[OPC_CASE_ID_SIZE]);
/* The reverse; "-" becomes an empty part. OPC_ERR_USAGE with a message that shows the form of a case id. A sample's
 * name cannot contain '/' (checked when it is read). */
opc_status_t opc_case_id_parse(const char *text, opc_case_id_t *out, opc_error_t *error) OPC_CHECKED;
/* Distance of a case from the plainest one: every transformation counts more than another dtype. */
int opc_case_id_complexity(const opc_case_id_t *id);
/* Length of the argument's name with which a variant begins, the one that it changes: 7 for
 * "tensors[1].sliced+x.offset". 0: it changes none or all ("plain", "all.sliced"), or calls a method ("add.called"). */
size_t opc_case_changed_argument(const char *variant);

/* What kind of call runs: a check announces it, the crash record keeps it, and a crash report takes from it who is to
 * blame and who vouches for the arguments.
 *
 * Threads: any. Ownership: texts are constant. */

typedef enum opc_call_kind {
#define OPC_CALL_KIND(name, whose, before, after) OPC_CALL_KIND_##name,
#include "model/case/call_kind.def"
#undef OPC_CALL_KIND
  OPC_CALL_KIND_COUNT
} opc_call_kind_t;

/* Whose arguments a call has (call_kind.def). */
typedef enum opc_call_whose { OPC_CALL_WHOSE_OWN, OPC_CALL_WHOSE_SAME, OPC_CALL_WHOSE_OTHERS } opc_call_whose_t;

/* A call, as a check announces it. */
typedef struct opc_call_label {
  opc_call_kind_t kind;
  const char *detail; /* for people; "" or NULL: none. Of ON_LAYOUT: the layout ("transposed") */
} opc_call_label_t;

#define OPC_CALL_LABEL(name, detail) ((opc_call_label_t){OPC_CALL_KIND_##name, detail})

opc_call_kind_t opc_call_kind_from(uint32_t number); /* NONE if it is no kind */
opc_call_whose_t opc_call_kind_whose(opc_call_kind_t kind);
/* "the operator ran on contiguous copies"; nothing for NONE. */
void opc_call_kind_describe(opc_call_kind_t kind, const char *detail, opc_text_t *out);
