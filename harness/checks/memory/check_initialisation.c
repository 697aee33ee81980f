/* initialisation: the operator's results do not depend on the contents of new memory: storage of tensors, malloc
 * blocks, the stack.
 *
 * The same call runs with other bytes in all of it. Check empty handles empty inputs (empty.poison). */
#include "checks/compare/compare.h"
#include "memory/cpu_memory.h"
#include "memory/device_zones.h"

/* Zero and false; large and positive; large and negative; NaN, which no product with zero hides, and -1: if a sum, a
 * maximum, a minimum or a mask hides one of them, another one shows. The first is what fresh memory from the system
 * holds, so a crash with it does not only happen here. */
static const unsigned char patterns[] = {0x00, 0x5a, 0xda, 0xff, 0x80};
enum { PATTERNS = sizeof patterns / sizeof *patterns - 1 }; /* the last is NaN in dtypes without a negative zero */

typedef enum memory_kind {
  MEMORY_STORAGE = 0,
  MEMORY_HEAP,
  MEMORY_STACK,
  MEMORY_KINDS,
  MEMORY_ALL = MEMORY_KINDS
} memory_kind_t;
static const struct {
  const char *where;
  opc_rule_id_t rule;
} memories[] = {
    [MEMORY_STORAGE] = {"in new tensors' storage", OPC_RULE_initialisation_depends},
    [MEMORY_HEAP] = {"in blocks of malloc or new", OPC_RULE_initialisation_scratch},
    [MEMORY_STACK] = {"on the stack", OPC_RULE_initialisation_scratch},
    [MEMORY_ALL] = {"in all new memory", OPC_RULE_initialisation_depends},
};

/* A call while new memory is filled. */
typedef struct filled {
  opc_call_outcome_t outcome;
  opc_result_t result;    /* of a call that returned */
  opc_text_t message;     /* of a call that did not */
  opc_bool_bytes_t bools; /* of a call that returned */
} filled_t;

static void filled_clear(filled_t *call) {
  opc_result_clear(&call->result);
  opc_text_clear(&call->message);
}

typedef struct compared {
  const filled_t *first, *other;
  unsigned char byte; /* fill byte of `other` */
  bool wanted;        /* look for elements that hold exactly the patterns, or for all others */
} compared_t;

/* An opc_element_equal_t. The bits of a NaN are those of any operand that is one: they say nothing of what it was
 * multiplied with. */
static bool is_nan_in_both(size_t item, int64_t element, void *context) {
  const compared_t *compared = context;
  const opc_result_item_t *first = &compared->first->result.items[item], *other = &compared->other->result.items[item];
  if (!first->meta.itemsize || first->meta.itemsize != opc_dtype_size(first->meta.dtype)) return false;
  size_t at = (size_t)element * first->meta.itemsize;
  return opc_number_is_same(first->meta.dtype, (const char *)first->bytes + at, (const char *)other->bytes + at);
}

static opc_difference_t compare_filled(const filled_t *left, const filled_t *right) {
  compared_t compared = {.first = left, .other = right};
  return opc_result_compare(&left->result, &right->result, is_nan_in_both, &compared);
}

static bool filled_equal(const filled_t *left, const filled_t *right) {
  if (left->outcome != right->outcome) return false;
  return left->outcome != OPC_CALL_RETURNED || compare_filled(left, right).kind == OPC_DIFFERENCE_NONE;
}

/* From now on, memory of this kind holds `byte`, all other memory the first pattern. */
static void memory_fill(memory_kind_t kind, unsigned char byte) {
  opc_poison_pattern(kind == MEMORY_STORAGE || kind == MEMORY_ALL ? byte : patterns[0]);
  opc_device_zones_poison(opc_poison_byte());
  opc_scratch_memory_fill(kind == MEMORY_HEAP || kind == MEMORY_ALL ? byte : patterns[0]);
  opc_scratch_memory_fill_stack(kind == MEMORY_STACK || kind == MEMORY_ALL ? byte : patterns[0]);
}

static void memory_plain(void) {
  opc_scratch_memory_plain();
  opc_poison_pattern(OPC_PATTERN_FIRST);
  opc_device_zones_poison(OPC_PATTERN_FIRST);
}

/* The case's first call has a finding: it reports if the call did not return. */
static opc_status_t filled_run(opc_case_context_t *context, memory_kind_t kind, unsigned char byte, filled_t *out,
                               opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  char detail[64];
  OPC_RETURN_IF_ERROR(opc_call_make(&call, context->op, context->sample, context->device, context->seed, error));
  snprintf(detail, sizeof detail, "with 0x%02x bytes %s", byte, memories[kind].where);
  context->announce(finding ? OPC_CALL_LABEL(OPERATOR, "") : OPC_CALL_LABEL(CALL, detail));
  memory_fill(kind, byte);
  out->outcome = opc_call_run(&call, context->handle, context->seed);
  memory_plain();
  if (out->outcome == OPC_CALL_RETURNED) {
    OPC_RETURN_IF_ERROR(opc_result_take(&out->result, &call, OPC_RESULT_ARGUMENTS, error));
    out->bools = opc_bool_bytes_find(&out->result, &call);
  } else if (finding) {
    (void)opc_finding_from_outcome(context, &call, finding);
  } else {
    opc_text_add(&out->message, opc_text_c(&call.message));
  }
  return OPC_OK;
}

