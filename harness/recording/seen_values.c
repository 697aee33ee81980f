#include <math.h>
#include <string.h>

#include "base/number.h"
#include "recording/recorder.h"

enum { LOOKED_AT = 1 << 22 };          /* elements of a tensor: some 20 ms, once per class of calls */
enum { HANDLE_BYTES = 1024 };          /* an object stored in a tensor's bytes is not larger */
static const int64_t widest = 1 << 28; /* bytes between the first and the last element of a tensor that is walked */

static int64_t seen_numel(const opc_seen_tensor_t *tensor) {
  int64_t numel = 1;
  for (int i = 0; i < tensor->ndim; i++)
    if (__builtin_mul_overflow(numel, tensor->sizes[i], &numel)) return INT64_MAX;
  return numel;
}

bool opc_seen_is_contiguous(const opc_seen_tensor_t *tensor) {
  int64_t expected = 1;
  for (int i = tensor->ndim - 1; i >= 0; i--) {
    if (tensor->strides[i] != expected) return false;
    expected *= tensor->sizes[i] > 1 ? tensor->sizes[i] : 1;
  }
  return true;
}

static int64_t reach_of_values(const opc_seen_tensor_t *tensor, const int64_t *strides) {
  int64_t last = 0, step;
  for (int i = 0; i < tensor->ndim; i++) {
    if (tensor->sizes[i] == 0) return 0;
    if (__builtin_mul_overflow(tensor->sizes[i] - 1, strides[i], &step) || __builtin_add_overflow(last, step, &last))
      return INT64_MAX / 16;
  }
  return last + 1;
}

int64_t opc_seen_needed(const opc_seen_tensor_t *tensor) {
  int64_t elements = reach_of_values(tensor, tensor->strides);
  return elements ? tensor->storage_offset + elements : tensor->storage_offset;
}

static int64_t walked(const opc_seen_tensor_t *tensor, int64_t most) {
  const int64_t numel = seen_numel(tensor), elements = reach_of_values(tensor, tensor->data_strides);
  return elements == numel && elements > most ? most : elements; /* dense: not beyond the elements that are walked */
}

bool opc_seen_is_wide(const opc_seen_tensor_t *tensor) {
  return walked(tensor, LOOKED_AT) > widest / (int64_t)opc_dtype_size(tensor->dtype);
}

/* IEEE 754 negates by the sign bit alone; integers use two's complement. */
static void seen_values_resolve(const opc_seen_tensor_t *tensor, unsigned char *element, size_t size) {
  const opc_dtype_class_t kind = opc_dtype_class(tensor->dtype);
  if (kind == OPC_CLASS_COMPLEX) {
    if (tensor->neg) element[size / 2 - 1] ^= 0x80;
    if (tensor->neg != tensor->conj) element[size - 1] ^= 0x80;
  } else if (tensor->neg && kind == OPC_CLASS_FLOATING) {
    element[size - 1] ^= 0x80;
  } else if (tensor->neg && kind != OPC_CLASS_BOOLEAN) {
    uint64_t bits = 0;
    memcpy(&bits, element, size);
    bits = 0 - bits;
    memcpy(element, &bits, size);
  }
}

bool opc_seen_visit(const opc_seen_tensor_t *tensor, int64_t most, opc_seen_visit_t *visit, void *context) {
  const size_t size = opc_dtype_size(tensor->dtype);
  const int64_t numel = seen_numel(tensor), count = numel < most ? numel : most;
  int64_t index[OPC_SEEN_DIMS] = {0}, place = 0, elements = walked(tensor, count);
  if (count == 0) return true;
  if (!tensor->data || elements > INT64_MAX / 16 || !opc_memory_readable(tensor->data, (size_t)elements * size))
    return false;
  for (int64_t number = 0; number < count; number++) {
    unsigned char element[16] = {0};
    memcpy(element, (const char *)tensor->data + place * (int64_t)size, size);
    if (!tensor->resolved && (tensor->conj || tensor->neg)) seen_values_resolve(tensor, element, size);
    visit(element, number, context);
    for (int i = tensor->ndim - 1; i >= 0; i--) {
      place += tensor->data_strides[i];
      if (++index[i] < tensor->sizes[i]) break;
      place -= index[i] * tensor->data_strides[i];
      index[i] = 0;
    }
  }
  return true;
}

