/* The numbers that the sizes of a call's tensors give, and that may not fit into 32 bits. */
#include <stdlib.h>

#include "checks/cuda/cuda_watch.h"

/* `of`: "size(0) * … * size(2)", with `first` and `last`. */
static void count_add(opc_cuda_watch_t *watch, int64_t number, const char *path, const char *of, int first, int last) {
  char what[64];
  if (number <= INT32_MAX || watch->count_count == OPC_CUDA_COUNTS_MAX) return;
  for (size_t i = 0; i < watch->count_count; i++)
    if (watch->counts[i].number == number) return;
  opc_cuda_count_t *count = &watch->counts[watch->count_count++];
  count->number = number;
  snprintf(what, sizeof what, of, first, last);
  snprintf(count->of, sizeof count->of, "%s.%s", path, what);
}

/* Sizes of dimensions that follow each other, multiplied: the rows of a batch, the stride of a contiguous tensor. */
static void products_add(opc_cuda_watch_t *watch, const char *path, const opc_tensor_meta_t *meta) {
  for (int first = 0; first < meta->ndim; first++) {
    int64_t product = 1;
    for (int last = first; last < meta->ndim; last++) {
      if (__builtin_mul_overflow(product, meta->sizes[last], &product)) return;
      count_add(watch, product, path, first == last ? "size(%d)" : "size(%d) * … * size(%d)", first, last);
    }
  }
}

static void tensor_add(opc_cuda_watch_t *watch, const char *path, const opc_tensor_meta_t *meta) {
  int64_t bytes = 0;
  if (!meta->defined) return;
  count_add(watch, meta->numel, path, "numel()", 0, 0);
  if (!__builtin_mul_overflow(meta->numel, (int64_t)opc_dtype_size(meta->dtype), &bytes))
    count_add(watch, bytes, path, "nbytes()", 0, 0);
  products_add(watch, path, meta);
  for (int dim = 0; dim < meta->ndim; dim++) count_add(watch, meta->strides[dim], path, "stride(%d)", dim, 0);
}

opc_status_t opc_cuda_watch_count(opc_cuda_watch_t *watch, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t output_count = 0;
  watch->count_count = 0;
  watch->facts.counts = watch->counts;
  for (size_t i = 0; i < watch->call.tensor_arg_count; i++)
    tensor_add(watch, watch->call.tensor_args[i].path, &watch->call.tensor_args[i].before);
  watch->facts.count_count = watch->count_count;
  if (watch->facts.returned) OPC_RETURN_IF_ERROR(opc_call_outputs(&watch->call, &outputs, &output_count, error));
  for (size_t i = 0; i < output_count; i++) tensor_add(watch, outputs[i].path, &outputs[i].meta);
  watch->facts.count_count = watch->count_count;
  return OPC_OK;
}
