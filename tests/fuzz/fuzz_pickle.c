/* A pickle, alone and as data.pkl of a file that torch.save wrote. */
#include "fuzz.h"

#include <zip.h>

#include "model/package/archive.h"

static void pickle_entry(zip_t *archive, const char *name, const void *bytes, size_t size) {
  const zip_int64_t index = zip_file_add(archive, name, zip_source_buffer(archive, bytes, size, 0), ZIP_FL_OVERWRITE);
  fuzz_expect(index >= 0 && zip_set_file_compression(archive, (zip_uint64_t)index, ZIP_CM_STORE, 0) == 0,
              "no entry of the file");
}

/* A zip file in memory, whose checksums are right; the caller frees. */
static char *pickle_saved(const uint8_t *pickle, size_t size, size_t *out_size) {
  static const char data[64] = {1, 2, 3, 4, 5, 6, 7, 8};
  zip_error_t why;
  zip_stat_t about;
  zip_error_init(&why);
  zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, &why);
  zip_t *archive = zip_open_from_source(source, ZIP_TRUNCATE, &why);
  fuzz_expect(archive, "no file in memory");
  zip_source_keep(source);
  pickle_entry(archive, "archive/data.pkl", pickle, size);
  pickle_entry(archive, "archive/byteorder", "little", 6);
  pickle_entry(archive, "archive/data/0", data, sizeof data);
  fuzz_expect(zip_close(archive) == 0 && zip_source_stat(source, &about) == 0, "the file cannot be written");
  char *bytes = malloc((size_t)about.size);
  *out_size = (size_t)about.size;
  fuzz_expect(bytes && zip_source_open(source) == 0 && zip_source_read(source, bytes, about.size) >= 0,
              "the file cannot be read");
  zip_source_close(source);
  zip_source_free(source);
  return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  opc_error_t error = {0};
  json_t *value = NULL, *tensors = NULL;
  size_t saved_size = 0;
  const opc_status_t status = opc_pickle_read((const char *)bytes, size, &value, &error);
  fuzz_expect(status == OPC_OK ? value != NULL : error.message[0], "neither a value nor an error");
  json_decref(value);
  char *saved = pickle_saved(bytes, size, &saved_size);
  error = (opc_error_t){0};
  if (opc_torch_saved_read(saved, saved_size, &tensors, &error) != OPC_OK)
    fuzz_expect(error.message[0], "an error without words");
  json_decref(tensors);
  free(saved);
  return 0;
}
