/* A number that does not fit in the integer that it is converted to: what the program gets is undefined in C++, and
 * another number on another processor.
 *
 * One call with the trap shows which instructions of the library met such a number. Most do no harm: the integer is
 * dropped by a comparison, a mask or a branch. So a subprocess makes two more calls for each, once as usual, and once
 * with another integer in its place. Only an operator that then returns something else is reported. */
#include "checks/numerics/conversions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/system.h"
#include "memory/conversion_trap.h"

/* The limit is shorter than that of any case. */
enum { SITES_TRIED = 4, TEXT_SIZE = 768 };
static const double seconds_most = 0.6;
static const double seconds_of_hang = 0.2 /* of processor time */, calls_of_hang = 20;

/* Shared memory. */
typedef struct proof {
  bool same_again;                    /* the usual call has its result again in the subprocess */
  size_t begun;                       /* of the sites */
  size_t ended;                       /* of them, without a crash */
  char texts[SITES_TRIED][TEXT_SIZE]; /* what differs; "": nothing */
} proof_t;

/* A call, its usual result, and the instructions that met numbers which do not fit. */
typedef struct trial {
  opc_case_context_t *context;
  opc_replay_t *replay;
  opc_result_t usual;
  const opc_conversion_site_t *sites;
  size_t count;
} trial_t;

/* ---- numbers that count ---- */

static bool value_is_finite(const opc_value_t *value) {
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    if (!value_is_finite(&value->list.items[i])) return false;
  if (value->kind == OPC_VALUE_COMPLEX) return isfinite(value->complex.re) && isfinite(value->complex.im);
  return value->kind != OPC_VALUE_FLOAT || isfinite(value->floating);
}

static bool element_is_finite(opc_dtype_t dtype, const void *element) {
  const opc_number_t number = opc_number_load(dtype, element);
  if (number.kind == OPC_NUMBER_COMPLEX) return isfinite(number.c.re) && isfinite(number.c.im);
  return number.kind != OPC_NUMBER_FLOAT || isfinite(number.f);
}

/* What an operator makes of NaN and infinity is its own affair. */
static bool arguments_are_finite(const opc_sample_t *sample, const opc_replay_t *replay) {
  for (size_t i = 0; i < sample->argument_count; i++)
    if ((!sample->absent || !sample->absent[i]) && !value_is_finite(&sample->arguments[i])) return false;
  for (size_t i = 0; i < replay->count; i++) {
    const struct opc_replay_tensor_arg *argument = &replay->tensor_args[i];
    const size_t size = opc_dtype_size(argument->dtype);
    for (int64_t e = 0; argument->bytes && opc_dtype_is_inexact(argument->dtype) && e < argument->numel; e++)
      if (!element_is_finite(argument->dtype, (const char *)argument->bytes + (size_t)e * size)) return false;
  }
  return true;
}

/* ---- calls ---- */

/* replaced: the address of an instruction; 0: none. */
static opc_status_t run_trapped(opc_case_context_t *context, opc_replay_t *replay, uint64_t replaced, opc_call_t *call,
                                opc_error_t *error) {
  const opc_again_t again = {.context = context,
                             .replay = replay,
                             .label = {OPC_CALL_KIND_OTHERWISE, "with its conversions to integers watched"}};
  OPC_RETURN_IF_ERROR(opc_again_make(&again, call, error));
  context->announce(again.label);
  opc_conversion_trap_arm(replaced);
  opc_call_run(call, context->handle, context->seed);
  opc_conversion_trap_disarm();
  return OPC_OK;
}

/* ---- in the subprocess ---- */

static void announce_nothing(opc_call_label_t label) { (void)label; }

/* Nothing: it is the same. */
static void say_change(const opc_result_t *usual, const opc_call_t *call, opc_text_t *out) {
  OPC_SCOPED(opc_result_clear) opc_result_t other = {0};
  opc_error_t ignored;
  if (call->outcome != OPC_CALL_RETURNED) {
    opc_text_addf(out, "the operator throws: %.200s", opc_text_c(&call->message));
    return;
  }
  if (opc_result_take(&other, call, OPC_RESULT_ARGUMENTS, &ignored) != OPC_OK) return;
  const opc_difference_t difference = opc_result_compare(&other, usual, NULL, NULL);
  if (difference.kind != OPC_DIFFERENCE_NONE) opc_difference_text(&difference, &other, usual, "the usual result", out);
}

