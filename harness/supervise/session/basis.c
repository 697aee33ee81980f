#include "supervise/session/basis.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/digest.h"
#include "inspect/package.h"
#include "model/json/json_write.h"

#ifndef OPC_VERSION
#error "the build defines OPC_VERSION"
#endif

/* ---- samples and recipes ---- */

/* {"file": "x.npy"}, wherever it is in an entry. */
static opc_status_t basis_add_values(const json_t *json, const char *folder, opc_text_t *out, opc_error_t *error) {
  const char *key;
  json_t *value;
  size_t index;
  json_array_foreach((json_t *)json, index, value) OPC_RETURN_IF_ERROR(basis_add_values(value, folder, out, error));
  json_object_foreach((json_t *)json, key, value) {
    const char *name = strcmp(key, "file") == 0 ? json_string_value(value) : NULL;
    char digest[OPC_DIGEST_SIZE] = "";
    OPC_RETURN_IF_ERROR(basis_add_values(value, folder, out, error));
    if (!name) continue;
    OPC_SCOPED(opc_scope_free)
    char *path = *name == '/' ? opc_string_copy(name) : opc_string_format("%s/%s", folder, name);
    opc_error_t ignored; /* whoever reads the values says so */
    if (path && opc_digest_file(path, digest, &ignored) == OPC_OK) opc_text_add(out, digest);
  }
  return OPC_OK;
}

/* Objects are made by constructors of other classes, too: what files say of these counts for all operators. */
static const char *basis_key(opc_session_t *session, opc_operator_lookup_t *lookup, const json_t *entry) {
  const char *name = opc_json_text_of(entry, "operator");
  const opc_operator_t *op = name ? lookup(name, session) : NULL;
  return op && op->kind != OPC_OPERATOR_CLASS ? name : "";
}

static opc_status_t basis_note_entry(opc_session_t *session, const char *key, const json_t *entry, const char *folder,
                                     opc_error_t *error) {
  const char *before = json_string_value(json_object_get(session->given, key));
  char digest[OPC_DIGEST_SIZE];
  OPC_SCOPED(opc_scope_free) char *dumped = json_dumps(entry, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_text_add(&text, before);
  opc_text_add(&text, dumped);
  OPC_RETURN_IF_ERROR(basis_add_values(entry, folder, &text, error));
  if (!dumped || text.failed) return opc_out_of_memory(error);
  opc_digest_text(opc_text_c(&text), digest);
  return json_object_set_new(session->given, key, json_string(digest)) == 0 ? OPC_OK : opc_out_of_memory(error);
}

opc_status_t opc_basis_note_file(opc_session_t *session, const char *file, opc_operator_lookup_t *lookup,
                                 opc_error_t *error) {
  json_auto_t *top = json_load_file(opc_package_file(file), JSON_ALLOW_NUL, NULL); /* it was read before */
  OPC_SCOPED(opc_scope_free) char *copy = opc_string_copy(file);
  static const char *const lists[] = {"samples", "recipes"};
  if (!session->given) session->given = json_object();
  if (!session->given || !copy) return opc_out_of_memory(error);
  const char *folder = dirname(copy);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    size_t index;
    json_t *entry;
    json_array_foreach(json_object_get(top, lists[i]), index, entry)
        OPC_RETURN_IF_ERROR(basis_note_entry(session, basis_key(session, lookup, entry), entry, folder, error));
  }
  return OPC_OK;
}

const char *opc_basis_inputs(const opc_session_t *session, const char *operator_name) {
  const char *digest = json_string_value(json_object_get(session->given, operator_name));
  return digest ? digest : "";
}

/* ---- everything else ---- */

static json_t *basis_texts(const char *const *texts, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) opc_json_append(&list, opc_json_string(texts[i]));
  return list;
}

/* Null: it is not given, or cannot be read. */
static json_t *basis_file(const char *file) {
  char digest[OPC_DIGEST_SIZE];
  opc_error_t ignored;
  return file && opc_digest_file(file, digest, &ignored) == OPC_OK ? json_string(digest) : json_null();
}

