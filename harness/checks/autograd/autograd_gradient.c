/* The gradients that the operator's own backward computes. */
#include <stdlib.h>
#include <string.h>

#include "checks/autograd/autograd.h"

/* The values of tensors that a backward must only read. */
typedef struct watched {
  const opc_tensor_t *tensor;
  char name[160];
  void *bytes;
  size_t size;
} watched_t;

typedef struct watch_list {
  watched_t *items;
  size_t count;
} watch_list_t;

static opc_status_t watch_add(watch_list_t *list, const opc_tensor_t *tensor, const char *kind, const char *path,
                              opc_error_t *error) {
  opc_tensor_meta_t meta;
  opc_tensor_describe(tensor, &meta);
  if (!meta.defined || strcmp(meta.layout, "strided") != 0 || !opc_tensor_lies_inside(&meta)) return OPC_OK;
  watched_t *item = &list->items[list->count];
  *item = (watched_t){.tensor = tensor};
  snprintf(item->name, sizeof item->name, "%s%s", kind, path);
  OPC_RETURN_IF_ERROR(opc_tensor_logical_bytes(tensor, &item->bytes, &item->size, error));
  list->count++;
  return OPC_OK;
}

static opc_status_t watch_begin(watch_list_t *list, const opc_autograd_run_t *run,
                                const opc_autograd_gradient_t *gradient, opc_error_t *error) {
  list->items = calloc(run->call.tensor_arg_count + 2 * run->parts.count + 1, sizeof *list->items);
  if (!list->items) return opc_out_of_memory(error);
  for (size_t i = 0; i < run->parts.count; i++)
    if (gradient->weights.items[i])
      OPC_RETURN_IF_ERROR(watch_add(list, gradient->weights.items[i], "the gradient that it is given for ",
                                    run->parts.items[i].path, error));
  for (size_t i = 0; i < run->call.tensor_arg_count; i++)
    OPC_RETURN_IF_ERROR(
        watch_add(list, run->call.tensor_args[i].tensor, "argument ", run->call.tensor_args[i].path, error));
  for (size_t i = 0; i < run->parts.count; i++)
    OPC_RETURN_IF_ERROR(watch_add(list, run->outputs[i], "output ", run->parts.items[i].path, error));
  return OPC_OK;
}

static opc_status_t watch_end(watch_list_t *list, opc_autograd_gradient_t *gradient, opc_error_t *error) {
  for (size_t i = 0; !gradient->mutated && i < list->count; i++) {
    OPC_SCOPED(opc_scope_free) void *now = NULL;
    size_t size = 0;
    OPC_RETURN_IF_ERROR(opc_tensor_logical_bytes(list->items[i].tensor, &now, &size, error));
    if ((size != list->items[i].size || memcmp(now, list->items[i].bytes, size) != 0))
      gradient->mutated = strdup(list->items[i].name);
  }
  return OPC_OK;
}

static void watch_clear(watch_list_t *list) {
  for (size_t i = 0; i < list->count; i++) free(list->items[i].bytes);
  free(list->items);
}

static opc_status_t make_weights(const opc_autograd_point_t *point, const opc_autograd_run_t *run,
                                 const opc_autograd_backward_t *how, opc_autograd_gradient_t *gradient,
                                 opc_error_t *error) {
  const double *weights = how->weights ? how->weights : point->weights;
  for (size_t i = 0; i < run->parts.count; i++) {
    const opc_autograd_part_t *part = &run->parts.items[i];
    opc_tensor_t *leaf = NULL;
    if (!part->tracked || (how->outputs && !how->outputs[i])) continue;
    OPC_RETURN_IF_ERROR(
        opc_autograd_tensor(part, weights + part->first, how->layout, &gradient->weights.items[i], error));
    if (how->track_weights) OPC_RETURN_IF_ERROR(opc_autograd_track(gradient->weights.items[i], false, &leaf, error));
    opc_tensor_free(leaf);
  }
  return OPC_OK;
}

