#include "checks/compare/compare.h"

#include <stdlib.h>
#include <string.h>

static bool takes_list(const opc_call_t *call, size_t argument, int length, int64_t *out) {
  const opc_value_t *value = &call->arguments[argument];
  if ((call->absent && call->absent[argument]) || value->kind != OPC_VALUE_LIST || value->list.count != (size_t)length)
    return false;
  for (int i = 0; i < length; i++) {
    if (value->list.items[i].kind != OPC_VALUE_INT) return false;
    out[i] = value->list.items[i].integer;
  }
  return length > 0;
}

typedef struct places {
  const opc_tensor_arg_t *tensor_arg;
  const int64_t *strides;
  int64_t offset; /* in the storage */
  int64_t first;  /* the argument's element there, if it is dense */
} places_t;

/* Storage index of the element with a logical, row-major index; -1: there is none. */
static int64_t place_of_element(const opc_tensor_meta_t *meta, int64_t index) {
  int64_t place = meta->storage_offset;
  if (index < 0 || index >= meta->numel) return -1;
  for (int d = meta->ndim - 1; d >= 0; d--) {
    place += index % meta->sizes[d] * meta->strides[d];
    index /= meta->sizes[d];
  }
  return place;
}

/* Whether the output holds the values at these places. *out_differs: indexing by the argument's elements would give
 * other values. */
static bool lies_there(const opc_tensor_meta_t *output, const char *values, const places_t *places, const char *storage,
                       size_t storage_bytes, bool *out_differs) {
  const opc_tensor_meta_t *before = &places->tensor_arg->before;
  size_t width = output->itemsize;
  int64_t count = (int64_t)(storage_bytes / width);
  for (int64_t i = 0; i < output->numel; i++) {
    int64_t place = places->offset;
    for (int64_t d = output->ndim - 1, rest = i; d >= 0; rest /= output->sizes[d], d--)
      place += rest % output->sizes[d] * places->strides[d];
    if (place < 0 || place >= count || memcmp(values + (size_t)i * width, storage + (size_t)place * width, width) != 0)
      return false;
    int64_t other = place_of_element(before, places->first + place - places->offset);
    *out_differs = *out_differs || other < 0 || other >= count ||
                   memcmp(values + (size_t)i * width, storage + (size_t)other * width, width) != 0;
  }
  return true;
}

/* From the argument's own offset, or from one given by an integer argument. */
static bool lies_from_some_offset(const opc_call_t *call, const opc_tensor_meta_t *output, const char *values,
                                  places_t *places, const char *storage, size_t bytes, bool *out_differs) {
  for (size_t i = 0; i <= call->argument_count; i++) {
    bool own = i == call->argument_count, differs = false;
    if (!own && ((call->absent && call->absent[i]) || call->arguments[i].kind != OPC_VALUE_INT)) continue;
    places->offset = own ? places->tensor_arg->before.storage_offset : call->arguments[i].integer;
    places->first = own ? 0 : places->offset;
    if (!lies_there(output, values, places, storage, bytes, &differs)) continue;
    *out_differs = *out_differs || differs;
    return true;
  }
  return false;
}

/* Applies the tensor argument's conj and neg bits to the storage. */
static void resolve_bits(const opc_tensor_arg_t *tensor_arg, char *storage, size_t bytes) {
  opc_dtype_t dtype = tensor_arg->before.dtype;
  size_t width = tensor_arg->before.itemsize;
  for (size_t at = 0; at + width <= bytes; at += width) {
    opc_number_t number = opc_number_load(dtype, storage + at);
    double sign = tensor_arg->before.neg ? -1.0 : 1.0;
    if (number.kind == OPC_NUMBER_FLOAT) number.f *= sign;
    if (number.kind == OPC_NUMBER_COMPLEX) {
      number.c.re *= sign;
      number.c.im *= tensor_arg->before.conj ? -sign : sign;
    }
    opc_number_store(number, dtype, storage + at);
  }
}

static opc_status_t output_names_places(const opc_call_t *call, const opc_output_t *output, const int64_t *strides,
                                        bool *out, bool *out_differs, opc_error_t *error) {
  const opc_tensor_meta_t *meta = &output->meta;
  OPC_SCOPED(opc_scope_free) void *values = NULL;
  size_t size = 0;
  OPC_RETURN_IF_ERROR(opc_tensor_logical_bytes(output->tensor, &values, &size, error));
  for (size_t i = 0; !*out && i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    const void *storage = NULL;
    size_t bytes = 0;
    OPC_SCOPED(opc_scope_free) void *owned = NULL;
    places_t places = {.tensor_arg = tensor_arg, .strides = strides};
    if (tensor_arg->before.dtype != meta->dtype || tensor_arg->before.device.type == OPC_DEVICE_META) continue;
    OPC_RETURN_IF_ERROR(opc_tensor_storage_bytes(tensor_arg->tensor, &storage, &bytes, &owned, error));
    OPC_SCOPED(opc_scope_free) char *resolved = malloc(bytes + 1);
    if (!resolved) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a copy of %s", tensor_arg->path);
    if (bytes) memcpy(resolved, storage, bytes);
    if (tensor_arg->before.conj || tensor_arg->before.neg) resolve_bits(tensor_arg, resolved, bytes);
    *out = lies_from_some_offset(call, meta, values, &places, resolved, bytes, out_differs);
  }
  return OPC_OK;
}

/* One argument has the output's sizes, and another one its strides. */
static opc_status_t output_is_named(const opc_call_t *call, const opc_output_t *output, bool *out, bool *out_differs,
                                    opc_error_t *error) {
  const opc_tensor_meta_t *meta = &output->meta;
  int64_t sizes[OPC_MAX_DIMS], strides[OPC_MAX_DIMS];
  *out = false;
  if (!meta->dtype_known || meta->numel <= 0 || meta->ndim <= 0 || meta->ndim > OPC_MAX_DIMS ||
      strcmp(meta->layout, "strided") != 0 || !opc_tensor_lies_inside(meta))
    return OPC_OK;
  for (size_t a = 0; !*out && a < call->argument_count; a++) {
    if (!takes_list(call, a, meta->ndim, sizes) || memcmp(sizes, meta->sizes, (size_t)meta->ndim * sizeof *sizes) != 0)
      continue;
    for (size_t b = 0; !*out && b < call->argument_count; b++)
      if (b != a && takes_list(call, b, meta->ndim, strides))
        OPC_RETURN_IF_ERROR(output_names_places(call, output, strides, out, out_differs, error));
  }
  return OPC_OK;
}

opc_status_t opc_call_is_as_strided_like(const opc_call_t *call, bool *out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  bool differs = false, all = true;
  *out = false;
  OPC_RETURN_IF_ERROR(opc_call_outputs(call, &outputs, &count, error));
  for (size_t k = 0; all && k < count; k++)
    OPC_RETURN_IF_ERROR(output_is_named(call, &outputs[k], &all, &differs, error));
  *out = count && all && differs;
  return OPC_OK;
}
