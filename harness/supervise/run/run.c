#include "supervise/run/run.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/process_state.h"
#include "inspect/facts.h"
#include "inspect/package.h"
#include "model/json/json_write.h"
#include "supervise/jobs/schedule.h"
#include "supervise/jobs/search_rounds.h"
#include "supervise/jobs/turns.h"
#include "supervise/session/basis.h"
#include "supervise/session/since.h"
#include "supervise/tools/sanitize.h"

#ifndef OPC_VERSION
#error "the build defines OPC_VERSION"
#endif

enum { EXIT_GOOD = 0, EXIT_BROKEN = 1, EXIT_LIBRARY = 4, EXIT_NOTHING = 5 };

static int processors(void) {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? count : 1;
}

static opc_status_t begin_journal(opc_session_t *session, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  char started[32];
  time_t now = time(NULL);
  struct tm utc;
  gmtime_r(&now, &utc);
  strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);
  OPC_RETURN_IF_ERROR(opc_journal_open(options->journal, &session->journal, error));
  json_t *argv = json_array();
  for (size_t i = 0; i < options->argc; i++) json_array_append_new(argv, opc_json_string(options->argv[i]));
  opc_journal_keep(session->journal, options->kept);
  json_t *settings = options->settings ? json_loads(options->settings, 0, NULL) : NULL;
  OPC_RETURN_IF_ERROR(opc_journal_write(
      session->journal,
      json_pack("{s:s, s:s, s:s, s:o, s:I, s:s, s:o*}", "t", "run", "format", "opcheck-c/journal/1", "version",
                OPC_VERSION, "argv", argv, "seed", (json_int_t)options->seed, "started", started, "settings", settings),
      error));
  OPC_SCOPED(opc_scope_free) char *where = NULL;
  if (!options->settings_file) return OPC_OK;
  where = opc_string_format("settings were read from %s", options->settings_file);
  return opc_journal_write(session->journal, json_pack("{s:s, s:o}", "t", "note", "message", opc_json_string(where)),
                           error);
}

/* Operators of other packages, which the modules of --python import. */
static opc_status_t tell_left_out(opc_session_t *session, opc_error_t *error) {
  const opc_loaded_t *loaded = &session->loaded;
  json_auto_t *counts = json_object();
  OPC_SCOPED(opc_text_clear) opc_text_t words = {0};
  const char *package;
  json_t *count;
  for (size_t i = 0; i < loaded->operator_count; i++) {
    if (!opc_select_leaves_out(session, &loaded->operators[i])) continue;
    package = loaded->operators[i].imported_from;
    json_object_set_new(counts, package, json_integer(json_integer_value(json_object_get(counts, package)) + 1));
  }
  json_object_foreach(counts, package, count) opc_text_addf(
      &words, "%s%s (%" JSON_INTEGER_FORMAT ")", words.length > 0 ? ", " : "", package, json_integer_value(count));
  if (words.length == 0) return OPC_OK;
  return opc_journal_note(session->journal, error,
                          "operators of other packages that the module imports are not checked: %s. To check them too, "
                          "name the package with --python, or the namespace with --namespace",
                          opc_text_c(&words));
}

/* A class of the list is "ns.Name". */
static bool is_listed(const opc_session_t *session, const json_t *class_) {
  OPC_SCOPED(opc_text_clear) opc_text_t name = {0};
  const char *own = json_string_value(json_object_get(class_, "name"));
  const char *dot = own ? strchr(own, '.') : NULL;
  if (!dot || session->options->op_glob_count + session->options->namespace_count == 0) return true;
  opc_text_addf(&name, "%.*s::%s", (int)(dot - own), own, dot + 1);
  const opc_operator_t op = {.kind = OPC_OPERATOR_CLASS, .name = (char *)opc_text_c(&name)};
  return opc_select_operator(session, &op);
}

