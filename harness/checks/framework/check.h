/* What a check is, and what it receives. A new check needs a file check_NAME.c that defines `const opc_check_t
 * opc_check_NAME`, its table check_NAME.def beside it (catalogue/checks.def), and in fixtures/broken a broken operator
 * and its correct look-alike.
 *
 * Runs in a worker's child. A check never prints, never exits, and reports through opc_finding_t; a crash of the
 * operator ends the child, and the supervisor attributes it to the announced case. Ownership: the runner owns the
 * context and everything it points at. */
#pragma once

#include "bridge/api/torch_texts.h"
#include "catalogue/rules.h"
#include "checks/call/call.h"
#include "cuda/log/launch.h"
#include "memory/guard.h"

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

/* These four return OPC_OK, so that a function can end with one of them. */
opc_status_t opc_finding_pass(opc_finding_t *finding, const char *format, ...) OPC_PRINTF(2, 3);
opc_status_t opc_finding_skip(opc_finding_t *finding, opc_skip_reason_t reason, const char *format, ...)
    OPC_PRINTF(3, 4);
/* The first failure of a case sets its rule; further failures go to evidence "also" as {rule, message}. The rule gives
 * the severity. A warning never hides a failure. */
opc_status_t opc_finding_fail(opc_finding_t *finding, opc_rule_id_t rule, const char *format, ...) OPC_PRINTF(3, 4);
opc_status_t opc_finding_error(opc_finding_t *finding, opc_rule_id_t rule, const char *format, ...) OPC_PRINTF(3, 4);
/* Adds to the evidence; takes the reference to value. */
void opc_finding_evidence(opc_finding_t *finding, const char *key, json_t *value);
/* Evidence "differences" of a difference in values, if the tensor is small: {"output", "shape", "got", "wanted": the
 * elements as text, "wrong": the numbers of those that differ}. `equal` as in opc_result_compare. The first one is
 * kept. */
void opc_finding_differences(opc_finding_t *finding, const opc_difference_t *difference, const opc_result_t *got,
                             const opc_result_t *wanted, opc_element_equal_t *equal, void *context);
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
  bool simulated;              /* the device is simulated: kernels without PTX do not run (cuda/log/launch.h), and
                                  opc_simulated_uncomputed says whether values prove anything */
  uint64_t seed;
  bool must_replace; /* set by a check: another process must run the rest */
  void *session;     /* opc_check_session_t: state that lives across the cases of a child
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
  /* A harness error becomes the finding by opc_finding_from_error. */
  opc_status_t (*run)(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error);
} opc_check_t;

#define OPC_CHECK(stage, kinds, name, summary) extern const opc_check_t opc_check_##name;
#include "catalogue/checks.def"
extern const opc_check_t *const opc_checks[]; /* in the order of opc_check_infos */

/* What a call that did not return means for a case: the same for all checks, so that a refusal reads the same
 * everywhere.
 *
 * A check calls the operator with the case's own arguments (context->sample on context->device), then first asks here:
 *   if (opc_finding_from_outcome(context, &call, finding)) return OPC_OK;
 * For additional calls (the Meta kernel, other devices, a reference in float64), the check itself decides. Ownership:
 * nothing is kept. */

/* What context->session points at. */
typedef struct opc_check_session {
  void **own;            /* the running check's own pointer, NULL at first; what it points at ends with the child */
  const bool *ran;       /* a case of the check has run before this one */
  const bool *found;     /* one of them found something; those of OPC_JUDGE_UNLESS_FOUND do not count */
  bool *sample_reported; /* this sample's refusal on this device was already reported; NULL for a case without sample */
} opc_check_session_t;

/* False: the call returned readable tensors, and the check continues. True: the finding is set:
 *   a file's unmodified sample (plain, its own dtype) that is refused: fail sample.rejected, once per device, unless
 * the sample expects it: pass; any other refusal: skip/rejected; on the simulated device, a refusal that may be caused
 * by that device (opc_simulated_cause): skip/simulated; an INTERNAL ASSERT: fail sample.internal_assert
 * (a warning); no kernel, a fake kernel in Python: skips; an output or argument that extends past its storage: fail
 * memory.output_outside, and nothing else can be checked; out of memory: error memory for a file's unmodified sample,
 * skip/budget otherwise; an exception that is no std::exception: error foreign_exception; arguments that the harness
 * cannot make: error harness for a file's unmodified sample, skip/not_applicable otherwise. */
bool opc_finding_from_outcome(opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding);

/* The same for arguments that could not be made (opc_call_make, opc_call_snapshot…). */
void opc_finding_from_error(const opc_case_context_t *context, const opc_error_t *error, opc_finding_t *finding);

