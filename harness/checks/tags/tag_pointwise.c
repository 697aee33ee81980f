/* pointwise: "each element of the output is computed only by accessing the corresponding element of all the broadcasted
 * inputs". */
#include <math.h>
#include <string.h>

#include "checks/tags/tags.h"

static bool is_input(const opc_operator_t *op, const opc_tensor_arg_t *tensor_arg) {
  return !(op->arguments[tensor_arg->argument].kwarg_only && opc_tensor_arg_is_mutable(tensor_arg));
}

/* Each item of a list is independent, as in _foreach operators: the tag says nothing about those. */
static bool takes_lists(const opc_operator_t *op) {
  for (size_t i = 0; i < op->argument_count; i++) {
    const opc_type_t *type = &op->arguments[i].type;
    if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
    if (type->kind == OPC_TYPE_LIST && opc_type_holds_tensor(type)) return true;
  }
  return op->is_vararg;
}

bool opc_tag_broadcast(opc_tag_shape_t *shape, const opc_tensor_meta_t *meta) {
  opc_tag_shape_t joined = {.ndim = shape->ndim > meta->ndim ? shape->ndim : meta->ndim};
  for (int d = 1; d <= joined.ndim; d++) {
    int64_t left = d <= shape->ndim ? shape->sizes[shape->ndim - d] : 1,
            right = d <= meta->ndim ? meta->sizes[meta->ndim - d] : 1;
    if (left != right && left != 1 && right != 1) return false;
    joined.sizes[joined.ndim - d] = left == 1 ? right : left;
  }
  *shape = joined;
  return true;
}

static bool has_shape(const opc_tensor_meta_t *meta, const opc_tag_shape_t *shape) {
  return meta->ndim == shape->ndim &&
         memcmp(meta->sizes, shape->sizes, (size_t)shape->ndim * sizeof shape->sizes[0]) == 0;
}

/* True: all shapes are as expected. *out_inputs counts the tensors. */
static bool shapes_hold(const opc_tag_case_t *tagged, size_t *out_inputs) {
  opc_tag_shape_t all = {0};
  char here[160], there[160];
  *out_inputs = 0;
  for (size_t i = 0; i < tagged->call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &tagged->call->tensor_args[i];
    if (!is_input(tagged->context->op, tensor_arg)) continue;
    ++*out_inputs;
    if (opc_tag_broadcast(&all, &tensor_arg->before)) continue;
    opc_sizes_text(tensor_arg->before.ndim, tensor_arg->before.sizes, here, sizeof here);
    opc_sizes_text(all.ndim, all.sizes, there, sizeof there);
    opc_finding_fail(tagged->finding, OPC_RULE_tags_pointwise,
                     "tagged pointwise, but it takes %s of shape %s with others of shape %s, which do not broadcast",
                     tensor_arg->path, here, there);
    return false;
  }
  for (size_t i = 0; *out_inputs && i < tagged->result->count; i++) {
    const opc_result_item_t *item = &tagged->result->items[i];
    if (item->kind != OPC_VALUE_TENSOR || has_shape(&item->meta, &all)) continue;
    opc_sizes_text(item->meta.ndim, item->meta.sizes, here, sizeof here);
    opc_sizes_text(all.ndim, all.sizes, there, sizeof there);
    opc_finding_fail(tagged->finding, OPC_RULE_tags_pointwise,
                     "tagged pointwise, but %s has shape %s and the arguments broadcast to %s", item->path, here,
                     there);
    return false;
  }
  return true;
}

/* ---- changing one element ---- */

typedef struct move {
  const opc_replay_t *values;
  size_t tensor_arg;
  int64_t element;
  bool up;      /* above all others; otherwise below all others */
  bool changed; /* the value has changed */
} move_t;

/* Integers may be indices or shifts: they stay within the tensor's range of values. */
static int64_t extreme_of(const struct opc_replay_tensor_arg *tensor_arg, bool up) {
  size_t width = opc_dtype_size(tensor_arg->dtype);
  int64_t found = opc_number_load(tensor_arg->dtype, tensor_arg->bytes).i;
  for (int64_t i = 1; i < tensor_arg->numel; i++) {
    int64_t value = opc_number_load(tensor_arg->dtype, (const char *)tensor_arg->bytes + (size_t)i * width).i;
    if (up ? value > found : value < found) found = value;
  }
  return found;
}

static bool element_move(const struct opc_replay_tensor_arg *tensor_arg, char *element, bool up) {
  char candidate[16];
  size_t width = opc_dtype_size(tensor_arg->dtype);
  opc_number_t number = opc_number_load(tensor_arg->dtype, element);
  double beyond = (up ? 1.0 : -1.0) * (2.0 * tensor_arg->largest + 1.0);
  if (number.kind == OPC_NUMBER_FLOAT) number.f = beyond;
  else if (number.kind == OPC_NUMBER_COMPLEX) number.c.re = beyond;
  else if (tensor_arg->dtype == OPC_DTYPE_BOOL) number.i = up;
  else number.i = extreme_of(tensor_arg, up);
  if (width > sizeof candidate || fabs(beyond) > opc_dtype_max(tensor_arg->dtype)) return false;
  if (!opc_number_store(number, tensor_arg->dtype, candidate) || memcmp(candidate, element, width) == 0) return false;
  memcpy(element, candidate, width);
  return true;
}