/* How much --op and --namespace leave of the list; without them, all that was loaded. */
static size_t listed_count(const opc_session_t *session) {
  const opc_loaded_t *loaded = &session->loaded;
  size_t count = 0, i;
  if (session->options->op_glob_count + session->options->namespace_count == 0)
    return loaded->operator_count + json_array_size(loaded->classes);
  json_t *class_;
  for (size_t k = 0; k < loaded->operator_count; k++)
    count +=
        !opc_select_leaves_out(session, &loaded->operators[k]) && opc_select_operator(session, &loaded->operators[k]);
  json_array_foreach(loaded->classes, i, class_) count += is_listed(session, class_);
  return count;
}

static bool is_python_module(const opc_library_t *library) {
  opc_elf_file_t *file = NULL;
  opc_facts_t facts = {0};
  if (library->package || library->module || opc_elf_open(library->real, &file, NULL) != OPC_OK) return false;
  const bool is = opc_facts_read(file, &facts, NULL) == OPC_OK && facts.python_module;
  opc_facts_clear(&facts);
  opc_elf_close(file);
  return is;
}

static opc_status_t tell_library(opc_session_t *session, const opc_library_t *library, opc_error_t *error) {
  const bool failed = library->state == OPC_LIBRARY_FAILED;
  json_t *why =
      failed ? json_pack("{s:s, s:o}", "kind", library->error.kind, "message", opc_json_string(library->error.message))
             : json_null();
  OPC_RETURN_IF_ERROR(
      opc_journal_write(session->journal,
                        json_pack("{s:s, s:o, s:s, s:o, s:I, s:I, s:o*, s:o*}", "t", "library", "path",
                                  opc_json_string(library->path), "status", failed ? "failed" : "loaded", "error", why,
                                  "operators", (json_int_t)library->operators, "classes", (json_int_t)library->classes,
                                  "digest", !failed && *library->digest ? json_string(library->digest) : NULL,
                                  "checked_as", library->checked_as ? opc_json_string(library->checked_as) : NULL),
                        error));
  if (failed) return OPC_OK;
  if (library->build_note)
    OPC_RETURN_IF_ERROR(opc_journal_note(session->journal, error, "%s: %s", library->path, library->build_note));
  if (library->note)
    OPC_RETURN_IF_ERROR(opc_journal_note(session->journal, error, "%s: %s", library->path, library->note));
  if (library->operators > 0) return OPC_OK;
  if (library->extended > 0)
    return opc_journal_note(session->journal, error,
                            "%s registers no operators of its own; it adds kernels to %" PRId64
                            " operator%s of other libraries",
                            library->path, library->extended, library->extended == 1 ? "" : "s");
  return opc_journal_note(session->journal, error, "%s registers no operators%s", library->path,
                          library->classes > 0        ? ", only classes"
                          : is_python_module(library) ? ": " OPC_PYTHON_MODULE_WORDS
                          : library->module           ? " when it is imported: name the module that does"
                                            : ": what Python code defines with torch.library, or calls by ctypes, "
                                              "is not in it; --python imports a module");
}

