#include "checks/call/call.h"
#include "checks/call/device_faults.h"

#include <stdlib.h>
#include <string.h>

#include "checks/call/changed_argument.h"
#include "cuda/log/launch.h"
#include "memory/cpu_memory.h"
#include "memory/valgrind_requests.h"

/* Storages that several tensors of one call share, by the sample's storage id. */
typedef struct shared_storage {
  const char *id;
  opc_storage_t *storage;
  unsigned char *bytes; /* filled so far */
  size_t size;
  bool written;
} shared_storage_t;

typedef struct maker {
  opc_call_t *call;
  const opc_call_options_t *options;
  shared_storage_t *shared;
  size_t shared_count;
  size_t next_tensor_arg, next_storage;
  size_t argument;     /* the argument whose tensors are being counted or made */
  opc_storage_t *made; /* of the last tensor */
  const opc_alias_t *alias;
  opc_status_t status;
  opc_error_t *error;
} maker_t;

static size_t spec_bytes(const opc_tensor_spec_t *spec) {
  return (size_t)spec->storage_size * opc_dtype_size(spec->dtype);
}

static opc_device_t tensor_arg_device(const opc_call_options_t *options, const char *path,
                                      const opc_tensor_spec_t *spec) {
  if (options->elsewhere && strcmp(options->elsewhere, path) == 0) return options->elsewhere_device;
  if (spec->device_given && options->device.type != OPC_DEVICE_META) return spec->device;
  return options->device;
}

static shared_storage_t *shared_find(maker_t *maker, const char *id) {
  for (size_t i = 0; i < maker->shared_count; i++)
    if (strcmp(maker->shared[i].id, id) == 0) return &maker->shared[i];
  return NULL;
}

/* First pass: finds the size of every storage. A storage is as large as the largest size that its tensors give. */
static void tensor_arg_count(const char *path, opc_value_t *value, void *context) {
  maker_t *maker = context;
  const opc_tensor_spec_t *spec = value->tensor;
  (void)path;
  maker->call->tensor_arg_count++;
  if (!spec || !spec->storage || maker->status != OPC_OK) return;
  shared_storage_t *entry = shared_find(maker, spec->storage);
  if (!entry) {
    if (!OPC_ARRAY_GROW(maker->shared, maker->shared_count)) {
      maker->status = opc_out_of_memory(maker->error);
      return;
    }
    entry = &maker->shared[maker->shared_count++];
    *entry = (shared_storage_t){.id = spec->storage};
  }
  if (spec_bytes(spec) > entry->size) entry->size = spec_bytes(spec);
}

/* Writes a tensor's elements over bytes that another tensor of the same storage may have written. The bytes that a
 * scatter leaves alone are those that take on the padding byte: two scatters with different padding bytes find them. */
static opc_status_t scatter_over(const opc_tensor_spec_t *spec, const void *logical, unsigned char padding,
                                 shared_storage_t *entry, opc_error_t *error) {
  if (!entry->written) {
    memset(entry->bytes, padding, entry->size);
    opc_fill_scatter(spec, logical, padding, entry->bytes);
    entry->written = true;
    return OPC_OK;
  }
  size_t size = spec_bytes(spec);
  OPC_SCOPED(opc_scope_free) unsigned char *low = malloc(size ? size : 1), *high = malloc(size ? size : 1);
  OPC_RETURN_IF_ERROR(low && high ? OPC_OK : opc_out_of_memory(error));
  opc_fill_scatter(spec, logical, 0x00, low);
  opc_fill_scatter(spec, logical, 0xff, high);
  for (size_t i = 0; i < size; i++)
    if (low[i] == high[i]) entry->bytes[i] = low[i];
  return OPC_OK;
}

static opc_status_t logical_fill(const maker_t *maker, const char *path, const opc_tensor_spec_t *spec, void *logical) {
  const opc_call_options_t *options = maker->options;
  if (options->values)
    return options->values(maker->next_tensor_arg, path, spec, logical, options->values_context, maker->error);
  return opc_fill_kept(spec, path, options->seed, logical, maker->error);
}

