/* What a call changed in its arguments' memory, and the tensors among its returns. */
#include <stdlib.h>
#include <string.h>

#include "checks/call/call.h"

bool opc_tensor_arg_is_mutable(const opc_tensor_arg_t *tensor_arg) {
  return tensor_arg->alias && tensor_arg->alias->present && tensor_arg->alias->is_write;
}

bool opc_tensor_arg_is_in_place(const opc_tensor_arg_t *tensor_arg) {
  opc_tensor_meta_t now;
  opc_tensor_describe(tensor_arg->tensor, &now);
  return now.ndim == tensor_arg->before.ndim && now.storage == tensor_arg->before.storage &&
         now.storage_offset == tensor_arg->before.storage_offset &&
         now.storage_bytes == tensor_arg->before.storage_bytes &&
         memcmp(now.sizes, tensor_arg->before.sizes, sizeof now.sizes) == 0 &&
         memcmp(now.strides, tensor_arg->before.strides, sizeof now.strides) == 0;
}

bool opc_tensor_same_sizes(const opc_tensor_meta_t *left, const opc_tensor_meta_t *right) {
  const int ndim = left->ndim < OPC_MAX_DIMS ? left->ndim : OPC_MAX_DIMS;
  return left->ndim == right->ndim && memcmp(left->sizes, right->sizes, (size_t)ndim * sizeof *left->sizes) == 0;
}

bool opc_spec_overlaps_itself(const opc_tensor_spec_t *spec) {
  if (opc_tensor_spec_numel(spec) < 2) return false;
  /* Sorted by stride, each dimension must step over the extent of all smaller ones. Sufficient for every layout of the
   * variants. */
  bool done[OPC_MAX_DIMS] = {false};
  int64_t reach = 0;
  for (int round = 0; round < spec->ndim; round++) {
    int smallest = -1;
    for (int d = 0; d < spec->ndim; d++) {
      if (done[d] || spec->sizes[d] < 2) continue;
      if (smallest < 0 || spec->strides[d] < spec->strides[smallest]) smallest = d;
    }
    if (smallest < 0) break;
    done[smallest] = true;
    if (spec->strides[smallest] <= reach) return true;
    reach += (spec->sizes[smallest] - 1) * spec->strides[smallest];
  }
  return false;
}

opc_status_t opc_call_snapshot(opc_call_t *call, opc_error_t *error) {
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    const void *bytes = NULL;
    size_t size = 0;
    void *owned = NULL;
    if (tensor_arg->before.device.type == OPC_DEVICE_META) continue;
    OPC_RETURN_IF_ERROR(opc_tensor_storage_bytes(tensor_arg->tensor, &bytes, &size, &owned, error));
    free(tensor_arg->storage_before);
    tensor_arg->storage_before = malloc(size + 1);
    tensor_arg->storage_bytes = size;
    if (tensor_arg->storage_before && size) memcpy(tensor_arg->storage_before, bytes, size);
    free(owned);
    if (!tensor_arg->storage_before)
      return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a copy of %s", tensor_arg->path);
  }
  return OPC_OK;
}

opc_status_t opc_call_restore(const opc_call_t *call, opc_error_t *error) {
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    if (tensor_arg->storage && tensor_arg->storage_before)
      OPC_RETURN_IF_ERROR(
          opc_storage_write(tensor_arg->storage, tensor_arg->storage_before, tensor_arg->storage_bytes, error));
  }
  return OPC_OK;
}

/* Offsets of the elements in logical order; elements_next advances by one. */
typedef struct walk {
  const opc_tensor_meta_t *meta;
  int64_t index[OPC_MAX_DIMS];
  int64_t offset; /* in elements */
} walk_t;

static void elements_next(walk_t *walk) {
  for (int d = walk->meta->ndim - 1; d >= 0; d--) {
    walk->offset += walk->meta->strides[d];
    if (++walk->index[d] < walk->meta->sizes[d]) return;
    walk->offset -= walk->meta->strides[d] * walk->meta->sizes[d];
    walk->index[d] = 0;
  }
}

static bool walkable(const opc_tensor_meta_t *meta) {
  return meta->ndim <= OPC_MAX_DIMS && meta->numel > 0 && strcmp(meta->layout, "strided") == 0;
}

bool opc_tensor_shares_storage(const opc_tensor_meta_t *left, const opc_tensor_meta_t *right) {
  return left->defined && right->defined && left->storage && left->storage == right->storage;
}

