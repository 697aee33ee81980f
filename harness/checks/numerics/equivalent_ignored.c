#include "checks/numerics/equivalent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/compare/compare.h"

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
      "rowptr index indices idx ids batch segment segments blocks slots";
  const opc_dtype_t dtype = arg->before.dtype;
  if (dtype == OPC_DTYPE_BOOL) return true;
  return (dtype == OPC_DTYPE_INT32 || dtype == OPC_DTYPE_INT64) &&
         (!searched || opc_argument_is_named(arg->path, words));
}

static bool is_searched(const opc_case_context_t *context) { return context->provenance.source == OPC_SOURCE_SEARCHED; }

static bool has_selection(const opc_case_context_t *context, const opc_call_t *call) {
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (selects(&call->tensor_args[i], is_searched(context))) return true;
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
static opc_status_t call_again(ignored_t *ignored, opc_call_label_t label, opc_result_t *out, bool *out_same) {
  const opc_again_t again = {.context = ignored->context, .replay = ignored->values, .label = label};
  OPC_RETURN_IF_ERROR(opc_again_try(&again, out, out_same, ignored->error));
  *out_same = *out_same && opc_result_compare(out, &ignored->usual, NULL, NULL).kind == OPC_DIFFERENCE_NONE;
  return OPC_OK;
}

/* Clears out[i] where element i has an influence. */
static opc_status_t probe_each(ignored_t *ignored, size_t arg, const void *own, bool *out) {
  const struct opc_replay_tensor_arg *of = &ignored->values->tensor_args[arg];
  const size_t width = opc_dtype_size(of->dtype);
  for (size_t p = 0; p < sizeof probes / sizeof *probes; p++) {
    for (size_t e = 0; e < (size_t)of->numel; e++) {
      OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
      if (!out[e]) continue;
      set(ignored->values, arg, e, probes[p]);
      OPC_RETURN_IF_ERROR(call_again(ignored, OPC_CALL_LABEL(WITH_OTHERS, "one element changed"), &result, &out[e]));
      memcpy((char *)of->bytes + e * width, (const char *)own + e * width, width);
    }
  }
  return OPC_OK;
}

static void set_ignored(const ignored_t *ignored, size_t arg, const bool *which, double number) {
  for (size_t e = 0; e < (size_t)ignored->values->tensor_args[arg].numel; e++)
    if (which[e]) set(ignored->values, arg, e, number);
}

static opc_status_t report_nan(ignored_t *ignored, const opc_result_t *with_nan, size_t arg, const bool *which,
                               opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const opc_again_t again = {.context = ignored->context,
                             .replay = ignored->values,
                             .label = {OPC_CALL_KIND_WITH_OTHERS, "NaN in ignored elements"}};
  const opc_tensor_arg_t *tensor = &ignored->call->tensor_args[arg];
  const opc_difference_t difference = opc_result_compare(with_nan, &ignored->usual, NULL, NULL);
  char place[64];
  bool random = false;
  size_t count = 0, first = 0;
  for (size_t e = (size_t)tensor->before.numel; e-- > 0;)
    if (which[e]) count++, first = e;
  OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&again, with_nan, &random, ignored->error));
  if (random) return OPC_OK;
  opc_difference_text(&difference, with_nan, &ignored->usual, "the result without NaN", &text);
  opc_index_text(&tensor->before, (int64_t)first, place, sizeof place);
  return opc_finding_fail(
      finding, OPC_RULE_equivalent_ignored_nan,
      "%zu elements of %s are ignored, such as %s%s: the result is the same with 1, -1, 1000, -1000 and 0 "
      "in it. With NaN in them it is another one: %s",
      count, tensor->path, tensor->path, place, opc_text_c(&text));
}

/* The call with one element of a selection changed: *out_decides if the ignored elements then have an influence. */
static opc_status_t try_selection(ignored_t *ignored, size_t arg, const void *own, const bool *which,
                                  bool *out_decides) {
  const opc_call_label_t label = {OPC_CALL_KIND_WITH_OTHERS, "another selection"};
  OPC_SCOPED(opc_result_clear) opc_result_t plain = {0}, moved = {0};
  const struct opc_replay_tensor_arg *of = &ignored->values->tensor_args[arg];
  bool same = false;
  memcpy(of->bytes, own, (size_t)of->numel * opc_dtype_size(of->dtype));
  OPC_RETURN_IF_ERROR(call_again(ignored, label, &plain, &same));
  set_ignored(ignored, arg, which, far_away);
  if (plain.count > 0) OPC_RETURN_IF_ERROR(call_again(ignored, label, &moved, &same));
  *out_decides = moved.count > 0 && opc_result_compare(&plain, &moved, NULL, NULL).kind != OPC_DIFFERENCE_NONE;
  return OPC_OK;
}