static opc_status_t take_values(const opc_autograd_point_t *point, opc_autograd_gradient_t *gradient,
                                opc_error_t *error) {
  for (size_t i = 0; i < point->inputs.count; i++) {
    const opc_autograd_part_t *part = &point->inputs.items[i];
    bool read = false;
    gradient->undefined[i] = !gradient->tensors.items[i];
    if (gradient->undefined[i]) continue;
    OPC_RETURN_IF_ERROR(
        opc_autograd_numbers(gradient->tensors.items[i], gradient->values + part->first, part->count, &read, error));
    gradient->unreadable = gradient->unreadable || !read;
  }
  return OPC_OK;
}

opc_status_t opc_autograd_backward_run(opc_autograd_point_t *point, opc_autograd_run_t *run,
                                       const opc_autograd_backward_t *how, opc_autograd_gradient_t *gradient,
                                       opc_error_t *error) {
  OPC_SCOPED(watch_clear) watch_list_t watch = {0};
  *gradient = (opc_autograd_gradient_t){.outcome = run->call.outcome};
  if (run->call.outcome != OPC_CALL_RETURNED) {
    opc_text_add(&gradient->message, opc_text_c(&run->call.message));
    return OPC_OK;
  }
  gradient->values = calloc(point->inputs.numbers + 1, sizeof *gradient->values);
  gradient->undefined = calloc(point->inputs.count + 1, sizeof *gradient->undefined);
  if (!gradient->values || !gradient->undefined) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_autograd_tensors_make(&gradient->tensors, point->inputs.count, error));
  OPC_RETURN_IF_ERROR(opc_autograd_tensors_make(&gradient->weights, run->parts.count, error));
  OPC_RETURN_IF_ERROR(make_weights(point, run, how, gradient, error));
  if (how->watch) OPC_RETURN_IF_ERROR(watch_begin(&watch, run, gradient, error));
  opc_autograd_request_t request = {.outputs = run->outputs,
                                    .weights = gradient->weights.items,
                                    .output_count = run->parts.count,
                                    .inputs = run->leaves,
                                    .input_count = run->leaf_count,
                                    .retain_graph = how->retain_graph,
                                    .create_graph = how->create_graph};
  point->context->announce(how->label);
  opc_bridge_seed(opc_autograd_backward_seed(point->context->seed));
  gradient->outcome = opc_autograd_grad(&request, gradient->tensors.items, &gradient->message);
  if (gradient->outcome == OPC_CALL_RETURNED) OPC_RETURN_IF_ERROR(take_values(point, gradient, error));
  if (how->watch) OPC_RETURN_IF_ERROR(watch_end(&watch, gradient, error));
  return OPC_OK;
}

opc_status_t opc_autograd_tensors_make(opc_autograd_tensors_t *tensors, size_t count, opc_error_t *error) {
  *tensors = (opc_autograd_tensors_t){.items = calloc(count + 1, sizeof(opc_tensor_t *)), .count = count};
  return tensors->items ? OPC_OK : opc_out_of_memory(error);
}

void opc_autograd_tensors_clear(opc_autograd_tensors_t *tensors) {
  for (size_t i = 0; tensors->items && i < tensors->count; i++) opc_tensor_free(tensors->items[i]);
  free(tensors->items);
  *tensors = (opc_autograd_tensors_t){0};
}

void opc_autograd_gradient_clear(opc_autograd_gradient_t *gradient) {
  opc_autograd_tensors_clear(&gradient->tensors);
  opc_autograd_tensors_clear(&gradient->weights);
  free(gradient->values);
  free(gradient->undefined);
  free(gradient->mutated);
  opc_text_clear(&gradient->message);
  *gradient = (opc_autograd_gradient_t){0};
}

opc_status_t opc_autograd_both(opc_autograd_point_t *point, const opc_autograd_forward_t *forward,
                               const opc_autograd_backward_t *backward, opc_autograd_gradient_t *gradient,
                               opc_error_t *error) {
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  *gradient = (opc_autograd_gradient_t){0};
  OPC_RETURN_IF_ERROR(opc_autograd_forward_run(point, forward, &run, error));
  if (run.call.outcome != OPC_CALL_RETURNED || opc_autograd_run_fits(point, &run))
    return opc_autograd_backward_run(point, &run, backward, gradient, error);
  gradient->outcome = OPC_CALL_UNCONVERTIBLE; /* the outputs differ from before, so nothing can be compared */
  opc_text_add(&gradient->message, "the outputs have other shapes than before");
  return OPC_OK;
}
