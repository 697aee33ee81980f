/* A .npy file, which a sample can name. */
#include "fuzz.h"

#include "model/value/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  const char *path = fuzz_file(bytes, size);
  opc_npy_t described, loaded;
  opc_error_t error = {0};
  void *data = NULL;
  const opc_status_t status = opc_npy_describe(path, &described, &error);
  fuzz_expect(status == OPC_OK || error.message[0], "an error without words");
  fuzz_expect(opc_npy_load(path, &loaded, &data, &error) == status, "described, but not loaded");
  free(data);
  return 0;
}
