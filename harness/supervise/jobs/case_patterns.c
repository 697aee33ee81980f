#include "supervise/jobs/case_patterns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static uint64_t digest_of(const opc_case_id_t *id, const char *reach, const char *layout) {
  char text[OPC_CASE_ID_SIZE];
  const int length = snprintf(text, sizeof text, "%s/%s/%s%s", id->device, id->sample, reach, layout);
  return XXH3_64bits(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

void opc_kept_layouts_note(opc_kept_layouts_t *kept, const opc_case_result_t *result) {
  const opc_case_id_t *id = &result->id;
  if (result->verdict != OPC_VERDICT_PASS || strcmp(id->check, "stride") != 0 || id->dtype[0] != '\0' ||
      strchr(id->variant, '+') ||
      (!opc_string_ends(id->variant, ".sliced") && !opc_string_ends(id->variant, ".padded")) ||
      !OPC_ARRAY_GROW(kept->passed, kept->count))
    return;
  kept->passed[kept->count++] = digest_of(id, "", id->variant);
}

static bool has(const opc_kept_layouts_t *kept, uint64_t digest) {
  for (size_t i = 0; i < kept->count; i++)
    if (kept->passed[i] == digest) return true;
  return false;
}

/* Padded exists for all tensors together, or for the only one. */
bool opc_kept_layouts_has(const opc_kept_layouts_t *kept, const opc_case_id_t *id) {
  char reach[sizeof id->variant];
  if (strstr(id->variant, ".channels_last") || strstr(id->variant, ".expanded")) return false;
  if (has(kept, digest_of(id, "all", ".sliced")) && has(kept, digest_of(id, "all", ".padded"))) return true;
  snprintf(reach, sizeof reach, "%.*s", (int)strcspn(id->variant, "."), id->variant);
  return has(kept, digest_of(id, reach, ".sliced")) && has(kept, digest_of(id, reach, ".padded"));
}

void opc_kept_layouts_clear(opc_kept_layouts_t *kept) {
  free(kept->passed);
  *kept = (opc_kept_layouts_t){0};
}

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
    OPC_SCOPED(opc_sample_clear) opc_sample_t varied = {0};
    if (strcmp(samples->samples[i].name, id->sample) != 0) continue;
    if (opc_variant_apply(&samples->samples[i], op, id->variant, &varied, NULL) != OPC_OK) return false;
    for (size_t k = 0; k < varied.argument_count; k++)
      opc_value_visit_tensors(op->arguments[k].name, &varied.arguments[k], every_input_see_tensor, out);
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
