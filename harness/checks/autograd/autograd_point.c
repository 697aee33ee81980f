#include "checks/autograd/autograd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

const opc_autograd_forward_t opc_autograd_forward_plain = {
    .track = true, .label = {OPC_CALL_KIND_OPERATOR, "with inputs that require grad"}};
const opc_autograd_backward_t opc_autograd_backward_plain = {.label = {OPC_CALL_KIND_BACKWARD, ""}};

static bool is_differentiable(const opc_tensor_meta_t *meta) {
  return meta->defined && strcmp(meta->layout, "strided") == 0 && opc_dtype_is_inexact(meta->dtype) &&
         meta->ndim <= OPC_MAX_DIMS;
}

static opc_status_t part_add(opc_autograd_parts_t *parts, const char *path, const opc_tensor_meta_t *meta,
                             opc_error_t *error) {
  if (!OPC_ARRAY_GROW(parts->items, parts->count)) return opc_out_of_memory(error);
  opc_autograd_part_t *part = &parts->items[parts->count++];
  *part = (opc_autograd_part_t){.meta = *meta, .first = parts->numbers, .tracked = meta->requires_grad};
  part->count = (size_t)meta->numel * opc_autograd_width(meta->dtype);
  snprintf(part->path, sizeof part->path, "%s", path);
  parts->numbers += part->count;
  return OPC_OK;
}

static void parts_clear(opc_autograd_parts_t *parts) {
  free(parts->items);
  *parts = (opc_autograd_parts_t){0};
}

/* ---- forward ---- */

typedef struct values {
  const opc_autograd_point_t *point;
  opc_replay_t *replay;
  const double *direction;
  double step;
} values_t;

static opc_status_t values_moved(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                                 void *context, opc_error_t *error) {
  const values_t *values = context;
  OPC_RETURN_IF_ERROR(opc_replay_values(tensor_arg, path, spec, logical, values->replay, error));
  const opc_autograd_parts_t *inputs = &values->point->inputs;
  for (size_t i = 0; values->direction && i < inputs->count; i++) {
    const opc_autograd_part_t *part = &inputs->items[i];
    if (part->tensor_arg != tensor_arg) continue;
    size_t width = opc_dtype_size(spec->dtype), step = opc_autograd_width(spec->dtype);
    for (size_t e = 0; e * step < part->count; e++) {
      const double *by = values->direction + part->first + e * step;
      char *at = (char *)logical + e * width;
      if (by[0] == 0.0 && (step == 1 || by[1] == 0.0)) continue;
      opc_number_t number = opc_number_load(spec->dtype, at);
      if (step == 2) {
        number.c.re += values->step * by[0];
        number.c.im += values->step * by[1];
      } else {
        number.f += values->step * by[0];
      }
      opc_number_store(number, spec->dtype, at);
    }
  }
  return OPC_OK;
}

static opc_status_t track(const opc_autograd_point_t *point, const opc_autograd_forward_t *how, opc_autograd_run_t *run,
                          opc_error_t *error) {
  run->leaf_count = point->inputs.count;
  run->leaves = calloc(point->inputs.count + 1, sizeof *run->leaves);
  if (!run->leaves) return opc_out_of_memory(error);
  for (size_t i = 0; how->track && i < point->inputs.count; i++) {
    const opc_autograd_part_t *part = &point->inputs.items[i];
    if (!how->only || how->only[i])
      OPC_RETURN_IF_ERROR(
          opc_autograd_track(run->call.tensor_args[part->tensor_arg].tensor, part->written, &run->leaves[i], error));
  }
  return OPC_OK;
}

/* A returned argument has its own gradient, not the operator's; a written one comes after the returns. */
static bool is_returned_argument(const opc_call_t *call, const void *impl) {
  opc_tensor_meta_t meta;
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    opc_tensor_describe(call->tensor_args[i].tensor, &meta);
    if (meta.impl == impl) return true;
  }
  return false;
}

static opc_status_t collect_outputs(opc_autograd_run_t *run, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  OPC_RETURN_IF_ERROR(opc_call_outputs(&run->call, &outputs, &count, error));
  run->outputs = calloc(count + run->call.tensor_arg_count + 1, sizeof *run->outputs);
  if (!run->outputs) return opc_out_of_memory(error);
  for (size_t i = 0; i < count; i++) {
    if (!is_differentiable(&outputs[i].meta) || is_returned_argument(&run->call, outputs[i].meta.impl)) continue;
    run->outputs[run->parts.count] = outputs[i].tensor;
    OPC_RETURN_IF_ERROR(part_add(&run->parts, outputs[i].path, &outputs[i].meta, error));
  }
  for (size_t i = 0; i < run->call.tensor_arg_count; i++) {
    opc_tensor_meta_t meta;
    const opc_tensor_arg_t *tensor_arg = &run->call.tensor_args[i];
    opc_tensor_describe(tensor_arg->tensor, &meta);
    if (!opc_tensor_arg_is_mutable(tensor_arg) || !is_differentiable(&meta)) continue;
    run->outputs[run->parts.count] = tensor_arg->tensor;
    OPC_RETURN_IF_ERROR(part_add(&run->parts, tensor_arg->path, &meta, error));
  }
  return OPC_OK;
}

