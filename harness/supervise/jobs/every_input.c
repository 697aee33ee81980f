#include "supervise/jobs/task.h"

#include <string.h>
#include <xxhash.h>

#include "catalogue/severity.h"
#include "plan/variant/variant.h"

typedef struct shape {
  uint64_t digest;
  bool integers;
} shape_t;

static void every_input_see_tensor(const char *path, opc_value_t *value, void *context) {
  shape_t *shape = context;
  const opc_tensor_spec_t *spec = value->tensor;
  (void)path;
  if (!spec) return;
  const opc_dtype_class_t kind = opc_dtype_class(spec->dtype);
  shape->integers |= (kind == OPC_CLASS_SIGNED || kind == OPC_CLASS_UNSIGNED) && spec->fill.kind != OPC_FILL_ZEROS;
  shape->digest = XXH3_64bits_withSeed(spec->sizes, (size_t)spec->ndim * sizeof spec->sizes[0],
                                       shape->digest * 31 + (uint64_t)spec->ndim + 1);
}

static bool shape_of(const opc_case_id_t *id, const opc_sample_set_t *samples, const opc_operator_t *op, shape_t *out) {
  *out = (shape_t){0};
  for (size_t i = 0; i < samples->count; i++) {
    opc_sample_t varied;
    if (strcmp(samples->samples[i].name, id->sample) != 0) continue;
    if (opc_variant_apply(&samples->samples[i], op, id->variant, &varied, NULL) != OPC_OK) return false;
    for (size_t k = 0; k < varied.argument_count; k++)
      opc_value_visit_tensors(op->arguments[k].name, &varied.arguments[k], every_input_see_tensor, out);
    opc_sample_clear(&varied);
    return true;
  }
  return false;
}

static bool shows_outside(const opc_case_result_t *result) {
  bool outside = opc_goes_outside(result->rule);
  for (size_t i = 0; i < result->also.count; i++) outside |= opc_goes_outside(result->also.items[i].rule);
  return outside;
}

static void note_sizes(opc_every_input_t *seen, uint64_t digest) {
  for (size_t i = 0; i < seen->count; i++)
    if (seen->sizes[i] == digest) return;
  if (seen->count < OPC_EVERY_INPUT_SIZES) seen->sizes[seen->count++] = digest;
}

void opc_every_input_note(opc_every_input_t *seen, const opc_case_result_t *result, const opc_sample_set_t *samples,
                          const opc_operator_t *op) {
  const opc_case_id_t *id = &result->id;
  shape_t shape;
  if (strcmp(id->check, "memory") != 0 || id->dtype[0] != '\0' || result->provenance.source == OPC_SOURCE_NONE ||
      result->verdict == OPC_VERDICT_SKIP)
    return;
  const unsigned families = opc_variant_facts(id->variant).families;
  const bool outside = shows_outside(result), zeros = strcmp(id->variant, "all.zero_integers") == 0;
  if (zeros) {
    seen->zeros |= outside;
    seen->not_zero |= !outside;
  }
  /* In another layout the storage continues after the tensor. */
  const bool layout = families & (OPC_VARIANT_LAYOUT | OPC_VARIANT_BITS);
  if (result->provenance.change == OPC_INPUT_ALONE || zeros || layout) return;
  if (!outside) {
    seen->clean = true;
  } else if (shape_of(id, samples, op, &shape)) {
    seen->integers |= shape.integers;
    note_sizes(seen, shape.digest);
  }
}

bool opc_every_input_holds(const opc_every_input_t *seen) {
  return seen->count >= OPC_EVERY_INPUT_SIZES && !seen->clean && (!seen->integers || (seen->zeros && !seen->not_zero));
}
