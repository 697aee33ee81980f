/* A baseline: the known problems of a run. */
#include "fuzz.h"

#include "reports/baseline.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  json_t *known = NULL;
  opc_error_t error = {0};
  const opc_status_t status = opc_baseline_read(fuzz_file(bytes, size), &known, &error);
  fuzz_expect(status == OPC_OK ? json_is_array(known) : error.message[0], "neither records nor an error");
  json_decref(known);
  return 0;
}