static json_t *basis_preloads(const opc_session_t *session) {
  const opc_run_options_t *options = session->options;
  json_t *list = json_array();
  for (size_t i = 0; i < options->preload_count; i++) {
    char digest[OPC_DIGEST_SIZE];
    opc_error_t ignored;
    const bool known = opc_digest_library(opc_package_file(options->preloads[i]), session->loaded.plan.torch_folder,
                                          digest, &ignored) == OPC_OK;
    opc_json_append(&list, known ? json_string(digest) : json_null());
  }
  return list;
}

/* Versions that are being worked on have one number. */
static json_t *basis_programs(const opc_session_t *session) {
  const char *const files[] = {"/proc/self/exe", session->loaded.plan.program};
  json_t *list = json_array();
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) opc_json_append(&list, basis_file(files[i]));
  return list;
}

static json_t *basis_severities(const opc_run_options_t *options) {
  json_auto_t *settings = options->settings ? json_loads(options->settings, 0, NULL) : NULL;
  json_t *severities = json_object_get(settings, "severities");
  return severities ? json_incref(severities) : json_object();
}

opc_status_t opc_basis_make(opc_session_t *session, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  const opc_loaded_t *loaded = &session->loaded;
  json_t *basis = session->basis = json_object();
  const char *tool = options->memcheck ? "memcheck" : options->sanitize;
  opc_json_put(&basis, "opcheck-c", json_string(OPC_VERSION));
  opc_json_put(&basis, "the build of opcheck-c", basis_programs(session));
  opc_json_put(&basis, "libtorch", opc_json_string(loaded->torch));
  opc_json_put(&basis, "CUDA", opc_json_string(loaded->cuda_version));
  opc_json_put(&basis, "--check", json_incref(session->checks));
  opc_json_put(&basis, "--device", json_incref(session->devices));
  opc_json_put(&basis, "absent devices", json_incref(session->absent));
  opc_json_put(&basis, "--cuda-arch", opc_json_text(options->cuda_architecture));
  opc_json_put(&basis, "--no-search", json_boolean(options->no_search));
  opc_json_put(&basis, "--seed", json_integer((json_int_t)options->seed));
  opc_json_put(&basis, "--seeds", json_integer(options->seeds));
  opc_json_put(&basis, "--reference", basis_texts(options->references, options->reference_count));
  opc_json_put(&basis, "--neighbours", json_integer(options->neighbours));
  opc_json_put(&basis, "--timeout", json_real(options->timeout));
  opc_json_put(&basis, "--operator-time", json_real(options->operator_time));
  opc_json_put(&basis, "--memory", json_integer(options->memory_mib));
  opc_json_put(&basis, "--no-sandbox", json_boolean(options->no_sandbox));
  opc_json_put(&basis, "--untrusted-input", json_boolean(options->untrusted_input));
  opc_json_put(&basis, "--tool or --sanitize", opc_json_text(tool));
  opc_json_put(&basis, "--preload", basis_preloads(session));
  opc_json_put(&basis, "OPC_SEARCH_WITHOUT", json_integer((json_int_t)session->without));
  opc_json_put(&basis, "the severities of the settings", basis_severities(options));
  opc_json_put(&basis, "the file of --xfail", basis_file(options->xfail_file));
  opc_json_put(&basis, "samples or recipes of classes", opc_json_string(opc_basis_inputs(session, "")));
  session->basis = basis;
  if (!basis) return opc_out_of_memory(error);
  return opc_journal_write(session->journal, json_pack("{s:s, s:O}", "t", "basis", "basis", basis), error);
}

opc_status_t opc_basis_finished(const opc_session_t *session, const char *operator_name, opc_error_t *error) {
  return opc_journal_write(session->journal,
                           json_pack("{s:s, s:s, s:s}", "t", "finished", "operator", operator_name, "inputs",
                                     opc_basis_inputs(session, operator_name)),
                           error);
}