/* The logical elements are the whole storage, in order. */
static bool is_whole_storage(const opc_tensor_spec_t *spec) {
  return !spec->storage && !spec->conj && !spec->neg && spec->storage_offset == 0 &&
         spec->storage_size == opc_tensor_spec_numel(spec) && opc_tensor_spec_is_contiguous(spec);
}

static opc_status_t tensor_arg_fill(maker_t *maker, const char *path, const opc_tensor_spec_t *spec,
                                    shared_storage_t *entry) {
  void *data = is_whole_storage(spec) ? opc_storage_data(entry->storage) : NULL;
  if (data) return logical_fill(maker, path, spec, data);
  OPC_SCOPED(opc_scope_free)
  void *logical = malloc((size_t)opc_tensor_spec_numel(spec) * opc_dtype_size(spec->dtype) + 1);
  if (!entry->bytes) entry->bytes = malloc(entry->size + 1);
  unsigned char padding = maker->options->other_padding ? OPC_OTHER_PADDING_BYTE : OPC_PADDING_BYTE;
  OPC_RETURN_IF_ERROR(logical && entry->bytes ? logical_fill(maker, path, spec, logical)
                                              : opc_out_of_memory(maker->error));
  OPC_RETURN_IF_ERROR(scatter_over(spec, logical, padding, entry, maker->error));
  return opc_storage_write(entry->storage, entry->bytes, entry->size, maker->error);
}

/* The same tensor as an earlier argument. */
static opc_tensor_t *find_identity(const opc_call_t *call, size_t count, const char *identity) {
  for (size_t i = 0; identity && i < count; i++)
    if (call->tensor_args[i].spec->identity && strcmp(call->tensor_args[i].spec->identity, identity) == 0)
      return call->tensor_args[i].tensor;
  return NULL;
}

static opc_status_t storage_new(maker_t *maker, size_t bytes, opc_device_t device, opc_storage_t **out) {
  const opc_call_memory_t *memory = maker->options->memory;
  void *data = NULL;
  if (memory && device.type == OPC_DEVICE_CPU && bytes)
    data = memory->give(maker->next_storage++, bytes, memory->context);
  if (data) return opc_storage_from_memory(data, bytes, memory->release, memory->context, out, maker->error);
  return opc_storage_new(bytes, device, out, maker->error);
}

/* Gigabytes of zeros on the simulated device: its memory costs nothing until written, and no kernel reads it. */
static bool is_left_alone(const opc_call_options_t *options, const opc_tensor_spec_t *spec, opc_device_t device) {
  enum { HUGE_BYTES = 64 << 20 };
  return device.type == OPC_DEVICE_CUDA && !options->values && spec->fill.kind == OPC_FILL_ZEROS &&
         spec_bytes(spec) >= HUGE_BYTES && opc_cuda_simulated();
}

static opc_status_t tensor_in_storage(maker_t *maker, const char *path, const opc_tensor_spec_t *spec,
                                      shared_storage_t *entry, opc_tensor_t **out) {
  opc_tensor_spec_t placed = *spec;
  const opc_device_t device = placed.device = tensor_arg_device(maker->options, path, spec);
  if (!opc_bridge_device_available(device)) /* libtorch would report that in a page of text */
    return opc_error_set(maker->error, OPC_ERR_UNSUPPORTED, "%s: there is no device %s:%d here", path,
                         opc_device_type_name(device.type), device.index < 0 ? 0 : device.index);
  if (opc_dtype_size(spec->dtype) == 0)
    return opc_error_set(maker->error, OPC_ERR_UNSUPPORTED, "%s: dtype %s cannot be filled", path,
                         opc_dtype_name(spec->dtype));
  if (!entry->storage) OPC_RETURN_IF_ERROR(storage_new(maker, entry->size, device, &entry->storage));
  if (device.type != OPC_DEVICE_META && !is_left_alone(maker->options, spec, device))
    OPC_RETURN_IF_ERROR(tensor_arg_fill(maker, path, spec, entry));
  return opc_tensor_new(&placed, entry->storage, out, maker->error);
}

