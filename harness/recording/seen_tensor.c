#include "recording/recorder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum { INTEGERS_A_FLOAT = 16 }; /* integers are indices: this many times as many of them are kept */

/* ---- numbers ---- */

void opc_seen_number_write(double value, int digits, opc_text_t *out) {
  char text[48];
  if (isnan(value) || isinf(value)) {
    opc_text_add(out, isnan(value) ? "\"nan\"" : value < 0 ? "\"-inf\"" : "\"inf\"");
    return;
  }
  /* 9 digits distinguish all float32 values, 5 all float16 (IEEE 754); the loop finds the shortest. */
  for (int precision = digits <= 11 ? 3 : digits <= 24 ? 6 : 15; precision <= 17; precision++) {
    snprintf(text, sizeof text, "%.*g", precision, value);
    double back = strtod(text, NULL);
    if (back == value || (digits <= 24 && (float)back == (float)value)) break;
  }
  if (!strpbrk(text, ".e")) strcat(text, ".0");
  opc_text_add(out, text);
}

static void seen_tensor_write_element(opc_dtype_t dtype, const void *element, opc_text_t *out) {
  const opc_dtype_class_t kind = opc_dtype_class(dtype);
  const int digits = opc_dtype_digits(dtype);
  opc_number_t number = opc_number_load(dtype, element);
  if (kind == OPC_CLASS_COMPLEX) {
    opc_text_add(out, "{\"complex\": [");
    opc_seen_number_write(number.c.re, digits, out);
    opc_text_add(out, ", ");
    opc_seen_number_write(number.c.im, digits, out);
    opc_text_add(out, "]}");
  } else if (kind == OPC_CLASS_FLOATING) {
    opc_seen_number_write(number.f, digits, out);
  } else if (number.kind == OPC_NUMBER_INT) {
    opc_text_addf(out, "%" PRId64, number.i);
  } else {
    uint64_t bits = 0;
    memcpy(&bits, element, sizeof bits);
    opc_text_addf(out, "{\"bits\": \"0x%" PRIx64 "\"}", bits);
  }
}

/* ---- fills ---- */

typedef struct listing {
  opc_dtype_t dtype;
  opc_text_t *out;
} listing_t;

static void list_element(const void *element, int64_t number, void *context) {
  listing_t *listing = context;
  if (number) opc_text_add(listing->out, ", ");
  seen_tensor_write_element(listing->dtype, element, listing->out);
}

static bool is_zero(const opc_seen_values_t *values) {
  static const unsigned char zeros[16];
  return memcmp(values->first, zeros, sizeof zeros) == 0;
}

/* Writes a fill that gives values of the same kind. */
static void write_kind(const opc_seen_tensor_t *tensor, const opc_seen_values_t *values, opc_text_t *out) {
  const opc_dtype_class_t kind = opc_dtype_class(tensor->dtype);
  const bool floating = opc_dtype_is_inexact(tensor->dtype);
  const double span = values->highest - values->lowest;
  if (kind == OPC_CLASS_BOOLEAN) opc_text_add(out, "\"uniform\"");
  else if (!floating && values->counting) opc_text_add(out, "\"arange\"");
  else if (!floating && values->beyond_int64) opc_text_add(out, "\"arange\"");
  else if (!floating && values->highest_integer < INT64_MAX)
    opc_text_addf(out, "{\"range\": [%" PRId64 ", %" PRId64 "]}", values->lowest_integer, values->highest_integer + 1);
  else if (!floating)
    opc_text_addf(out, "{\"range\": [%" PRId64 ", %" PRId64 "]}", values->lowest_integer, values->highest_integer);
  else if (kind == OPC_CLASS_FLOATING && values->integral && values->nonfinite < values->looked_at && span >= 1)
    opc_text_addf(out, "{\"range\": [%.0f, %.0f]}", values->lowest, values->highest + 1);
  else if (values->lowest >= 0 && values->highest <= 1 && span > 0) opc_text_add(out, "\"uniform\"");
  else if (kind == OPC_CLASS_FLOATING && span >= 16 && (values->lowest >= 0 || values->highest <= 0) &&
           fabs(values->lowest) < 9e15 && fabs(values->highest) < 9e15)
    opc_text_addf(out, "{\"range\": [%.0f, %.0f]}", floor(values->lowest), ceil(values->highest));
  else opc_text_add(out, "\"normal\"");
}