/* ---- what a difference means ---- */

/* Repeats the same calls, in an order that gives other results for a counter or a toggle. */
static opc_status_t is_chance(opc_case_context_t *context, const filled_t *first, const filled_t *other,
                              unsigned char byte, bool *out, opc_error_t *error) {
  OPC_SCOPED(filled_clear) filled_t other_again = {0}, first_again = {0};
  OPC_RETURN_IF_ERROR(filled_run(context, MEMORY_ALL, byte, &other_again, NULL, error));
  OPC_RETURN_IF_ERROR(filled_run(context, MEMORY_ALL, patterns[0], &first_again, NULL, error));
  *out = !(filled_equal(other, &other_again) && filled_equal(first, &first_again));
  return OPC_OK;
}

static bool holds_only(const opc_result_item_t *item, int64_t element, unsigned char byte) {
  size_t width = item->meta.itemsize;
  const unsigned char *bytes = (const unsigned char *)item->bytes + (size_t)element * width;
  for (size_t i = 0; i < width; i++)
    if (bytes[i] != byte) return false;
  return true;
}

/* An opc_element_equal_t: ignores elements of the other kind. */
static bool is_unwanted(size_t item, int64_t element, void *context) {
  const compared_t *compared = context;
  const opc_result_item_t *first = &compared->first->result.items[item], *other = &compared->other->result.items[item];
  bool pattern = first->kind == OPC_VALUE_TENSOR && holds_only(first, element, patterns[0]) &&
                 holds_only(other, element, compared->byte);
  return pattern != compared->wanted || is_nan_in_both(item, element, context);
}

/* Elements that hold the fill pattern itself, not a value computed from it: they were never written. One element may be
 * a whole output only if the operator exists for an argument that it writes: the output may be a placeholder. */
static void report_unwritten(const opc_case_context_t *context, const filled_t *first, const filled_t *other,
                             unsigned char byte, opc_finding_t *finding) {
  compared_t unwritten = {.first = first, .other = other, .byte = byte, .wanted = true};
  opc_difference_t difference = opc_result_compare(&first->result, &other->result, is_unwanted, &unwritten);
  const opc_result_item_t *item = &first->result.items[difference.item];
  if (difference.kind != OPC_DIFFERENCE_VALUE) return;
  char index[160];
  opc_index_text(&item->meta, difference.first, index, sizeof index);
  bool whole = !item->argument && difference.count == item->meta.numel;
  if (whole && (difference.count > 1 || opc_operator_is_mutable(context->op))) {
    opc_finding_fail(finding, OPC_RULE_initialisation_nothing_written,
                     "%s is uninitialised: all of it (%lld element%s) still has the bytes that new storage was filled "
                     "with, 0x%02x in one call and 0x%02x in another",
                     item->path, (long long)difference.count, difference.count == 1 ? "" : "s", patterns[0], byte);
    return;
  }
  opc_finding_fail(finding, OPC_RULE_initialisation_output,
                   "%s%s is uninitialised: it still has the bytes that new storage was filled with, 0x%02x "
                   "in one call and "
                   "0x%02x in another (%lld of %lld elements)",
                   item->path, index, patterns[0], byte, (long long)difference.count, (long long)item->meta.numel);
}

static void report_memory(const opc_case_context_t *context, memory_kind_t kind, const filled_t *first,
                          const filled_t *other, unsigned char byte, opc_finding_t *finding) {
  compared_t written = {.first = first, .other = other, .byte = byte, .wanted = false};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  char name[96];
  snprintf(name, sizeof name, "with 0x%02x bytes %s instead of 0x%02x it", byte, memories[kind].where, patterns[0]);
  if (other->outcome != OPC_CALL_RETURNED) {
    opc_text_addf(&text, "it returns, and %s throws: %.300s", name, opc_text_c(&other->message));
  } else {
    if (kind == MEMORY_STORAGE) report_unwritten(context, first, other, byte, finding);
    opc_element_equal_t *equal = kind == MEMORY_STORAGE ? is_unwanted : is_nan_in_both;
    opc_difference_t difference = opc_result_compare(&first->result, &other->result, equal, &written);
    opc_difference_text(&difference, &first->result, &other->result, name, &text);
  }
  if (text.length) opc_finding_fail(finding, memories[kind].rule, "%s", opc_text_c(&text));
}

/* The result depends on the pattern: in which memory? `other` is from the run with all of it changed. */
static opc_status_t report_memories(opc_case_context_t *context, const filled_t *first, const filled_t *other,
                                    unsigned char byte, opc_finding_t *finding, opc_error_t *error) {
  bool alone = false;
  for (memory_kind_t kind = 0; kind < MEMORY_KINDS; kind++) {
    OPC_SCOPED(filled_clear) filled_t call = {0};
    OPC_RETURN_IF_ERROR(filled_run(context, kind, byte, &call, NULL, error));
    if (filled_equal(first, &call)) continue;
    alone = true;
    report_memory(context, kind, first, &call, byte, finding);
  }
  if (!alone) report_memory(context, MEMORY_ALL, first, other, byte, finding);
  return OPC_OK;
}

