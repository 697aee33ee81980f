#include "supervise/session/since.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "result/operator_records.h"
#include "supervise/session/basis.h"

/* Why an operator is checked. */
typedef enum since_why {
  SINCE_TAKEN = 0,
  SINCE_LIBRARY,
  SINCE_UNFINISHED,
  SINCE_INPUTS,
  SINCE_XFAIL,
  SINCE_WHYS
} since_why_t;
static const char *const since_words[SINCE_WHYS] = {
    [SINCE_LIBRARY] = "in libraries that have changed, or use one that has",
    [SINCE_UNFINISHED] = "of which it does not have all results",
    [SINCE_INPUTS] = "with other samples or recipes",
    [SINCE_XFAIL] = "that lines of --xfail may be about"};

typedef struct since {
  opc_session_t *session;
  const opc_operator_t **operators;
  size_t count;
  json_t *run, *libraries, *then; /* then: "operators" and "classes" of the report by the operator's name */
  opc_since_libraries_t compared;
  bool decided;
  json_t *taken; /* object: operator -> its index in `operators` */
  uint64_t counts[SINCE_WHYS];
} since_t;

static void since_clear(since_t *since) {
  json_decref(since->run);
  json_decref(since->libraries);
  json_decref(since->then);
  json_decref(since->taken);
  opc_since_libraries_clear(&since->compared);
}

static bool since_is_checked_again(const opc_operator_t *op) { return op->kind == OPC_OPERATOR_LIBRARY; }

/* ---- what counts for all operators ---- */

static const char *first_difference(const json_t *now, const json_t *then) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)now, key, value) {
    const json_t *other = json_object_get(then, key);
    if (!other || !json_equal(value, other)) return key;
  }
  return NULL;
}

static void say_difference(const char *key, const json_t *now, const json_t *then, opc_text_t *out) {
  const char *to = opc_json_text_of(now, key), *from = opc_json_text_of(then, key);
  const bool version = key[0] != '-' && !strchr(key, ' ') && to && from;
  opc_text_addf(out, version ? "it was made with %s %s, and this is %s" : "%s is not as it was then", key, from, to);
}

/* "": operators can be compared one by one. */
static void say_why_all(const since_t *since, opc_text_t *out) {
  const opc_session_t *session = since->session;
  const json_t *basis = json_object_get(since->run, "basis");
  const char *key = first_difference(session->basis, basis);
  const char *others = opc_since_changes_others(&since->compared, since->then);
  if (session->options->module_count > 0) opc_text_add(out, "what a module of --python imports cannot be compared");
  else if (!json_is_object(basis))
    opc_text_add(out, "it does not say how it was made: run --json of this opcheck-c does");
  else if (opc_since_libraries_are_others(&since->compared)) opc_text_add(out, "it is about other libraries");
  else if (key) say_difference(key, session->basis, basis, out);
  else if (others)
    opc_text_addf(out, "%s has changed, and adds kernels to operators of other libraries", opc_base_name(others));
}

/* ---- one operator ---- */

/* The record of the operator, but for places in files. */
static bool since_is_described_alike(const opc_operator_t *op, const json_t *item) {
  static const char *const places[] = {"library", "registered_at", "kernels"};
  json_auto_t *now = opc_operator_to_json(op);
  const char *key;
  json_t *value;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) json_object_del(now, places[i]);
  json_object_foreach(now, key, value) {
    const json_t *then = json_object_get(item, key);
    if (!then || !json_equal(value, then)) return false;
  }
  return now;
}

static const json_t *kernel_of(const json_t *item, const char *key) {
  size_t index;
  json_t *kernel;
  json_array_foreach(json_object_get(item, "kernels"), index, kernel) {
    const char *own = opc_json_text_of(kernel, "key");
    if (own && strcmp(own, key) == 0) return kernel;
  }
  return NULL;
}

static bool are_kernels_unchanged(const since_t *since, const opc_operator_t *op, const json_t *item) {
  for (size_t i = 0; i < op->kernel_count; i++) {
    const opc_kernel_t *kernel = &op->kernels[i];
    const json_t *then = kernel_of(item, kernel->key);
    const char *library = then ? opc_json_text_of(then, "library") : NULL;
    if (!then || !library != !kernel->library) return false;
    const size_t index = library ? opc_since_library(&since->compared, kernel->library) : SIZE_MAX;
    if (library && (index >= since->session->loaded.library_count || since->compared.affected[index])) return false;
  }
  return true;
}