static void timer_set(int which, double seconds) {
  struct itimerval most = {.it_value = {.tv_usec = (suseconds_t)(seconds * 1e6)}};
  setitimer(which, &most, NULL);
}

static opc_status_t try_site(trial_t *trial, uint64_t address, char *out, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  OPC_RETURN_IF_ERROR(run_trapped(trial->context, trial->replay, address, &call, error));
  say_change(&trial->usual, &call, &text);
  snprintf(out, TEXT_SIZE, "%s", opc_text_c(&text));
  return OPC_OK;
}

/* From the site on that is next. */
static opc_status_t prove(trial_t *trial, proof_t *proof, opc_error_t *error) {
  char text[TEXT_SIZE];
  const double start = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  OPC_RETURN_IF_ERROR(try_site(trial, 0, text, error));
  if (text[0]) return OPC_OK; /* its result differs from call to call */
  const double usual = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - start;
  proof->same_again = true;
  while (proof->begun < trial->count) {
    const size_t site = proof->begun++;
    timer_set(ITIMER_PROF, fmax(seconds_of_hang, calls_of_hang * usual));
    OPC_RETURN_IF_ERROR(try_site(trial, trial->sites[site].address, proof->texts[site], error));
    proof->ended = proof->begun;
  }
  return OPC_OK;
}

static _Noreturn void prove_in_child(trial_t *trial, proof_t *proof, double seconds, pid_t parent) {
  opc_case_context_t own = *trial->context;
  opc_error_t ignored;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  signal(SIGALRM, SIG_DFL);
  signal(SIGPROF, SIG_DFL);
  timer_set(ITIMER_REAL, seconds);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0 && dup2(null, STDOUT_FILENO) >= 0) dup2(null, STDERR_FILENO);
  own.announce = announce_nothing;
  trial->context = &own;
  _exit(prove(trial, proof, &ignored) == OPC_OK ? 0 : 1);
}

/* ---- in the case's process ---- */

/* The subprocess ended in the call for a site. A busy machine is no hang. False: nothing follows for the others either.
 */
static bool note_end(const trial_t *trial, proof_t *proof, int status) {
  if (!proof->same_again || proof->ended == trial->count || !WIFSIGNALED(status) || WTERMSIG(status) == SIGALRM)
    return false;
  snprintf(proof->texts[proof->begun - 1], TEXT_SIZE, "the operator %s",
           WTERMSIG(status) == SIGPROF ? "does not return" : "crashes");
  proof->ended = proof->begun;
  return true;
}

/* Tries each site; after a crash, the others in another subprocess. */
static void prove_all(trial_t *trial, proof_t *proof) {
  const double end = opc_clock() + seconds_most;
  const pid_t parent = getpid();
  int status = 0;
  do {
    const double left = end - opc_clock();
    if (left <= 0) return;
    const pid_t child = fork();
    if (child == 0) prove_in_child(trial, proof, left, parent);
    if (child < 0) return;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  } while (note_end(trial, proof, status) && proof->begun < trial->count);
}

/* "3000000000", "inf", "NaN" */
static void number_text(double number, char *out, size_t size) {
  if (isnan(number)) snprintf(out, size, "NaN"); /* printf adds a sign */
  else snprintf(out, size, "%.10g", number);
}

static void integer_text(const opc_conversion_t *conversion, uint64_t bits, char *out, size_t size) {
  if (conversion->to_unsigned) snprintf(out, size, "%" PRIu64, bits);
  else if (conversion->bits == 64) snprintf(out, size, "%" PRId64, (int64_t)bits);
  else snprintf(out, size, "%" PRId32, (int32_t)bits);
}

