#include "supervise/tools/memcheck_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/evidence/external_tool.h"

/* ---- the command line ---- */

/* Doubles percent signs: Valgrind would interpret one in the folder's name. */
static void add_doubled(opc_text_t *out, const char *path) {
  for (; *path != '\0'; path++) {
    opc_text_add_bytes(out, path, 1);
    if (*path == '%') opc_text_add(out, "%");
  }
}

static void memcheck_add_word(opc_memcheck_t *memcheck, char *word) {
  memcheck->owned[memcheck->word_count] = word;
  memcheck->words[memcheck->word_count++] = word;
}

/* The options of the command line always apply. The others come before the user's VALGRIND_OPTS, which override them: a
 * suppressions file, a leak check, or --track-origins=no for speed. */
static opc_status_t make_command(opc_memcheck_t *memcheck, opc_error_t *error) {
  static const char *const fixed[] = {
      "--tool=memcheck", "--xml=yes",        "--trace-children=yes", "--child-silent-after-fork=no",
      "--vgdb=no",       "--error-limit=no", "--error-exitcode=0",   "--sigill-diagnostics=yes"};
  static const char usual[] = "--track-origins=yes --num-callers=24";
  const char *given = getenv("VALGRIND_OPTS");
  OPC_SCOPED(opc_text_clear) opc_text_t folder = {0};
  add_doubled(&folder, memcheck->folder);
  for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) memcheck_add_word(memcheck, opc_string_copy(fixed[i]));
  memcheck_add_word(memcheck, opc_string_format("--xml-file=%s/%%p.xml", opc_text_c(&folder)));
  /* One log for all processes. With a log and an XML file for each process, a fork continues in its parent's XML file
   * (3.19). */
  memcheck_add_word(memcheck, opc_string_format("--log-fd=%d", OPC_LOG_FD));
  memcheck->options = opc_string_format("%s %s", usual, given ? given : "");
  bool complete = !folder.failed && memcheck->options;
  for (size_t i = 0; i < memcheck->word_count; i++) complete &= (bool)memcheck->words[i];
  memcheck->launcher.words = memcheck->words;
  memcheck->launcher.tool = "memcheck";
  memcheck->launcher.variable = "VALGRIND_OPTS";
  memcheck->launcher.value = memcheck->options;
  return complete ? OPC_OK : opc_out_of_memory(error);
}

static opc_status_t make_folder(opc_memcheck_t *memcheck, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_tool_folder_make("Valgrind", memcheck->folder, error));
  snprintf(memcheck->log, sizeof memcheck->log, "%s/log", memcheck->folder);
  /* For appending: with a process per batch, each process starts its own Valgrind. */
  memcheck->launcher.log = open(memcheck->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (memcheck->launcher.log >= 0) return OPC_OK;
  return opc_error_set(error, OPC_ERR_IO, "cannot write %s: %s; set TMPDIR", memcheck->log, strerror(errno));
}

static void scope_memcheck(opc_memcheck_t **memcheck) { opc_memcheck_free(*memcheck); }

opc_status_t opc_memcheck_new(opc_memcheck_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *valgrind = opc_tool_on_path("valgrind");
  *out = NULL;
  OPC_SCOPED(scope_memcheck) opc_memcheck_t *memcheck = calloc(1, sizeof *memcheck);
  if (!memcheck) return opc_out_of_memory(error);
  memcheck->launcher.log = -1;
  if (!valgrind)
    return opc_error_set(error, OPC_ERR_NOT_FOUND,
                         "--tool memcheck: there is no valgrind on the PATH; install it: apt-get install valgrind");
  memcheck_add_word(memcheck, valgrind);
  valgrind = NULL;
  OPC_RETURN_IF_ERROR(make_folder(memcheck, error));
  OPC_RETURN_IF_ERROR(make_command(memcheck, error));
  *out = memcheck;
  memcheck = NULL;
  return OPC_OK;
}

void opc_memcheck_free(opc_memcheck_t *memcheck) {
  if (!memcheck) return;
  if (memcheck->launcher.log >= 0) close(memcheck->launcher.log);
  opc_tool_folder_remove(memcheck->folder);
  for (size_t i = 0; i < memcheck->word_count; i++) free(memcheck->owned[i]);
  for (size_t i = 0; i < memcheck->process_count; i++) {
    opc_memcheck_errors_clear(&memcheck->processes[i].errors);
    free(memcheck->processes[i].counts.items);
  }
  free(memcheck->processes);
  free(memcheck->options);
  free(memcheck);
}

const opc_launcher_t *opc_memcheck_launcher(const opc_memcheck_t *memcheck) {
  return memcheck ? &memcheck->launcher : NULL;
}

