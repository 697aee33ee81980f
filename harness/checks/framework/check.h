/* What a check is, and what it receives. A new check needs a file check_NAME.c that defines `const opc_check_t
 * opc_check_NAME`, its table check_NAME.def beside it (catalogue/checks.def), and in fixtures/broken a broken operator
 * and its correct look-alike.
 *
 * Runs in a worker's child. A check never prints, never exits, and reports through opc_finding_t; a crash of the
 * operator ends the child, and the supervisor attributes it to the announced case. Ownership: the runner owns the
 * context and everything it points at. */
#pragma once

#include <jansson.h>

#include "bridge/api/bridge.h"
#include "catalogue/rules.h"
#include "checks/call/call.h"
#include "model/case/call_kind.h"
#include "model/case/case.h"
#include "model/case/provenance.h"
#include "model/case/verdict.h"
#include "model/sample/sample.h"
#include "plan/cases/case_rule.h"
#include "plan/variant/variant.h"

/* The result of one case. Zeroed: nothing proven. A check that returns without a verdict counts as skip/not_applicable,
 * with a text that says so. */
typedef struct opc_finding {
  opc_verdict_kind_t verdict;
  bool decided;
  bool out_of_memory; /* the case ran out of memory: after a few of these, the runner skips the check */
  opc_severity_t severity;
  opc_rule_id_t rule; /* OPC_RULE_NONE for pass and skip */
  opc_skip_reason_t reason;
  opc_text_t
      message; /* what is wrong, in one or two sentences, with the argument's or output's name; or the skip's detail */
  json_t *evidence; /* object; may be NULL */
} opc_finding_t;

void opc_finding_pass(opc_finding_t *finding, const char *format, ...) OPC_PRINTF(2, 3);
void opc_finding_skip(opc_finding_t *finding, opc_skip_reason_t reason, const char *format, ...) OPC_PRINTF(3, 4);
/* The first failure of a case sets its rule; further failures go to evidence "also" as {rule, message}. The rule gives
 * the severity. A warning never hides a failure. */
void opc_finding_fail(opc_finding_t *finding, opc_rule_id_t rule, const char *format, ...) OPC_PRINTF(3, 4);
void opc_finding_error(opc_finding_t *finding, opc_rule_id_t rule, const char *format, ...) OPC_PRINTF(3, 4);
/* Adds to the evidence; takes the reference to value. */
void opc_finding_evidence(opc_finding_t *finding, const char *key, json_t *value);
/* For a finding about arguments that the check itself made within the case. `variant`: a variant's name, or a
 * description of the change. Recorded in evidence "variants". */
void opc_finding_note_variant(opc_finding_t *finding, const char *variant);
void opc_finding_clear(opc_finding_t *finding);
/* The arguments of a sample by name, in the format of opc_value_describe. New reference; NULL: out of memory. */
json_t *opc_sample_evidence(const opc_operator_t *op, const opc_sample_t *sample);

typedef struct opc_case_context {
  const opc_operator_t *op;
  opc_op_handle_t *handle;  /* NULL for checks that do not call */
  const opc_sample_t *base; /* the sample before variant and dtype; NULL for a case without sample */
  const opc_sample_t
      *sample; /* the arguments of this case: variant and dtype applied; NULL for a case without sample */
  const opc_sample_t *samples; /* all samples of the operator (for aggregate cases) */
  size_t sample_count;
  opc_case_id_t id;
  const opc_case_rule_t *rule; /* the entry of the check's table that this case comes from: what to check, and why */
  opc_variant_facts_t variant; /* what the variant changed in the base */
  bool unmodified;             /* nothing in the base was changed: variant plain, its own dtype */
  opc_provenance_t provenance; /* who vouches for the input, and what the variant changed in it */
  const opc_method_t *method;  /* the method of a class under test; NULL: none */
  opc_device_t device;         /* also a CUDA device for "cuda-sim" */
  bool simulated; /* the device is simulated: kernels are recorded but do not run, so outputs have no values
                     (cuda/log/launch.h) */
  uint64_t seed;
  bool must_replace; /* set by a check: another process must run the rest */
  void *session;     /* opc_check_session_t (checks/framework/outcome.h): state that lives across the cases of a child
                        (earlier outputs for the alias check) */
  /* Says which call is next, for a crash report. */
  void (*announce)(opc_call_label_t label);
} opc_case_context_t;

/* The arguments of the case's sample, as in opc_sample_evidence, and what small integer tensors hold: "int64[3] (0, 1,
 * 3)". The runner adds them to every failure and error as evidence "input". New reference; NULL: out of memory. */
json_t *opc_case_evidence(const opc_case_context_t *context);

typedef struct opc_check {
  const char *name;
  /* (optional) For the aggregate case, if selected: called before anything calls the operator, once per device that has
   * a kernel and samples. */
  void (*before)(opc_case_context_t *context);
  void (*run)(opc_case_context_t *context, opc_finding_t *finding);
} opc_check_t;

#define OPC_CHECK(stage, kinds, name, summary) extern const opc_check_t opc_check_##name;
#include "catalogue/checks.def"
extern const opc_check_t *const opc_checks[]; /* in the order of opc_check_infos */
