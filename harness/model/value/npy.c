#include "model/value/value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HEADER_MAX = 65536 };

static opc_dtype_t dtype_of_descr(const char *descr) {
  static const struct {
    const char *code;
    opc_dtype_t dtype;
  } codes[] = {
      {"f2", OPC_DTYPE_FLOAT16},   {"f4", OPC_DTYPE_FLOAT32},     {"f8", OPC_DTYPE_FLOAT64}, {"i1", OPC_DTYPE_INT8},
      {"i2", OPC_DTYPE_INT16},     {"i4", OPC_DTYPE_INT32},       {"i8", OPC_DTYPE_INT64},   {"u1", OPC_DTYPE_UINT8},
      {"u2", OPC_DTYPE_UINT16},    {"u4", OPC_DTYPE_UINT32},      {"u8", OPC_DTYPE_UINT64},  {"b1", OPC_DTYPE_BOOL},
      {"c8", OPC_DTYPE_COMPLEX64}, {"c16", OPC_DTYPE_COMPLEX128},
  };
  if (!strchr("<|=", descr[0])) return OPC_DTYPE_OTHER;
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
    if (strcmp(codes[i].code, descr + 1) == 0) return codes[i].dtype;
  return OPC_DTYPE_OTHER;
}

/* The text after 'key': in the header, a Python dictionary literal; NULL: no such key. */
static const char *header_value(const char *header, const char *key) {
  char quoted[32];
  for (const char *quote = "'\""; *quote; quote++) {
    snprintf(quoted, sizeof quoted, "%c%s%c", *quote, key, *quote);
    const char *at = strstr(header, quoted);
    if (!at) continue;
    at += strlen(quoted);
    while (isspace((unsigned char)*at)) at++;
    if (*at++ != ':') continue;
    while (isspace((unsigned char)*at)) at++;
    return at;
  }
  return NULL;
}

static bool parse_shape(const char *at, opc_npy_t *npy) {
  npy->numel = 1;
  if (*at++ != '(') return false;
  for (;;) {
    while (isspace((unsigned char)*at) || *at == ',') at++;
    if (*at == ')') return true;
    char *end;
    if (!isdigit((unsigned char)*at) || npy->ndim == OPC_MAX_DIMS) return false;
    errno = 0;
    npy->sizes[npy->ndim] = strtoll(at, &end, 10);
    if (errno || __builtin_mul_overflow(npy->numel, npy->sizes[npy->ndim], &npy->numel)) return false;
    npy->ndim++;
    at = *end == 'L' ? end + 1 : end; /* Python 2 wrote 3L */
  }
}

static opc_status_t parse_header(const char *file, const char *header, opc_npy_t *out, opc_error_t *error) {
  const char *descr = header_value(header, "descr"), *order = header_value(header, "fortran_order");
  const char *shape = header_value(header, "shape");
  if (!descr || !order || !shape)
    return opc_error_set(error, OPC_ERR_INPUT, "%s: the header of the .npy file lacks descr, fortran_order or shape",
                         file);

  char code[32] = "";
  if (*descr == '\'' || *descr == '"') {
    size_t length = strcspn(descr + 1, "'\"");
    if (length < sizeof code) memcpy(code, descr + 1, length);
  }
  out->dtype = dtype_of_descr(code);
  if (code[0] == '>')
    return opc_error_set(error, OPC_ERR_INPUT, "%s: big-endian elements ('%s'); save the array as little-endian", file,
                         code);
  if (out->dtype == OPC_DTYPE_OTHER)
    return opc_error_set(
        error, OPC_ERR_INPUT,
        "%s: elements of type '%.30s' have no place in a tensor; use b1, i1-i8, u1-u8, f2-f8, c8 or c16", file,
        code[0] ? code : descr);
  out->fortran_order = strncmp(order, "True", 4) == 0;
  if (!out->fortran_order && strncmp(order, "False", 5) != 0)
    return opc_error_set(error, OPC_ERR_INPUT,
                         "%s: fortran_order in the header of the .npy file is neither True nor False", file);
  if (!parse_shape(shape, out))
    return opc_error_set(error, OPC_ERR_INPUT,
                         "%s: the shape in the header of the .npy file is malformed or has more than %d dimensions",
                         file, OPC_MAX_DIMS);
  return OPC_OK;
}

