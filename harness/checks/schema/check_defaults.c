/* defaults: the operator accepts the defaults that its schema declares. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/framework/check.h"

/* A refused default may only be wrong for these tensors, as 2 groups are for 9 channels. So the default is tried on
 * other sizes too, and a refusal counts only if the operator accepts several other numbers or words. Numbers beyond
 * NUMBER_MOST are left out, because few sizes are multiples of them. */
enum { SAMPLES_MOST = 4, CALLS_MOST = 64, OTHERS_LEAST = 2, NUMBER_MOST = 3 };

typedef struct default_case {
  opc_case_context_t *context;
  size_t argument;
  bool accepted; /* a call with the default returned */
  bool unclear;  /* a call with the default neither returned nor was refused */
  int calls, refused, other_count;
  opc_text_t message, others; /* of the first refusal; other values that were accepted */
  opc_status_t status;
  opc_error_t *error;
} default_case_t;

static opc_status_t call_with_value(default_case_t *c, const opc_sample_t *sample, opc_call_outcome_t *out,
                                    opc_text_t *message) {
  opc_case_context_t *context = c->context;
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  *out = OPC_CALL_UNCONVERTIBLE;
  const opc_status_t status = opc_call_make(&call, context->op, sample, context->device, context->seed, c->error);
  if (status) return opc_status_of_sample(status);
  context->announce(OPC_CALL_LABEL(CALL, "with another value of an argument"));
  *out = opc_call_run(&call, context->handle, context->seed);
  c->calls++;
  if (message && !message->length)
    opc_text_add_utf8(message, opc_text_c(&call.message), strcspn(opc_text_c(&call.message), "\n"));
  return OPC_OK;
}

/* *out_refused false: the default is accepted, or nothing can be said about it. */
static opc_status_t try_default(default_case_t *c, const opc_sample_t *sample, bool *out_refused) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t copy = {0};
  opc_call_outcome_t outcome;
  OPC_RETURN_IF_ERROR(opc_sample_copy(sample, &copy, c->error));
  copy.absent[c->argument] = true;
  OPC_RETURN_IF_ERROR(call_with_value(c, &copy, &outcome, &c->message));
  *out_refused = outcome == OPC_CALL_REJECTED;
  c->accepted = outcome == OPC_CALL_RETURNED;
  c->unclear = !*out_refused && !c->accepted;
  c->refused += *out_refused;
  return OPC_OK;
}

static bool try_variant(const char *name, const opc_sample_t *sample, void *context) {
  default_case_t *c = context;
  bool refused = false;
  (void)name;
  c->status = try_default(c, sample, &refused);
  return refused && c->calls < CALLS_MOST;
}

/* The variants that give the argument another value: "mode.set2", "mode.word_sum". */
static bool try_other_value(const char *name, const opc_sample_t *sample, void *context) {
  default_case_t *c = context;
  const char *argument = c->context->op->arguments[c->argument].name;
  const size_t length = strlen(argument);
  opc_call_outcome_t outcome;
  if (strncmp(name, argument, length) != 0 || strchr(name, '+')) return true;
  const char *step = name + length;
  const char *value = strncmp(step, ".set", 4) == 0 ? step + 4 : strncmp(step, ".word_", 6) == 0 ? step + 6 : NULL;
  if (!value) return true;
  c->status = call_with_value(c, sample, &outcome, NULL);
  if (c->status != OPC_OK) return false;
  if (outcome == OPC_CALL_RETURNED) opc_text_addf(&c->others, "%s%s", c->other_count++ ? ", " : "", value);
  return true;
}

/* The word that the sample gives is one that the operator accepts. */
static void count_own_word(default_case_t *c, const opc_sample_t *sample) {
  const opc_value_t *own = &sample->arguments[c->argument];
  if (sample->absent[c->argument] || own->kind != OPC_VALUE_STRING) return;
  opc_text_add(&c->others, own->string);
  c->other_count++;
}

static bool is_usable_sample(const opc_sample_t *sample) {
  return !sample->unchecked && !sample->uninitialised && !sample->expect.rejects;
}