static opc_status_t tensor_arg_new(maker_t *maker, const char *path, const opc_tensor_spec_t *spec,
                                   opc_tensor_t **out) {
  shared_storage_t own = {.size = spec_bytes(spec)};
  shared_storage_t *entry = spec->storage ? shared_find(maker, spec->storage) : &own;
  opc_cpu_memory_use(maker->options->to_protect && !maker->alias->is_write ? OPC_MEMORY_READ_ONLY_ARGUMENT
                                                                           : OPC_MEMORY_ARGUMENT);
  const opc_status_t status = tensor_in_storage(maker, path, spec, entry, out);
  opc_cpu_memory_use(OPC_MEMORY_OWN);

  if (entry == &own) {
    maker->made = own.storage;
    free(own.bytes);
  }
  return status;
}

static void tensor_arg_make(const char *path, opc_value_t *value, void *context) {
  maker_t *maker = context;
  opc_call_t *call = maker->call;
  if (maker->status != OPC_OK) return;
  if (!value->tensor) {
    maker->status = opc_error_set(maker->error, OPC_ERR_UNSUPPORTED, "%s: a tensor without description", path);
    return;
  }
  maker->made = NULL;
  opc_tensor_t *tensor = find_identity(call, maker->next_tensor_arg, value->tensor->identity);
  if (tensor) tensor = opc_tensor_ref(tensor);
  else maker->status = tensor_arg_new(maker, path, value->tensor, &tensor);
  if (maker->status != OPC_OK) {
    opc_storage_free(maker->made);
    return;
  }

  value->handle = tensor;
  opc_tensor_arg_t *tensor_arg = &call->tensor_args[maker->next_tensor_arg++];
  opc_string_put(tensor_arg->path, sizeof tensor_arg->path, path);
  tensor_arg->argument = maker->argument;
  tensor_arg->alias = maker->alias;
  tensor_arg->spec = value->tensor;
  tensor_arg->tensor = tensor;
  tensor_arg->storage = maker->made;
  opc_tensor_describe(tensor, &tensor_arg->before);
  opc_guard_label(tensor_arg->before.storage_data, path); /* the last, if several tensors share one storage */
}

static opc_status_t objects_make(opc_value_t *value, opc_error_t *error) {
  if (value->kind == OPC_VALUE_LIST) {
    for (size_t i = 0; i < value->list.count; i++) OPC_RETURN_IF_ERROR(objects_make(&value->list.items[i], error));
  }
  if (value->kind != OPC_VALUE_OBJECT) return OPC_OK;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  opc_object_t *object = NULL;
  for (size_t i = 0; i < value->object.init_count; i++)
    OPC_RETURN_IF_ERROR(objects_make(&value->object.init[i], error));
  const char *maker = value->object.made_by, *class_name = value->object.class_name;
  const opc_value_t *init = value->object.init;
  const size_t count = value->object.init_count;
  const char *pickle = value->object.pickle;
  const opc_call_outcome_t outcome = pickle  ? opc_object_load(pickle, class_name, &object, &message)
                                     : maker ? opc_object_from(maker, class_name, init, count, &object, &message)
                                             : opc_object_new(class_name, init, NULL, count, &object, &message);
  value->handle = object;
  if (outcome == OPC_CALL_RETURNED) return OPC_OK;
  return opc_error_set(error, OPC_ERR_UNSUPPORTED, "an object of class %s cannot be made%s%s: %s", class_name,
                       maker ? " by " : "", maker ? maker : "", opc_text_c(&message));
}