void opc_memcheck_xml_path(const opc_memcheck_t *memcheck, pid_t pid, char out[PATH_MAX + 32]) {
  snprintf(out, PATH_MAX + 32, "%s/%d.xml", memcheck->folder, (int)pid);
}

void opc_memcheck_last_words(const opc_memcheck_t *memcheck, opc_text_t *out) {
  if (memcheck) opc_memcheck_log_tail(memcheck->log, out);
}

bool opc_memcheck_is_unwatchable(const opc_memcheck_t *memcheck, pid_t pid, int wait_status, opc_text_t *bytes) {
  return memcheck && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGILL &&
         opc_memcheck_log_unknown_instruction(memcheck->log, pid, 0, bytes);
}

/* ---- the end of a run ---- */

typedef struct rest {
  const opc_memcheck_view_t *view;
  opc_journal_t *journal;
  size_t processes, errors, noted;
} rest_t;

/* "calloc, f (f.cpp:3), g": no operator's library is involved, so the whole chain is shown. */
static void add_chain(opc_text_t *out, const json_t *frames) {
  enum { SHOWN = 6 };
  size_t i;
  json_t *frame;
  json_array_foreach(frames, i, frame) {
    const char *symbol = json_string_value(json_object_get(frame, "symbol")),
               *file = json_string_value(json_object_get(frame, "file"));
    if (i == SHOWN) break;
    opc_text_addf(out, "%s%.*s", i > 0 ? ", " : "", symbol ? (int)strcspn(symbol, "(") : 1, symbol ? symbol : "?");
    if (!file) continue;
    opc_text_addf(out, " (%s:%d)", opc_base_name(file), (int)json_integer_value(json_object_get(frame, "line")));
  }
}

/* Notes errors outside of cases (before, between and after them), and leaks, which show at the process's end. */
static opc_status_t note_file(rest_t *rest, const char *path, opc_error_t *error) {
  enum { NOTES_MAX = 8 };
  OPC_SCOPED(opc_memcheck_errors_clear) opc_memcheck_errors_t errors = {0};
  const opc_status_t status = opc_memcheck_xml_read(path, &errors, error);
  rest->processes += errors.finished;
  OPC_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < errors.count; i++) {
    const opc_memcheck_error_t *found = &errors.items[i];
    if (found->number != 0 && strncmp(found->kind, "Leak_", strlen("Leak_")) != 0) continue;
    rest->errors++;
    if (rest->noted++ >= NOTES_MAX) continue;
    OPC_SCOPED(opc_text_clear) opc_text_t chain = {0};
    opc_also_t described = opc_memcheck_describe(found, rest->view);
    add_chain(&chain, json_object_get(described.rest, "frames"));
    opc_also_clear(&described);
    OPC_RETURN_IF_ERROR(opc_journal_note(rest->journal, error, "memcheck, outside of any case: %s: %s", found->what,
                                         opc_text_c(&chain)));
  }
  return OPC_OK;
}

static void scope_folder(DIR **folder) {
  if (*folder) closedir(*folder);
}

opc_status_t opc_memcheck_note_rest(opc_memcheck_t *memcheck, const opc_memcheck_view_t *view, opc_journal_t *journal,
                                    bool *out_lost, opc_error_t *error) {
  rest_t rest = {.view = view, .journal = journal};
  *out_lost = memcheck && memcheck->lost.code != OPC_OK;
  if (!memcheck) return OPC_OK;
  if (*out_lost) return opc_journal_note(journal, error, "memcheck: %s", memcheck->lost.message);
  OPC_SCOPED(scope_folder) DIR *folder = opendir(memcheck->folder);
  if (!folder)
    return opc_error_set(error, OPC_ERR_IO, "Valgrind's reports in %s are gone: %s", memcheck->folder, strerror(errno));
  for (const struct dirent *entry; (entry = readdir(folder));) {
    char path[PATH_MAX + 300];
    const char *suffix = strstr(entry->d_name, ".xml");
    if (!suffix || suffix[4] != '\0') continue;
    snprintf(path, sizeof path, "%s/%s", memcheck->folder, entry->d_name);
    OPC_RETURN_IF_ERROR(note_file(&rest, path, error));
  }
  if (rest.processes + rest.errors == 0) return OPC_OK;
  return opc_journal_note(
      journal, error,
      "memcheck: Valgrind watched %zu process%s to the end: %llu error%s in %llu case%s, %zu outside of cases",
      rest.processes, rest.processes == 1 ? "" : "es", (unsigned long long)memcheck->errors,
      memcheck->errors == 1 ? "" : "s", (unsigned long long)memcheck->cases, memcheck->cases == 1 ? "" : "s",
      rest.errors);
}