/* Whether a refusal of the default could mean anything. A bool has no third value, and None means that another argument
 * takes its place. */
static bool is_decidable(const opc_argument_t *argument) {
  const opc_type_t *type = argument->type.kind == OPC_TYPE_OPTIONAL ? argument->type.element : &argument->type;
  if (!argument->has_default || !argument->default_text || strcmp(argument->default_text, "None") == 0) return false;
  if (type->kind == OPC_TYPE_STRING || type->kind == OPC_TYPE_FLOAT) return true;
  if (type->kind != OPC_TYPE_INT && type->kind != OPC_TYPE_SYMINT && type->kind != OPC_TYPE_SCALAR) return false;
  return fabs(strtod(argument->default_text, NULL)) <= NUMBER_MOST;
}

static void report_default(const default_case_t *c, opc_finding_t *finding) {
  const opc_argument_t *argument = &c->context->op->arguments[c->argument];
  opc_finding_fail(finding, OPC_RULE_defaults_refused,
                   "%s=%s is the default; the operator refuses it in each of %d calls and accepts %s: %.200s",
                   argument->name, argument->default_text, c->refused, opc_text_c(&c->others), opc_text_c(&c->message));
}

/* Tries the default on samples and on their variants with other sizes. *out_first: the first usable sample. */
static opc_status_t try_samples(default_case_t *c, const opc_sample_t **out_first) {
  const opc_case_context_t *context = c->context;
  size_t tried = 0;
  for (size_t i = 0; i < context->sample_count && tried < SAMPLES_MOST && !c->accepted && !c->unclear; i++) {
    const opc_sample_t *sample = &context->samples[i];
    bool refused = false;
    if (!is_usable_sample(sample)) continue;
    if (!*out_first) *out_first = sample;
    c->accepted = sample->absent[c->argument];
    if (c->accepted) break;
    tried++;
    OPC_RETURN_IF_ERROR(try_default(c, sample, &refused));
    if (refused && c->calls < CALLS_MOST)
      OPC_RETURN_IF_ERROR(
          opc_variants_of(sample, context->op, OPC_VARIANT_SHAPE | OPC_VARIANT_SIZES, try_variant, c, c->error));
    OPC_RETURN_IF_ERROR(c->status);
  }
  return OPC_OK;
}

static void default_case_clear(default_case_t *c) {
  opc_text_clear(&c->message);
  opc_text_clear(&c->others);
}

/* *out_accepted: some call with the default returned. */
static opc_status_t check_default(opc_case_context_t *context, size_t argument, bool *out_accepted,
                                  opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(default_case_clear) default_case_t c = {.context = context, .argument = argument, .error = error};
  const opc_sample_t *first = NULL;
  OPC_RETURN_IF_ERROR(try_samples(&c, &first));
  *out_accepted = c.accepted;
  if (!c.refused || c.accepted || c.unclear) return OPC_OK;
  count_own_word(&c, first);
  OPC_RETURN_IF_ERROR(opc_variants_of(first, context->op, OPC_VARIANT_NEIGHBOUR, try_other_value, &c, error));
  OPC_RETURN_IF_ERROR(c.status);
  if (c.other_count >= OTHERS_LEAST) report_default(&c, finding);
  return OPC_OK;
}

static opc_status_t check_defaults(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  size_t accepted = 0, declared = 0;
  for (size_t i = 0; i < context->op->argument_count; i++) {
    bool is_accepted = false;
    if (!is_decidable(&context->op->arguments[i])) continue;
    declared++;
    OPC_RETURN_IF_ERROR(check_default(context, i, &is_accepted, finding, error));
    accepted += is_accepted;
  }
  if (accepted) return opc_finding_pass(finding, "%zu of %zu defaults are accepted", accepted, declared);
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                          declared ? "no default was accepted, nor enough other values to blame the default"
                                   : "no argument has a number or a word as its default");
}

const opc_check_t opc_check_defaults = {.name = "defaults", .run = check_defaults};
