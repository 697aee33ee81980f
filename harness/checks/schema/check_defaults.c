/* defaults: the operator accepts the defaults that its schema declares. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/framework/case_run.h"
#include "checks/framework/outcome.h"

/* A refused default may only be wrong for these tensors, as 2 groups are for 9 channels. So the default is tried on
 * other sizes too, and a refusal counts only if the operator accepts several other numbers or words. Numbers beyond
 * NUMBER_MOST are left out, because few sizes are multiples of them. */
enum { SAMPLES_MOST = 4, CALLS_MOST = 64, OTHERS_LEAST = 2, NUMBER_MOST = 3 };

typedef struct trial {
  opc_case_context_t *context;
  size_t argument;
  bool accepted; /* a call with the default returned */
  bool unclear;  /* a call with the default neither returned nor was refused */
  int calls, refused, other_count;
  opc_text_t message, others; /* of the first refusal; other values that were accepted */
  opc_status_t status;
  opc_error_t *error;
} trial_t;

static opc_call_outcome_t call_with(trial_t *trial, const opc_sample_t *sample, opc_text_t *message) {
  opc_case_context_t *context = trial->context;
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  trial->status = opc_call_make(&call, context->op, sample, context->device, context->seed, trial->error);
  if (trial->status == OPC_ERR_UNSUPPORTED) trial->status = OPC_OK; /* that sample's own cases report this */
  else if (trial->status == OPC_OK) {
    context->announce(OPC_CALL_LABEL(CALL, "with another value of an argument"));
    opc_call_outcome_t outcome = opc_call_run(&call, context->handle, context->seed);
    trial->calls++;
    if (message && !message->length)
      opc_text_add_utf8(message, opc_text_c(&call.message), strcspn(opc_text_c(&call.message), "\n"));
    return outcome;
  }
  return OPC_CALL_UNCONVERTIBLE;
}

/* False: the default is accepted, or nothing can be said about it. */
static bool try_default(trial_t *trial, const opc_sample_t *sample) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t copy = {0};
  trial->status = opc_sample_copy(sample, &copy, trial->error);
  if (trial->status != OPC_OK) return false;
  copy.absent[trial->argument] = true;
  const opc_call_outcome_t outcome = call_with(trial, &copy, &trial->message);
  const bool refused = outcome == OPC_CALL_REJECTED;
  trial->accepted = outcome == OPC_CALL_RETURNED;
  trial->unclear = !refused && !trial->accepted;
  trial->refused += refused;
  return refused && trial->calls < CALLS_MOST;
}

static bool try_other_sizes(const char *name, const opc_sample_t *sample, void *context) {
  (void)name;
  return try_default(context, sample);
}

/* The variants that give the argument another value: "mode.set2", "mode.word_sum". */
static bool try_other_value(const char *name, const opc_sample_t *sample, void *context) {
  trial_t *trial = context;
  const char *argument = trial->context->op->arguments[trial->argument].name;
  const size_t length = strlen(argument);
  if (strncmp(name, argument, length) != 0 || strchr(name, '+')) return true;
  const char *step = name + length;
  const char *value = strncmp(step, ".set", 4) == 0 ? step + 4 : strncmp(step, ".word_", 6) == 0 ? step + 6 : NULL;
  if (!value || call_with(trial, sample, NULL) != OPC_CALL_RETURNED) return trial->status == OPC_OK;
  opc_text_addf(&trial->others, "%s%s", trial->other_count++ ? ", " : "", value);
  return true;
}

/* The word that the sample gives is one that the operator accepts. */
static void count_own_word(trial_t *trial, const opc_sample_t *sample) {
  const opc_value_t *own = &sample->arguments[trial->argument];
  if (sample->absent[trial->argument] || own->kind != OPC_VALUE_STRING) return;
  opc_text_add(&trial->others, own->string);
  trial->other_count++;
}

static bool is_usable(const opc_sample_t *sample) {
  return !sample->unchecked && !sample->uninitialised && !sample->expect.rejects;
}

/* Whether a refusal of the default could mean anything. A bool has no third value, and None means that another argument
 * takes its place. */
static bool is_judged(const opc_argument_t *argument) {
  const opc_type_t *type = argument->type.kind == OPC_TYPE_OPTIONAL ? argument->type.element : &argument->type;
  if (!argument->has_default || !argument->default_text || strcmp(argument->default_text, "None") == 0) return false;
  if (type->kind == OPC_TYPE_STRING || type->kind == OPC_TYPE_FLOAT) return true;
  if (type->kind != OPC_TYPE_INT && type->kind != OPC_TYPE_SYMINT && type->kind != OPC_TYPE_SCALAR) return false;
  return fabs(strtod(argument->default_text, NULL)) <= NUMBER_MOST;
}

static void report(const trial_t *trial, opc_finding_t *finding) {
  const opc_argument_t *argument = &trial->context->op->arguments[trial->argument];
  opc_finding_fail(finding, "defaults.refused",
                   "%s=%s is the default; the operator refuses it in each of %d calls and accepts %s: %.200s",
                   argument->name, argument->default_text, trial->refused, opc_text_c(&trial->others),
                   opc_text_c(&trial->message));
}

/* *out_accepted: some call with the default returned. */
static opc_status_t judge(opc_case_context_t *context, size_t argument, bool *out_accepted, opc_finding_t *finding,
                          opc_error_t *error) {
  trial_t trial = {.context = context, .argument = argument, .error = error};
  opc_status_t status = OPC_OK;
  size_t tried = 0, first = context->sample_count;
  for (size_t i = 0; i < context->sample_count && status == OPC_OK && tried < SAMPLES_MOST; i++) {
    const opc_sample_t *sample = &context->samples[i];
    if (!is_usable(sample)) continue;
    if (sample->absent[argument]) trial.accepted = true;
    if (first == context->sample_count) first = i;
    if (trial.accepted) break;
    tried++;
    if (try_default(&trial, sample))
      status =
          opc_variants_of(sample, context->op, OPC_VARIANT_SHAPE | OPC_VARIANT_SIZES, try_other_sizes, &trial, error);
    if (status == OPC_OK) status = trial.status;
    if (trial.accepted || trial.unclear) break;
  }
  *out_accepted = trial.accepted;
  if (status == OPC_OK && trial.refused > 0 && !trial.accepted && !trial.unclear) {
    count_own_word(&trial, &context->samples[first]);
    status =
        opc_variants_of(&context->samples[first], context->op, OPC_VARIANT_NEIGHBOUR, try_other_value, &trial, error);
    if (status == OPC_OK) status = trial.status;
    if (status == OPC_OK && trial.other_count >= OTHERS_LEAST) report(&trial, finding);
  }
  opc_text_clear(&trial.message);
  opc_text_clear(&trial.others);
  return status;
}

static void run(opc_case_context_t *context, opc_finding_t *finding) {
  opc_error_t error = {0};
  opc_status_t status = OPC_OK;
  size_t accepted = 0, declared = 0;
  for (size_t i = 0; i < context->op->argument_count && status == OPC_OK; i++) {
    bool is_accepted = false;
    if (!is_judged(&context->op->arguments[i])) continue;
    declared++;
    status = judge(context, i, &is_accepted, finding, &error);
    accepted += is_accepted;
  }
  if (status != OPC_OK) opc_finding_from_error(context, &error, finding);
  else if (accepted) opc_finding_pass(finding, "%zu of %zu defaults are accepted", accepted, declared);
  else
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     declared ? "no default was accepted, nor enough other values to blame the default"
                              : "no argument has a number or a word as its default");
}

const opc_check_t opc_check_defaults = {.name = "defaults", .run = run};