static bool is_expected_to_fail(const opc_session_t *session, const opc_operator_t *op) {
  for (size_t i = 0; session->xfail && i < session->xfail->count; i++) {
    const opc_xfail_entry_t *entry = &session->xfail->entries[i];
    if (!*entry->problem && opc_xfail_is_of(entry, op->name)) return true;
  }
  return false;
}

static since_why_t since_why(const since_t *since, const opc_operator_t *op) {
  const json_t *item = json_object_get(since->then, op->name);
  const char *library = item ? opc_json_text_of(item, "library") : NULL;
  const char *inputs = item ? opc_json_text_of(item, "inputs") : NULL;
  if (!library || !op->library || !opc_since_library_is(&since->compared, op->library, library)) return SINCE_LIBRARY;
  const bool listed = op->kind != OPC_OPERATOR_CLASS; /* what is known of a class is in its library */
  if (listed && (!since_is_described_alike(op, item) || !are_kernels_unchanged(since, op, item))) return SINCE_LIBRARY;
  if (!json_is_true(json_object_get(item, "finished"))) return SINCE_UNFINISHED;
  if (!inputs || strcmp(inputs, opc_basis_inputs(since->session, op->name)) != 0) return SINCE_INPUTS;
  return is_expected_to_fail(since->session, op) ? SINCE_XFAIL : SINCE_TAKEN;
}

/* ---- what is taken over besides results ---- */

static opc_status_t since_take_operator(since_t *since, size_t index, opc_error_t *error) {
  const char *name = since->operators[index]->name;
  const json_t *item = json_object_get(since->then, name);
  if (json_object_set_new(since->taken, name, json_integer((json_int_t)index)) != 0) return opc_out_of_memory(error);
  json_t *source = NULL, *coverage = NULL;
  OPC_RETURN_IF_ERROR(opc_operator_source_record(name, item, &source, error));
  if (source) OPC_RETURN_IF_ERROR(opc_journal_write(since->session->journal, source, error));
  OPC_RETURN_IF_ERROR(opc_operator_coverage_record(name, item, &coverage, error));
  if (coverage) OPC_RETURN_IF_ERROR(opc_journal_write(since->session->journal, coverage, error));
  return opc_basis_finished(since->session, name, error);
}

/* This run's own file of found samples replaces the one of then, which may have the same name. */
static opc_status_t since_take_found(since_t *since, opc_error_t *error) {
  opc_session_t *session = since->session;
  const char *file = session->options->earlier->found_samples;
  json_auto_t *top = file && session->options->found_samples ? json_load_file(file, JSON_ALLOW_NUL, NULL) : NULL;
  OPC_SCOPED(opc_scope_free) char *copy = opc_string_copy(file);
  const char *folder = copy ? dirname(copy) : NULL;
  size_t i;
  json_t *entry;
  json_array_foreach(json_object_get(top, "samples"), i, entry) {
    OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
    const char *name = opc_json_text_of(entry, "operator");
    const json_t *index = name ? json_object_get(since->taken, name) : NULL;
    opc_error_t ignored; /* somebody edited it: the lines to paste stay as they were */
    if (!index || opc_sample_from_json(entry, since->operators[json_integer_value(index)], folder, &sample, NULL, 0,
                                       &ignored) != OPC_OK)
      continue;
    OPC_RETURN_IF_ERROR(opc_sample_set_add(&session->found_samples, &sample, error));
  }
  return OPC_OK;
}

static opc_status_t tell_since(const since_t *since, const char *why_all, opc_error_t *error) {
  opc_session_t *session = since->session;
  const char *name = session->options->earlier->name;
  const uint64_t taken = since->counts[SINCE_TAKEN];
  uint64_t checked = 0;
  OPC_SCOPED(opc_text_clear) opc_text_t words = {0};
  for (int i = SINCE_TAKEN + 1; i < SINCE_WHYS; i++) {
    checked += since->counts[i];
    if (since->counts[i])
      opc_text_addf(&words, "%s%" PRIu64 " %s", words.length ? ", " : ": ", since->counts[i], since_words[i]);
  }
  OPC_RETURN_IF_ERROR(opc_journal_write(session->journal,
                                        json_pack("{s:s, s:o, s:I, s:I}", "t", "since", "report", opc_json_string(name),
                                                  "taken_over", (json_int_t)taken, "checked", (json_int_t)checked),
                                        error));
  if (*why_all)
    return opc_journal_note(session->journal, error, "--since %s: everything is checked, because %s", name, why_all);
  return opc_journal_note(session->journal, error,
                          "--since %s: the results of %" PRIu64 " operator%s are taken over, %" PRIu64 " %s checked%s",
                          name, taken, taken == 1 ? "" : "s", checked, checked == 1 ? "is" : "are", opc_text_c(&words));
}