/* The result is the same for any contents of new memory, so the bytes were written. The runner reports accesses out of
 * bounds and to freed memory. */
static void report_bools(const filled_t *call, opc_finding_t *finding) {
  const opc_bool_bytes_t *bools = &call->bools;
  char index[160];
  if (!bools->count || finding->decided || opc_accesses_count(OPC_ACCESSES_INVALID)) return;
  const opc_result_item_t *item = &call->result.items[bools->item];
  opc_index_text(&item->meta, bools->first, index, sizeof index);
  opc_finding_fail(finding, OPC_RULE_initialisation_bool_bytes,
                   "%s%s is a bool whose byte is 0x%02x, neither 0 nor 1 (%lld of %lld elements)", item->path, index,
                   bools->byte, (long long)bools->count, (long long)item->meta.numel);
}

/* ---- the check ---- */

/* The results differ: `first` is the first pattern's, `other` that of `byte`. */
static opc_status_t check_patterns_differ(opc_case_context_t *context, const filled_t *first, const filled_t *other,
                                          unsigned char byte, opc_finding_t *finding, opc_error_t *error) {
  bool chance = false;
  OPC_RETURN_IF_ERROR(is_chance(context, first, other, byte, &chance, error));
  if (chance)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "the result differs from call to call, whatever new memory holds");
  else if (other->outcome == OPC_CALL_RETURNED && opc_results_are_handles(&first->result, &other->result))
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "the result holds addresses of objects that the operator made, which depend on what was allocated "
                     "before: check determinism reports them (determinism.handle)");
  else if (opc_operator_has_tag(context->op, "inplace_view"))
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "the tag inplace_view says that it changes sizes and strides but writes no element: what an "
                     "argument gains is uninitialised");
  else if (opc_case_has_other_integers(context))
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "its result depends on new memory when integers that the search made up repeat: that may be right "
                     "if it needs other counts or places");
  else return report_memories(context, first, other, byte, finding, error);
  return OPC_OK;
}

static bool has_one_zero(opc_dtype_t dtype) {
  return dtype == OPC_DTYPE_FLOAT8_E4M3FNUZ || dtype == OPC_DTYPE_FLOAT8_E5M2FNUZ;
}

/* The number of patterns for a call of these dtypes. */
static size_t patterns_for(const opc_result_t *result, const opc_sample_t *sample) {
  const opc_tensor_spec_t *spec;
  bool zero_once = false;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++) zero_once |= has_one_zero(spec->dtype);
  for (size_t i = 0; i < result->count; i++) zero_once |= has_one_zero(result->items[i].meta.dtype);
  return zero_once ? PATTERNS + 1 : PATTERNS;
}

static opc_status_t compare_patterns(opc_case_context_t *context, const filled_t *first, size_t count,
                                     opc_finding_t *finding, opc_error_t *error) {
  for (size_t p = 1; p < count; p++) {
    OPC_SCOPED(filled_clear) filled_t other = {0};
    OPC_RETURN_IF_ERROR(filled_run(context, MEMORY_ALL, patterns[p], &other, NULL, error));
    if (!filled_equal(first, &other)) return check_patterns_differ(context, first, &other, patterns[p], finding, error);
  }
  return OPC_OK;
}

static opc_status_t check_patterns(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(filled_clear) filled_t first = {0};
  OPC_RETURN_IF_ERROR(filled_run(context, MEMORY_ALL, patterns[0], &first, finding, error));
  int64_t numel = opc_result_numel(&first.result);
  if (first.outcome != OPC_CALL_RETURNED) return OPC_OK;
  const size_t count = patterns_for(&first.result, context->sample);
  if (numel) OPC_RETURN_IF_ERROR(compare_patterns(context, &first, count, finding, error));
  report_bools(&first, finding);
  if (numel) OPC_RETURN_IF_ERROR(opc_out_arguments_check(context, finding, error));
  if (!numel) opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the operator returns nothing that could be compared");
  else if (!finding->decided)
    opc_finding_pass(finding, "%lld values are the same whatever new memory holds, in %zu patterns", (long long)numel,
                     count);
  return OPC_OK;
}

static opc_status_t run_initialisation(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  if (context->device.type != OPC_DEVICE_CPU && opc_device_zones_missing())
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the memory of this device is not filled: %s",
                            opc_device_zones_missing());
  /* With this, out-of-bounds reads always give the same bytes: a result that depends on the pattern does not come from
   * them. */
  opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  opc_cpu_memory_fix_slack(true);
  const opc_status_t status = check_patterns(context, finding, error);
  opc_cpu_memory_fix_slack(false);
  return status;
}

const opc_check_t opc_check_initialisation = {.name = "initialisation", .run = run_initialisation};
