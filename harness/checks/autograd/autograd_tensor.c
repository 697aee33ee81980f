/* Conversions between tensors and vectors of real numbers. */
#include <stdlib.h>
#include <string.h>

#include "checks/autograd/autograd.h"

static void number_store(const opc_tensor_meta_t *meta, const double *numbers, void *out) {
  opc_number_t number = {.kind = OPC_NUMBER_FLOAT, .f = numbers[0]};
  if (opc_autograd_width(meta->dtype) == 2) {
    number.kind = OPC_NUMBER_COMPLEX;
    number.c.re = numbers[0];
    number.c.im = numbers[1];
  }
  opc_number_store(number, meta->dtype, out);
}

/* STRIDED: the first dimension is the densest, and padding follows every element. */
static void lay_out_weights(opc_tensor_spec_t *spec, opc_weights_layout_t layout) {
  int64_t stride = 2;
  if (layout == OPC_WEIGHTS_STRIDED) {
    for (int i = 0; i < spec->ndim; i++) {
      spec->strides[i] = stride;
      stride *= spec->sizes[i] > 0 ? spec->sizes[i] : 1;
    }
    spec->storage_size = opc_tensor_spec_needed(spec);
  } else if (layout == OPC_WEIGHTS_EXPANDED && opc_tensor_spec_numel(spec) > 0) {
    memset(spec->strides, 0, sizeof spec->strides);
    spec->storage_size = 1;
  }
}

static opc_status_t fill_storage(const opc_tensor_spec_t *spec, const void *logical, opc_storage_t *storage,
                                 opc_error_t *error) {
  const size_t size = (size_t)spec->storage_size * opc_dtype_size(spec->dtype);
  OPC_SCOPED(opc_scope_free) void *bytes = malloc(size + 1);
  if (!bytes) return opc_out_of_memory(error);
  opc_fill_scatter(spec, logical, OPC_PADDING_BYTE, bytes);
  return opc_storage_write(storage, bytes, size, error);
}

static void autograd_scope_spec(opc_tensor_spec_t **spec) { opc_tensor_spec_free(*spec); }

static void autograd_scope_storage(opc_storage_t **storage) { opc_storage_free(*storage); }

opc_status_t opc_autograd_tensor(const opc_autograd_part_t *part, const double *numbers, opc_weights_layout_t layout,
                                 opc_tensor_t **out, opc_error_t *error) {
  const opc_tensor_meta_t *meta = &part->meta;
  const size_t width = opc_dtype_size(meta->dtype), step = opc_autograd_width(meta->dtype);
  OPC_SCOPED(autograd_scope_spec) opc_tensor_spec_t *spec = opc_tensor_spec_new(meta->dtype, meta->ndim, meta->sizes);
  OPC_SCOPED(opc_scope_free) char *logical = malloc((size_t)meta->numel * width + 1);
  OPC_SCOPED(autograd_scope_storage) opc_storage_t *storage = NULL;
  if (!spec || !logical) return opc_out_of_memory(error);
  lay_out_weights(spec, layout);
  spec->device = meta->device;
  for (int64_t i = 0; i < meta->numel; i++)
    number_store(meta, numbers + (layout == OPC_WEIGHTS_EXPANDED ? 0 : (size_t)i * step), logical + (size_t)i * width);
  OPC_RETURN_IF_ERROR(opc_storage_new((size_t)spec->storage_size * width, meta->device, &storage, error));
  OPC_RETURN_IF_ERROR(fill_storage(spec, logical, storage, error));
  return opc_tensor_new(spec, storage, out, error);
}

opc_status_t opc_autograd_numbers(const opc_tensor_t *tensor, double *out, size_t count, bool *out_read,
                                  opc_error_t *error) {
  opc_tensor_meta_t meta;
  void *bytes = NULL;
  size_t size = 0;
  *out_read = false;
  opc_tensor_describe(tensor, &meta);
  size_t width = opc_dtype_size(meta.dtype), step = opc_autograd_width(meta.dtype);
  if (!meta.defined || strcmp(meta.layout, "strided") != 0 || !opc_tensor_lies_inside(&meta) || !width ||
      (size_t)meta.numel * step != count)
    return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_tensor_logical_bytes(tensor, &bytes, &size, error));
  if (meta.dtype == OPC_DTYPE_FLOAT64 || meta.dtype == OPC_DTYPE_COMPLEX128) {
    memcpy(out, bytes, size);
  } else {
    for (int64_t i = 0; i < meta.numel; i++) {
      opc_number_t number = opc_number_load(meta.dtype, (const char *)bytes + (size_t)i * width);
      out[(size_t)i * step] = number.kind == OPC_NUMBER_COMPLEX ? number.c.re
                              : number.kind == OPC_NUMBER_INT   ? (double)number.i
                                                                : number.f;
      if (step == 2) out[(size_t)i * step + 1] = number.c.im;
    }
  }
  free(bytes);
  *out_read = true;
  return OPC_OK;
}

void opc_autograd_place(const opc_autograd_part_t *part, size_t number, char *out, size_t size) {
  char index[160];
  bool complex = opc_autograd_width(part->meta.dtype) == 2;
  opc_index_text(&part->meta, (int64_t)(complex ? number / 2 : number), index, sizeof index);
  const char *half = !complex ? "" : number % 2 ? "the imaginary part of " : "the real part of ";
  snprintf(out, size, "%s%s%s", half, part->path, index);
}