/* All that comes before the results was read. */
static opc_status_t since_decide(since_t *since, opc_error_t *error) {
  const opc_session_t *session = since->session;
  OPC_SCOPED(opc_text_clear) opc_text_t why_all = {0};
  since->decided = true;
  OPC_RETURN_IF_ERROR(
      opc_since_libraries_compare(&session->loaded, since->libraries, since->then, &since->compared, error));
  say_why_all(since, &why_all);
  for (size_t i = 0; i < since->count; i++) {
    if (since_is_checked_again(since->operators[i])) continue;
    const since_why_t why = why_all.length > 0 ? SINCE_LIBRARY : since_why(since, since->operators[i]);
    since->counts[why]++;
    if (why == SINCE_TAKEN) OPC_RETURN_IF_ERROR(since_take_operator(since, i, error));
  }
  OPC_RETURN_IF_ERROR(since_take_found(since, error));
  return tell_since(since, opc_text_c(&why_all), error);
}

/* ---- the report ---- */

static opc_status_t since_take_result(since_t *since, const json_t *item, opc_error_t *error) {
  const char *name = opc_json_text_of(item, "operator");
  const json_t *index = name ? json_object_get(since->taken, name) : NULL;
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  if (!index) return OPC_OK;
  if (opc_case_result_decode(item, &result, error) != OPC_OK)
    return opc_error_prefix(error, since->session->options->earlier->name);
  return opc_session_take_over(since->session, since->operators[json_integer_value(index)], result, error);
}

static bool since_keep(json_t *object, const char *name, const json_t *item) {
  return name && json_object_set(object, name, (json_t *)item) == 0;
}

static opc_status_t since_visit(const char *list, const json_t *item, void *context, opc_error_t *error) {
  since_t *since = context;
  bool kept = true;
  if (strcmp(list, "results") == 0) {
    if (!since->decided) OPC_RETURN_IF_ERROR(since_decide(since, error));
    return since_take_result(since, item, error);
  }
  if (strcmp(list, "run") == 0) {
    json_decref(since->run);
    since->run = json_incref((json_t *)item);
  } else if (strcmp(list, "libraries") == 0) {
    kept = json_array_append(since->libraries, (json_t *)item) == 0;
  } else if (strcmp(list, "operators") == 0) {
    const char *name = opc_json_text_of(item, "name");
    const bool first = !name || !json_object_get(since->then, name);
    if (first || json_is_true(json_object_get(item, "defined_here"))) kept = since_keep(since->then, name, item);
  } else if (strcmp(list, "classes") == 0) {
    const char *name = opc_json_text_of(item, "name");
    OPC_SCOPED(opc_scope_free) char *own = name ? opc_class_operator_name(name) : NULL;
    kept = since_keep(since->then, own, item);
  }
  return kept ? OPC_OK
              : opc_error_set(error, OPC_ERR_INPUT, "--since %s: an item of \"%s\" has no name: write the report again",
                              since->session->options->earlier->name, list);
}

static void since_remove(const since_t *since, size_t *count, size_t *searchable) {
  size_t left = 0, searched = 0;
  for (size_t i = 0; i < *count; i++) {
    if (json_object_get(since->taken, since->operators[i]->name)) continue;
    searched += i < *searchable;
    since->operators[left++] = since->operators[i];
  }
  *count = left;
  *searchable = searched;
}

opc_status_t opc_since_take(opc_session_t *session, const opc_operator_t **operators, size_t *count, size_t *searchable,
                            opc_error_t *error) {
  const opc_earlier_t *earlier = session->options->earlier;
  OPC_SCOPED(since_clear)
  since_t since = {.session = session,
                   .operators = operators,
                   .count = *count,
                   .libraries = json_array(),
                   .then = json_object(),
                   .taken = json_object()};
  if (!since.libraries || !since.then || !since.taken) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(earlier->read(earlier, since_visit, &since, error));
  if (!since.decided) OPC_RETURN_IF_ERROR(since_decide(&since, error));
  since_remove(&since, count, searchable);
  return OPC_OK;
}
