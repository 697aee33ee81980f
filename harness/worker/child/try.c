#include "worker/child/try.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "checks/framework/check.h"
#include "memory/cpu_memory.h"
#include "worker/child/batch.h"

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- effects of a call ---- */

/* Appends the text of all values in a return that are not tensors; true if there are any. `out` may be NULL. */
static bool plain_values_add(const opc_value_t *value, opc_text_t *out) {
  char text[256];
  bool any = false;
  if (value->kind == OPC_VALUE_NONE || value->kind == OPC_VALUE_TENSOR) return false;
  if (value->kind == OPC_VALUE_LIST) {
    for (size_t i = 0; i < value->list.count; i++) any = plain_values_add(&value->list.items[i], out) || any;
    return any;
  }
  opc_value_describe(value, text, sizeof text);
  if (out) opc_text_addf(out, "%s;", text);
  return true;
}

/* Collects the bytes of every output and of every changed argument in one text: two calls with equal effects have equal
 * texts. */
static opc_status_t try_effects_collect(const opc_call_t *call, const opc_output_t *outputs, size_t output_count,
                                        opc_text_t *out, opc_error_t *error) {
  for (size_t i = 0; i < output_count; i++) {
    void *bytes = NULL;
    size_t size = 0;
    const opc_tensor_meta_t *meta = &outputs[i].meta;
    opc_text_addf(out, "%s:%s%d", outputs[i].path, meta->dtype_text, meta->ndim);
    for (int d = 0; d < meta->ndim && d < OPC_MAX_DIMS; d++) opc_text_addf(out, ",%lld", (long long)meta->sizes[d]);
    if (!opc_tensor_lies_inside(meta)) continue;
    opc_status_t status = opc_tensor_logical_bytes(outputs[i].tensor, &bytes, &size, error);
    if (status == OPC_ERR_UNSUPPORTED) continue; /* a layout without plain bytes: only its shape is compared */
    if (status != OPC_OK) return status;
    opc_text_add_bytes(out, bytes, size);
    free(bytes);
  }
  for (size_t i = 0; i < call->return_count; i++) plain_values_add(&call->returns[i], out);
  return out->failed ? opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the outputs' bytes") : OPC_OK;
}

static opc_status_t mutations_collect(const opc_call_t *call, json_t *paths, opc_text_t *out, opc_error_t *error) {
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    opc_change_t change = {0};
    OPC_RETURN_IF_ERROR(opc_tensor_arg_changed(&call->tensor_args[i], &change, error));
    if (!change.inside && !change.outside) continue;
    const void *bytes = NULL;
    void *owned = NULL;
    size_t size = 0;
    json_array_append_new(paths, json_string(call->tensor_args[i].path));
    OPC_RETURN_IF_ERROR(opc_tensor_storage_bytes(call->tensor_args[i].tensor, &bytes, &size, &owned, error));
    opc_text_addf(out, "%s:", call->tensor_args[i].path);
    opc_text_add_bytes(out, bytes, size);
    free(owned);
  }
  return OPC_OK;
}

/* The surroundings of a call, on which the operator must not depend. The two fills differ in sign, size and truth value
 * for every dtype. */
typedef struct surroundings {
  opc_guard_side_t side;
  unsigned char poison; /* fill byte of uninitialised memory */
} surroundings_t;
static const surroundings_t behind = {OPC_GUARD_BEHIND, 0x5a}, before = {OPC_GUARD_BEFORE, 0x00};

static void try_clear(try_t *own) {
  free(own->outputs);
  json_decref(own->mutated);
  opc_text_clear(&own->effects);
  opc_call_clear(&own->call);
}

static opc_status_t try_results(try_t *own, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_call_outputs(&own->call, &own->outputs, &own->output_count, error));
  OPC_RETURN_IF_ERROR(try_effects_collect(&own->call, own->outputs, own->output_count, &own->effects, error));
  return mutations_collect(&own->call, own->mutated, &own->effects, error);
}

/* One call with fresh arguments. The generators get the same seed, so that only the arguments' values and the
 * surroundings differ. */