bool opc_tensor_lies_inside(const opc_tensor_meta_t *meta) {
  int64_t last = meta->storage_offset;
  if (!walkable(meta) || !meta->storage || meta->symbolic || !meta->itemsize) return true;
  for (int d = 0; d < meta->ndim; d++) {
    int64_t reach = 0;
    if (meta->strides[d] < 0 || __builtin_mul_overflow(meta->sizes[d] - 1, meta->strides[d], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return false;
  }
  return last >= 0 && (uint64_t)last < meta->storage_bytes / meta->itemsize;
}

void opc_elements_mark(const opc_tensor_meta_t *meta, unsigned char *mask, size_t size) {
  if (!walkable(meta)) return;
  walk_t walk = {.meta = meta, .offset = meta->storage_offset};
  for (int64_t i = 0; i < meta->numel; i++, elements_next(&walk)) {
    size_t at = (size_t)walk.offset * meta->itemsize;
    if (at + meta->itemsize <= size) memset(mask + at, 1, meta->itemsize);
  }
}

int64_t opc_element_at_byte(const opc_tensor_meta_t *meta, size_t byte) {
  if (!walkable(meta)) return -1;
  walk_t walk = {.meta = meta, .offset = meta->storage_offset};
  for (int64_t i = 0; i < meta->numel; i++, elements_next(&walk))
    if ((size_t)walk.offset == byte / meta->itemsize) return i;
  return -1;
}

opc_status_t opc_tensor_arg_changed(const opc_tensor_arg_t *tensor_arg, opc_change_t *out, opc_error_t *error) {
  *out = (opc_change_t){.first_element = -1};
  if (!tensor_arg->storage_before) return OPC_OK;
  const void *now = NULL;
  size_t size = 0;
  OPC_SCOPED(opc_scope_free) void *owned = NULL;
  OPC_SCOPED(opc_scope_free) unsigned char *mask = NULL;
  OPC_RETURN_IF_ERROR(opc_tensor_storage_bytes(tensor_arg->tensor, &now, &size, &owned, error));
  const unsigned char *before = tensor_arg->storage_before, *after = now;
  size_t common = size < tensor_arg->storage_bytes ? size : tensor_arg->storage_bytes;
  if (common == 0 || memcmp(before, after, common) == 0) return OPC_OK;

  mask = calloc(common, 1);
  if (!mask) {
    return opc_error_set(error, OPC_ERR_MEMORY, "out of memory while comparing %s", tensor_arg->path);
  }
  opc_elements_mark(&tensor_arg->before, mask, common);
  bool found = false;
  for (size_t i = 0; i < common; i++) {
    if (before[i] == after[i]) continue;
    if (!found) out->first_byte = i;
    found = true;
    if (mask[i]) continue;
    if (!out->outside) out->first_outside = i;
    out->outside = true;
    out->outside_bytes++;
  }
  if (walkable(&tensor_arg->before)) {
    size_t width = tensor_arg->before.itemsize;
    walk_t walk = {.meta = &tensor_arg->before, .offset = tensor_arg->before.storage_offset};
    for (int64_t i = 0; i < tensor_arg->before.numel; i++, elements_next(&walk)) {
      size_t at = (size_t)walk.offset * width;
      if (at + width > common || memcmp(before + at, after + at, width) == 0) continue;
      if (!out->inside) out->first_element = i;
      out->inside = true;
      out->inside_count++;
    }
  }
  return OPC_OK;
}

typedef struct collector {
  opc_output_t *outputs;
  size_t count;
  size_t return_index;
  bool failed;
} collector_t;

static void output_collect(const char *path, opc_value_t *value, void *context) {
  collector_t *collector = context;
  if (!OPC_ARRAY_GROW(collector->outputs, collector->count)) {
    collector->failed = true;
    return;
  }
  opc_output_t *output = &collector->outputs[collector->count++];
  *output = (opc_output_t){.return_index = collector->return_index, .tensor = value->handle};
  snprintf(output->path, sizeof output->path, "%s", path);
  opc_tensor_describe(output->tensor, &output->meta);
}

opc_status_t opc_call_outputs(const opc_call_t *call, opc_output_t **out, size_t *out_count, opc_error_t *error) {
  collector_t collector = {0};
  for (size_t i = 0; i < call->return_count; i++) {
    char path[96];
    snprintf(path, sizeof path, "returns[%zu]", i);
    collector.return_index = i;
    opc_value_visit_tensors(path, &call->returns[i], output_collect, &collector);
  }
  if (collector.failed) {
    free(collector.outputs);
    *out = NULL;
    *out_count = 0;
    return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the list of outputs");
  }
  *out = collector.outputs;
  *out_count = collector.count;
  return OPC_OK;
}