/* The first tensor argument on a shared storage holds it. */
static void hold_storage(opc_call_t *call, size_t tensor_arg_count, shared_storage_t *shared) {
  for (size_t i = 0; shared->storage && i < tensor_arg_count; i++) {
    const char *id = call->tensor_args[i].spec->storage;
    if (!id || strcmp(id, shared->id) != 0) continue;
    call->tensor_args[i].storage = shared->storage;
    shared->storage = NULL;
  }
  opc_storage_free(shared->storage);
}

/* The device argument of an operator whose other arguments do not determine where it runs. A device value that the
 * search made up is ignored. */
static opc_status_t device_place(opc_call_t *call, const opc_operator_t *op, const opc_sample_t *sample,
                                 opc_device_t device, opc_error_t *error) {
  if (device.type != OPC_DEVICE_CUDA || call->tensor_arg_count) return OPC_OK;
  for (size_t i = 0; i < call->argument_count; i++) {
    const opc_type_t *type = &op->arguments[i].type;
    opc_value_t *value = &call->arguments[i];
    if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
    bool open = (sample->absent && sample->absent[i]) || value->kind == OPC_VALUE_NONE;
    bool made_up = sample->source == OPC_SAMPLE_SEARCHED && value->kind == OPC_VALUE_DEVICE &&
                   value->device.type == OPC_DEVICE_CPU;
    if (type->kind != OPC_TYPE_DEVICE || !(open || made_up)) continue;
    opc_value_clear(value);
    *value = (opc_value_t){.kind = OPC_VALUE_DEVICE, .device = device};
    if (!sample->absent || !sample->absent[i]) continue;
    if (!call->placed) {
      call->placed = malloc(call->argument_count * sizeof *call->placed);
      if (!call->placed) return opc_out_of_memory(error);
      memcpy(call->placed, sample->absent, call->argument_count * sizeof *call->placed);
      call->absent = call->placed;
    }
    call->placed[i] = false;
  }
  return OPC_OK;
}

static opc_status_t arguments_make(maker_t *maker, const opc_operator_t *op, const opc_sample_t *sample) {
  opc_call_t *call = maker->call;
  call->arguments = calloc(sample->argument_count + 1, sizeof *call->arguments);
  if (!call->arguments) return opc_out_of_memory(maker->error);
  for (size_t i = 0; i < sample->argument_count; i++) {
    call->argument_count = i + 1;
    OPC_RETURN_IF_ERROR(opc_value_copy(&sample->arguments[i], &call->arguments[i], maker->error));
    opc_value_visit_tensors(op->arguments[i].name, &call->arguments[i], tensor_arg_count, maker);
    OPC_RETURN_IF_ERROR(maker->status);
  }
  OPC_RETURN_IF_ERROR(device_place(call, op, sample, maker->options->device, maker->error));
  call->tensor_args = calloc(call->tensor_arg_count + 1, sizeof *call->tensor_args);
  if (!call->tensor_args) return opc_out_of_memory(maker->error);
  for (size_t i = 0; i < sample->argument_count; i++) {
    maker->argument = i;
    maker->alias = &op->arguments[i].alias;
    opc_value_visit_tensors(op->arguments[i].name, &call->arguments[i], tensor_arg_make, maker);
    OPC_RETURN_IF_ERROR(maker->status);
    OPC_RETURN_IF_ERROR(objects_make(&call->arguments[i], maker->error));
  }
  return OPC_OK;
}

opc_status_t opc_call_make_with(opc_call_t *call, const opc_operator_t *op, const opc_sample_t *sample,
                                const opc_call_options_t *options, opc_error_t *error) {
  *call = (opc_call_t){.absent = sample->absent};
  maker_t maker = {.call = call, .options = options, .error = error};
  const opc_status_t status = arguments_make(&maker, op, sample);
  for (size_t i = 0; i < maker.shared_count; i++) {
    hold_storage(call, maker.next_tensor_arg, &maker.shared[i]);
    free(maker.shared[i].bytes);
  }
  free(maker.shared);
  call->tensor_arg_count = maker.next_tensor_arg; /* counts what was made, so that a half-made call can be cleared */
  if (status != OPC_OK) opc_call_clear(call);
  return status;
}

