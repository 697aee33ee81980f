/* Elements that never reach the result, because another element with the same index overwrites them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/autograd/autograd_difference.h"

static const double FAR =
    4096.0; /* times the input's largest value: an element that wins by its value (a maximum) wins with this one */

static int64_t index_at(const struct opc_replay_tensor_arg *tensor_arg, size_t element) {
  return opc_number_load(tensor_arg->dtype,
                         (const char *)tensor_arg->bytes + element * opc_dtype_size(tensor_arg->dtype))
      .i;
}

static bool holds_indices(const struct opc_replay_tensor_arg *tensor_arg, size_t elements) {
  opc_dtype_class_t kind = opc_dtype_class(tensor_arg->dtype);
  return (kind == OPC_CLASS_SIGNED || kind == OPC_CLASS_UNSIGNED) && (size_t)tensor_arg->numel == elements;
}

/* Which of several elements wins cannot be told where all have one index. */
static bool all_share_one(const struct opc_replay_tensor_arg *tensor_arg) {
  for (size_t i = 1; i < (size_t)tensor_arg->numel; i++)
    if (index_at(tensor_arg, i) != index_at(tensor_arg, 0)) return false;
  return tensor_arg->numel > 1;
}

/* Gives every other element with this index another index that is already in use. False: there is no such element, or
 * no such index. */
static bool move_others(struct opc_replay_tensor_arg *tensor_arg, size_t element) {
  size_t width = opc_dtype_size(tensor_arg->dtype), moved = 0;
  char *bytes = tensor_arg->bytes;
  int64_t shared = index_at(tensor_arg, element);
  const char *other = NULL;
  for (size_t i = 0; i < (size_t)tensor_arg->numel && !other; i++)
    if (index_at(tensor_arg, i) != shared) other = bytes + i * width;
  for (size_t i = 0; other && i < (size_t)tensor_arg->numel; i++) {
    if (i == element || index_at(tensor_arg, i) != shared) continue;
    memcpy(bytes + i * width, other, width);
    moved++;
  }
  return moved > 0;
}

static opc_status_t never_matters(const opc_autograd_judge_t *judge, bool *out, opc_error_t *error) {
  double here = NAN, right = NAN, left = NAN;
  opc_status_t status = judge->function(0.0, judge->context, &here, error);
  if (status == OPC_OK) status = judge->function(FAR, judge->context, &right, error);
  if (status == OPC_OK) status = judge->function(-FAR, judge->context, &left, error);
  *out = here == right && here == left;
  return status;
}

opc_status_t opc_autograd_is_overwritten(const opc_autograd_judge_t *judge, size_t input, size_t number,
                                         double analytic, bool *out, opc_error_t *error) {
  const opc_autograd_part_t *part = &judge->point->inputs.items[input];
  opc_replay_t *replay = &judge->point->replay;
  size_t elements = (size_t)part->meta.numel, element = number / (part->count / elements);
  bool untracked = false;
  *out = false;
  opc_status_t status = never_matters(judge, &untracked, error);
  for (size_t i = 0; status == OPC_OK && untracked && !*out && i < replay->count; i++) {
    struct opc_replay_tensor_arg *tensor_arg = &replay->tensor_args[i];
    opc_slope_t slope;
    if (!holds_indices(tensor_arg, elements)) continue;
    if (all_share_one(tensor_arg)) *out = true;
    if (*out) continue;
    size_t size = (size_t)tensor_arg->numel * opc_dtype_size(tensor_arg->dtype);
    OPC_SCOPED(opc_scope_free) void *kept = malloc(size + 1);
    if (!kept) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for indices");
    memcpy(kept, tensor_arg->bytes, size);
    if (move_others(tensor_arg, element)) {
      status = opc_slope_take(judge->function, judge->context, judge->point->epsilon, &slope, error);
      *out = status == OPC_OK && analytic != 0.0 &&
             opc_slope_compare(&slope, analytic, fabs(analytic), judge->point->epsilon) == OPC_AGREES;
    }
    memcpy(tensor_arg->bytes, kept, size);
  }
  return status;
}
