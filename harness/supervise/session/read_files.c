/* The sample and recipe files of a run: the named ones, else those beside the libraries. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect/package.h"
#include "model/json/json_write.h"
#include "supervise/session/basis.h"

const opc_operator_t *opc_session_operator(const char *name, void *context) {
  const opc_loaded_t *loaded = &((opc_session_t *)context)->loaded;
  for (size_t i = 0; i < loaded->operator_count; i++) {
    if (strcmp(loaded->operators[i].name, name) == 0) return &loaded->operators[i];
  }
  for (size_t i = 0; i < loaded->class_operator_count; i++) {
    if (strcmp(loaded->class_operators[i].name, name) == 0) return &loaded->class_operators[i];
  }
  return NULL;
}

/* "libx.samples.json" beside "libx.so", "model.samples.json" beside "model.pt2". NULL: there is none. */
static const char *file_beside(const char *library, const char *kind, char beside[PATH_MAX]) {
  static const char *const endings[] = {".so", ".pt2", ".py"};
  const char *dot = strrchr(library, '.');
  size_t length = strlen(library);
  for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
    if (dot != library && strcmp(dot, endings[i]) == 0) length = (size_t)(dot - library);
  const int written = snprintf(beside, PATH_MAX, "%.*s.%s.json", (int)length, library, kind);
  const char *file = written > 0 && written < PATH_MAX ? opc_package_file(beside) : NULL;
  return file && access(file, F_OK) == 0 ? file : NULL;
}

/* Reads a file into the run. */
typedef opc_status_t read_file_t(opc_session_t *session, const char *file, opc_error_t *error);

/* Reads the files that the user names, which may be about operators of a library that could not be loaded: the run
 * reports that first. Without such files, reads those beside the loaded libraries. */
static opc_status_t read_files(opc_session_t *session, const char *kind, const char *const *files, size_t count,
                               read_file_t *read, opc_error_t *error) {
  bool all_loaded = true;
  for (size_t i = 0; i < session->loaded.library_count; i++) {
    const opc_library_t *library = &session->loaded.libraries[i];
    char beside[PATH_MAX];
    const bool loaded = library->state == OPC_LIBRARY_LOADED;
    const char *file = loaded && count == 0 ? file_beside(library->path, kind, beside) : NULL;
    all_loaded &= loaded;
    if (file) OPC_RETURN_IF_ERROR(read(session, file, error));
    if (file) OPC_RETURN_IF_ERROR(opc_basis_note_file(session, file, opc_session_operator, error));
  }
  for (size_t i = 0; i < count; i++) {
    opc_error_t why = {0};
    opc_status_t status = read(session, files[i], &why);
    if (status == OPC_ERR_INPUT && !all_loaded)
      status = opc_journal_note(session->journal, error, "%s of %s is used, as not all libraries could be loaded: %s",
                                strcmp(kind, "samples") == 0 ? "no sample" : "not every recipe", files[i], why.message);
    else if (status != OPC_OK) status = opc_error_set(error, status, "%s", why.message);
    else status = opc_basis_note_file(session, files[i], opc_session_operator, error);
    if (status != OPC_OK) return status;
  }
  return OPC_OK;
}

/* ---- samples ---- */

static const opc_class_t *named_class(const char *name, void *context) {
  const opc_loaded_t *loaded = &((const opc_session_t *)context)->loaded;
  for (size_t i = 0; i < loaded->class_count; i++)
    if (strcmp(loaded->class_values[i].name, name) == 0) return &loaded->class_values[i];
  return NULL;
}

static opc_status_t read_samples(opc_session_t *session, const char *file, opc_error_t *error) {
  /* The classes of a --preload library are not listed. */
  opc_class_lookup_t *classes = session->options->preload_count > 0 ? NULL : named_class;
  if (session->options->sample_file_count == 0) {
    if (!OPC_ARRAY_GROW(session->files_beside, session->files_beside_count)) return opc_out_of_memory(error);
    OPC_RETURN_IF_ERROR(opc_string_copy_to(file, &session->files_beside[session->files_beside_count], error));
    session->files_beside_count++;
  }
  const size_t before = session->samples.count;
  opc_status_t status = opc_sample_set_read(&session->samples, file, opc_session_operator, classes, session, error);
  while (status == OPC_ERR_INPUT && session->samples.count > before)
    opc_sample_clear(&session->samples.samples[--session->samples.count]);
  return status;
}

