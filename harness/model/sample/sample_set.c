#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/sample/sample.h"

static const char format_name[] = "opcheck-c/samples/1";

void opc_sample_set_clear(opc_sample_set_t *set) {
  if (!set) return;
  for (size_t i = 0; i < set->count; i++) opc_sample_clear(&set->samples[i]);
  free(set->samples);
  free(set->todo);
  *set = (opc_sample_set_t){0};
}

opc_status_t opc_sample_set_add(opc_sample_set_t *set, opc_sample_t *sample, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(set->samples, set->count)) return opc_out_of_memory(error);
  set->samples[set->count++] = *sample;
  *sample = (opc_sample_t){0};
  return OPC_OK;
}

/* ---- reading ---- */

typedef struct sample_file {
  opc_json_file_t json;
  opc_operator_lookup_t *lookup;
  opc_class_lookup_t *classes;
  void *context;
} sample_file_t;

/* An error in samples[index]; opc_sample_read's message already begins with the field. */
static opc_status_t sample_mistake(const sample_file_t *file, size_t index, const char *field, const char *what) {
  return opc_json_file_item_mistake(&file->json, "samples", index, field, what);
}

static const opc_sample_t *find_name(const opc_sample_set_t *set, const opc_sample_t *sample) {
  for (size_t i = 0; i < set->count; i++)
    if (strcmp(set->samples[i].name, sample->name) == 0 &&
        strcmp(set->samples[i].operator_name, sample->operator_name) == 0)
      return &set->samples[i];
  return NULL;
}

/* It is to be completed. */
static opc_status_t sample_set_leave_out(sample_file_t *file, const json_t *json, size_t index, opc_sample_set_t *set) {
  if (!json_is_string(json_object_get(json, "todo")))
    return sample_mistake(file, index, "todo", "expected a text: what is to be done");
  if (set->todo_count++ > 0) return OPC_OK;
  OPC_SCOPED(opc_scope_free) char *place = opc_json_file_place(&file->json, "samples", index);
  set->todo = place ? opc_string_format("%s: %s", place, json_string_value(json_object_get(json, "operator"))) : NULL;
  return set->todo ? OPC_OK : opc_out_of_memory(file->json.error);
}

static opc_status_t read_sample(sample_file_t *file, const json_t *json, size_t index, opc_sample_set_t *set) {
  char field[OPC_FIELD_SIZE], what[512];
  opc_error_t trouble = {0};
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  const char *name = json_string_value(json_object_get(json, "operator"));
  if (!json_is_object(json)) return sample_mistake(file, index, "", "expected an object with operator and args");
  if (!name) {
    bool missing = !json_object_get(json, "operator");
    return sample_mistake(file, index, missing ? "" : "operator",
                          missing ? "the field \"operator\" is missing" : "expected the operator's name, \"ns::op\"");
  }
  const opc_operator_t *op = file->lookup(name, file->context);
  const char *source = json_string_value(json_object_get(json, "source"));
  if (!op && source && strcmp(source, "recorded") == 0)
    return OPC_OK; /* a program may call operators of many libraries */
  if (!op) {
    snprintf(what, sizeof what, "no loaded library has an operator %.200s", name);
    return sample_mistake(file, index, "operator", what);
  }

  if (json_object_get(json, "todo")) return sample_set_leave_out(file, json, index, set);

  opc_sample_names_t names = {.folder = file->json.folder, .find_class = file->classes, .context = file->context};
  opc_status_t status = opc_sample_read(json, op, &names, &sample, field, sizeof field, &trouble);
  if (status == OPC_ERR_INPUT) return sample_mistake(file, index, field, trouble.message);
  if (status != OPC_OK) return opc_error_set(file->json.error, status, "%s: %.900s", file->json.name, trouble.message);

  const opc_sample_t *other = find_name(set, &sample);
  if (other) {
    bool given = json_object_get(json, "name");
    snprintf(what, sizeof what,
             given ? "another sample of %s is called \"%s\" (%.200s)"
                   : "another sample of %s has the same arguments: %s (%.200s)",
             sample.operator_name, sample.name, other->origin ? other->origin : "not from a file");
    return sample_mistake(file, index, given ? "name" : "", what);
  }
  sample.origin = opc_json_file_place(&file->json, "samples", index);
  if (!sample.origin) return opc_out_of_memory(file->json.error);
  return opc_sample_set_add(set, &sample, file->json.error);
}