/* It says none of what the Meta kernels of torch say of themselves (bridge/api/torch_texts.h): the Meta kernel refuses
 * the arguments. */
bool opc_message_refuses_arguments(const char *message);
/* An exception of Python code that fails by mistake, for example on an argument that is None or a name that does not
 * exist: not meant for the caller. */
bool opc_message_is_mistake(const char *message);

/* For an aggregate case: OPC_OK for a sample whose arguments cannot be made here, which its own cases report. */
static inline opc_status_t opc_status_of_sample(opc_status_t status) {
  return status == OPC_ERR_UNSUPPORTED ? OPC_OK : status;
}

/* True: the case is a file's unmodified sample. The expectations in the file apply only here. */
bool opc_case_is_declared(const opc_case_context_t *context);

/* True: the case's arguments are as valid as the sample's: the variant kept the values, or every known relation between
 * the arguments (model/case/case.h). Otherwise the operator may legitimately expect other arguments. */
bool opc_case_arguments_fit(const opc_case_context_t *context);
/* True: the sample comes from a search and has an expanded tensor of integers, which repeats one element. Used as
 * counts or indices, these are not the values that the search found to be accepted. */
bool opc_case_has_other_integers(const opc_case_context_t *context);

/* The calls of a case: the one under test, and similar ones.
 *
 * Every call is announced, for a crash report. */

/* Makes the case's own arguments, copies their storages if `snapshot`, and runs the operator. False: the finding is set
 * (refused, no kernel…). The caller clears the call in any case. */
bool opc_case_call(opc_case_context_t *context, bool snapshot, opc_call_t *call, opc_finding_t *finding);
/* The same, and takes the arguments' values before the call, so that the call can be repeated with them. */
bool opc_case_call_keeping(opc_case_context_t *context, opc_replay_t *values, opc_call_t *call, opc_finding_t *finding);

/* How to repeat a call. Omitted fields mean the case's own. */
typedef struct opc_again {
  opc_case_context_t *context;
  const opc_sample_t *sample;
  opc_replay_t *replay;            /* the values to use; NULL: those of `values` */
  opc_tensor_arg_values_t *values; /* NULL: the sample's own fills */
  void *values_context;
  const opc_device_t *device;
  uint64_t other_seed;    /* added to the case's seed, for fills and generators */
  opc_call_label_t label; /* name of the call in a crash report */
  opc_places_t *places;   /* memory for its tensors; NULL: any */
  unsigned conditions;    /* OPC_TRIAL_…, of a trial of check determinism; the functions below ignore them */
  bool other_padding;     /* other padding bytes in their storages */
  bool only_shapes;       /* the result has no mutable arguments and no values */
} opc_again_t;

/* Makes the arguments. The caller clears the call, whatever the status. */
opc_status_t opc_again_make(const opc_again_t *again, opc_call_t *call, opc_error_t *error) OPC_CHECKED;
/* Makes the arguments and runs; the result is in the call's outcome. The caller clears the call, whatever the
 * status. */
opc_status_t opc_again_call(const opc_again_t *again, opc_call_t *call, opc_error_t *error) OPC_CHECKED;
/* Makes the arguments, runs, takes the result (with mutable arguments). OPC_OK with *out_outcome other than RETURNED:
 * the result is empty. message (may be NULL) gets the exception's text. */
opc_status_t opc_again_run(const opc_again_t *again, opc_result_t *out, opc_call_outcome_t *out_outcome,
                           opc_text_t *message, opc_error_t *error) OPC_CHECKED;
/* The same. *out_returned false: the result is empty, also on an error. */
opc_status_t opc_again_try(const opc_again_t *again, opc_result_t *out, bool *out_returned,
                           opc_error_t *error) OPC_CHECKED;
/* The values of the arguments of such a call; the operator is not called. */
opc_status_t opc_again_values(const opc_again_t *again, opc_replay_t *out, opc_error_t *error) OPC_CHECKED;

/* Reports the accesses that guarded memory recorded while the operator ran (memory/guard.h). */

/* Makes arguments read-only, or writable again. Applies to arguments that the schema does not declare mutable and that
 * share no storage with a mutable one. Memory that is not guarded stays unchanged. */
void opc_call_protect(const opc_call_t *call, bool read_only);

/* Damage to the slack is found afterwards, so the instruction is unknown. */
typedef enum opc_accesses_wanted {
  OPC_ACCESSES_ALL = 0,
  OPC_ACCESSES_PLACED /* accesses with a known instruction */
} opc_accesses_wanted_t;