opc_status_t opc_autograd_forward_run(opc_autograd_point_t *point, const opc_autograd_forward_t *how,
                                      opc_autograd_run_t *run, opc_error_t *error) {
  opc_case_context_t *context = point->context;
  values_t values = {.point = point,
                     .replay = how->replay ? how->replay : &point->replay,
                     .direction = how->direction,
                     .step = how->step};
  opc_call_options_t options = {.device = how->device ? *how->device : context->device,
                                .seed = context->seed,
                                .values = values_moved,
                                .values_context = &values};
  *run = (opc_autograd_run_t){0};
  OPC_RETURN_IF_ERROR(
      opc_call_make_with(&run->call, context->op, how->sample ? how->sample : &point->sample, &options, error));
  OPC_RETURN_IF_ERROR(track(point, how, run, error));
  context->announce(how->label);
  if (opc_call_run(&run->call, context->handle, context->seed) == OPC_CALL_RETURNED)
    OPC_RETURN_IF_ERROR(collect_outputs(run, error));
  return OPC_OK;
}

void opc_autograd_run_clear(opc_autograd_run_t *run) {
  for (size_t i = 0; run->leaves && i < run->leaf_count; i++) opc_tensor_free(run->leaves[i]);
  free(run->leaves);
  free(run->outputs);
  parts_clear(&run->parts);
  opc_call_clear(&run->call);
  *run = (opc_autograd_run_t){0};
}

bool opc_autograd_run_fits(const opc_autograd_point_t *point, const opc_autograd_run_t *run) {
  if (run->parts.count != point->outputs.count) return false;
  for (size_t i = 0; i < run->parts.count; i++) {
    const opc_autograd_part_t *is = &run->parts.items[i], *was = &point->outputs.items[i];
    if (is->count != was->count || !opc_tensor_same_sizes(&is->meta, &was->meta)) return false;
  }
  return true;
}

opc_status_t opc_autograd_run_loss(const opc_autograd_run_t *run, const double *weights, double *out,
                                   opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) double *numbers = malloc((run->parts.numbers + 1) * sizeof *numbers);
  *out = 0.0;
  if (!numbers) return opc_out_of_memory(error);
  for (size_t i = 0; i < run->parts.count; i++) {
    const opc_autograd_part_t *part = &run->parts.items[i];
    bool read = false;
    OPC_RETURN_IF_ERROR(opc_autograd_numbers(run->outputs[i], numbers + part->first, part->count, &read, error));
    if (!read) *out = NAN;
    for (size_t k = part->first; read && k < part->first + part->count; k++)
      if (weights[k] != 0.0) *out += weights[k] * numbers[k];
  }
  return OPC_OK;
}

/* ---- the point ---- */

void opc_autograd_forget_grad(opc_sample_t *sample) {
  opc_tensor_spec_t *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++) spec->requires_grad = false;
}

bool opc_autograd_has_own_node(const opc_autograd_point_t *point) {
  for (size_t i = 0; i < point->outputs.count; i++)
    if (point->outputs.items[i].graph & OPC_GRAPH_CUSTOM) return true;
  return false;
}

static bool is_twin(const opc_call_t *call, size_t tensor_arg) {
  for (size_t i = 0; i < tensor_arg; i++)
    if (call->tensor_args[i].tensor && call->tensor_args[i].before.impl == call->tensor_args[tensor_arg].before.impl)
      return true;
  return false;
}

static void find_still(opc_autograd_point_t *point, const opc_autograd_part_t *part) {
  const struct opc_replay_tensor_arg *held = &point->replay.tensor_args[part->tensor_arg];
  const size_t width = opc_autograd_width(held->dtype), size = opc_dtype_size(held->dtype);
  for (size_t i = 0; i < (size_t)held->numel && (i + 1) * width <= part->count; i++) {
    const opc_number_t number = opc_number_load(held->dtype, (const char *)held->bytes + i * size);
    const bool finite = width == 2 ? isfinite(number.c.re) && isfinite(number.c.im) : isfinite(number.f);
    for (size_t k = 0; !finite && k < width; k++) point->still[part->first + i * width + k] = true;
  }
}

static opc_status_t find_inputs(opc_autograd_point_t *point, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  opc_case_context_t *context = point->context;
  OPC_RETURN_IF_ERROR(opc_call_make(&call, context->op, &point->sample, context->device, context->seed, error));
  for (size_t i = 0; i < call.tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call.tensor_args[i];
    /* Values stored with so few digits have no slope. */
    if (!is_differentiable(&tensor_arg->before) || opc_dtype_is_float8(tensor_arg->before.dtype) || is_twin(&call, i) ||
        !(point->wanted & opc_autograd_bit(i)))
      continue;
    OPC_RETURN_IF_ERROR(part_add(&point->inputs, tensor_arg->path, &tensor_arg->before, error));
    opc_autograd_part_t *part = &point->inputs.items[point->inputs.count - 1];
    part->tensor_arg = i;
    part->written = opc_tensor_arg_is_mutable(tensor_arg);
    point->epsilon = fmax(point->epsilon, opc_dtype_ulp(tensor_arg->before.dtype, 1.0));
  }
  point->scale = calloc(point->inputs.count + 1, sizeof *point->scale);
  point->still = calloc(point->inputs.numbers + 1, sizeof *point->still);
  if (!point->scale || !point->still) return opc_out_of_memory(error);
  for (size_t i = 0; i < point->inputs.count; i++) {
    double largest = point->replay.tensor_args[point->inputs.items[i].tensor_arg].largest;
    point->scale[i] = largest > 0.0 ? largest : 1.0;
    find_still(point, &point->inputs.items[i]);
  }
  return OPC_OK;
}