/* Writes what was loaded to the journal; of libtorch's thousands of operators only those that are selected. */
static opc_status_t tell_loaded(opc_session_t *session, opc_error_t *error) {
  const opc_loaded_t *loaded = &session->loaded;
  OPC_RETURN_IF_ERROR(opc_journal_write(session->journal,
                                        json_pack("{s:s, s:s, s:s, s:f}", "t", "tool", "torch", loaded->torch, "cuda",
                                                  loaded->cuda_version, "loading_cpu_seconds", loaded->cpu_seconds),
                                        error));
  for (size_t i = 0; i < loaded->library_count; i++)
    OPC_RETURN_IF_ERROR(tell_library(session, &loaded->libraries[i], error));
  if (loaded->torch_operators > 0)
    OPC_RETURN_IF_ERROR(
        opc_journal_write(session->journal,
                          json_pack("{s:s, s:s, s:s, s:n, s:I, s:i}", "t", "library", "path", OPC_LIBTORCH, "status",
                                    "loaded", "error", "operators", (json_int_t)loaded->torch_operators, "classes", 0),
                          error));
  for (size_t i = 0; i < loaded->operator_count; i++) {
    const opc_operator_t *op = &loaded->operators[i];
    const bool if_selected = session->options->list_only || (op->library && strcmp(op->library, OPC_LIBTORCH) == 0);
    if (opc_select_leaves_out(session, op) || (if_selected && !opc_select_in_any_shard(session, op))) continue;
    json_t *record = opc_operator_to_json(op);
    json_object_set_new(record, "t", json_string("operator"));
    OPC_RETURN_IF_ERROR(opc_journal_write(session->journal, record, error));
  }
  size_t i;
  json_t *class_;
  json_array_foreach(loaded->classes, i, class_) {
    if (session->options->list_only && !is_listed(session, class_)) continue;
    OPC_RETURN_IF_ERROR(opc_journal_write(session->journal, json_incref(class_), error));
  }
  OPC_RETURN_IF_ERROR(tell_left_out(session, error));
  if (loaded->sandbox_misses)
    OPC_RETURN_IF_ERROR(opc_journal_note(session->journal, error, "the sandbox of the operators is not complete: %s",
                                         loaded->sandbox_misses));
  if (!loaded->exec_batch) return OPC_OK;
  return opc_journal_note(
      session->journal, error,
      "a library %s while it loads: every batch of cases gets a process of its own, which takes longer",
      loaded->cuda_initialised ? "initialises CUDA" : "starts threads");
}

/* The user asked for a device that is not here: every calling check of every operator is skipped on it. */
static opc_status_t skip_absent(opc_session_t *session, const opc_operator_t *op, opc_error_t *error) {
  const char *device;
  json_t *why, *check;
  size_t i;
  if (op->kind == OPC_OPERATOR_CLASS || op->kind == OPC_OPERATOR_LIBRARY) return OPC_OK;
  json_object_foreach(session->absent, device, why) {
    json_array_foreach(session->checks, i, check) {
      const char *name = json_string_value(check);
      const opc_check_info_t *info = &opc_check_infos[opc_check_info_find(name)];
      if (!info->calls || !opc_check_info_is_of(info, op)) continue;
      opc_case_id_t id = {0};
      char text[OPC_CASE_ID_SIZE];
      snprintf(id.operator_name, sizeof id.operator_name, "%s", op->name);
      snprintf(id.check, sizeof id.check, "%s", name);
      snprintf(id.device, sizeof id.device, "%s", device);
      opc_case_id_format(&id, text);
      OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
      OPC_RETURN_IF_ERROR(
          opc_case_result_new(text, OPC_VERDICT_SKIP, OPC_RULE_NONE, json_string_value(why), NULL, &result, error));
      result->reason = OPC_SKIP_NO_DEVICE;
      OPC_RETURN_IF_ERROR(opc_session_result(session, op, result, NULL, error));
    }
  }
  return OPC_OK;
}

static bool has_device(const opc_session_t *session, const char *name) {
  size_t i;
  json_t *device;
  json_array_foreach(session->devices, i, device) {
    if (strcmp(json_string_value(device), name) == 0) return true;
  }
  return false;
}

static opc_status_t run_agenda(opc_session_t *session, opc_agenda_t *agenda, opc_error_t *error) {
  const int jobs = session->options->jobs > 0 ? session->options->jobs : processors();
  if (!session->sanitize) return opc_schedule_run(session, agenda, OPC_AGENDA_ALL, jobs, error);
  OPC_RETURN_IF_ERROR(opc_schedule_run(session, agenda, OPC_AGENDA_SEARCHES, jobs, error));
  OPC_RETURN_IF_ERROR(opc_sanitize_note_begin(session->sanitize, session->journal, error));
  OPC_RETURN_IF_ERROR(opc_schedule_run(session, agenda, OPC_AGENDA_ALL, 1, error)); /* there is one device */
  return opc_sanitize_note_end(session->sanitize, session->journal, error);
}

static void scope_agenda(opc_agenda_t **agenda) { opc_agenda_free(*agenda); }