static opc_status_t give_moved(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                               void *context, opc_error_t *error) {
  move_t *move = context;
  OPC_RETURN_IF_ERROR(opc_replay_values(tensor_arg, path, spec, logical, (void *)(uintptr_t)move->values, error));
  if (tensor_arg == move->tensor_arg)
    move->changed = element_move(&move->values->tensor_args[tensor_arg],
                                 (char *)logical + (size_t)move->element * opc_dtype_size(spec->dtype), move->up);
  return OPC_OK;
}

/* Whether an element of the output is computed from an element of the argument, according to broadcasting. */
static bool corresponds(const opc_tensor_meta_t *output, int64_t at, const opc_tensor_meta_t *input, int64_t element) {
  for (int d = 1; d <= output->ndim; d++) {
    int64_t size = output->sizes[output->ndim - d], own = d <= input->ndim ? input->sizes[input->ndim - d] : 1;
    if (own > 1 && at % size != element % own) return false;
    at /= size;
    element /= own;
  }
  return true;
}

/* The first element that changed although it should not; -1: none. */
static int64_t stray_element(const opc_result_item_t *before, const opc_result_item_t *after,
                             const opc_tensor_meta_t *input, int64_t element) {
  size_t width = before->meta.itemsize;
  bool comparable = before->kind == OPC_VALUE_TENSOR && after->kind == OPC_VALUE_TENSOR && before->bytes &&
                    after->bytes && before->size == after->size;
  for (int64_t i = 0; comparable && i < before->meta.numel; i++) {
    size_t at = (size_t)i * width;
    if (memcmp((const char *)before->bytes + at, (const char *)after->bytes + at, width) == 0) continue;
    if (!corresponds(&before->meta, i, input, element)) return i;
  }
  return -1;
}

static opc_status_t report_stray(const opc_tag_case_t *tagged, const opc_tensor_arg_t *tensor_arg, int64_t element,
                                 const opc_result_item_t *item, int64_t at, opc_error_t *error) {
  bool nondeterministic = false;
  OPC_RETURN_IF_ERROR(opc_tag_is_nondeterministic(tagged, &nondeterministic, error));
  if (nondeterministic) return OPC_OK;
  char here[160], there[160];
  opc_index_text(&item->meta, at, here, sizeof here);
  opc_index_text(&tensor_arg->before, element, there, sizeof there);
  return opc_finding_fail(tagged->finding, OPC_RULE_tags_pointwise,
                          "tagged pointwise, but %s%s changes when only %s%s changes, which is not its element",
                          item->path, here, tensor_arg->path, there);
}

/* *out_found: an element changed that does not correspond to the moved one. */
static opc_status_t try_element(const opc_tag_case_t *tagged, move_t *move, bool *out_found, opc_error_t *error) {
  const opc_tensor_arg_t *tensor_arg = &tagged->call->tensor_args[move->tensor_arg];
  const opc_again_t again = {.context = tagged->context,
                             .values = give_moved,
                             .values_context = move,
                             .label = {OPC_CALL_KIND_WITH_OTHERS, "one element changed"}};
  OPC_SCOPED(opc_result_clear) opc_result_t moved = {0};
  opc_call_outcome_t outcome;
  OPC_RETURN_IF_ERROR(opc_again_run(&again, &moved, &outcome, NULL, error));
  for (size_t i = 0;
       outcome == OPC_CALL_RETURNED && move->changed && moved.count == tagged->result->count && i < moved.count; i++) {
    int64_t stray = stray_element(&tagged->result->items[i], &moved.items[i], &tensor_arg->before, move->element);
    if (stray < 0) continue;
    *out_found = true;
    OPC_RETURN_IF_ERROR(report_stray(tagged, tensor_arg, move->element, &tagged->result->items[i], stray, error));
    break;
  }
  return OPC_OK;
}

static bool is_tried(const opc_operator_t *op, const opc_tensor_arg_t *tensor_arg) {
  return is_input(op, tensor_arg) && tensor_arg->before.numel > 0 && !tensor_arg->spec->storage &&
         !tensor_arg->spec->identity && !opc_spec_overlaps_itself(tensor_arg->spec);
}

/* Changes the first and the last element of each tensor, to above and below all others: a sum, a scan or an extremum
 * shows in one of them. */
static opc_status_t elements_hold(const opc_tag_case_t *tagged, opc_error_t *error) {
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  bool found = false;
  opc_case_context_t *context = tagged->context;
  OPC_RETURN_IF_ERROR(opc_again_values(&(opc_again_t){.context = context}, &values, error));
  for (size_t i = 0; !found && i < tagged->call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &tagged->call->tensor_args[i];
    if (!is_tried(context->op, tensor_arg)) continue;
    for (int trial = 0; !found && trial < 4; trial++) {
      move_t move = {.values = &values,
                     .tensor_arg = i,
                     .element = trial < 2 ? 0 : tensor_arg->before.numel - 1,
                     .up = trial % 2 == 0};
      OPC_RETURN_IF_ERROR(try_element(tagged, &move, &found, error));
    }
  }
  return OPC_OK;
}

opc_status_t opc_tag_pointwise(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error) {
  size_t inputs = 0;
  if (takes_lists(tagged->context->op)) return OPC_OK;
  bool right = shapes_hold(tagged, &inputs);
  *out_tested = inputs > 0;
  /* How many random numbers an element draws may depend on its value, which shifts all others. */
  if (!right || !inputs || opc_operator_is_random(tagged->context->op)) return OPC_OK;
  return elements_hold(tagged, error);
}
