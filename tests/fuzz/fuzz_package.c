/* A zip file: as an archive, as a .pt2 package, and as a file that torch.save wrote. */
#include "fuzz.h"

#include "model/package/archive.h"
#include "model/package/model_package.h"

static void package_entries(const uint8_t *bytes, size_t size) {
  opc_archive_t archive = {0};
  opc_error_t error = {0};
  if (opc_archive_open_bytes((const char *)bytes, size, &archive, &error) != OPC_OK)
    fuzz_expect(error.message[0], "an error without words");
  for (size_t i = 0; i < archive.count; i++) {
    char *entry = NULL;
    if (opc_archive_read(&archive, &archive.entries[i], &entry, &error) == OPC_OK)
      fuzz_expect(entry[archive.entries[i].size] == '\0', "no NUL after an entry");
    free(entry);
  }
  opc_archive_close(&archive);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  opc_package_t package = {0};
  opc_error_t error = {0};
  json_t *tensors = NULL;
  package_entries(bytes, size);
  if (opc_package_read(fuzz_file(bytes, size), &package, &error) != OPC_OK)
    fuzz_expect(error.message[0], "an error without words");
  opc_package_clear(&package);
  error = (opc_error_t){0};
  if (opc_torch_saved_read((const char *)bytes, size, &tensors, &error) != OPC_OK)
    fuzz_expect(error.message[0], "an error without words");
  json_decref(tensors);
  return 0;
}
