/* Names of variants, and what a name does to a sample: each step of a name is a row of variant.def. */
#include "plan/variant/variant.h"

#include <stdlib.h>
#include <string.h>

#include "plan/variant/variant_table.h"

const opc_transformation_t opc_transformations[] = {
#define NONE OPC_PARAMETER_NONE
#define DIMENSION OPC_PARAMETER_DIMENSION
#define SIZE OPC_PARAMETER_SIZE
#define PATH OPC_PARAMETER_PATH
#define DTYPE OPC_PARAMETER_DTYPE
#define VALUE OPC_PARAMETER_VALUE
#define WORD OPC_PARAMETER_WORD
#define EACH OPC_REACH_EACH
#define LONE OPC_REACH_LONE
#define ALL OPC_REACH_ALL
#define LIST OPC_REACH_LIST
#define FIRST_DIMENSION OPC_REACH_FIRST_DIMENSION
#define UNWRITTEN OPC_REACH_UNWRITTEN
#define SHARABLE OPC_REACH_SHARABLE
#define BY_NAME OPC_REACH_BY_NAME
#define ARGUMENT OPC_REACH_ARGUMENT
#define TENSOR(function) .change_tensor = function
#define NUMBERED(function) .change_numbered = function
#define OVERLAY(word) .special = OPC_SPECIAL_##word
#define SAMPLE(function) .change_sample = function
#define BOTH(alone, together) .change_numbered = alone, .change_sample = together
#define VALUES OPC_KEEPS_VALUES
#define SIZES OPC_KEEPS_SIZES | OPC_KEEPS_EQUAL_SIZES
#define EQUAL_SIZES OPC_KEEPS_EQUAL_SIZES
#define DTYPES OPC_KEEPS_DTYPES
#define OPC_TRANSFORMATION(name, parameter, family, reach, keeps, changes) \
  {name, parameter, OPC_VARIANT_##family, reach, keeps, changes},
#include "plan/variant/variant.def"
};
const size_t opc_transformation_count = sizeof opc_transformations / sizeof opc_transformations[0];

/* ---- names ---- */

static bool is_number(const char *text) {
  const size_t length = strspn(text, "-.0123456789");
  char *end = NULL;
  if (length == 0 || text[length] != '\0') return false;
  (void)strtod(text, &end);
  return *end == '\0';
}

/* The row of a transformation's name; its parameter goes into the step. */
static const opc_transformation_t *row_find(const char *name, opc_variant_step_t *step) {
  for (size_t i = 0; i < opc_transformation_count; i++) {
    const opc_transformation_t *row = &opc_transformations[i];
    size_t length = strlen(row->name);
    if (strncmp(row->name, name, length) != 0) continue;
    const char *rest = name + length;
    step->word = rest;
    switch (row->parameter) {
      case OPC_PARAMETER_NONE:
        if (*rest == '\0') return row;
        break;
      case OPC_PARAMETER_DIMENSION:
      case OPC_PARAMETER_SIZE:
        if (*rest == '\0' || strlen(rest) > 15 || rest[strspn(rest, "0123456789")] != '\0') break;
        step->number = strtoll(rest, NULL, 10);
        return row;
      case OPC_PARAMETER_PATH:
      case OPC_PARAMETER_WORD:
        if (*rest != '\0') return row;
        break;
      case OPC_PARAMETER_VALUE:
        if (is_number(rest)) return row;
        break;
      case OPC_PARAMETER_DTYPE:
        if (opc_dtype_find(rest) != OPC_DTYPE_OTHER) return row;
        break;
    }
  }
  return NULL;
}

/* The dot between path and transformation: a path may have its own dots ("object.init[0]"). NULL: no such
 * transformation. */
static char *variant_split(char *text, const opc_transformation_t **out_row, opc_variant_step_t *step) {
  for (char *dot = strchr(text, '.'); dot; dot = strchr(dot + 1, '.')) {
    *out_row = dot > text ? row_find(dot + 1, step) : NULL;
    if (*out_row) return dot;
  }
  return NULL;
}

unsigned opc_variant_family(const char *name) {
  char text[OPC_VARIANT_NAME_SIZE];
  const opc_transformation_t *row;
  opc_variant_step_t step = {0};
  if (!name || strlen(name) >= sizeof text) return 0;
  if (strcmp(name, "plain") == 0) return OPC_VARIANT_PLAIN;
  const char *last = strrchr(name, '+');
  strcpy(text, last ? last + 1 : name);
  return variant_split(text, &row, &step) ? row->family : 0;
}

bool opc_variant_is_by_name(const char *name) {
  char text[OPC_VARIANT_NAME_SIZE], *rest = text;
  const opc_transformation_t *row;
  opc_variant_step_t step = {0};
  bool by_name = false;
  if (!name || strlen(name) >= sizeof text) return false;
  strcpy(text, name);
  for (char *part; (part = strsep(&rest, "+"));)
    by_name |= variant_split(part, &row, &step) && (row->reach & OPC_REACH_BY_NAME);
  return by_name;
}

opc_variant_facts_t opc_variant_facts(const char *name) {
  char text[OPC_VARIANT_NAME_SIZE], *rest = text;
  opc_variant_facts_t facts = {.keeps = OPC_KEEPS_ALL, .changed = OPC_CHANGED_ALL};
  if (!name || strlen(name) >= sizeof text) return (opc_variant_facts_t){0};
  if (strcmp(name, "plain") == 0) return (opc_variant_facts_t){OPC_VARIANT_PLAIN, OPC_KEEPS_ALL, OPC_CHANGED_NOTHING};
  strcpy(text, name);
  for (char *part; (part = strsep(&rest, "+"));) {
    const opc_transformation_t *row;
    opc_variant_step_t step = {0};
    const char *dot = variant_split(part, &row, &step);
    if (!dot) return (opc_variant_facts_t){0};
    facts.families |= row->family;
    facts.keeps &= row->keeps;
    if (strncmp(part, "all.", 4) != 0) facts.changed = OPC_CHANGED_ONE;
  }
  return facts;
}

/* ---- application ---- */

/* The operator accepted the explicit values of a searched sample. With a NaN among them, the input would be ours, and
 * nobody called it valid. */
static bool is_searched_for(const opc_sample_t *sample, const opc_variant_tensor_t *tensor) {
  return sample->source == OPC_SAMPLE_SEARCHED && tensor->value->tensor->fill.kind == OPC_FILL_VALUES;
}

static bool is_blocked(const opc_transformation_t *row, const opc_sample_t *sample,
                       const opc_variant_tensor_t *tensor) {
  if (tensor->shared && !(row->reach & OPC_REACH_SHARABLE)) return true;
  if (row->family == OPC_VARIANT_SPECIAL && is_searched_for(sample, tensor)) return true;
  return tensor->written && (row->reach & OPC_REACH_UNWRITTEN);
}

static bool tensor_change(const opc_transformation_t *row, opc_tensor_spec_t *spec, int64_t number) {
  if (row->special != OPC_SPECIAL_NONE) return opc_contents_overlay(spec, row->special);
  return row->change_tensor ? row->change_tensor(spec) : row->change_numbered(spec, number);
}

static bool step_run(const opc_transformation_t *row, opc_variant_step_t *step) {
  const opc_variant_tensors_t *tensors = step->tensors;
  bool all = strcmp(step->path, "all") == 0, changed = false;
  if (all && !(row->reach & OPC_REACH_ALL)) return false;
  if (row->change_sample && (all || !row->change_numbered)) {
    if (all || (row->reach & (OPC_REACH_LIST | OPC_REACH_ARGUMENT))) return row->change_sample(step);
    step->target = opc_variant_tensors_find(tensors, step->path);
    return step->target && !is_blocked(row, step->sample, step->target) && row->change_sample(step);
  }
  for (size_t i = 0; i < tensors->count; i++) {
    opc_variant_tensor_t *tensor = &tensors->items[i];
    if (all ? tensor->twin != i : strcmp(tensor->path, step->path) != 0) continue;
    opc_variant_tensor_t *first = &tensors->items[tensor->twin];
    if (!is_blocked(row, step->sample, first)) changed |= tensor_change(row, first->value->tensor, step->number);
  }
  return changed;
}

/* Logical values come from a stream named after the argument: fix the name before anything moves. */
static bool streams_fix(const opc_variant_tensors_t *tensors) {
  for (size_t i = 0; i < tensors->count; i++) {
    opc_tensor_spec_t *spec = tensors->items[i].value->tensor;
    if (!spec->stream) spec->stream = opc_string_copy(tensors->items[i].path);
    if (!spec->stream) return false;
  }
  return true;
}

static opc_status_t step_apply(opc_sample_t *sample, const opc_operator_t *op, char *text, opc_error_t *error) {
  OPC_SCOPED(opc_variant_tensors_clear) opc_variant_tensors_t tensors = {0};
  opc_variant_step_t step = {.sample = sample, .op = op, .tensors = &tensors, .path = text};
  const opc_transformation_t *row;
  char *dot = variant_split(text, &row, &step);
  if (!dot) return opc_error_set(error, OPC_ERR_NOT_FOUND, "'%s' is not argument.transformation", text);
  OPC_RETURN_IF_ERROR(opc_variant_tensors_collect(sample, op, &tensors, error));
  *dot = '\0';
  bool room = streams_fix(&tensors);
  bool applied = room && step_run(row, &step);
  /* Without items, or left out, the collected argument has no tensor left. */
  if (applied && !(row->reach & (OPC_REACH_LIST | OPC_REACH_ARGUMENT))) room = opc_variant_twins_follow(&tensors);
  *dot = '.';
  if (!room) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a variant");
  else if (!applied) return opc_error_set(error, OPC_ERR_NOT_FOUND, "'%s' does not apply to these arguments", text);
  return OPC_OK;
}

static opc_status_t twins_of(opc_sample_t *sample, const opc_operator_t *op, opc_error_t *error) {
  OPC_SCOPED(opc_variant_tensors_clear) opc_variant_tensors_t tensors = {0};
  OPC_RETURN_IF_ERROR(opc_variant_tensors_collect(sample, op, &tensors, error));
  if (!opc_variant_twins_follow(&tensors)) return opc_out_of_memory(error);
  return OPC_OK;
}

/* Other sizes of all tensors follow the known relations of the sample if they can; otherwise they stay unchanged. */
static opc_status_t follow_relations(const opc_sample_t *base, const opc_operator_t *op, const char *name,
                                     opc_sample_t *varied, opc_error_t *error) {
  const unsigned sizes = OPC_VARIANT_EMPTY | OPC_VARIANT_SHAPE | OPC_VARIANT_SIZES | OPC_VARIANT_LONG |
                         OPC_VARIANT_OTHER_SHAPE | OPC_VARIANT_LARGER_LAYOUT;
  OPC_SCOPED(opc_sample_clear) opc_sample_t fitted = {0};
  if (!base->relations || base->relations->count == 0 || strncmp(name, "all.", 4) != 0 || strchr(name, '+') ||
      !(opc_variant_family(name) & sizes) || opc_variant_has_other_dimensions(base, varied) ||
      opc_relations_hold(base->relations, varied, op, NULL, NULL, NULL, 0))
    return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_sample_copy(varied, &fitted, error));
  if (!opc_related_fit(&fitted, base, op) || !opc_related_differs(&fitted, base, op)) return OPC_OK;
  OPC_RETURN_IF_ERROR(twins_of(&fitted, op, error));
  opc_sample_clear(varied);
  OPC_MOVE(varied, fitted);
  return OPC_OK;
}

opc_status_t opc_variant_apply(const opc_sample_t *sample, const opc_operator_t *op, const char *name,
                               opc_sample_t *out, opc_error_t *error) {
  char text[OPC_VARIANT_NAME_SIZE], *rest = text;
  *out = (opc_sample_t){0};
  if (!name || strlen(name) >= sizeof text) return opc_error_set(error, OPC_ERR_NOT_FOUND, "no variant has that name");
  strcpy(text, name);
  if (strcmp(name, "plain") == 0) return opc_sample_copy(sample, out, error);
  OPC_SCOPED(opc_sample_clear) opc_sample_t varied = {0};
  OPC_RETURN_IF_ERROR(opc_sample_copy(sample, &varied, error));
  for (char *step; (step = strsep(&rest, "+"));) OPC_RETURN_IF_ERROR(step_apply(&varied, op, step, error));
  OPC_RETURN_IF_ERROR(follow_relations(sample, op, name, &varied, error));
  OPC_MOVE(out, varied);
  return OPC_OK;
}
