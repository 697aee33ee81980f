/* Runs each sample that a search found once more, in a child that has run nothing else. This shows samples that were
 * accepted only because of what earlier tries left behind. Small outputs are kept for other operators' searches. */
#include <stdlib.h>
#include <string.h>

#include "supervise/jobs/search_over.h"
#include "supervise/jobs/searched.h"
#include "supervise/jobs/task_phases.h"

enum { LARGEST = 1 << 18 }; /* elements of a result that is kept */

static opc_status_t command(opc_task_t *task, json_t **out, opc_error_t *error) {
  if (task->fresh >= task->samples.count) return opc_task_search_over(task, error);
  task->session->current = task->op->name;
  *out = json_pack("{s:s, s:s, s:s, s:o, s:I, s:b, s:b}", "t", "try", "operator", task->op->name, "device",
                   opc_search_device(task->session, task->op), "sample",
                   opc_sample_to_json(&task->samples.samples[task->fresh], task->op), "seed",
                   (json_int_t)task->session->options->seed, "values", 1, "without_meta", 1);
  return *out != NULL ? OPC_OK : opc_out_of_memory(error);
}

/* A tensor with all its values, or only with its sizes; NULL: the message makes no sense. */
static opc_tensor_spec_t *tensor_of(const json_t *told) {
  const json_t *shape = json_object_get(told, "shape"), *values = json_object_get(told, "values");
  const char *name = json_string_value(json_object_get(told, "dtype"));
  opc_dtype_t dtype = name != NULL ? opc_dtype_find(name) : OPC_DTYPE_OTHER;
  int64_t sizes[OPC_MAX_DIMS];
  size_t ndim = json_array_size(shape), count = json_array_size(values);
  int64_t numel = 1;
  if (dtype == OPC_DTYPE_OTHER || ndim > OPC_MAX_DIMS) return NULL;
  for (size_t i = 0; i < ndim; i++) {
    sizes[i] = json_integer_value(json_array_get(shape, i));
    if (sizes[i] < 1 || sizes[i] > LARGEST / numel) return NULL;
    numel *= sizes[i];
  }
  opc_tensor_spec_t *spec = opc_tensor_spec_new(dtype, (int)ndim, sizes);
  if (spec != NULL) spec->dtype_given = true;
  if (spec == NULL || count == 0) return spec;
  if ((size_t)numel == count) spec->fill.values = calloc(count, sizeof *spec->fill.values);
  if (spec->fill.values == NULL) {
    opc_tensor_spec_free(spec);
    return NULL;
  }
  spec->fill.kind = OPC_FILL_VALUES;
  spec->fill.value_count = count;
  for (size_t i = 0; i < count; i++) {
    const json_t *value = json_array_get(values, i);
    if (json_is_integer(value))
      spec->fill.values[i] = (opc_number_t){.kind = OPC_NUMBER_INT, .i = json_integer_value(value)};
    else spec->fill.values[i] = (opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = json_number_value(value)};
  }
  return spec;
}

static void keep_outputs(opc_task_t *task, const json_t *message) {
  const json_t *returns = json_object_get(message, "returns");
  opc_value_t *kept = calloc(json_array_size(returns) + 1, sizeof *kept);
  size_t count = 0;
  for (size_t i = 0; kept != NULL && i < json_array_size(returns); i++) {
    opc_tensor_spec_t *spec = tensor_of(json_array_get(returns, i));
    if (spec != NULL) kept[count++] = (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = spec};
  }
  task->produced[task->fresh] = kept;
  task->produced_count[task->fresh] = count;
}

static opc_status_t message(opc_task_t *task, json_t *message, opc_error_t *error) {
  const char *type = json_string_value(json_object_get(message, "t")),
             *outcome = json_string_value(json_object_get(message, "outcome"));
  bool tried = type != NULL && strcmp(type, "tried") == 0;
  if (task->fresh >= task->samples.count || (!tried && (type == NULL || strcmp(type, "refused") != 0)))
    return OPC_OK; /* not an answer */
  task->child_cpu = json_number_value(json_object_get(message, "cpu_seconds"));
  /* With another option an operator may forget what it otherwise does not forget: the sample is there to show that. */
  bool forgot = task->samples.samples[task->fresh].varied && outcome != NULL && strcmp(outcome, "uninitialised") == 0;
  task->lost[task->fresh] = !tried || outcome == NULL || (strcmp(outcome, "returned") != 0 && !forgot);
  task->changed[task->fresh] =
      task->digests[task->fresh] != 0 && opc_search_digest_of(message) != task->digests[task->fresh];
  if (!task->lost[task->fresh]) keep_outputs(task, message);
  task->fresh++;
  return opc_task_send(task, error);
}

static opc_status_t crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error) {
  (void)case_id;
  (void)crash;
  (void)error;
  opc_task_search_count_child(task);
  if (task->fresh < task->samples.count) task->lost[task->fresh++] = true;
  return OPC_OK; /* the task wants a child again and is then asked for its next command */
}

const opc_phase_t opc_phase_search_confirm = {
    .command = command, .message = message, .crash = crash, .seconds = opc_task_try_seconds, .searches = true};
