#include "checks/compare/compare.h"

#include <string.h>

static bool is_bool(const opc_tensor_meta_t *meta) {
  return meta->dtype_known && meta->dtype == OPC_DTYPE_BOOL && meta->itemsize == 1;
}

static size_t count_sharing(const opc_call_t *call, const void *storage) {
  size_t count = 0;
  for (size_t i = 0; i < call->tensor_arg_count; i++) count += call->tensor_args[i].before.storage_data == storage;
  return count;
}

static bool has_own_memory(const opc_result_item_t *item, const opc_call_t *call) {
  const size_t sharing = item->meta.storage_data ? count_sharing(call, item->meta.storage_data) : 0;
  if (!item->argument || sharing != 1) return sharing == 0;
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (strcmp(call->tensor_args[i].path, item->path) == 0)
      return is_bool(&call->tensor_args[i].before) && opc_tensor_arg_is_in_place(&call->tensor_args[i]);
  return false;
}

opc_bool_bytes_t opc_bool_bytes_find(const opc_result_t *result, const opc_call_t *call) {
  opc_bool_bytes_t found = {0};
  for (size_t i = 0; i < result->count && !found.count; i++) {
    const opc_result_item_t *item = &result->items[i];
    const unsigned char *bytes = item->bytes;
    if (item->kind != OPC_VALUE_TENSOR || !bytes || !is_bool(&item->meta) || !has_own_memory(item, call)) continue;
    found.item = i;
    for (size_t e = 0; e < item->size; e++) {
      if (bytes[e] <= 1) continue;
      if (found.count++ == 0) found.first = (int64_t)e, found.byte = bytes[e];
    }
  }
  return found;
}
