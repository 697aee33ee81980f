#include "checks/numerics/equivalent_ignored.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "checks/compare/tolerance.h"
#include "checks/framework/outcome.h"
#include "model/schema/argument_words.h"

/* An element is ignored if none of these changes the result: relu, a maximum, a sort or a threshold each show with one
 * of them. */
static const double probes[] = {1, -1, 1000, -1000, 0};
static const double far_away = 1000;

typedef struct ignored {
  opc_case_context_t *context;
  const opc_call_t *call;
  opc_replay_t *values; /* of the next call */
  opc_result_t usual;   /* of the sample's own values */
  opc_error_t *error;
} ignored_t;

/* Flags, and integers as wide as indices and lengths have them. Narrow ones are numbers to compute with, and so may
 * wide ones be, unless their name says what they are: a search also gives them zeros, which are factors then. */
static bool selects(const opc_tensor_arg_t *arg, bool searched) {
  static const char words[] =
      "mask valid len lens length lengths seqlens seq cu num count counts offset offsets split splits ptr indptr "
      "rowptr "
      "index indices idx ids batch segment segments blocks slots";
  const opc_dtype_t dtype = arg->before.dtype;
  if (dtype == OPC_DTYPE_BOOL) return true;
  return (dtype == OPC_DTYPE_INT32 || dtype == OPC_DTYPE_INT64) &&
         (!searched || opc_argument_is_named(arg->path, words));
}

static bool has_selection(const opc_case_context_t *context, const opc_call_t *call) {
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (selects(&call->tensor_args[i], context->standing.voucher == OPC_VOUCHER_SEARCHED)) return true;
  return false;
}

static void set(const opc_replay_t *values, size_t arg, size_t element, double number) {
  const struct opc_replay_tensor_arg *of = &values->tensor_args[arg];
  opc_number_t stored = {.kind = OPC_NUMBER_FLOAT, .f = number};
  if (opc_dtype_class(of->dtype) == OPC_CLASS_COMPLEX)
    stored = (opc_number_t){.kind = OPC_NUMBER_COMPLEX, .c = {.re = number}};
  opc_number_store(stored, of->dtype, (char *)of->bytes + element * opc_dtype_size(of->dtype));
}

/* *out_same: the operator returned, and the same bits as for the sample's own values. */
static opc_status_t call_again(ignored_t *ignored, const char *phase, opc_result_t *out, bool *out_same) {
  const opc_again_t again = {.context = ignored->context, .replay = ignored->values, .phase = phase};
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  opc_status_t status = opc_again_run(&again, out, &outcome, NULL, ignored->error);
  *out_same = status == OPC_OK && outcome == OPC_CALL_RETURNED &&
              opc_result_compare(out, &ignored->usual, NULL, NULL).kind == OPC_DIFFERENCE_NONE;
  return status;
}

/* Clears out[i] where element i has an influence. */
static opc_status_t probe_each(ignored_t *ignored, size_t arg, const void *own, bool *out) {
  const struct opc_replay_tensor_arg *of = &ignored->values->tensor_args[arg];
  const size_t width = opc_dtype_size(of->dtype);
  opc_status_t status = OPC_OK;
  for (size_t p = 0; p < sizeof probes / sizeof *probes; p++) {
    for (size_t e = 0; status == OPC_OK && e < (size_t)of->numel; e++) {
      OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
      if (!out[e]) continue;
      set(ignored->values, arg, e, probes[p]);
      status = call_again(ignored, "the operator with one element changed", &result, &out[e]);
      memcpy((char *)of->bytes + e * width, (const char *)own + e * width, width);
    }
  }
  return status;
}

static void set_ignored(const ignored_t *ignored, size_t arg, const bool *which, double number) {
  for (size_t e = 0; e < (size_t)ignored->values->tensor_args[arg].numel; e++)
    if (which[e]) set(ignored->values, arg, e, number);
}

