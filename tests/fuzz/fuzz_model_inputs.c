/* The source of a compiled model, which says what inputs it takes. */
#include "fuzz.h"

#include "model/package/model_package.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  char *source = calloc(1, size + 1);
  json_t *inputs = NULL;
  size_t outputs = 0;
  fuzz_expect(source, "out of memory");
  if (size) memcpy(source, bytes, size);
  opc_model_inputs_read(source, &inputs, &outputs);
  fuzz_expect(!inputs || json_is_array(inputs), "inputs that are no list");
  json_decref(inputs);
  free(source);
  return 0;
}