static opc_status_t check_operators(opc_session_t *session, const opc_operator_t *const *selected, size_t count,
                                    size_t searched, opc_error_t *error) {
  if (count == 0) return OPC_OK;
  /* Names in crash reports are useful, but missing ones are no reason to fail. */
  if (opc_maps_read(&session->maps, session->loaded.worker.pid, NULL) != OPC_OK) opc_maps_clear(&session->maps);
  OPC_SCOPED(scope_agenda) opc_agenda_t *agenda = NULL;
  OPC_RETURN_IF_ERROR(opc_agenda_new(session, selected, count, searched, &agenda, error));
  return run_agenda(session, agenda, error);
}

static opc_status_t run_operators(opc_session_t *session, size_t *out_selected, opc_error_t *error) {
  opc_loaded_t *loaded = &session->loaded;
  const bool listing = session->options->planned;
  *out_selected = 0;
  OPC_SCOPED(opc_scope_free)
  const opc_operator_t **selected =
      calloc(loaded->operator_count + loaded->class_operator_count + loaded->library_operator_count + 1,
             sizeof(const opc_operator_t *));
  if (!selected) return opc_out_of_memory(error);
  for (size_t i = 0; i < loaded->operator_count; i++) {
    if (!opc_select_operator(session, &loaded->operators[i])) continue;
    selected[(*out_selected)++] = &loaded->operators[i];
  }
  for (size_t i = 0; i < loaded->class_operator_count; i++) {
    if (!opc_select_operator(session, &loaded->class_operators[i])) continue;
    selected[(*out_selected)++] = &loaded->class_operators[i];
  }
  size_t searched = *out_selected;
  if (*out_selected == 0 && session->options->op_glob_count > 0)
    session->calls = false; /* only files were asked for: nothing is called */
  for (size_t i = 0; i < loaded->library_operator_count; i++) {
    if (opc_select_operator(session, &loaded->library_operators[i]))
      selected[(*out_selected)++] = &loaded->library_operators[i];
  }
  size_t left = *out_selected;
  if (listing) return opc_list_cases(session, selected, left, searched, error);
  if (session->options->earlier) OPC_RETURN_IF_ERROR(opc_since_take(session, selected, &left, &searched, error));
  session->operators_total = left;
  for (size_t i = 0; i < left; i++) OPC_RETURN_IF_ERROR(skip_absent(session, selected[i], error));
  return check_operators(session, selected, left, searched, error);
}

/* A line about a device that this run does not have says nothing here. */
static bool is_of_other_device(const opc_session_t *session, const opc_xfail_entry_t *entry) {
  static const char *const devices[] = {OPC_MODE_CPU, OPC_MODE_CUDA, OPC_MODE_SIMULATED};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    OPC_SCOPED(opc_scope_free) char *part = opc_string_format("/%s/", devices[i]);
    if (part && strstr(entry->pattern, part)) return !has_device(session, devices[i]);
  }
  return false;
}

static bool has_one_of(const opc_operator_t *operators, size_t count, const opc_xfail_entry_t *entry) {
  for (size_t i = 0; i < count; i++)
    if (opc_xfail_is_of(entry, operators[i].name)) return true;
  return false;
}

/* Which cases such an operator has depends on samples, searches and neighbours: another run may need the line. */
static bool has_operator_of(const opc_session_t *session, const opc_xfail_entry_t *entry) {
  const opc_loaded_t *loaded = &session->loaded;
  return has_one_of(loaded->operators, loaded->operator_count, entry) ||
         has_one_of(loaded->class_operators, loaded->class_operator_count, entry) ||
         has_one_of(loaded->library_operators, loaded->library_operator_count, entry);
}

