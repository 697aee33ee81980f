#include "model/package/model_package.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/value/value.h"

enum { INPUTS_MAX = 4096, VARYING_SIZE = 3 };

typedef struct input {
  int ndim;
  int64_t sizes[OPC_MAX_DIMS], strides[OPC_MAX_DIMS]; /* -1: unknown */
  opc_dtype_t dtype;
} input_t;

/* Number of entries NAME[0] … NAME[n-1] in the source. */
static size_t model_inputs_count_entries(const char *source, const char *name) {
  char key[64];
  for (size_t count = 0;; count++) {
    snprintf(key, sizeof key, "%s[%zu].name = ", name, count);
    if (count == INPUTS_MAX || !strstr(source, key)) return count;
  }
}

/* The number after `word` within [at, end). */
static bool number_after(const char *at, const char *end, const char *word, int64_t *out) {
  const char *found = strstr(at, word);
  if (!found || found >= end) return false;
  char *stop;
  *out = strtoll(found + strlen(word), &stop, 10);
  return stop != found + strlen(word);
}

/* One message of an input check, "unmatched dim value at 2, " << "expected: 224, ", up to its throw. */
static void take_message(input_t *input, const char *text, const char *end) {
  static const char dim[] = "unmatched dim value at ", stride[] = "unmatched stride value at ",
                    small[] = "dim value is too small at ", large[] = "dim value is too large at ";
  int64_t index = 0, value = 0;
  bool is_dim = number_after(text, end, dim, &index), is_stride = !is_dim && number_after(text, end, stride, &index);
  bool is_small = !is_dim && !is_stride && number_after(text, end, small, &index);
  bool is_large = !is_dim && !is_stride && !is_small && number_after(text, end, large, &index);
  if (!(is_dim || is_stride || is_small || is_large) || index < 0 || index >= OPC_MAX_DIMS) return;
  if (index >= input->ndim) input->ndim = (int)index + 1;
  if (is_dim && number_after(text, end, "expected: ", &value)) input->sizes[index] = value;
  if (is_stride && number_after(text, end, "expected: ", &value)) input->strides[index] = value;
  if (is_small && number_after(text, end, ">= ", &value) && value > VARYING_SIZE) input->sizes[index] = value;
  if (is_large && number_after(text, end, "<= ", &value) && value < VARYING_SIZE) input->sizes[index] = value;
}

static bool read_input(const char *source, size_t number, input_t *out) {
  char handle[64], message[64], word[32] = "";
  static const char dtype_word[] = "aoti_torch_dtype_", message_end[] = "throw ";
  snprintf(handle, sizeof handle, "ConstantHandle(input_handles[%zu]);", number);
  snprintf(message, sizeof message, "\"input_handles[%zu]: ", number);
  const char *start = strstr(source, handle), *end = start ? strstr(start + 1, "ConstantHandle(input_handles[") : NULL;
  if (!start) return false;
  if (!end) end = start + strlen(start);
  const char *dtype = strstr(start, dtype_word);
  if (!dtype || dtype >= end || sscanf(dtype + strlen(dtype_word), "%31[a-z0-9_]", word) != 1) return false;
  *out = (input_t){.dtype = opc_dtype_find(word)};
  for (int i = 0; i < OPC_MAX_DIMS; i++) out->sizes[i] = out->strides[i] = -1;
  for (const char *at = strstr(start, message); at && at < end; at = strstr(at + 1, message)) {
    const char *stop = strstr(at, message_end);
    take_message(out, at, stop && stop < end ? stop : end);
  }
  return out->dtype != OPC_DTYPE_OTHER;
}

static json_t *input_value(const input_t *input) {
  json_t *shape = json_array(), *strides = json_array();
  bool contiguous = true, known = true;
  int64_t expected = 1;
  for (int i = 0; i < input->ndim; i++) {
    json_array_append_new(shape, json_integer(input->sizes[i] >= 0 ? input->sizes[i] : VARYING_SIZE));
    json_array_append_new(strides, json_integer(input->strides[i]));
    known = known && input->sizes[i] >= 0 && input->strides[i] >= 0;
  }
  for (int i = input->ndim - 1; known && i >= 0; i--) {
    contiguous = contiguous && (input->sizes[i] == 1 || input->strides[i] == expected);
    expected *= input->sizes[i] > 0 ? input->sizes[i] : 1;
  }
  json_t *spec = json_pack("{s:o, s:s}", "shape", shape, "dtype", opc_dtype_name(input->dtype));
  if (known && !contiguous) json_object_set(spec, "strides", strides);
  /* Integers are mostly indices: 0 and 1 are valid most often. */
  if (opc_dtype_is_integral(input->dtype)) json_object_set_new(spec, "fill", json_pack("{s:[i, i]}", "range", 0, 2));
  json_decref(strides);
  return json_pack("{s:o}", "tensor", spec);
}

void opc_model_inputs_read(const char *source, json_t **out_inputs, size_t *out_outputs) {
  size_t count = model_inputs_count_entries(source, "inputs_info_");
  json_t *inputs = json_array();
  bool all = true;
  for (size_t i = 0; i < count && all; i++) {
    input_t input;
    all = read_input(source, i, &input);
    if (all) json_array_append_new(inputs, input_value(&input));
  }
  *out_outputs = model_inputs_count_entries(source, "outputs_info_");
  json_decref(*out_inputs);
  *out_inputs = all && *out_outputs > 0 ? inputs : NULL;
  if (!*out_inputs) json_decref(inputs);
}