static void write_notes(const opc_seen_tensor_t *tensor, const opc_seen_values_t *values, const char *path,
                        opc_text_t *notes) {
  const int digits = opc_dtype_digits(tensor->dtype) ? opc_dtype_digits(tensor->dtype) : 53;
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"min", values->lowest}, {"max", values->highest}, {"mean", values->mean}, {"std", values->deviation}};
  opc_text_addf(notes, "%s\"%s\": {\"digest\": \"%016" PRIx64 "\"", notes->length ? ", " : "", path, values->digest);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    opc_text_addf(notes, ", \"%s\": ", numbers[i].name);
    opc_seen_number_write(numbers[i].value, i < 2 ? digits : 24, notes);
  }
  if (values->nonfinite) opc_text_addf(notes, ", \"nonfinite\": %" PRId64, values->nonfinite);
  if (values->looked_at < values->numel) opc_text_addf(notes, ", \"looked_at\": %" PRId64, values->looked_at);
  opc_text_add(notes, "}");
}

static void write_fill(const opc_seen_tensor_t *tensor, const opc_seen_values_t *values, const char *path,
                       opc_text_t *out, opc_text_t *notes) {
  const bool floating = opc_dtype_is_inexact(tensor->dtype);
  const int64_t most = floating ? opc_recorder_elements() : opc_recorder_elements() * INTEGERS_A_FLOAT;
  if (values->numel == 0) return;
  opc_text_add(out, ", \"fill\": ");
  if (values->constant && values->looked_at == values->numel) {
    if (is_zero(values)) {
      opc_text_add(out, "\"zeros\"");
      return;
    }
    opc_text_add(out, "{\"full\": ");
    seen_tensor_write_element(tensor->dtype, values->first, out);
    opc_text_add(out, "}");
    return;
  }
  if (values->numel <= most) {
    listing_t listing = {.dtype = tensor->dtype, .out = out};
    opc_text_add(out, "{\"values\": [");
    (void)opc_seen_visit(tensor, values->numel, list_element, &listing); /* it was readable a moment ago */
    opc_text_add(out, "]}");
    return;
  }
  if (opc_recorder_keeps_values()) {
    size_t before = out->length;
    opc_text_add(out, "{\"file\": \"");
    if (opc_side_file_write(tensor, values, out)) {
      opc_text_add(out, "\"}");
      return;
    }
    out->length = before;
  }
  write_kind(tensor, values, out);
  write_notes(tensor, values, path, notes);
}

/* ---- the tensor ---- */

static void write_integers(const char *name, const int64_t *integers, int count, opc_text_t *out) {
  opc_text_addf(out, "\"%s\": [", name);
  for (int i = 0; i < count; i++) opc_text_addf(out, "%s%" PRId64, i ? ", " : "", integers[i]);
  opc_text_add(out, "]");
}

opc_reason_t opc_seen_tensor_write(const opc_seen_tensor_t *tensor, const char *path, opc_text_t *out,
                                   opc_text_t *notes) {
  opc_seen_values_t values = {0};
  const bool looked_at = tensor->data && !opc_seen_is_wide(tensor);
  if (looked_at && !opc_seen_look(tensor, &values)) return OPC_REASON_NO_DATA;
  if (values.has_address) return OPC_REASON_HANDLE;
  opc_text_add(out, "{\"tensor\": {");
  write_integers("shape", tensor->sizes, tensor->ndim, out);
  opc_text_addf(out, ", \"dtype\": \"%s\"", opc_dtype_name(tensor->dtype));
  if (!opc_seen_is_contiguous(tensor)) {
    opc_text_add(out, ", ");
    write_integers("strides", tensor->strides, tensor->ndim, out);
  }
  if (tensor->storage_offset) opc_text_addf(out, ", \"storage_offset\": %" PRId64, tensor->storage_offset);
  if (tensor->storage_size > opc_seen_needed(tensor))
    opc_text_addf(out, ", \"storage_size\": %" PRId64, tensor->storage_size);
  if (tensor->storage_id >= 0) opc_text_addf(out, ", \"storage\": \"s%d\"", tensor->storage_id);
  if (tensor->identity_id >= 0) opc_text_addf(out, ", \"identity\": \"t%d\"", tensor->identity_id);
  if (tensor->device >= 0) opc_text_addf(out, ", \"device\": \"cuda:%d\"", tensor->device);
  if (looked_at) write_fill(tensor, &values, path, out, notes);
  else if (opc_dtype_class(tensor->dtype) != OPC_CLASS_FLOATING && opc_dtype_class(tensor->dtype) != OPC_CLASS_COMPLEX)
    opc_text_add(out, ", \"fill\": \"zeros\""); /* not looked at: 0 is the safest index */
  if (tensor->requires_grad) opc_text_add(out, ", \"requires_grad\": true");
  if (tensor->conj) opc_text_add(out, ", \"conj\": true");
  if (tensor->neg) opc_text_add(out, ", \"neg\": true");
  opc_text_add(out, "}}");
  return OPC_REASON_NONE;
}