enum { OTHERS = 4, CHANGED_MAX = 16 };

/* Up to OTHERS different values of a selection; of flags, both. */
static size_t values_of(const struct opc_replay_tensor_arg *of, int64_t *out) {
  size_t count = 0;
  for (size_t e = 0; e < (size_t)of->numel && count < OTHERS; e++) {
    const int64_t value = opc_number_load(of->dtype, (const char *)of->bytes + e * opc_dtype_size(of->dtype)).i;
    bool known = false;
    for (size_t i = 0; i < count; i++) known = known || out[i] == value;
    if (!known) out[count++] = value;
  }
  if (of->dtype == OPC_DTYPE_BOOL && count == 1) out[count++] = !out[0];
  return count;
}

/* Whether flags or integers decide which elements are ignored. A softmax over one element ignores its number too, and
 * is right to give NaN for NaN. Integers take values that others of the same tensor have: they are in bounds. */
static opc_status_t is_selected(ignored_t *ignored, size_t arg, const void *own, const bool *which, bool *out) {
  *out = false;
  for (size_t i = 0; i < ignored->call->tensor_arg_count; i++) {
    const struct opc_replay_tensor_arg *of = &ignored->values->tensor_args[i];
    if (!selects(&ignored->call->tensor_args[i], is_searched(ignored->context)) || !of->bytes) continue;
    int64_t others[OTHERS];
    const size_t count = values_of(of, others);
    for (size_t e = 0; e < (size_t)of->numel && e < CHANGED_MAX; e++) {
      char *at = (char *)of->bytes + e * opc_dtype_size(of->dtype);
      const opc_number_t before = opc_number_load(of->dtype, at);
      for (size_t k = 0; !*out && k < count; k++) {
        if (others[k] == before.i) continue;
        opc_number_store((opc_number_t){.kind = OPC_NUMBER_INT, .i = others[k]}, of->dtype, at);
        OPC_RETURN_IF_ERROR(try_selection(ignored, arg, own, which, out));
      }
      opc_number_store(before, of->dtype, at);
    }
  }
  return OPC_OK;
}

/* Whether another element of the tensor has an influence on the place that NaN reached. If none has, what is there does
 * not depend on the tensor's numbers: the share of the only element in a row is 1, and NaN for NaN. */
static opc_status_t is_shared(ignored_t *ignored, size_t arg, const void *own, const bool *which,
                              const opc_difference_t *place, bool *out) {
  const struct opc_replay_tensor_arg *of = &ignored->values->tensor_args[arg];
  const size_t width = opc_dtype_size(of->dtype), size = (size_t)of->numel * width;
  const opc_result_item_t *usual = &ignored->usual.items[place->item];
  bool same;
  *out = false;
  if (place->kind != OPC_DIFFERENCE_VALUE || usual->kind != OPC_VALUE_TENSOR) return OPC_OK;
  const size_t at = (size_t)place->first * usual->meta.itemsize;
  for (size_t e = 0; !*out && e < (size_t)of->numel; e++) {
    OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
    if (which[e]) continue;
    memcpy(of->bytes, own, size);
    set(ignored->values, arg, e, far_away);
    OPC_RETURN_IF_ERROR(call_again(ignored, OPC_CALL_LABEL(WITH_OTHERS, "one element changed"), &result, &same));
    *out = place->item < result.count && result.items[place->item].size == usual->size &&
           memcmp((const char *)result.items[place->item].bytes + at, (const char *)usual->bytes + at,
                  usual->meta.itemsize) != 0;
  }
  return OPC_OK;
}

