/* The parts of values and tensors: dtypes, devices and numbers. */
#include <stdlib.h>
#include <string.h>

#include "model/value/value_read.h"

opc_status_t opc_dtype_read(opc_json_reader_t *reader, const json_t *json, opc_dtype_t *out) {
  const char *name, *known[OPC_DTYPE_COUNT] = {NULL};
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json, &name));
  *out = opc_dtype_find(name);
  if (*out != OPC_DTYPE_OTHER) return OPC_OK;

  OPC_SCOPED(opc_text_clear) opc_text_t all = {0};
  for (int i = 1; i < OPC_DTYPE_COUNT; i++) {
    known[i - 1] = opc_dtype_name((opc_dtype_t)i);
    opc_text_addf(&all, "%s%s", i > 1 ? ", " : "", known[i - 1]);
  }
  const char *nearest = opc_json_nearest(name, known);
  return nearest ? opc_json_fail(reader, "no such dtype: \"%.40s\", did you mean \"%s\"? (known: %s)", name, nearest,
                                 opc_text_c(&all))
                 : opc_json_fail(reader, "no such dtype: \"%.40s\" (known: %s)", name, opc_text_c(&all));
}

opc_status_t opc_device_read(opc_json_reader_t *reader, const json_t *json, opc_device_t *out) {
  const char *name;
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json, &name));
  if (!opc_device_parse(name, out))
    return opc_json_fail(reader, "no such device: \"%.40s\" (known: cpu, cuda, cuda:1, meta)", name);
  return OPC_OK;
}

opc_status_t opc_floating_read(opc_json_reader_t *reader, const json_t *json, const char *what, double *out) {
  char there[64];
  const char *word = json_string_value(json);
  *out = 0.0;
  if (json_is_number(json)) *out = json_number_value(json);
  else if (word && strcmp(word, "inf") == 0) *out = __builtin_inf();
  else if (word && strcmp(word, "-inf") == 0) *out = -__builtin_inf();
  else if (word && strcmp(word, "nan") == 0) {
    const uint64_t bits = OPC_DOUBLE_NAN_BITS;
    memcpy(out, &bits, sizeof bits);
  } else {
    return opc_json_fail(reader, "expected %s, \"nan\", \"inf\" or \"-inf\", not %s", what,
                         opc_json_what(json, there, sizeof there));
  }
  return OPC_OK;
}

opc_status_t opc_complex_read(opc_json_reader_t *reader, const json_t *json, double *out_re, double *out_im) {
  char there[64];
  if (json_array_size(json) != 2)
    return opc_json_fail(reader, "expected [real part, imaginary part], not %s%s",
                         opc_json_what(json, there, sizeof there), json_is_array(json) ? " of another length" : "");
  double *const parts[] = {out_re, out_im};
  for (size_t i = 0; i < 2; i++)
    OPC_JSON_ITEM(reader, i, opc_floating_read(reader, json_array_get(json, i), "a number", parts[i]));
  return OPC_OK;
}

opc_status_t opc_bits_read(opc_json_reader_t *reader, const json_t *json, size_t bytes, uint64_t *out) {
  char there[64];
  const char *text = json_string_value(json);
  size_t digits = text && strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
  if (digits == 0 || text[2 + digits] != '\0')
    return opc_json_fail(reader, "expected the bits as a string like \"0x7fc00001\", not %s",
                         opc_json_what(json, there, sizeof there));
  const char *first = text + 2 + strspn(text + 2, "0");
  *out = strtoull(text, NULL, 16);
  if (strlen(first) > 16 || (bytes < sizeof *out && *out >> (8 * bytes)))
    return opc_json_fail(reader, "%.40s has more bits than the %zu of the number", text, 8 * bytes);
  return OPC_OK;
}

opc_status_t opc_file_read_path(opc_json_reader_t *reader, const char *name, char **out) {
  const bool absolute = name[0] == '/' || !reader->folder || !reader->folder[0];
  OPC_SCOPED(opc_scope_free)
  char *path = absolute ? opc_string_copy(name) : opc_string_format("%s/%s", reader->folder, name);
  if (!path) return opc_out_of_memory(reader->error);
  *out = realpath(path, NULL);
  return *out ? OPC_OK : opc_json_fail(reader, "cannot open %s", path);
}