static opc_status_t read_header(const char *file, FILE *stream, opc_npy_t *out, opc_error_t *error) {
  unsigned char start[12];
  OPC_SCOPED(opc_scope_free) char *header = NULL;
  if (fread(start, 1, 10, stream) != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
    return opc_error_set(error, OPC_ERR_INPUT, "%s: this is not an .npy file", file);
  if (start[6] < 1 || start[6] > 3)
    return opc_error_set(error, OPC_ERR_INPUT, "%s: .npy format %d.%d is not known, only 1 to 3", file, start[6],
                         start[7]);

  size_t length = start[8] | (size_t)start[9] << 8, prefix = 10;
  if (start[6] > 1) { /* the length has four bytes from version 2 on */
    prefix = 12;
    if (fread(start + 10, 1, 2, stream) != 2) length = HEADER_MAX + 1;
    else length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
  }
  out->data_offset = prefix + length;
  if (length > HEADER_MAX || !(header = calloc(1, length + 1)) || fread(header, 1, length, stream) != length)
    return opc_error_set(error, OPC_ERR_INPUT, "%s: the header of the .npy file is cut off or too long", file);
  return parse_header(file, header, out, error);
}

static opc_status_t open_checked(const char *file, opc_npy_t *out, FILE **out_stream, opc_error_t *error) {
  struct stat info;
  *out = (opc_npy_t){0};
  *out_stream = NULL;
  OPC_SCOPED(opc_scope_fclose) FILE *stream = fopen(file, "rbe");
  if (!stream) return opc_error_set(error, OPC_ERR_IO, "%s: %s", file, strerror(errno));
  OPC_RETURN_IF_ERROR(read_header(file, stream, out, error));
  int64_t bytes, there = fstat(fileno(stream), &info) == 0 ? (int64_t)info.st_size - (int64_t)out->data_offset : 0;
  if (__builtin_mul_overflow(out->numel, (int64_t)opc_dtype_size(out->dtype), &bytes) || bytes > there)
    return opc_error_set(
        error, OPC_ERR_INPUT, "%s: the file ends before its last element: %lld elements are declared, %lld are there",
        file, (long long)out->numel, (long long)(there < 0 ? 0 : there) / (long long)opc_dtype_size(out->dtype));
  OPC_MOVE(out_stream, stream);
  return OPC_OK;
}

opc_status_t opc_npy_describe(const char *file, opc_npy_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_fclose) FILE *stream = NULL;
  return open_checked(file, out, &stream, error);
}

/* Converts column-major elements to row-major order. */
static void reorder(const opc_npy_t *npy, const char *from, char *to) {
  const size_t size = opc_dtype_size(npy->dtype);
  int64_t index[OPC_MAX_DIMS] = {0}, strides[OPC_MAX_DIMS], stride = 1;
  for (int i = 0; i < npy->ndim; i++) {
    strides[i] = stride;
    stride *= npy->sizes[i];
  }
  int64_t source = 0;
  for (int64_t element = 0; element < npy->numel; element++) {
    memcpy(to + (size_t)element * size, from + (size_t)source * size, size);
    for (int i = npy->ndim - 1; i >= 0; i--) {
      source += strides[i];
      if (++index[i] < npy->sizes[i]) break;
      source -= index[i] * strides[i];
      index[i] = 0;
    }
  }
}

opc_status_t opc_npy_load(const char *file, opc_npy_t *out, void **out_data, opc_error_t *error) {
  OPC_SCOPED(opc_scope_fclose) FILE *stream = NULL;
  *out_data = NULL;
  OPC_RETURN_IF_ERROR(open_checked(file, out, &stream, error));
  const size_t bytes = (size_t)out->numel * opc_dtype_size(out->dtype);
  OPC_SCOPED(opc_scope_free) char *data = malloc(bytes + 1);
  OPC_SCOPED(opc_scope_free) char *ordered = out->fortran_order ? malloc(bytes + 1) : NULL;
  if (!data || (out->fortran_order && !ordered))
    return opc_error_set(error, OPC_ERR_MEMORY, "%s: out of memory for %zu bytes", file, bytes);
  if (fread(data, 1, bytes, stream) != bytes) return opc_error_set(error, OPC_ERR_IO, "%s: reading failed", file);
  if (out->fortran_order) {
    reorder(out, data, ordered);
    OPC_MOVE(out_data, ordered);
  } else {
    OPC_MOVE(out_data, data);
  }
  return OPC_OK;
}
