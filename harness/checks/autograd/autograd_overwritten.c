/* Elements that never reach the result, because another element with the same index overwrites them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/autograd/autograd.h"

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

/* Where all elements have one index, it is unknown which of them wins. */
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

static opc_status_t never_matters(const opc_autograd_slopes_t *slopes, bool *out, opc_error_t *error) {
  double here = NAN, right = NAN, left = NAN;
  OPC_RETURN_IF_ERROR(slopes->function(0.0, slopes->context, &here, error));
  OPC_RETURN_IF_ERROR(slopes->function(FAR, slopes->context, &right, error));
  OPC_RETURN_IF_ERROR(slopes->function(-FAR, slopes->context, &left, error));
  *out = here == right && here == left;
  return OPC_OK;
}

/* With another index for the elements that share one with this element, the result depends on it as its gradient
 * says. */
static opc_status_t decides_alone(const opc_autograd_slopes_t *slopes, struct opc_replay_tensor_arg *indices,
                                  size_t element, double analytic, bool *out, opc_error_t *error) {
  const size_t size = (size_t)indices->numel * opc_dtype_size(indices->dtype);
  const double epsilon = slopes->point->epsilon;
  OPC_SCOPED(opc_scope_free) void *kept = malloc(size + 1);
  opc_slope_t slope = {0};
  if (!kept) return opc_out_of_memory(error);
  memcpy(kept, indices->bytes, size);
  const bool moved = move_others(indices, element);
  const opc_status_t status =
      moved ? opc_slope_take(slopes->function, slopes->context, epsilon, &slope, error) : OPC_OK;
  memcpy(indices->bytes, kept, size);
  OPC_RETURN_IF_ERROR(status);
  *out = moved && analytic != 0.0 && opc_slope_compare(&slope, analytic, fabs(analytic), epsilon) == OPC_AGREES;
  return OPC_OK;
}

opc_status_t opc_autograd_is_overwritten(const opc_autograd_slopes_t *slopes, size_t input, size_t number,
                                         double analytic, bool *out, opc_error_t *error) {
  const opc_autograd_part_t *part = &slopes->point->inputs.items[input];
  opc_replay_t *replay = &slopes->point->replay;
  size_t elements = (size_t)part->meta.numel, element = number / (part->count / elements);
  bool untracked = false;
  *out = false;
  OPC_RETURN_IF_ERROR(never_matters(slopes, &untracked, error));
  for (size_t i = 0; untracked && !*out && i < replay->count; i++) {
    struct opc_replay_tensor_arg *tensor_arg = &replay->tensor_args[i];
    if (!holds_indices(tensor_arg, elements)) continue;
    if (all_share_one(tensor_arg)) *out = true;
    else OPC_RETURN_IF_ERROR(decides_alone(slopes, tensor_arg, element, analytic, out, error));
  }
  return OPC_OK;
}