static opc_status_t try_make(try_t *own, const opc_operator_t *op, const opc_sample_t *sample, uint64_t fill_seed,
                             opc_error_t *error) {
  const opc_device_t cpu = {.type = OPC_DEVICE_CPU, .index = -1};
  OPC_RETURN_IF_ERROR(opc_call_make(&own->call, op, sample, cpu, fill_seed, error));
  return opc_call_snapshot(&own->call, error);
}

static opc_status_t try_call(try_t *own, const opc_operator_t *op, opc_op_handle_t *handle, const opc_sample_t *sample,
                             const surroundings_t *around, uint64_t fill_seed, uint64_t seed, opc_error_t *error) {
  own->mutated = json_array();
  opc_try_folder_reset();
  opc_guard_accesses_reset();
  unsigned char usual = opc_poison_byte();
  opc_poison_pattern(around->poison);
  opc_cpu_memory_guard(around->side);
  size_t alignment = opc_cpu_memory_align_arguments(1);
  opc_status_t status = try_make(own, op, sample, fill_seed, error);
  if (status != OPC_OK) {
    /* Arguments that cannot be made are an outcome of the search, not a fault of the harness. */
    own->call.outcome = status == OPC_ERR_MEMORY ? OPC_CALL_OUT_OF_MEMORY : OPC_CALL_UNCONVERTIBLE;
    opc_text_reset(&own->call.message);
    opc_text_add(&own->call.message, error->message);
    status = OPC_OK;
  } else {
    opc_object_t *object = NULL;
    opc_scratch_memory_fill(around->poison);
    opc_heap_guard(around->side, around->poison, OPC_HEAP_DIRECT);
    opc_call_outcome_t outcome = op->kind == OPC_OPERATOR_CLASS ? opc_call_construct(&own->call, op, seed, &object)
                                                                : opc_call_run(&own->call, handle, seed);
    opc_object_free(object);
    opc_heap_guard_off();
    opc_scratch_memory_plain();
    opc_try_note_accesses(own);
    if (outcome == OPC_CALL_RETURNED) status = try_results(own, error);
  }
  opc_cpu_memory_plain();
  opc_cpu_memory_align_arguments(alignment);
  opc_poison_pattern(usual);
  return status;
}

static bool try_equals(const try_t *left, const try_t *right) {
  const opc_text_t *a = &left->effects, *b = &right->effects;
  return left->call.outcome == right->call.outcome && a->length == b->length &&
         (!a->length || memcmp(a->data, b->data, a->length) == 0);
}

/* If there is nothing to return and nothing to change, returning is the only possible effect. */
static bool try_has_effect(const try_t *own, const opc_operator_t *op) {
  if (op->return_count == 0 && !opc_operator_is_mutable(op)) return true;
  for (size_t i = 0; i < own->output_count; i++) {
    const opc_tensor_meta_t *meta = &own->outputs[i].meta;
    bool nested = strcmp(meta->layout, "nested") == 0; /* has no sizes to count elements by */
    if (meta->numel > 0 || (nested && meta->storage_bytes > 0)) return true;
  }
  for (size_t i = 0; i < own->call.return_count; i++)
    if (plain_values_add(&own->call.returns[i], NULL)) return true;
  return json_array_size(own->mutated) > 0;
}

/* ---- does the call prove anything? ---- */

/* The result of calls in other surroundings. */
typedef struct suspicion {
  opc_try_outcome_t outcome; /* UNCLEAN or UNINITIALISED */
  const char *why;           /* NULL: the arguments are clean */
} suspicion_t;

typedef struct subject {
  const opc_operator_t *op;
  opc_op_handle_t *handle;
  const opc_sample_t *sample;
  uint64_t seed;
  opc_crash_record_t *box;
} subject_t;

static opc_status_t repeat_call(const subject_t *subject, try_t *own, const surroundings_t *around, uint64_t fill_seed,
                                opc_error_t *error) {
  return try_call(own, subject->op, subject->handle, subject->sample, around, fill_seed, subject->seed, error);
}

