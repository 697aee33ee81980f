#include "checks/call/call.h"

#include <stdlib.h>
#include <string.h>

#include "memory/cpu_memory.h"

typedef struct taker {
  opc_result_t *result;
  unsigned flags;
  opc_status_t status;
  opc_error_t *error;
} taker_t;

static opc_result_item_t *item_add(taker_t *taker, const char *path, opc_value_kind_t kind) {
  opc_result_t *result = taker->result;
  if (!OPC_ARRAY_GROW(result->items, result->count)) {
    taker->status = opc_error_set(taker->error, OPC_ERR_MEMORY, "out of memory for the results of a call");
    return NULL;
  }
  opc_result_item_t *item = &result->items[result->count++];
  *item = (opc_result_item_t){.kind = kind};
  opc_string_put(item->path, sizeof item->path, path);
  return item;
}

static bool is_contiguous(const opc_tensor_meta_t *meta) {
  int64_t stride = 1;
  for (int d = meta->ndim - 1; d >= 0; d--) {
    if (meta->sizes[d] != 1 && meta->strides[d] != stride) return false;
    stride *= meta->sizes[d];
  }
  return true;
}

static void borrow(opc_result_item_t *item) {
  const opc_tensor_meta_t *meta = &item->meta;
  item->borrowed = meta->device.type == OPC_DEVICE_CPU && meta->storage_data && meta->numel > 0 && !meta->symbolic &&
                   !meta->conj && !meta->neg && is_contiguous(meta);
  if (!item->borrowed) return;
  item->bytes = (char *)meta->storage_data + (size_t)meta->storage_offset * meta->itemsize;
  item->size = (size_t)meta->numel * meta->itemsize;
}

/* Small numbers and floating numbers are no addresses, and cost no system call. */
static unsigned char addresses_in(const opc_result_item_t *item) {
  enum { WORDS = 8, FIRST = 1 << 16, USER_BITS = 47 };
  const size_t count = item->size / sizeof(uintptr_t);
  unsigned char found = 0;
  char byte;
  if (item->size % sizeof(uintptr_t) != 0 || count > WORDS) return 0;
  for (size_t i = 0; i < count; i++) {
    uintptr_t word;
    memcpy(&word, (const char *)item->bytes + i * sizeof word, sizeof word);
    if (word >= FIRST && word >> USER_BITS == 0 && opc_memory_safe_read((const void *)word, &byte, 1))
      found |= (unsigned char)(1U << i);
  }
  return found;
}

static void take_tensor(taker_t *taker, const char *path, const opc_tensor_t *tensor, bool argument) {
  opc_result_item_t *item = taker->status != OPC_OK ? NULL : item_add(taker, path, OPC_VALUE_TENSOR);
  if (!item) return;
  item->argument = argument;
  opc_tensor_describe(tensor, &item->meta);
  bool readable = !(taker->flags & OPC_RESULT_META) && item->meta.device.type != OPC_DEVICE_META &&
                  item->meta.dtype_known && item->meta.ndim <= OPC_MAX_DIMS &&
                  strcmp(item->meta.layout, "strided") == 0 && opc_tensor_lies_inside(&item->meta);
  if (readable && (taker->flags & OPC_RESULT_BORROW)) borrow(item);
  if (readable && !item->borrowed)
    taker->status = opc_tensor_logical_bytes(tensor, &item->bytes, &item->size, taker->error);
  if (item->bytes) item->addresses = addresses_in(item);
}

/* The bytes that decide whether two values are equal: an int and a float of the same number differ, NaN equals the same
 * NaN. */
