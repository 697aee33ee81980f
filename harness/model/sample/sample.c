#include "model/sample/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/sample/relations.h"

static void expect_clear(opc_expect_t *expect) {
  for (size_t i = 0; expect->same_bits && i < expect->same_bits_count; i++) free(expect->same_bits[i].argument);
  free(expect->same_bits);
  opc_values_free(expect->outputs, expect->output_count);
  for (size_t i = 0; i < expect->reference_argument_count; i++) {
    free(expect->reference_arguments[i].name);
    free(expect->reference_arguments[i].from);
    opc_value_clear(&expect->reference_arguments[i].value);
  }
  free(expect->reference_arguments);
  free(expect->reference);
  *expect = (opc_expect_t){0};
}

void opc_sample_clear(opc_sample_t *sample) {
  if (!sample) return;
  free(sample->operator_name);
  free(sample->name);
  free(sample->origin);
  free(sample->comment);
  free(sample->todo);
  free(sample->absent);
  opc_values_free(sample->arguments, sample->argument_count);
  expect_clear(&sample->expect);
  opc_relations_free(sample->relations);
  for (size_t i = 0; sample->words && i < sample->argument_count; i++) free(sample->words[i]);
  free(sample->words);
  *sample = (opc_sample_t){0};
}

opc_status_t opc_sample_init(opc_sample_t *sample, const opc_operator_t *op, opc_error_t *error) {
  const size_t count = op->argument_count;
  *sample = (opc_sample_t){.argument_count = count};
  for (int i = 0; i < OPC_DTYPE_COUNT; i++) sample->expect.tolerance[i] = -1.0;
  sample->operator_name = opc_string_copy(op->name);
  sample->arguments = calloc(count + 1, sizeof *sample->arguments); /* + 1: a size of 0 must not look like a failure */
  sample->absent = calloc(count + 1, sizeof *sample->absent);
  if (!sample->operator_name || !sample->arguments || !sample->absent) {
    opc_sample_clear(sample);
    return opc_out_of_memory(error);
  }
  for (size_t i = 0; i < count; i++) sample->absent[i] = op->arguments[i].has_default;
  return OPC_OK;
}

opc_status_t opc_sample_add_word(opc_sample_t *sample, size_t argument, const char *word, size_t length,
                                 opc_error_t *error) {
  if (!sample->words) sample->words = calloc(sample->argument_count + 1, sizeof *sample->words);
  if (!sample->words) return opc_out_of_memory(error);
  char **words = &sample->words[argument];
  for (const char *known = *words; known && *known;) {
    const size_t size = strcspn(known, "|");
    if (size == length && strncmp(known, word, length) == 0) return OPC_OK;
    known += size + (known[size] == '|');
  }
  char *more = opc_string_format("%s%s%.*s", *words ? *words : "", *words ? "|" : "", (int)length, word);
  if (!more) return opc_out_of_memory(error);
  free(*words);
  *words = more;
  return OPC_OK;
}

static opc_status_t reference_copy(const opc_expect_t *expect, opc_expect_t *out, opc_error_t *error) {
  const size_t count = expect->reference_argument_count;
  out->reference_arguments = NULL;
  out->reference_argument_count = 0;
  OPC_RETURN_IF_ERROR(opc_string_copy_to(expect->reference, &out->reference, error));
  if (count == 0) return OPC_OK;
  out->reference_arguments = calloc(count, sizeof *out->reference_arguments);
  if (!out->reference_arguments) return opc_out_of_memory(error);
  out->reference_argument_count = count;
  for (size_t i = 0; i < count; i++) {
    const struct opc_reference_argument *from = &expect->reference_arguments[i];
    struct opc_reference_argument *to = &out->reference_arguments[i];
    OPC_RETURN_IF_ERROR(opc_string_copy_to(from->name, &to->name, error));
    OPC_RETURN_IF_ERROR(opc_string_copy_to(from->from, &to->from, error));
    OPC_RETURN_IF_ERROR(opc_value_copy(&from->value, &to->value, error));
  }
  return OPC_OK;
}