/* The result depends on its surroundings. Only on uninitialised memory, or also on memory next to the tensors? */
static opc_status_t repeat_poison(const subject_t *subject, const try_t *first, suspicion_t *out, opc_error_t *error) {
  OPC_SCOPED(try_clear) try_t poisoned = {0}, moved = {0};
  const surroundings_t other_poison = {behind.side, before.poison}, other_side = {before.side, behind.poison};
  OPC_RETURN_IF_ERROR(repeat_call(subject, &poisoned, &other_poison, subject->seed, error));
  OPC_RETURN_IF_ERROR(repeat_call(subject, &moved, &other_side, subject->seed, error));
  /* With other fill bytes, uninitialised memory may lead to out-of-bounds accesses. */
  const bool outside = poisoned.wrote_outside || poisoned.read_outside || moved.wrote_outside || moved.read_outside;
  bool inside = !outside && try_equals(first, &moved) && poisoned.call.outcome == OPC_CALL_RETURNED;
  if (inside && !try_equals(first, &poisoned))
    *out = (suspicion_t){OPC_TRY_UNINITIALISED,
                         "with these arguments its result depends on memory that nothing initialised"};
  else
    *out =
        (suspicion_t){OPC_TRY_UNCLEAN,
                      "with these arguments it reads outside its tensors' memory, or depends on uninitialised memory"};
  return OPC_OK;
}

/* Repeats the call in other surroundings. A kernel that does not check its arguments accepts many with which it goes
 * out of bounds: any finding on them would be a false report. */
static opc_status_t repeat_surroundings(const subject_t *subject, try_t *first, suspicion_t *out, bool *out_steady,
                                        opc_error_t *error) {
  OPC_SCOPED(try_clear) try_t second = {0}, again = {0};
  opc_crash_case_announce(subject->box, OPC_CALL_LABEL(SEARCH, "in guarded memory"));
  OPC_RETURN_IF_ERROR(repeat_call(subject, &second, &before, subject->seed, error));
  if (!first->wrote_outside && !first->read_outside)
    first->access = second.access; /* if there is one, it is reported */
  first->wrote_outside |= second.wrote_outside;
  first->read_outside |= second.read_outside;
  if (first->wrote_outside || first->read_outside) {
    *out = (suspicion_t){OPC_TRY_UNCLEAN, first->wrote_outside
                                              ? "with these arguments it writes outside its tensors' memory"
                                              : "with these arguments it reads outside its tensors' memory"};
    return OPC_OK;
  }
  if (try_equals(first, &second)) return OPC_OK;
  /* Unless it also differs in the same surroundings: then memory is not the cause. */
  OPC_RETURN_IF_ERROR(repeat_call(subject, &again, &behind, subject->seed, error));
  *out_steady = try_equals(first, &again);
  return *out_steady ? repeat_poison(subject, first, out, error) : OPC_OK;
}

static opc_status_t repeat_values(const subject_t *subject, const try_t *first, bool *out_depends, opc_error_t *error) {
  try_t other = {0};
  opc_crash_case_announce(subject->box, OPC_CALL_LABEL(SEARCH, "with other values"));
  opc_status_t status = repeat_call(subject, &other, &behind, ~subject->seed, error);
  *out_depends = !try_equals(first, &other);
  try_clear(&other);
  return status;
}

/* ---- does the Meta kernel take the arguments? ---- */

/* The author's own Meta kernel often checks what the real kernel takes for granted. What it says of itself, that it
 * needs data, is no refusal of the arguments. */
static void repeat_meta(const subject_t *subject, opc_text_t *out_refusal) {
  static const opc_device_t meta = {.type = OPC_DEVICE_META, .index = -1};
  const opc_kernel_t *kernel = opc_operator_kernel(subject->op, "Meta");
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  if (!kernel || kernel->fallthrough) return;
  opc_crash_case_announce(subject->box, OPC_CALL_LABEL(META_OF_SEARCH, ""));
  if (opc_call_make(&call, subject->op, subject->sample, meta, subject->seed, NULL) != OPC_OK ||
      call.tensor_arg_count == 0)
    return; /* these arguments cannot be made on Meta, so they cannot be refused there */
  if (opc_call_run(&call, subject->handle, subject->seed) == OPC_CALL_REJECTED &&
      opc_message_refuses_arguments(opc_text_c(&call.message)))
    opc_text_add(out_refusal, opc_text_c(&call.message));
}

static void subject_clear(subject_t *subject) { opc_op_free(subject->handle); }