/* A run of some operators or checks needs only some of the lines. */
static opc_status_t tell_unused(opc_session_t *session, opc_xfail_entry_t *entry, opc_error_t *error) {
  const bool stale = opc_run_is_whole(session->options) && !is_of_other_device(session, entry);
  const bool update = session->options->update_xfail;
  entry->outdated = stale && !has_operator_of(session, entry);
  const bool mistake = stale && session->options->strict && !(update && entry->outdated);
  session->stale_lines += mistake;
  return opc_journal_note(session->journal, error, "%s:%d: \"%s\" matched no case of this run%s%s",
                          session->xfail->file, entry->line, entry->pattern,
                          mistake ? ", which is an error with --strict" : "",
                          update && !entry->outdated ? "; --update-xfail leaves it, for another run may need it"
                          : mistake                  ? ": remove the line"
                                                     : "");
}

static opc_status_t tell_skipped(opc_session_t *session, const opc_xfail_entry_t *entry, opc_error_t *error) {
  return opc_journal_note(session->journal, error,
                          "%s:%d: cases that \"%s\" matches pass, and others could not be tried in this run: the line "
                          "stays",
                          session->xfail->file, entry->line, entry->pattern);
}

static opc_status_t judge_lines(opc_session_t *session, opc_error_t *error) {
  for (size_t i = 0; session->xfail && !session->has_only && i < session->xfail->count; i++) {
    opc_xfail_entry_t *entry = &session->xfail->entries[i];
    const bool passed = entry->passed && entry->findings == 0;
    if (*entry->problem) continue;
    entry->outdated = passed && !entry->skipped;
    if (!entry->used) OPC_RETURN_IF_ERROR(tell_unused(session, entry, error));
    else if (passed && entry->skipped) OPC_RETURN_IF_ERROR(tell_skipped(session, entry, error));
  }
  return OPC_OK;
}

/* Of lines that nothing needs any more. */
static json_t *outdated_lines(const opc_session_t *session) {
  json_t *lines = json_array();
  for (size_t i = 0; session->xfail && i < session->xfail->count; i++)
    if (session->xfail->entries[i].outdated) opc_json_append(&lines, json_integer(session->xfail->entries[i].line));
  return lines;
}

static int exit_code(const opc_session_t *session, size_t selected) {
  const opc_loaded_t *loaded = &session->loaded;
  for (size_t i = 0; i < loaded->library_count; i++) {
    if (loaded->libraries[i].state == OPC_LIBRARY_FAILED) return EXIT_LIBRARY;
  }
  if (session->broken + session->stale_lines > 0) return EXIT_BROKEN;
  if (session->options->list_only) return listed_count(session) > 0 ? EXIT_GOOD : EXIT_NOTHING;
  if (session->options->planned) return selected > 0 ? EXIT_GOOD : EXIT_NOTHING;
  bool ran = session->calls ? session->called > 0 : session->results > 0;
  return selected > 0 && ran ? EXIT_GOOD : EXIT_NOTHING;
}

static opc_status_t check_options(const opc_run_options_t *options, opc_error_t *error) {
  if (options->library_count == 0 && options->namespace_count == 0 && options->module_count == 0 && !options->package)
    return opc_error_set(error, OPC_ERR_USAGE, "no library was named");
  if (!(options->timeout > 0)) return opc_error_set(error, OPC_ERR_USAGE, "--timeout must be more than 0 seconds");
  if (options->memory_mib <= 0) return opc_error_set(error, OPC_ERR_USAGE, "--memory must be more than 0 MiB");
  if (options->sanitize && options->memcheck)
    return opc_error_set(error, OPC_ERR_USAGE, "--sanitize and --tool memcheck: one at a time");
  if (options->sanitize && (options->device_count != 1 || strcmp(options->devices[0], "cuda") != 0))
    return opc_error_set(
        error, OPC_ERR_USAGE,
        "--sanitize %s: give --device cuda with it, and no other device: compute-sanitizer watches kernels on a GPU",
        options->sanitize);
  if (options->planned && (options->memcheck || options->sanitize || options->save_samples || options->init_samples))
    return opc_error_set(error, OPC_ERR_USAGE,
                         "--list-cases runs nothing: leave --tool, --sanitize, --save-samples and --init-samples out");
  if (options->jobs < 0) return opc_error_set(error, OPC_ERR_USAGE, "--jobs must be 1 or more");
  if (options->budget < 0) return opc_error_set(error, OPC_ERR_USAGE, "--budget must be more than 0 seconds");
  if (options->shard_count != 0 && (options->shard_index < 1 || options->shard_index > options->shard_count)) {
    return opc_error_set(error, OPC_ERR_USAGE, "--shard %d/%d: K goes from 1 to N", options->shard_index,
                         options->shard_count);
  }
  return OPC_OK;
}