static opc_status_t expect_copy(const opc_expect_t *expect, opc_expect_t *out, opc_error_t *error) {
  *out = *expect;
  out->same_bits = NULL;
  out->outputs = NULL;
  OPC_RETURN_IF_ERROR(reference_copy(expect, out, error));
  if (expect->same_bits_count) {
    out->same_bits = calloc(expect->same_bits_count, sizeof *out->same_bits);
    if (!out->same_bits) return opc_out_of_memory(error);
  }
  for (size_t i = 0; i < expect->same_bits_count; i++) {
    out->same_bits[i].output = expect->same_bits[i].output;
    OPC_RETURN_IF_ERROR(opc_string_copy_to(expect->same_bits[i].argument, &out->same_bits[i].argument, error));
  }
  if (expect->outputs)
    OPC_RETURN_IF_ERROR(opc_values_copy(expect->outputs, expect->output_count, &out->outputs, error));
  return OPC_OK;
}

static opc_status_t words_copy(const opc_sample_t *sample, opc_sample_t *out, opc_error_t *error) {
  if (!sample->words) return OPC_OK;
  out->words = calloc(sample->argument_count + 1, sizeof *out->words);
  if (!out->words) return opc_out_of_memory(error);
  for (size_t i = 0; i < sample->argument_count; i++)
    OPC_RETURN_IF_ERROR(opc_string_copy_to(sample->words[i], &out->words[i], error));
  return OPC_OK;
}

opc_status_t opc_sample_copy(const opc_sample_t *sample, opc_sample_t *out, opc_error_t *error) {
  const size_t count = sample->argument_count;
  OPC_SCOPED(opc_sample_clear)
  opc_sample_t copy = {.source = sample->source,
                       .argument_count = count,
                       .brief = sample->brief,
                       .unchecked = sample->unchecked,
                       .uninitialised = sample->uninitialised};
  *out = (opc_sample_t){0};
  OPC_RETURN_IF_ERROR(opc_string_copy_to(sample->operator_name, &copy.operator_name, error));
  OPC_RETURN_IF_ERROR(opc_string_copy_to(sample->name, &copy.name, error));
  OPC_RETURN_IF_ERROR(opc_string_copy_to(sample->origin, &copy.origin, error));
  OPC_RETURN_IF_ERROR(opc_string_copy_to(sample->comment, &copy.comment, error));
  OPC_RETURN_IF_ERROR(opc_string_copy_to(sample->todo, &copy.todo, error));
  OPC_RETURN_IF_ERROR(opc_values_copy(sample->arguments, count, &copy.arguments, error));
  copy.absent = calloc(count + 1, sizeof *copy.absent);
  if (!copy.absent) return opc_out_of_memory(error);
  if (count) memcpy(copy.absent, sample->absent, count * sizeof *copy.absent);
  OPC_RETURN_IF_ERROR(expect_copy(&sample->expect, &copy.expect, error));
  OPC_RETURN_IF_ERROR(opc_relations_copy(sample->relations, &copy.relations, error));
  OPC_RETURN_IF_ERROR(words_copy(sample, &copy, error));
  OPC_MOVE(out, copy);
  return OPC_OK;
}

opc_status_t opc_sample_fill_other(const opc_sample_t *sample, const opc_tensor_spec_t *spec, const char *path,
                                   uint64_t seed, uint64_t other, void *out, opc_error_t *error) {
  bool may_be_index = spec->dtype == OPC_DTYPE_INT64 || spec->dtype == OPC_DTYPE_INT32;
  return opc_fill_logical(spec, path, may_be_index && sample->source == OPC_SAMPLE_SEARCHED ? seed : other, out, error);
}

double opc_sample_number(const opc_sample_t *sample, const opc_operator_t *op, size_t index) {
  const opc_value_t *value = &sample->arguments[index];
  const char *text = op->arguments[index].default_text;
  if (sample->absent[index]) {
    char *end = NULL;
    const double number = text ? strtod(text, &end) : NAN;
    return end && end != text && !*end ? number : NAN;
  }
  if (value->kind == OPC_VALUE_LIST && value->list.count > 0) value = &value->list.items[0];
  if (value->kind == OPC_VALUE_INT) return (double)value->integer;
  return value->kind == OPC_VALUE_FLOAT ? value->floating : NAN;
}

opc_tensor_spec_t *opc_sample_tensor(const opc_sample_t *sample, size_t number) {
  opc_tensor_spec_t *found = NULL;
  for (size_t i = 0; !found && i < sample->argument_count; i++)
    found = opc_value_tensor(&sample->arguments[i], &number);
  return found;
}
