#include "fake_operator.h"

opc_operator_t fake_operator(const fake_t *fake) {
  size_t count = 0;
  while (count < COUNT(fake->arguments) && fake->arguments[count].name) count++;
  return fixture_operator(fake->name, "a schema", fake->arguments, count, NULL, 0);
}

static void check_caps(const opc_sample_t *sample) {
  for (size_t i = 0; i < sample->argument_count; i++) {
    if (sample->absent[i] || sample->arguments[i].kind != OPC_VALUE_TENSOR) continue;
    const opc_tensor_spec_t *spec = sample->arguments[i].tensor;
    assert_true(opc_tensor_spec_numel(spec) <= 4 << 20);
    for (int dim = 0; dim < spec->ndim; dim++) assert_in_range(spec->sizes[dim], 0, 4096);
    if (spec->fill.kind == OPC_FILL_VALUES) assert_int_equal(spec->fill.value_count, opc_tensor_spec_numel(spec));
  }
}

opc_search_t *fake_search(const fake_t *fake, const opc_operator_t *op, uint64_t seed, int *out_tries,
                          opc_text_t *trace) {
  opc_search_t *search;
  opc_sample_t sample;
  opc_error_t error = {0};
  opc_search_options_t options = {.seed = seed, .budget = BUDGET, .round = 1};
  assert_ok(opc_search_new(op, &options, &search, &error), error);
  *out_tries = 0;
  while (opc_search_next(search, &sample)) {
    char message[256] = "";
    opc_tried_t tried = {0};
    ++*out_tries;
    check_caps(&sample);
    fake->run(&sample, &tried, message);
    tried.message = tried.outcome == OPC_TRY_RETURNED ? NULL : message;
    opc_search_report(search, &tried);
    assert_ok(opc_sample_name(&sample, op, &error), error);
    if (trace) opc_text_addf(trace, "%s ", sample.name);
    opc_sample_clear(&sample);
  }
  return search;
}