/* own: the tensor's values. which: has room for a flag per element. Leaves other values. */
static opc_status_t check_ignored(ignored_t *ignored, size_t arg, const void *own, bool *which, size_t *out_count,
                                  opc_finding_t *finding) {
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0}, with_nan = {0};
  const size_t numel = (size_t)ignored->values->tensor_args[arg].numel;
  bool same = false, shared = false, selected = false;
  size_t count = 0;
  memset(which, true, numel * sizeof *which);
  OPC_RETURN_IF_ERROR(probe_each(ignored, arg, own, which));
  for (size_t e = 0; e < numel; e++) count += which[e];
  *out_count += count;
  if (count == 0 || count == numel) return OPC_OK;
  set_ignored(ignored, arg, which, far_away); /* each alone is ignored; all together? */
  OPC_RETURN_IF_ERROR(call_again(ignored, OPC_CALL_LABEL(WITH_OTHERS, "all ignored elements changed"), &result, &same));
  if (!same) return OPC_OK;
  set_ignored(ignored, arg, which, NAN);
  OPC_RETURN_IF_ERROR(call_again(ignored, OPC_CALL_LABEL(WITH_OTHERS, "NaN in ignored elements"), &with_nan, &same));
  if (same || with_nan.count == 0) return OPC_OK;
  const opc_difference_t place = opc_result_compare(&with_nan, &ignored->usual, NULL, NULL);
  OPC_RETURN_IF_ERROR(is_shared(ignored, arg, own, which, &place, &shared));
  if (shared) OPC_RETURN_IF_ERROR(is_selected(ignored, arg, own, which, &selected));
  if (!selected) return OPC_OK;
  set_ignored(ignored, arg, which, NAN);
  return report_nan(ignored, &with_nan, arg, which, finding);
}

/* Leaves the values as they were. *out_count: the number of ignored elements. */
static opc_status_t check_tensor(ignored_t *ignored, size_t arg, size_t *out_count, opc_finding_t *finding) {
  const struct opc_replay_tensor_arg *of = &ignored->values->tensor_args[arg];
  const size_t size = (size_t)of->numel * opc_dtype_size(of->dtype);
  OPC_SCOPED(opc_scope_free) bool *which = malloc((size_t)of->numel * sizeof *which + 1);
  OPC_SCOPED(opc_scope_free) void *own = malloc(size + 1);
  if (!which || !own) return opc_out_of_memory(ignored->error);
  memcpy(own, of->bytes, size);
  const opc_status_t status = check_ignored(ignored, arg, own, which, out_count, finding);
  memcpy(of->bytes, own, size);
  return status;
}

static opc_status_t check_tensors(ignored_t *ignored, size_t *out_count, size_t *out_rows, opc_finding_t *finding) {
  const opc_call_t *call = ignored->call;
  const opc_again_t again = {
      .context = ignored->context, .replay = ignored->values, .label = {OPC_CALL_KIND_OPERATOR, "again"}};
  bool random = false;
  OPC_RETURN_IF_ERROR(opc_result_take(&ignored->usual, call, OPC_RESULT_ARGUMENTS, ignored->error));
  OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&again, &ignored->usual, &random, ignored->error));
  if (random) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
  OPC_RETURN_IF_ERROR(opc_equivalent_padding(&again, call, false, out_rows, finding, ignored->error));
  for (size_t i = 0; !finding->decided && i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *arg = &call->tensor_args[i];
    if (opc_dtype_is_inexact(arg->before.dtype) && !opc_tensor_arg_is_mutable(arg) &&
        ignored->values->tensor_args[i].bytes)
      OPC_RETURN_IF_ERROR(check_tensor(ignored, i, out_count, finding));
  }
  return OPC_OK;
}

opc_status_t opc_equivalent_ignored(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  ignored_t ignored = {.context = context, .call = &call, .values = &values, .error = error};
  opc_case_context_t own = *context;
  size_t count = 0, rows = 0;
  own.sample = context->base; /* not the variant's: its NaN may be where it counts */
  ignored.context = &own;
  if (opc_operator_has_tag(context->op, "pointwise"))
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it is tagged pointwise: a factor of 0 is no mask");
  if (!opc_case_call_keeping(&own, &values, &call, finding)) return OPC_OK;
  if (!has_selection(context, &call))
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no argument is a mask, a length or an index");
  const opc_status_t status = check_tensors(&ignored, &count, &rows, finding);
  opc_result_clear(&ignored.usual);
  OPC_RETURN_IF_ERROR(status);
  if (!finding->decided && count == 0 && rows == 0)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no element is ignored: each changes the result");
  else if (!finding->decided && count == 0)
    opc_finding_pass(finding, "what lies behind the lengths of %zu rows does not change the result", rows);
  else if (!finding->decided)
    opc_finding_pass(finding, "NaN in %zu ignored elements does not change the result", count);
  return OPC_OK;
}