opc_status_t opc_call_make(opc_call_t *call, const opc_operator_t *op, const opc_sample_t *sample, opc_device_t device,
                           uint64_t seed, opc_error_t *error) {
  opc_call_options_t options = {.device = device, .seed = seed};
  return opc_call_make_with(call, op, sample, &options, error);
}

static void returns_free(opc_call_t *call) {
  opc_valgrind_operator_begin(); /* a deleter may be the operator's */
  if (call->returns) opc_returns_free(call->returns, call->return_count);
  opc_valgrind_operator_end();
  call->returns = NULL;
  call->return_count = 0;
}

static opc_call_count_t calls_counted;

opc_call_count_t opc_call_count(void) { return calls_counted; }

/* Valgrind only knows addresses. */
static void announce_tensor_args(const opc_call_t *call) {
  for (size_t i = 0; opc_valgrind_active() && i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    opc_valgrind_announce_tensor(tensor_arg->path, tensor_arg->before.storage_data, tensor_arg->before.storage_bytes);
  }
}

static void begin_call(opc_call_t *call, uint64_t seed) {
  returns_free(call);
  opc_text_reset(&call->message);
  opc_bridge_seed(seed);
  calls_counted.made++;
  announce_tensor_args(call);
  opc_device_faults_begin(call);
  opc_arguments_watch(call);
  opc_valgrind_operator_begin();
}

static opc_call_outcome_t end_call(opc_call_t *call, opc_call_outcome_t outcome) {
  opc_valgrind_operator_end();
  opc_arguments_compare(call, outcome == OPC_CALL_RETURNED);
  call->outcome = outcome;
  calls_counted.refused += outcome != OPC_CALL_RETURNED;
  opc_device_faults_take(call);
  return outcome;
}

opc_call_outcome_t opc_call_run(opc_call_t *call, opc_op_handle_t *handle, uint64_t seed) {
  begin_call(call, seed);
  return end_call(call, opc_op_call(handle, call->arguments, call->absent, call->argument_count, &call->returns,
                                    &call->return_count, &call->message));
}

opc_call_outcome_t opc_call_construct(opc_call_t *call, const opc_operator_t *class_, uint64_t seed,
                                      opc_object_t **out_object) {
  OPC_SCOPED(opc_scope_free) char *name = opc_class_name_of(class_);
  *out_object = NULL;
  if (!name) return call->outcome = OPC_CALL_OUT_OF_MEMORY;
  if (!opc_class_has_constructor(class_)) { /* the object was made with the arguments */
    *out_object = call->arguments[0].handle;
    call->arguments[0].handle = NULL;
    return call->outcome = *out_object ? OPC_CALL_RETURNED : OPC_CALL_UNCONVERTIBLE;
  }
  begin_call(call, seed);
  return end_call(
      call, opc_object_new(name, call->arguments, call->absent, call->argument_count, out_object, &call->message));
}

void opc_call_clear_arguments(opc_call_t *call) {
  opc_valgrind_operator_begin();
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    free(call->tensor_args[i].storage_before);
    opc_storage_free(call->tensor_args[i].storage);
  }
  free(call->tensor_args);
  free(call->placed);
  /* The last one first: malloc gives back what was freed last, so that the next call's tensors are mostly at the same
   * addresses, and what was kept by address is found. */
  for (size_t i = call->argument_count; i-- > 0;) {
    opc_handle_free(&call->arguments[i]);
    opc_value_clear(&call->arguments[i]);
  }
  free(call->arguments);
  call->tensor_args = NULL;
  call->arguments = NULL;
  call->placed = NULL;
  call->absent = NULL;
  call->tensor_arg_count = call->argument_count = 0;
  opc_valgrind_operator_end();
}

void opc_call_clear(opc_call_t *call) {
  returns_free(call);
  opc_call_clear_arguments(call);
  opc_text_clear(&call->message);
  *call = (opc_call_t){0};
}