/* The weights of elements that are not finite become 0. What cannot be read stays as it is: there is no loss then. */
static opc_status_t leave_out_not_finite(opc_autograd_point_t *point, const opc_autograd_run_t *run,
                                         opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) double *numbers = malloc((point->outputs.numbers + 1) * sizeof *numbers);
  if (!numbers) return opc_out_of_memory(error);
  for (size_t i = 0; i < point->outputs.count; i++) {
    const opc_autograd_part_t *part = &point->outputs.items[i];
    const size_t width = opc_autograd_width(part->meta.dtype);
    bool read = false;
    OPC_RETURN_IF_ERROR(opc_autograd_numbers(run->outputs[i], numbers, part->count, &read, error));
    for (size_t k = 0; read && k < part->count; k += width) {
      if (isfinite(numbers[k]) && isfinite(numbers[k + width - 1])) continue;
      memset(point->weights + part->first + k, 0, width * sizeof *point->weights);
      point->not_finite += width;
    }
  }
  return OPC_OK;
}

bool opc_autograd_has_weights(const opc_autograd_point_t *point) {
  for (size_t k = 0; k < point->outputs.numbers; k++)
    if (point->weights[k] != 0.0) return true;
  return false;
}

/* Eighths between 0.5 and 1.5: every floating dtype can represent them. */
static opc_status_t choose_weights(opc_autograd_point_t *point, const opc_autograd_run_t *run, opc_error_t *error) {
  point->weights = calloc(point->outputs.numbers + 1, sizeof *point->weights);
  if (!point->weights) return opc_out_of_memory(error);
  bool tracked = false;
  for (size_t i = 0; i < point->outputs.count; i++) tracked = tracked || point->outputs.items[i].tracked;
  for (size_t i = 0; i < point->outputs.count; i++) {
    const opc_autograd_part_t *part = &point->outputs.items[i];
    for (size_t k = part->first; k < part->first + part->count && (part->tracked || !tracked); k++) {
      uint64_t draw = opc_random_u64(point->context->seed, opc_random_stream("weights"), k);
      point->weights[k] = (double)(4 + draw % 9) / 8.0 * (draw & 1024 ? -1.0 : 1.0);
    }
  }
  return leave_out_not_finite(point, run, error);
}

static opc_status_t take_replay(opc_autograd_point_t *point, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  opc_case_context_t *context = point->context;
  OPC_RETURN_IF_ERROR(opc_call_make(&call, context->op, &point->sample, context->device, context->seed, error));
  return opc_replay_take(&point->replay, &call, error);
}

opc_status_t opc_autograd_point_make(opc_autograd_point_t *point, opc_case_context_t *context, uint64_t wanted,
                                     bool wide, bool *out_usable, opc_text_t *message, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  *point = (opc_autograd_point_t){.context = context, .wanted = wanted};
  *out_usable = false;
  OPC_RETURN_IF_ERROR(opc_sample_copy(context->sample, &point->sample, error));
  opc_sample_make_contiguous(&point->sample);
  opc_autograd_forget_grad(&point->sample);
  OPC_RETURN_IF_ERROR(take_replay(point, error));
  if (wide) opc_sample_widen(&point->sample);
  OPC_RETURN_IF_ERROR(find_inputs(point, error));
  OPC_RETURN_IF_ERROR(opc_autograd_forward_run(point, &opc_autograd_forward_plain, &run, error));
  if (run.call.outcome != OPC_CALL_RETURNED) {
    opc_text_add(message, opc_text_c(&run.call.message));
    return OPC_OK;
  }
  for (size_t i = 0; i < run.parts.count; i++) {
    run.parts.items[i].graph = opc_autograd_graph(run.outputs[i]);
    point->epsilon = fmax(point->epsilon, opc_dtype_ulp(run.parts.items[i].meta.dtype, 1.0));
  }
  point->outputs = run.parts;
  run.parts = (opc_autograd_parts_t){0};
  OPC_RETURN_IF_ERROR(choose_weights(point, &run, error));
  *out_usable = true;
  return OPC_OK;
}

void opc_autograd_point_clear(opc_autograd_point_t *point) {
  opc_sample_clear(&point->sample);
  opc_replay_clear(&point->replay);
  parts_clear(&point->inputs);
  parts_clear(&point->outputs);
  free(point->weights);
  free(point->scale);
  free(point->still);
  *point = (opc_autograd_point_t){0};
}