/* Lists the operators that exist, if the options select none of them. */
static opc_status_t tell_unselected(opc_session_t *session, opc_error_t *error) {
  enum { NAMES_SHOWN = 5 };
  const opc_loaded_t *loaded = &session->loaded;
  OPC_SCOPED(opc_text_clear) opc_text_t names = {0};
  size_t own = 0;
  for (size_t i = 0; i < loaded->operator_count; i++) {
    if (!loaded->operators[i].library) continue; /* libtorch's */
    if (own++ < NAMES_SHOWN) opc_text_addf(&names, "%s%s", own > 1 ? ", " : "", loaded->operators[i].name);
  }
  if (loaded->library_count == 0 && loaded->operator_count == 0)
    OPC_RETURN_IF_ERROR(opc_journal_note(
        session->journal, error, "libtorch has no operator in the namespace %s: name the library that registers it",
        session->options->namespaces[0]));
  else if (own > 0)
    OPC_RETURN_IF_ERROR(opc_journal_note(session->journal, error,
                                         "the options select none of the loaded operators (%zu): %s%s", own,
                                         opc_text_c(&names), own > NAMES_SHOWN ? ", …" : ""));
  return OPC_OK;
}

/* The worker ends first: its leaks show at its end. */
static opc_status_t tell_memcheck(opc_session_t *session, opc_error_t *error) {
  opc_memcheck_view_t view = {.symboliser = session->symboliser, .maps = &session->maps};
  opc_worker_stop(&session->loaded.worker);
  bool lost = false;
  opc_status_t status = opc_memcheck_note_rest(session->memcheck, &view, session->journal, &lost, error);
  session->trouble |= lost;
  return status;
}

static const char *mode_of(const opc_session_t *session) {
  if (has_device(session, OPC_MODE_SIMULATED)) return OPC_MODE_SIMULATED;
  return has_device(session, OPC_MODE_CUDA) ? OPC_MODE_CUDA : OPC_MODE_CPU;
}

/* A CUDA device that this libtorch cannot use counts as absent. */
static void forget_absent(opc_session_t *session) {
  const char *why = session->loaded.cuda.why;
  size_t i;
  json_t *device;
  json_array_foreach(session->devices, i, device) {
    const char *name = json_string_value(device);
    bool simulated = strcmp(name, OPC_MODE_SIMULATED) == 0, needed = simulated || strcmp(name, OPC_MODE_CUDA) == 0;
    /* A real device works without the wrappers. */
    if (!needed || why[0] == '\0' || (!simulated && session->loaded.cuda.usable)) continue;
    json_object_set_new(session->absent, name, opc_json_string(why));
    json_array_remove(session->devices, i);
    opc_sanitize_free(session->sanitize);
    session->sanitize = NULL;
    break; /* one of the two exists */
  }
}

/* Stored in the options, because the lines that reproduce a case read them. A package names its own architecture. */
static opc_status_t choose_architecture(opc_session_t *session, opc_run_options_t *options, opc_error_t *error) {
  if (!has_device(session, OPC_MODE_SIMULATED) || options->cuda_architecture || options->package) return OPC_OK;
  const char **files = calloc(options->library_count + 1, sizeof *files);
  if (!files) return opc_out_of_memory(error);
  for (size_t i = 0; i < options->library_count; i++) files[i] = opc_package_file(options->libraries[i]);
  options->cuda_architecture = opc_architecture_choose(files, options->library_count);
  free(files);
  if (!options->cuda_architecture) return OPC_OK;
  return opc_journal_note(session->journal, error,
                          "the simulated devices are %s: there is no GPU code for " OPC_CUDA_ARCHITECTURE_USUAL
                          ", which they usually are; --cuda-arch names another one",
                          options->cuda_architecture);
}