static void take_scalar(taker_t *taker, const char *path, const opc_value_t *value) {
  opc_result_item_t *item = item_add(taker, path, value->kind);
  if (!item) return;
  const void *bytes = NULL;
  switch (value->kind) {
    case OPC_VALUE_BOOL:
      bytes = &value->boolean;
      item->size = sizeof value->boolean;
      break;
    case OPC_VALUE_INT:
      bytes = &value->integer;
      item->size = sizeof value->integer;
      break;
    case OPC_VALUE_FLOAT:
      bytes = &value->floating;
      item->size = sizeof value->floating;
      item->meta = (opc_tensor_meta_t){.dtype = OPC_DTYPE_FLOAT64, .numel = 1, .itemsize = item->size};
      break;
    case OPC_VALUE_COMPLEX:
      bytes = &value->complex;
      item->size = sizeof value->complex;
      item->meta = (opc_tensor_meta_t){.dtype = OPC_DTYPE_COMPLEX128, .numel = 1, .itemsize = item->size};
      break;
    case OPC_VALUE_STRING:
      bytes = value->string;
      item->size = value->string ? strlen(value->string) : 0;
      break;
    case OPC_VALUE_OPAQUE: /* its text may contain an address: never compared */
    case OPC_VALUE_OBJECT:
    case OPC_VALUE_NONE:
      break;
    default:
      break;
  }
  opc_value_describe(value, item->text, sizeof item->text);
  if (!bytes && (value->kind == OPC_VALUE_DTYPE || value->kind == OPC_VALUE_DEVICE)) {
    bytes = item->text;
    item->size = strlen(item->text);
  }
  item->bytes = malloc(item->size + 1);
  if (!item->bytes) {
    taker->status = opc_error_set(taker->error, OPC_ERR_MEMORY, "out of memory for the results of a call");
    return;
  }
  if (item->size) memcpy(item->bytes, bytes, item->size);
  if (value->kind == OPC_VALUE_INT) item->addresses = addresses_in(item);
}

static void take_value(taker_t *taker, const char *path, const opc_value_t *value) {
  if (taker->status != OPC_OK) return;
  if (value->kind == OPC_VALUE_LIST) {
    for (size_t i = 0; i < value->list.count; i++) {
      char inner[96];
      snprintf(inner, sizeof inner, "%.64s[%zu]", path, i);
      take_value(taker, inner, &value->list.items[i]);
    }
  } else if (value->kind == OPC_VALUE_TENSOR) {
    take_tensor(taker, path, value->handle, false);
  } else {
    take_scalar(taker, path, value);
  }
}

opc_status_t opc_result_take(opc_result_t *result, const opc_call_t *call, unsigned flags, opc_error_t *error) {
  *result = (opc_result_t){0};
  taker_t taker = {.result = result, .flags = flags, .status = OPC_OK, .error = error};
  for (size_t i = 0; i < call->return_count; i++) {
    char path[32];
    snprintf(path, sizeof path, "returns[%zu]", i);
    take_value(&taker, path, &call->returns[i]);
  }
  for (size_t i = 0; (flags & OPC_RESULT_ARGUMENTS) && i < call->tensor_arg_count; i++)
    if (opc_tensor_arg_is_mutable(&call->tensor_args[i]))
      take_tensor(&taker, call->tensor_args[i].path, call->tensor_args[i].tensor, true);
  if (taker.status != OPC_OK) opc_result_clear(result);
  return taker.status;
}

void opc_result_clear(opc_result_t *result) {
  for (size_t i = 0; i < result->count; i++)
    if (!result->items[i].borrowed) free(result->items[i].bytes);
  free(result->items);
  *result = (opc_result_t){0};
}

int64_t opc_result_numel(const opc_result_t *result) {
  int64_t numel = 0;
  for (size_t i = 0; i < result->count; i++) {
    const opc_result_item_t *item = &result->items[i];
    if (item->kind == OPC_VALUE_TENSOR) numel += item->bytes ? item->meta.numel : 0;
    else if (item->kind != OPC_VALUE_NONE && item->kind != OPC_VALUE_OPAQUE && item->kind != OPC_VALUE_OBJECT) numel++;
  }
  return numel;
}