/* Reports the accesses of these kinds (1u << OPC_ACCESS_…) without removing them. The same instruction is reported once
 * per case and rule. OUTSIDE: memory.out_of_bounds_read, memory.out_of_bounds_write; FREED: memory.use_after_free. The
 * evidence gets "accesses", with raw frames that the supervisor symbolises: it appends the source location to the text,
 * then `remark` (may be NULL). */
void opc_accesses_report(const opc_case_context_t *context, unsigned kinds, opc_accesses_wanted_t wanted,
                         const char *remark, opc_finding_t *finding);
/* Kinds of accesses: out of bounds, or to freed memory. */
enum { OPC_ACCESSES_INVALID = 1u << OPC_ACCESS_OUTSIDE | 1u << OPC_ACCESS_FREED };
/* What kernels do inside their memory (opc_device_faults_watch). */
enum { OPC_ACCESSES_WATCHED = 1u << OPC_ACCESS_INSIDE };
/* The number of accesses of these kinds. */
size_t opc_accesses_count(unsigned kinds);
/* READ_ONLY: mutation.undeclared, mutation.outside_view; the call gives the element that a byte belongs to. */
void opc_accesses_report_writes(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding);

/* How the simulated CUDA device (cuda/log/launch.h) affects a call: some kernels do not run, so what is read back of
 * their results means nothing, and libraries with a statically linked CUDA runtime do not work. */

/* Begins the log that opc_simulated_cause reads, unless a check later begins its own. */
void opc_simulated_case_begin(void);
/* Whether the simulated device, not the arguments, may be why a call threw `message`. */
typedef enum opc_simulated_cause {
  OPC_SIMULATED_NONE = 0, /* no sign of it */
  OPC_SIMULATED_LACKS,    /* it used a function that the device lacks: it would throw for any arguments */
  OPC_SIMULATED_READ      /* it read memory that a kernel should have written */
} opc_simulated_cause_t;
/* log: of the call. Adds the cause to *out as text. */
opc_simulated_cause_t opc_simulated_cause_in(const opc_cuda_log_t *log, const char *message, opc_text_t *out);
/* The same for the log begun last, which this ends. NONE on any other device. */
opc_simulated_cause_t opc_simulated_cause(const char *message, opc_text_t *out);

/* On the simulated device: a kernel of this case, or work of a library of CUDA, did not run, so values prove nothing.
 */
bool opc_simulated_uncomputed(const opc_case_context_t *context);
/* What did not run until now is forgotten: it proved nothing, and what follows does not depend on it. */
void opc_simulated_case_resume(void);
/* Sets the finding of such a case, if it needs values: a skip that says why. */
void opc_simulated_judge(const opc_case_context_t *context, opc_finding_t *finding);
/* What became of kernels in this process so far; zeros where no device is simulated. */
opc_kernel_counts_t opc_simulated_kernels(void);
/* Appends ", in kernel copy_kernel (kernels.cu:33), thread 5,0,0 of block 0,0,0". */
void opc_device_fault_place(const opc_device_fault_t *fault, opc_text_t *text);

/* Of an access of kind INSIDE: its rule, and what happened. */
opc_rule_id_t opc_watched_describe(const opc_access_t *access, opc_text_t *text);

/* Where this process allocates CUDA tensors: in libtorch's cache, or between red zones (memory/device_zones.h). The
 * choice is made before the first use of CUDA and holds for the life of the process: cases that need the other
 * allocator run in another process.
 *
 * Red zones are not used if PYTORCH_NO_CUDA_MEMORY_CACHING is set, as under compute-sanitizer: then another tool
 * watches the memory. */

/* False: the process already uses the other allocator. */
bool opc_device_zones_choose(bool zones);
/* True: another tool watches device memory, and may report something after the check. */
bool opc_device_zones_elsewhere(void);
/* NULL: tensors lie between red zones; otherwise why they do not, as text. */
const char *opc_device_zones_missing(void);

/* Whether something was written next to tensors since opc_device_zones_reset (memory/device_zones.h), and its finding.
 * What kernels wrote on the simulated device is among the accesses, too, which say more. */
bool opc_device_zones_written(void);
void opc_device_zones_report(opc_finding_t *finding);

/* Calls the operator once and reports out-of-bounds writes next to its tensors. On a CUDA device, real or simulated; on
 * the simulated one also what its kernels read out of bounds and what they do wrong inside their memory. */
opc_status_t opc_device_zones_check(opc_case_context_t *context, opc_finding_t *finding,
                                    opc_error_t *error) OPC_CHECKED;