/* Also after a failed run: its findings have lines that reproduce them. The first error counts. */
static opc_status_t write_found(opc_session_t *session, opc_status_t status, opc_error_t *error) {
  opc_error_t own = {0};
  opc_status_t written = opc_save_found(session, &own);
  if (status != OPC_OK || written == OPC_OK) return status;
  return opc_error_set(error, written, "%s", own.message);
}

/* Everything up to the checks: options, journal, devices, libraries and what they registered. */
static opc_status_t run_file_prepare(opc_session_t *session, opc_run_options_t *own, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  OPC_RETURN_IF_ERROR(check_options(options, error));
  if (opc_search_families_of(getenv("OPC_SEARCH_WITHOUT"), &session->without, error) != OPC_OK)
    return opc_error_prefix(error, "OPC_SEARCH_WITHOUT");
  OPC_RETURN_IF_ERROR(opc_select_plan(session, error));
  OPC_RETURN_IF_ERROR(opc_turns_begin(session, error));
  if (options->xfail_file) OPC_RETURN_IF_ERROR(opc_xfail_read(options->xfail_file, &session->xfail, error));
  OPC_RETURN_IF_ERROR(begin_journal(session, error));
  OPC_RETURN_IF_ERROR(choose_architecture(session, own, error));
  if (options->memcheck) OPC_RETURN_IF_ERROR(opc_memcheck_new(&session->memcheck, error));
  /* Without a device the run only reports that, and does not need compute-sanitizer. */
  if (options->sanitize && has_device(session, "cuda"))
    OPC_RETURN_IF_ERROR(
        opc_sanitize_new(options->sanitize, options->libraries, options->library_count, &session->sanitize, error));
  OPC_RETURN_IF_ERROR(opc_load(options, mode_of(session), session->memcheck, &session->loaded, error));
  forget_absent(session);
  OPC_RETURN_IF_ERROR(opc_libraries_take(&session->loaded, error));
  OPC_RETURN_IF_ERROR(tell_loaded(session, error));
  OPC_RETURN_IF_ERROR(opc_classes_take(&session->loaded, error));
  OPC_RETURN_IF_ERROR(opc_select_shard(session, error));
  return opc_select_tell_unmatched(session, error);
}

static opc_status_t run_list(opc_session_t *session, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  if (options->sample_file_count > 0) OPC_RETURN_IF_ERROR(opc_session_read_samples(session, error));
  OPC_RETURN_IF_ERROR(opc_session_tell_samples(session, error));
  return listed_count(session) == 0 && !options->package ? tell_unselected(session, error) : OPC_OK;
}

static opc_status_t check(opc_session_t *session, size_t *out_selected, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_session_read_samples(session, error));
  OPC_RETURN_IF_ERROR(opc_session_read_recipes(session, error));
  OPC_RETURN_IF_ERROR(opc_basis_make(session, error));
  OPC_RETURN_IF_ERROR(opc_symboliser_new(&session->symboliser, error));
  OPC_RETURN_IF_ERROR(run_operators(session, out_selected, error));
  if (*out_selected == 0 && !session->options->package) OPC_RETURN_IF_ERROR(tell_unselected(session, error));
  OPC_RETURN_IF_ERROR(opc_session_release(session, error));
  return judge_lines(session, error);
}

/* Up to the samples that a user asked for. */
static opc_status_t run_session(opc_session_t *session, opc_run_options_t *own, size_t *out_selected,
                                opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  OPC_RETURN_IF_ERROR(run_file_prepare(session, own, error));
  OPC_RETURN_IF_ERROR(options->list_only ? run_list(session, error) : check(session, out_selected, error));
  if (session->memcheck) OPC_RETURN_IF_ERROR(tell_memcheck(session, error));
  session->finished = !session->trouble;
  if (options->emit_file && !session->shown)
    OPC_RETURN_IF_ERROR(opc_journal_note(
        session->journal, error, "--emit: the case does not fail, so that %s was not written", options->emit_file));
  if (options->init_samples) OPC_RETURN_IF_ERROR(opc_init_samples(session, error));
  if (!options->save_samples || options->list_only) return OPC_OK;
  return opc_save_samples(session, error);
}