static uint64_t elements_compared;

uint64_t opc_result_compared(void) { return elements_compared; }

static void compare_tensor(opc_difference_t *difference, const opc_result_item_t *left, const opc_result_item_t *right,
                           opc_element_equal_t *equal, void *context) {
  if (!opc_tensor_same_sizes(&left->meta, &right->meta)) {
    difference->kind = OPC_DIFFERENCE_SHAPE;
  } else if (left->meta.dtype != right->meta.dtype || strcmp(left->meta.dtype_text, right->meta.dtype_text) != 0) {
    difference->kind = OPC_DIFFERENCE_DTYPE;
  } else if (left->bytes && right->bytes && left->size == right->size) {
    elements_compared += (uint64_t)left->meta.numel;
    if (memcmp(left->bytes, right->bytes, left->size) == 0) return;
    size_t width = left->meta.itemsize;
    for (int64_t i = 0; i < left->meta.numel; i++) {
      size_t at = (size_t)i * width;
      if (memcmp((const char *)left->bytes + at, (const char *)right->bytes + at, width) == 0) continue;
      if (equal && equal(difference->item, i, context)) continue;
      if (difference->count++ == 0) difference->first = i;
    }
    if (difference->count) difference->kind = OPC_DIFFERENCE_VALUE;
  }
}

static void compare_item(opc_difference_t *difference, const opc_result_item_t *left, const opc_result_item_t *right,
                         opc_element_equal_t *equal, void *context) {
  elements_compared += left->kind != OPC_VALUE_TENSOR && left->size > 0;
  if (left->kind != right->kind) difference->kind = OPC_DIFFERENCE_COUNT;
  else if (left->kind == OPC_VALUE_TENSOR) compare_tensor(difference, left, right, equal, context);
  else if ((left->size != right->size || (left->size && memcmp(left->bytes, right->bytes, left->size) != 0)) &&
           !(equal && equal(difference->item, 0, context)))
    difference->kind = OPC_DIFFERENCE_VALUE;
}

bool opc_result_item_differs(const opc_result_t *left, const opc_result_t *right, size_t item) {
  opc_difference_t difference = {.item = item};
  if (item >= left->count || item >= right->count) return left->count != right->count;
  compare_item(&difference, &left->items[item], &right->items[item], NULL, NULL);
  return difference.kind != OPC_DIFFERENCE_NONE;
}

opc_difference_t opc_result_compare(const opc_result_t *left, const opc_result_t *right, opc_element_equal_t *equal,
                                    void *context) {
  opc_difference_t difference = {0};
  for (size_t i = 0; i < left->count && i < right->count && difference.kind == OPC_DIFFERENCE_NONE; i++) {
    difference.item = i;
    compare_item(&difference, &left->items[i], &right->items[i], equal, context);
  }
  if (difference.kind == OPC_DIFFERENCE_NONE && left->count != right->count) {
    difference.kind = OPC_DIFFERENCE_COUNT;
    difference.item = left->count < right->count ? left->count : right->count;
  }
  return difference;
}

const char *opc_meta_dtype_text(const opc_tensor_meta_t *meta) {
  return meta->dtype_known ? opc_dtype_name(meta->dtype) : meta->dtype_text;
}

void opc_sizes_text(int ndim, const int64_t *sizes, char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (int d = 0; d < ndim && d < OPC_MAX_DIMS && used < size; d++) {
    int length = snprintf(out + used, size - used, "%s%lld", d ? ", " : "[", (long long)sizes[d]);
    used += length > 0 ? (size_t)length : 0;
  }
  if (used < size) snprintf(out + used, size - used, ndim ? "]" : "[]");
}