static void sample_file_close(sample_file_t *file) { opc_json_file_close(&file->json); }

opc_status_t opc_sample_set_read(opc_sample_set_t *set, const char *file, opc_operator_lookup_t *lookup,
                                 opc_class_lookup_t *classes, void *context, opc_error_t *error) {
  OPC_SCOPED(sample_file_close) sample_file_t from = {.lookup = lookup, .classes = classes, .context = context};
  const json_t *samples = NULL;
  OPC_RETURN_IF_ERROR(opc_json_file_open(&from.json, file, "sample file", error));
  OPC_RETURN_IF_ERROR(opc_json_file_items(&from.json, format_name, "samples", &samples));
  for (size_t i = 0; i < json_array_size(samples); i++)
    OPC_RETURN_IF_ERROR(read_sample(&from, json_array_get(samples, i), i, set));
  return OPC_OK;
}

/* ---- writing ---- */

/* One sample per line, so that two files can be compared line by line. */
static opc_status_t write_samples(const opc_sample_set_t *set, FILE *stream, opc_operator_lookup_t *lookup,
                                  void *context, opc_error_t *error) {
  json_auto_t *comment = set->comment ? json_string(set->comment) : NULL;
  OPC_SCOPED(opc_scope_free) char *said = comment ? json_dumps(comment, JSON_ENCODE_ANY) : NULL;
  if (set->comment && !said) return opc_out_of_memory(error);
  fprintf(stream, "{\"format\": \"%s\",%s%s%s \"samples\": [", format_name, said ? "\n \"comment\": " : "",
          said ? said : "", said ? ",\n" : "");
  for (size_t i = 0; i < set->count; i++) {
    const opc_sample_t *sample = &set->samples[i];
    const opc_operator_t *op = lookup(sample->operator_name, context);
    if (!op)
      return opc_error_set(error, OPC_ERR_NOT_FOUND, "no loaded library has an operator %.200s", sample->operator_name);
    json_auto_t *json = opc_sample_to_json(sample, op);
    OPC_SCOPED(opc_scope_free) char *line = json ? json_dumps(json, 0) : NULL;
    if (line) fprintf(stream, "%s\n  %s", i ? "," : "", line);
    if (!line) return opc_out_of_memory(error);
  }
  fputs("\n]}\n", stream);
  return OPC_OK;
}

static opc_status_t write_failed(const char *file, opc_error_t *error) {
  return opc_error_set(error, OPC_ERR_IO, "cannot write the sample file %s: %s", file, strerror(errno));
}

static opc_status_t write_and_sync(const opc_sample_set_t *set, FILE *stream, const char *file,
                                   opc_operator_lookup_t *lookup, void *context, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(write_samples(set, stream, lookup, context, error));
  return fflush(stream) == 0 && !ferror(stream) && fsync(fileno(stream)) == 0 ? OPC_OK : write_failed(file, error);
}

opc_status_t opc_sample_set_write(const opc_sample_set_t *set, const char *file, opc_operator_lookup_t *lookup,
                                  void *context, opc_error_t *error) {
  /* NULL for a file that does not exist yet: a dangling link is replaced */
  OPC_SCOPED(opc_scope_free) char *target = realpath(file, NULL);
  OPC_SCOPED(opc_scope_free)
  char *beside = opc_string_format("%s.tmp-%ld", target ? target : file, (long)getpid());
  if (!beside) return opc_out_of_memory(error);
  FILE *stream = fopen(beside, "wbe");
  if (!stream) return write_failed(file, error);
  opc_status_t status = write_and_sync(set, stream, file, lookup, context, error);
  if (fclose(stream) != 0 && !status) status = write_failed(file, error);
  if (!status && rename(beside, target ? target : file) != 0) status = write_failed(file, error);
  if (status != OPC_OK) unlink(beside);
  return status;
}