static opc_status_t report(ignored_t *ignored, const opc_result_t *with_nan, size_t arg, const bool *which,
                           opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const opc_again_t again = {
      .context = ignored->context, .replay = ignored->values, .phase = "the operator with NaN in ignored elements"};
  const opc_tensor_arg_t *tensor = &ignored->call->tensor_args[arg];
  const opc_difference_t difference = opc_result_compare(with_nan, &ignored->usual, NULL, NULL);
  char place[64];
  bool random = false;
  size_t count = 0, first = 0;
  for (size_t e = (size_t)tensor->before.numel; e-- > 0;)
    if (which[e]) count++, first = e;
  opc_status_t status = opc_result_is_nondeterministic(&again, with_nan, &random, ignored->error);
  if (status != OPC_OK || random) return status;
  opc_difference_text(&difference, with_nan, &ignored->usual, "the result without NaN", &text);
  opc_index_text(&tensor->before, (int64_t)first, place, sizeof place);
  opc_finding_fail(finding, "equivalent.ignored_nan",
                   "%zu elements of %s are ignored, such as %s%s: the result is the same with 1, -1, 1000, -1000 and 0 "
                   "in it. With NaN in them it is another one: %s",
                   count, tensor->path, tensor->path, place, opc_text_c(&text));
  return OPC_OK;
}

/* Leaves the values as they were. *out_count: the number of ignored elements. */
static opc_status_t judge_tensor(ignored_t *ignored, size_t arg, size_t *out_count, opc_finding_t *finding) {
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0}, with_nan = {0};
  const struct opc_replay_tensor_arg *of = &ignored->values->tensor_args[arg];
  const size_t numel = (size_t)of->numel, size = numel * opc_dtype_size(of->dtype);
  OPC_SCOPED(opc_scope_free) bool *which = malloc(numel * sizeof *which + 1);
  OPC_SCOPED(opc_scope_free) void *own = malloc(size + 1);
  bool same = false;
  if (!which || !own) return opc_out_of_memory(ignored->error);
  memcpy(own, of->bytes, size);
  memset(which, true, numel * sizeof *which);
  opc_status_t status = probe_each(ignored, arg, own, which);
  size_t count = 0;
  for (size_t e = 0; e < numel; e++) count += which[e];
  *out_count += count;
  if (status == OPC_OK && count > 0 && count < numel) {
    set_ignored(ignored, arg, which, far_away); /* each alone is ignored; all together? */
    status = call_again(ignored, "the operator with all ignored elements changed", &result, &same);
  }
  if (status == OPC_OK && same) {
    set_ignored(ignored, arg, which, NAN);
    status = call_again(ignored, "the operator with NaN in ignored elements", &with_nan, &same);
    if (status == OPC_OK && !same && with_nan.count > 0) status = report(ignored, &with_nan, arg, which, finding);
  }
  memcpy(of->bytes, own, size);
  return status;
}

void opc_equivalent_ignored(opc_case_context_t *context, opc_finding_t *finding) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  opc_error_t error = {0};
  ignored_t ignored = {.context = context, .call = &call, .values = &values, .error = &error};
  opc_case_context_t own = *context;
  size_t count = 0;
  bool random = false;
  own.sample = context->base; /* not the variant's: its NaN may be where it counts */
  ignored.context = &own;
  if (opc_operator_has_tag(context->op, "pointwise")) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it is tagged pointwise: a factor of 0 is no mask");
    return;
  }
  if (!opc_case_call_keeping(&own, &values, &call, finding)) return;
  if (!has_selection(context, &call)) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no argument is a mask, a length or an index");
    return;
  }
  const opc_again_t again = {.context = &own, .replay = &values, .phase = "the operator, again"};
  opc_status_t status = opc_result_take(&ignored.usual, &call, OPC_RESULT_ARGUMENTS, &error);
  if (status == OPC_OK) status = opc_result_is_nondeterministic(&again, &ignored.usual, &random, &error);
  for (size_t i = 0; status == OPC_OK && !random && !finding->decided && i < call.tensor_arg_count; i++) {
    const opc_tensor_arg_t *arg = &call.tensor_args[i];
    if (opc_dtype_is_inexact(arg->before.dtype) && !opc_tensor_arg_is_mutable(arg) && values.tensor_args[i].bytes)
      status = judge_tensor(&ignored, i, &count, finding);
  }
  opc_result_clear(&ignored.usual);
  if (status != OPC_OK) opc_finding_from_error(context, &error, finding);
  else if (random) opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
  else if (!finding->decided && count == 0)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no element is ignored: each changes the result");
  else if (!finding->decided)
    opc_finding_pass(finding, "NaN in %zu ignored elements does not change the result", count);
}