/* ---- statistics ---- */

typedef struct looking {
  opc_dtype_t dtype;
  opc_dtype_class_t kind;
  size_t size;
  int64_t finite;
  double squares; /* of differences from the mean (Welford) */
  bool check_addresses;
  uint64_t word; /* of bytes, eight at a time */
  opc_seen_values_t *out;
} looking_t;

static void look_integer(looking_t *looking, int64_t value, int64_t number) {
  opc_seen_values_t *out = looking->out;
  if (number == 0 || value < out->lowest_integer) out->lowest_integer = value;
  if (number == 0 || value > out->highest_integer) out->highest_integer = value;
  out->counting &= value == number;
}

static void look_for_address(looking_t *looking, const void *element, int64_t number) {
  memcpy((char *)&looking->word + (size_t)number * looking->size % 8, element, looking->size);
  if (((size_t)number + 1) * looking->size % 8 == 0) looking->out->has_address |= opc_number_is_address(looking->word);
}

static void seen_values_look_at(const void *element, int64_t number, void *context) {
  looking_t *looking = context;
  opc_seen_values_t *out = looking->out;
  uint64_t bits[2] = {0};
  memcpy(bits, element, looking->size);
  out->digest = (out->digest ^ bits[0] ^ (bits[1] * 31)) * UINT64_C(0x100000001b3);
  out->digest ^= out->digest >> 29;
  if (number == 0) memcpy(out->first, element, looking->size);
  out->constant &= memcmp(out->first, element, looking->size) == 0;
  if (looking->check_addresses) look_for_address(looking, element, number);

  double value;
  if (looking->kind == OPC_CLASS_FLOATING || looking->kind == OPC_CLASS_COMPLEX) {
    value = opc_number_load_double(looking->dtype, element);
    if (!isfinite(value)) {
      out->nonfinite++;
      return;
    }
    out->integral &= value == trunc(value) && fabs(value) < 9e15;
  } else {
    opc_number_t loaded = opc_number_load(looking->dtype, element);
    if (loaded.kind != OPC_NUMBER_INT) {
      out->beyond_int64 = true;
      return;
    }
    look_integer(looking, loaded.i, number);
    value = (double)loaded.i;
  }
  if (looking->finite == 0 || value < out->lowest) out->lowest = value;
  if (looking->finite == 0 || value > out->highest) out->highest = value;
  double away = value - out->mean;
  out->mean += away / (double)++looking->finite;
  looking->squares += away * (value - out->mean);
}

bool opc_seen_look(const opc_seen_tensor_t *tensor, opc_seen_values_t *out) {
  const opc_dtype_class_t kind = opc_dtype_class(tensor->dtype);
  const size_t size = opc_dtype_size(tensor->dtype);
  const int64_t numel = seen_numel(tensor);
  const bool words = kind == OPC_CLASS_SIGNED || kind == OPC_CLASS_UNSIGNED;
  looking_t looking = {.dtype = tensor->dtype, .kind = kind, .size = size, .out = out};
  *out = (opc_seen_values_t){.numel = numel,
                             .looked_at = numel < LOOKED_AT ? numel : LOOKED_AT,
                             .constant = true,
                             .counting = true,
                             .integral = true,
                             .digest = UINT64_C(0xcbf29ce484222325)};
  /* A tensor may store an object in bytes, or its address in a 64-bit integer. */
  looking.check_addresses =
      words && (size == 8 || (size == 1 && tensor->ndim == 1)) && numel <= HANDLE_BYTES / (int64_t)size;
  if (!opc_seen_visit(tensor, LOOKED_AT, seen_values_look_at, &looking)) return false;
  out->deviation = looking.finite ? sqrt(looking.squares / (double)looking.finite) : 0;
  return true;
}
