/* A sample file. What was read can be written and read again, and gives the same; its tensors can be filled. */
#include "fuzz.h"
#include "operators.h"

enum { FILLED_MOST = 4096 };

static void samples_fill(const opc_tensor_spec_t *spec) {
  opc_error_t error;
  const int64_t count = opc_tensor_spec_numel(spec);
  if (count < 0 || count > FILLED_MOST) return;
  void *out = malloc((size_t)count * opc_dtype_size(spec->dtype) + 1);
  if (opc_fill_logical(spec, "x", 1, out, &error) != OPC_OK) fuzz_expect(error.message[0], "an error without words");
  free(out);
}

static void samples_again(const opc_sample_t *sample) {
  const opc_operator_t *op = fuzz_operator(sample->operator_name, NULL);
  const opc_sample_names_t names = {.folder = "/proc/self/fd", .find_class = fuzz_class};
  opc_sample_t again;
  opc_error_t error = {0};
  json_t *json = opc_sample_to_json(sample, op);
  fuzz_expect(json, "a sample that cannot be written");
  if (opc_sample_read(json, op, &names, &again, NULL, 0, &error) != OPC_OK) fuzz_fail(error.message);
  json_t *json_again = opc_sample_to_json(&again, op);
  fuzz_expect(json_equal(json, json_again), "a sample changes when it is written and read");
  json_decref(json);
  json_decref(json_again);
  opc_sample_clear(&again);
  for (size_t i = 0; opc_sample_tensor(sample, i); i++) samples_fill(opc_sample_tensor(sample, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  opc_sample_set_t set = {0};
  opc_error_t error = {0};
  if (opc_sample_set_read(&set, fuzz_file(bytes, size), fuzz_operator, fuzz_class, NULL, &error) != OPC_OK)
    fuzz_expect(error.message[0], "an error without words");
  for (size_t i = 0; i < set.count; i++) samples_again(&set.samples[i]);
  opc_sample_set_clear(&set);
  return 0;
}
