#include "supervise/load/load.h"

#include <stdlib.h>
#include <string.h>

#include "supervise/session/session.h"

static bool package_samples_has_sample(const opc_session_t *session, const char *name) {
  for (size_t i = 0; i < session->samples.count; i++)
    if (strcmp(session->samples.samples[i].operator_name, name) == 0) return true;
  return false;
}

opc_status_t opc_package_samples(opc_session_t *session, opc_error_t *error) {
  for (size_t i = 0; i < session->loaded.operator_count; i++) {
    const opc_operator_t *op = &session->loaded.operators[i];
    json_t *inputs = json_object_get(session->loaded.package_inputs, op->name);
    if (op->kind != OPC_OPERATOR_PACKAGE || !inputs || package_samples_has_sample(session, op->name)) continue;
    OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
    bool example = json_object_get(session->loaded.package_examples, op->name);
    json_auto_t *text =
        json_pack("{s:s, s:s, s:O}", "operator", op->name, "name", example ? "example" : "own", "args", inputs);
    OPC_RETURN_IF_ERROR(opc_sample_from_json(text, op, NULL, &sample, NULL, 0, error));
    sample.source = OPC_SAMPLE_RECORDED;
    free(sample.origin);
    sample.origin = opc_string_copy(example ? "the example in the package itself, which it was exported with"
                                            : "shapes and dtypes from the package itself, the values are random");
    OPC_RETURN_IF_ERROR(opc_sample_set_add(&session->samples, &sample, error));
  }
  return OPC_OK;
}