static opc_status_t tell_useless_references(const opc_session_t *session, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  for (size_t i = 0; i < options->reference_count; i++) {
    bool used = false;
    for (size_t k = 0; k < session->loaded.operator_count && !used; k++) {
      OPC_SCOPED(opc_scope_free)
      char *reference = opc_reference_of_pair(options->references[i], session->loaded.operators[k].name);
      used = reference && strcmp(reference, session->loaded.operators[k].name) != 0;
    }
    if (!used)
      OPC_RETURN_IF_ERROR(opc_journal_note(session->journal, error,
                                           "--reference %s: no operator of the libraries has such a name",
                                           options->references[i]));
  }
  return OPC_OK;
}

opc_status_t opc_session_read_samples(opc_session_t *session, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  OPC_RETURN_IF_ERROR(
      read_files(session, "samples", options->sample_files, options->sample_file_count, read_samples, error));
  if (session->samples.todo_count > 0)
    OPC_RETURN_IF_ERROR(
        opc_journal_note(session->journal, error,
                         "%s: it is to be completed, and is no sample until its \"todo\" is deleted (%zu of these)",
                         session->samples.todo, session->samples.todo_count));
  if (options->package) OPC_RETURN_IF_ERROR(opc_package_samples(session, error));
  for (size_t i = 0; i < session->samples.count; i++) opc_reference_give(options, &session->samples.samples[i]);
  return tell_useless_references(session, error);
}

opc_status_t opc_session_tell_samples(opc_session_t *session, opc_error_t *error) {
  for (size_t i = 0; i < session->loaded.operator_count; i++) {
    const opc_operator_t *op = &session->loaded.operators[i];
    const opc_sample_t *first = NULL;
    json_auto_t *known = json_object();
    for (size_t k = 0; k < session->samples.count; k++) {
      const opc_sample_t *sample = &session->samples.samples[k];
      if (strcmp(sample->operator_name, op->name) != 0) continue;
      if (!first) first = sample;
      if (sample->relations) opc_json_put(&known, sample->name, opc_relations_to_json(sample->relations));
    }
    if (first)
      OPC_RETURN_IF_ERROR(
          opc_journal_write(session->journal,
                            json_pack("{s:s, s:s, s:s, s:s*, s:{s:O*}}", "t", "sample_source", "operator", op->name,
                                      "source", first->source == OPC_SAMPLE_RECORDED ? "recorded" : "file", "detail",
                                      first->origin, "relations", "samples", known),
                            error));
  }
  return OPC_OK;
}

/* ---- recipes ---- */

/* A constructor has no recipe. */
static const opc_operator_t *recipe_operator(const char *name, void *context) {
  const opc_operator_t *op = opc_session_operator(name, context);
  return op && op->kind == OPC_OPERATOR_CLASS ? NULL : op;
}

static opc_status_t read_recipes(opc_session_t *session, const char *file, opc_error_t *error) {
  return opc_recipe_set_read(&session->recipes, file, recipe_operator, session, error);
}

/* Samples give the operator's arguments. A search and its recipe are then not needed. */
static opc_status_t read_files_tell_unused(opc_session_t *session, opc_error_t *error) {
  for (size_t i = 0; i < session->samples.count; i++) {
    const opc_sample_t *sample = &session->samples.samples[i];
    const opc_recipe_t *recipe = opc_recipe_find(&session->recipes, sample->operator_name);
    bool told = !recipe;
    for (size_t k = 0; k < i && !told; k++)
      told = strcmp(session->samples.samples[k].operator_name, sample->operator_name) == 0;
    if (!told)
      OPC_RETURN_IF_ERROR(opc_journal_note(
          session->journal, error, "the recipe %s of %s is not used: there are samples (%s)", opc_recipe_origin(recipe),
          sample->operator_name, sample->origin ? sample->origin : "of a file"));
  }
  return OPC_OK;
}

opc_status_t opc_session_read_recipes(opc_session_t *session, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  OPC_RETURN_IF_ERROR(
      read_files(session, "recipes", options->recipe_files, options->recipe_file_count, read_recipes, error));
  return read_files_tell_unused(session, error);
}

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