static void add_conversion_evidence(const opc_conversion_site_t *site, opc_finding_t *finding) {
  json_t *raw = json_array(), *list = finding->evidence ? json_object_get(finding->evidence, "accesses") : NULL;
  for (uint32_t i = 0; i < site->frame_count; i++)
    json_array_append_new(raw, json_sprintf("0x%" PRIx64, site->frames[i]));
  if (!list) {
    list = json_array();
    opc_finding_evidence(finding, "accesses", list);
  }
  json_t *place =
      json_pack("{s:s, s:s, s:o, s:s, s:I, s:o}", "rule", opc_rule_name(OPC_RULE_dtype_conversion_overflow),
                "instruction", site->conversion.name, "number", json_sprintf("%.17g", site->number), "type",
                opc_conversion_type(&site->conversion), "times", (json_int_t)site->times, "raw_frames", raw);
  if (place) json_array_append_new(list, place);
}

static void report_site(const opc_conversion_site_t *site, const char *difference, opc_finding_t *finding) {
  char number[32], given[32], other[32];
  const opc_conversion_t *conversion = &site->conversion;
  number_text(site->number, number, sizeof number);
  integer_text(conversion, opc_conversion_indefinite(conversion), given, sizeof given);
  integer_text(conversion, site->other, other, sizeof other);
  opc_finding_fail(finding, OPC_RULE_dtype_conversion_overflow,
                   "converts %s to %s, in which it does not fit, and the result rests on what %s gives, %s: with %s in "
                   "its place, %s",
                   number, opc_conversion_type(conversion), conversion->name, given, other, difference);
  add_conversion_evidence(site, finding);
}

/* NULL: the call can be watched, and its numbers count. */
static const char *why_unwatched(const opc_case_context_t *context, const opc_replay_t *replay) {
  if (opc_bridge_cuda_initialised()) return "CUDA is in use, so a subprocess cannot try other integers";
  return arguments_are_finite(context->sample, replay) ? NULL : "an argument is not finite";
}

/* The sample has a tensor of the case's dtype. Of another one, nobody says that the operator is meant for it. */
static bool is_asked_dtype(const opc_case_context_t *context) {
  const opc_dtype_t dtype = opc_dtype_find(context->id.dtype);
  const opc_tensor_spec_t *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(context->base, i)); i++)
    if (spec->dtype == dtype) return true;
  return context->id.dtype[0] == '\0' || context->unmodified;
}

static opc_status_t check_sites(trial_t *trial, const opc_call_t *call, opc_finding_t *finding, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_result_take(&trial->usual, call, OPC_RESULT_ARGUMENTS, error));
  proof_t *proof = mmap(NULL, sizeof *proof, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (proof == MAP_FAILED) return opc_error_set(error, OPC_ERR_MEMORY, "no memory for a subprocess");
  prove_all(trial, proof);
  for (size_t i = 0; i < proof->ended && i < trial->count; i++)
    if (proof->texts[i][0]) report_site(&trial->sites[i], proof->texts[i], finding);
  if (finding->decided && !is_asked_dtype(trial->context)) opc_finding_evidence(finding, "unasked_dtype", json_true());
  munmap(proof, sizeof *proof);
  return OPC_OK;
}

const char *opc_conversions_unseen(const opc_case_context_t *context) {
  return context->device.type == OPC_DEVICE_CPU ? opc_conversion_trap_missing() : "only CPU kernels are watched";
}

opc_status_t opc_conversions_check(opc_case_context_t *context, opc_replay_t *replay, opc_finding_t *finding,
                                   opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  trial_t trial = {.context = context, .replay = replay};
  const bool alone = (context->rule->judge & OPC_JUDGE_CONVERSIONS) != 0;
  const char *missing = opc_conversions_unseen(context);
  if (!missing) OPC_RETURN_IF_ERROR(run_trapped(context, replay, 0, &call, error));
  if (call.outcome == OPC_CALL_RETURNED && !missing) trial.count = opc_conversion_sites(&trial.sites);
  if (trial.count > SITES_TRIED) trial.count = SITES_TRIED;
  if (trial.count > 0) missing = why_unwatched(context, replay);
  if (trial.count > 0 && !missing) {
    const opc_status_t status = check_sites(&trial, &call, finding, error);
    opc_result_clear(&trial.usual);
    OPC_RETURN_IF_ERROR(status);
  }
  if (alone && missing) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "%s", missing);
  if (alone && call.outcome == OPC_CALL_RETURNED)
    opc_finding_pass(finding, "the result rests on no number that does not fit in the integer that it is converted to");
  return OPC_OK;
}
