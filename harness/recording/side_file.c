/* The files beside the samples: .npy files of --values (numpy.lib.format, version 1.0), and pickled objects. The
 * content gives the name: equal values are kept once. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "recording/record_folder.h"
#include "recording/recorder.h"

enum { HEADER = 256 }; /* of 10 + 246 bytes, a multiple of 64; 16 dimensions fit */

typedef struct writing {
  FILE *file;
  opc_dtype_t from, to;
  size_t size;
} writing_t;

/* NumPy lacks bfloat16, float8 and complex32: a wider type holds the same numbers. */
static opc_dtype_t array_dtype(opc_dtype_t dtype) {
  if (opc_dtype_is_float8(dtype)) return OPC_DTYPE_FLOAT32;
  return dtype == OPC_DTYPE_BFLOAT16 ? OPC_DTYPE_FLOAT32 : dtype == OPC_DTYPE_COMPLEX32 ? OPC_DTYPE_COMPLEX64 : dtype;
}

static char kind_letter(opc_dtype_t dtype) {
  switch (opc_dtype_class(dtype)) {
    case OPC_CLASS_SIGNED:
      return 'i';
    case OPC_CLASS_UNSIGNED:
      return 'u';
    case OPC_CLASS_BOOLEAN:
      return 'b';
    case OPC_CLASS_COMPLEX:
      return 'c';
    default:
      return 'f';
  }
}

static void write_header(const opc_seen_tensor_t *tensor, const writing_t *writing) {
  char header[HEADER + 1];
  OPC_SCOPED(opc_text_clear) opc_text_t shape = {0};
  for (int i = 0; i < tensor->ndim; i++) opc_text_addf(&shape, "%" PRId64 ",", tensor->sizes[i]);
  int length = snprintf(header + 10, HEADER - 10, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (%s)}",
                        writing->size == 1 ? '|' : '<', kind_letter(writing->to), writing->size, opc_text_c(&shape));
  memset(header + 10 + length, ' ', (size_t)(HEADER - 10 - length));
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = (char)(HEADER - 10);
  header[9] = 0;
  header[HEADER - 1] = '\n';
  fwrite(header, 1, HEADER, writing->file);
}

static void side_file_write_element(const void *element, int64_t number, void *context) {
  const writing_t *writing = context;
  unsigned char wide[16];
  (void)number;
  if (writing->from != writing->to) {
    opc_number_store(opc_number_load(writing->from, element), writing->to, wide);
    element = wide;
  }
  fwrite(element, 1, writing->size, writing->file);
}

/* What a side file is filled with; false: it could not be. */
typedef bool side_file_fill_t(FILE *file, const void *context);

/* Writes the file unless it is there, and adds its name for the sample file to out. */
static bool write_named(const char *name, size_t size, side_file_fill_t *fill, const void *context, opc_text_t *out) {
  char path[PATH_MAX], beside[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s/" OPC_RECORD_VALUES "/%s", opc_recorder_folder(), name);
  if (length < 0 || (size_t)length >= sizeof path - 32) return false;
  if (access(path, R_OK) != 0) {
    if (!opc_recorder_take_bytes(size)) return false;
    snprintf(beside, sizeof beside, "%.*s.%ld", PATH_MAX - 32, path, (long)getpid());
    FILE *file = fopen(beside, "wbxe");
    if (!file) return access(path, R_OK) == 0; /* another thread is writing it */
    bool fine = fill(file, context) && fflush(file) == 0 && !ferror(file);
    fine = fclose(file) == 0 && fine && rename(beside, path) == 0;
    if (!fine) {
      unlink(beside);
      return false;
    }
  }
  opc_text_addf(out, "%s/%s", opc_recorder_values_folder(), name);
  return true;
}

typedef struct side_array {
  const opc_seen_tensor_t *tensor;
  opc_dtype_t to;
} side_array_t;

static bool fill_with_array(FILE *file, const void *context) {
  const side_array_t *array = context;
  writing_t writing = {.file = file, .from = array->tensor->dtype, .to = array->to, .size = opc_dtype_size(array->to)};
  write_header(array->tensor, &writing);
  return opc_seen_visit(array->tensor, INT64_MAX, side_file_write_element, &writing);
}

bool opc_side_file_write(const opc_seen_tensor_t *tensor, const opc_seen_values_t *values, opc_text_t *out) {
  char name[80];
  uint64_t digest = values->digest;
  for (int i = 0; i < tensor->ndim; i++) digest = (digest ^ (uint64_t)tensor->sizes[i]) * UINT64_C(0x100000001b3);
  const side_array_t array = {.tensor = tensor, .to = array_dtype(tensor->dtype)};
  if (values->looked_at < values->numel)
    digest ^= (uint64_t)values->numel * 31 + (uint64_t)(uintptr_t)tensor->data; /* the digest lacks some values */
  snprintf(name, sizeof name, "%s-%016" PRIx64 ".npy", opc_dtype_name(tensor->dtype), digest);
  return write_named(name, (size_t)values->numel * opc_dtype_size(array.to) + HEADER, fill_with_array, &array, out);
}

typedef struct side_bytes {
  const void *bytes;
  size_t size;
} side_bytes_t;

static bool fill_with_bytes(FILE *file, const void *context) {
  const side_bytes_t *object = context;
  return fwrite(object->bytes, 1, object->size, file) == object->size;
}

bool opc_side_file_write_object(const void *bytes, size_t size, opc_text_t *out) {
  char name[80];
  const side_bytes_t object = {.bytes = bytes, .size = size};
  const unsigned char *byte = bytes;
  uint64_t digest = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < size; i++) digest = (digest ^ byte[i]) * UINT64_C(0x100000001b3);
  if (opc_recorder_values_folder()[0] == '\0') return false;
  snprintf(name, sizeof name, OPC_RECORD_OBJECT "-%016" PRIx64 ".pt", digest);
  return write_named(name, size, fill_with_bytes, &object, out);
}
