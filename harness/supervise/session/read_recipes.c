/* The recipes of a run: from the named files, else from those beside the libraries. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervise/session/session.h"

static const opc_operator_t *find_operator(const char *name, void *context) {
  const opc_loaded_t *loaded = context;
  for (size_t i = 0; i < loaded->operator_count; i++)
    if (strcmp(loaded->operators[i].name, name) == 0) return &loaded->operators[i];
  return NULL;
}

/* "libx.recipes.json" beside "libx.so". False: there is none. */
static bool file_beside(const char *library, char *out, size_t size) {
  size_t length = strlen(library);
  if (length > 3 && (strcmp(library + length - 3, ".so") == 0 || strcmp(library + length - 3, ".py") == 0)) length -= 3;
  int written = snprintf(out, size, "%.*s.recipes.json", (int)length, library);
  return written > 0 && (size_t)written < size && access(out, F_OK) == 0;
}

/* A file may be about operators of a library that could not be loaded; the run reports that first. */
static opc_status_t read_named(opc_session_t *session, const char *file, bool all_loaded, opc_error_t *error) {
  opc_error_t why = {0};
  opc_status_t status = opc_recipe_set_read(&session->recipes, file, find_operator, &session->loaded, &why);
  if (status == OPC_ERR_INPUT && !all_loaded)
    return opc_journal_note(session->journal, error,
                            "not every recipe of %s is used, as not all libraries could be loaded: %s", file,
                            why.message);
  return status == OPC_OK ? OPC_OK : opc_error_set(error, status, "%s", why.message);
}

/* Samples give the operator's arguments. A search and its recipe are then not needed. */
static opc_status_t tell_unused(opc_session_t *session, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  for (size_t i = 0; i < session->samples.count && status == OPC_OK; i++) {
    const opc_sample_t *sample = &session->samples.samples[i];
    const opc_recipe_t *recipe = opc_recipe_find(&session->recipes, sample->operator_name);
    bool told = recipe == NULL;
    for (size_t k = 0; k < i && !told; k++)
      told = strcmp(session->samples.samples[k].operator_name, sample->operator_name) == 0;
    if (!told)
      status = opc_journal_note(session->journal, error, "the recipe %s of %s is not used: there are samples (%s)",
                                opc_recipe_origin(recipe), sample->operator_name,
                                sample->origin != NULL ? sample->origin : "of a file");
  }
  return status;
}

opc_status_t opc_session_read_recipes(opc_session_t *session, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  opc_status_t status = OPC_OK;
  bool all_loaded = true;
  for (size_t i = 0; i < session->loaded.library_count; i++) {
    const opc_library_t *library = &session->loaded.libraries[i];
    char beside[PATH_MAX];
    all_loaded &= library->state == OPC_LIBRARY_LOADED;
    if (options->recipe_file_count > 0 || library->state != OPC_LIBRARY_LOADED || status != OPC_OK) continue;
    if (file_beside(library->path, beside, sizeof beside))
      status = opc_recipe_set_read(&session->recipes, beside, find_operator, &session->loaded, error);
  }
  for (size_t i = 0; i < options->recipe_file_count && status == OPC_OK; i++)
    status = read_named(session, options->recipe_files[i], all_loaded, error);
  return status == OPC_OK ? tell_unused(session, error) : status;
}