/* The first call. Guarded: one that writes out of bounds would corrupt the process for all later tries. */
static opc_status_t try_first(subject_t *subject, const char *device, try_t *first, try_facts_t *facts, opc_text_t *why,
                              opc_error_t *error) {
  static const opc_device_t cuda = {.type = OPC_DEVICE_CUDA, .index = -1};
  const opc_operator_t *op = subject->op;
  opc_case_id_t id = {.check = "", .device = ""};
  char id_text[OPC_CASE_ID_SIZE];
  snprintf(id.operator_name, sizeof id.operator_name, "%s", op->name);
  snprintf(id.sample, sizeof id.sample, "%s", subject->sample->name ? subject->sample->name : "");
  snprintf(id.device, sizeof id.device, "%s", device ? device : "cpu");
  opc_case_id_format(&id, id_text);
  opc_crash_case_begin(subject->box, id_text, OPC_CALL_LABEL(SEARCH, ""));
  double began = seconds_of(CLOCK_MONOTONIC);
  opc_throw_watch(true);
  const opc_status_t status = device ? opc_try_cuda(op, subject->handle, subject->sample, cuda, subject->seed,
                                                    subject->box, first, facts, why, error)
                                     : repeat_call(subject, first, &behind, subject->seed, error);
  facts->seconds = seconds_of(CLOCK_MONOTONIC) - began;
  if (first->call.outcome != OPC_CALL_RETURNED) opc_throw_site(op->library, facts->site, sizeof facts->site);
  opc_throw_watch(false);
  return status;
}

/* Further calls with the same arguments, after one that returned. */
static opc_status_t try_again(const subject_t *subject, try_t *first, bool ask_meta, suspicion_t *suspicion,
                              try_facts_t *facts, opc_text_t *refusal, opc_error_t *error) {
  facts->effect = try_has_effect(first, subject->op);
  /* The missing effect may come from the memory around it: then there is an effect in other surroundings. */
  if (facts->effect || first->output_count > 0 || first->wrote_outside || first->read_outside)
    OPC_RETURN_IF_ERROR(repeat_surroundings(subject, first, suspicion, &facts->steady, error));
  if (!facts->effect || suspicion->why) return OPC_OK;
  OPC_RETURN_IF_ERROR(repeat_values(subject, first, &facts->depends, error));
  if (ask_meta) repeat_meta(subject, refusal);
  return OPC_OK;
}

opc_status_t opc_try_run(const opc_operator_t *op, const opc_sample_t *sample, const char *device, uint64_t seed,
                         bool values, bool ask_meta, opc_crash_record_t *box, json_t **out_answer, opc_error_t *error) {
  const bool on_cpu = !device || strcmp(device, "cpu") == 0;
  OPC_SCOPED(opc_text_clear) opc_text_t why = {0}, refusal = {0};
  OPC_SCOPED(subject_clear) subject_t subject = {.op = op, .sample = sample, .seed = seed, .box = box};
  OPC_SCOPED(try_clear) try_t first = {0};
  suspicion_t suspicion = {0};
  try_facts_t facts = {.steady = true, .values = values && on_cpu};
  *out_answer = NULL;

  /* Text that an operator prints before it aborts must belong to these arguments, not to earlier ones. */
  if (ftruncate(STDERR_FILENO, 0) != 0) errno = 0; /* not a file (under a tool): its contents stay */
  if (op->kind != OPC_OPERATOR_CLASS) OPC_RETURN_IF_ERROR(opc_op_find(op->name, &subject.handle, error));
  OPC_RETURN_IF_ERROR(try_first(&subject, on_cpu ? NULL : device, &first, &facts, &why, error));
  /* For a refusal, its message matters more than its earlier accesses. */
  if (on_cpu && first.call.outcome == OPC_CALL_RETURNED)
    OPC_RETURN_IF_ERROR(try_again(&subject, &first, ask_meta, &suspicion, &facts, &refusal, error));
  if (on_cpu && first.call.outcome == OPC_CALL_RESULT_REFUSED) facts.effect = facts.steady = true;
  if (refusal.length > 0) facts.refused_on_meta = opc_text_c(&refusal);
  if (on_cpu) {
    facts.observed = suspicion.why;
    facts.outcome = suspicion.outcome;
    facts.why = suspicion.why;
  }
  facts.cpu_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  *out_answer = opc_try_answer(&first, &facts);
  return *out_answer ? OPC_OK : opc_error_set(error, OPC_ERR_MEMORY, "out of memory for an answer");
}