static opc_status_t run_run(opc_session_t *session, opc_run_options_t *own, int *out_exit_code, opc_error_t *error) {
  size_t selected = 0;
  opc_status_t status = run_session(session, own, &selected, error);
  if (session->found_samples.count > 0 && status != OPC_ERR_MEMORY) status = write_found(session, status, error);
  if (status != OPC_OK) return status;
  if (session->trouble)
    return opc_error_set(error, OPC_ERR_PROTOCOL, "not all cases could be run; the notes of the journal %s say which",
                         session->options->journal);
  *out_exit_code = exit_code(session, selected);
  if (session->emit_error.code == OPC_OK) return OPC_OK;
  const bool refused = session->emit_error.code == OPC_ERR_UNSUPPORTED;
  return opc_error_set(error, refused ? OPC_ERR_USAGE : session->emit_error.code, "%s%s", refused ? "--emit: " : "",
                       session->emit_error.message);
}

/* The exit code for the error's status, for the journal. */
static int code_of(opc_status_t status) {
  return status == OPC_ERR_USAGE || status == OPC_ERR_INPUT ? 2 : status == OPC_ERR_LIBRARY ? EXIT_LIBRARY : 3;
}

opc_status_t opc_run_execute(const opc_run_options_t *options, int *out_exit_code, opc_error_t *error) {
  opc_run_options_t own = *options;
  own.since = opc_clock_of(CLOCK_REALTIME);
  opc_session_t session = {.options = &own, .began = opc_clock()};
  *out_exit_code = 3;
  opc_interrupt_begin();
  if (!own.no_sandbox) prctl(PR_SET_CHILD_SUBREAPER, 1); /* for what a worker that dies leaves behind */
  opc_status_t status = run_run(&session, &own, out_exit_code, error);
  if (session.journal) {
    const bool failed = status != OPC_OK, complete = !failed || session.finished;
    if (failed) *out_exit_code = code_of(status);
    json_t *end = json_pack("{s:s, s:f, s:f, s:f, s:I, s:i, s:b, s:I, s:o, s:o*}", "t", "end", "seconds",
                            opc_clock() - session.began, "job_seconds", session.job_seconds, "idle_seconds",
                            session.idle_seconds, "parts", (json_int_t)session.parts_taken, "exit_code", *out_exit_code,
                            "complete", complete, "stale_lines", (json_int_t)session.stale_lines, "outdated_lines",
                            outdated_lines(&session), "budget", opc_turns_to_json(&session));
    const opc_status_t written = opc_journal_write(session.journal, end, failed ? NULL : error);
    if (!failed) status = written;
  }
  opc_turns_end(&session);
  opc_searched_clear(&session);
  opc_recipe_set_clear(&session.recipes); /* they point to their operators */
  opc_loaded_clear(&session.loaded);
  opc_memcheck_free(session.memcheck);
  opc_sanitize_free(session.sanitize);
  opc_symboliser_free(session.symboliser);
  opc_maps_clear(&session.maps);
  opc_hang_places_clear(&session.hangs);
  opc_sample_set_clear(&session.samples);
  opc_sample_set_clear(&session.found_samples);
  for (size_t i = 0; i < session.files_beside_count; i++) free(session.files_beside[i]);
  free(session.files_beside);
  opc_xfail_free(session.xfail);
  json_decref(session.given);
  json_decref(session.basis);
  json_decref(session.checks);
  json_decref(session.shard);
  json_decref(session.devices);
  json_decref(session.absent);
  opc_case_result_free(session.shown);
  opc_journal_close(session.journal);
  if (!own.no_sandbox) opc_strays_kill(NULL, 0);
  opc_interrupt_end();
  return status;
}