void opc_index_text(const opc_tensor_meta_t *meta, int64_t element, char *out, size_t size) {
  int64_t index[OPC_MAX_DIMS];
  out[0] = '\0';
  if (meta->ndim <= 0 || meta->ndim > OPC_MAX_DIMS) return;
  for (int d = meta->ndim - 1; d >= 0; d--) {
    int64_t extent = meta->sizes[d] ? meta->sizes[d] : 1;
    index[d] = element % extent;
    element /= extent;
  }
  opc_sizes_text(meta->ndim, index, out, size);
}

void opc_element_text(opc_dtype_t dtype, const void *element, char *out, size_t size) {
  char number[96], bits[40] = "";
  size_t width = opc_dtype_size(dtype), half = width;
  opc_number_format(dtype, element, number, sizeof number);
  opc_dtype_class_t kind = opc_dtype_class(dtype);
  if (!opc_dtype_is_inexact(dtype)) {
    snprintf(out, size, "%s", number);
    return;
  }
  if (kind == OPC_CLASS_COMPLEX) half = width / 2;
  const unsigned char *bytes = element;
  size_t used = 0;
  for (size_t part = 0; part < width; part += half) {
    used += (size_t)snprintf(bits + used, sizeof bits - used, "%s0x", part ? "," : "");
    for (size_t i = half; i-- > 0;) used += (size_t)snprintf(bits + used, sizeof bits - used, "%02x", bytes[part + i]);
  }
  snprintf(out, size, "%s (bits %s)", number, bits);
}

static void value_difference_text(const opc_difference_t *difference, const opc_result_item_t *left,
                                  const opc_result_item_t *right, const char *right_name, opc_text_t *out) {
  if (left->kind != OPC_VALUE_TENSOR) {
    opc_text_addf(out, "%s is %s, %s has %s", left->path, left->text, right_name, right->text);
    return;
  }
  char index[160], here[160], there[160];
  size_t first = (size_t)difference->first;
  opc_index_text(&left->meta, difference->first, index, sizeof index);
  opc_element_text(left->meta.dtype, (const char *)left->bytes + first * left->meta.itemsize, here, sizeof here);
  opc_element_text(right->meta.dtype, (const char *)right->bytes + first * right->meta.itemsize, there, sizeof there);
  opc_text_addf(out, "%s%s is %s, %s has %s; %lld of %lld elements differ", left->path, index, here, right_name, there,
                (long long)difference->count, (long long)left->meta.numel);
}

void opc_difference_text(const opc_difference_t *difference, const opc_result_t *left, const opc_result_t *right,
                         const char *right_name, opc_text_t *out) {
  const opc_result_item_t *a = difference->item < left->count ? &left->items[difference->item] : NULL;
  const opc_result_item_t *b = difference->item < right->count ? &right->items[difference->item] : NULL;
  char here[160], there[160];
  switch (difference->kind) {
    case OPC_DIFFERENCE_NONE:
      break;
    case OPC_DIFFERENCE_COUNT:
      if (a && b)
        opc_text_addf(out, "%s is %s, %s has %s there", a->path, a->kind == OPC_VALUE_TENSOR ? "a tensor" : a->text,
                      right_name, b->kind == OPC_VALUE_TENSOR ? "a tensor" : b->text);
      else opc_text_addf(out, "%zu values are returned, %s has %zu", left->count, right_name, right->count);
      break;
    case OPC_DIFFERENCE_SHAPE:
      opc_sizes_text(a->meta.ndim, a->meta.sizes, here, sizeof here);
      opc_sizes_text(b->meta.ndim, b->meta.sizes, there, sizeof there);
      opc_text_addf(out, "%s has shape %s, %s has %s", a->path, here, right_name, there);
      break;
    case OPC_DIFFERENCE_DTYPE:
      opc_text_addf(out, "%s has dtype %s, %s has %s", a->path, opc_meta_dtype_text(&a->meta), right_name,
                    opc_meta_dtype_text(&b->meta));
      break;
    case OPC_DIFFERENCE_VALUE:
      value_difference_text(difference, a, b, right_name, out);
      break;
  }
}
