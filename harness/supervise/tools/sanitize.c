#include "supervise/tools/sanitize.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inspect/fatbin.h"
#include "inspect/package.h"
#include "supervise/evidence/external_tool.h"

/* More names make a command line that nobody can read, and cost more than they save. */
enum { KERNELS_MAX = 200, FIXED_WORDS = 24, TAIL_SIZE = 600, FOUND = 86 /* --error-exitcode */ };

struct opc_sanitize {
  const char *tool;
  char *program, *save;
  char folder[PATH_MAX];
  opc_kernel_names_t kernels;
  char **filters; /* "kns=copy_kernel" */
  const char **words;
  size_t word_count;
  unsigned long processes;
  opc_launcher_t launcher;
};

static char *find_in(const char *folder, const char *below) {
  if (!folder || folder[0] == '\0') return NULL;
  char *file = opc_string_format("%s/%s", folder, below);
  if (!file || access(file, X_OK) == 0) return file;
  free(file);
  return NULL;
}

static opc_status_t find_program(opc_sanitize_t *sanitize, opc_error_t *error) {
  static const char name[] = "compute-sanitizer";
  const char *home = getenv("CUDA_HOME"), *path = getenv("CUDA_PATH"), *usual = "/usr/local/cuda";
  sanitize->program = opc_tool_on_path(name);
  const char *const roots[] = {home, path, usual};
  for (size_t i = 0; i < sizeof roots / sizeof roots[0] && !sanitize->program; i++) {
    sanitize->program = find_in(roots[i], "bin/compute-sanitizer");
    if (!sanitize->program) sanitize->program = find_in(roots[i], "compute-sanitizer/compute-sanitizer");
  }
  if (sanitize->program) return OPC_OK;
  return opc_error_set(error, OPC_ERR_NOT_FOUND,
                       "--sanitize %s: there is no compute-sanitizer on the PATH, in $CUDA_HOME (%s), in $CUDA_PATH "
                       "(%s) or in %s; install it: "
                       "it is part of the CUDA toolkit (package cuda-sanitizer-13-0 or that of your version)",
                       sanitize->tool, home ? home : "not set", path ? path : "not set", usual);
}

static opc_status_t read_kernels(opc_sanitize_t *sanitize, const char *const *libraries, size_t count,
                                 opc_error_t *error) {
  for (size_t i = 0; i < count; i++) {
    opc_elf_file_t *file = NULL;
    opc_error_t ignored; /* loading reports an unreadable library */
    if (opc_elf_open(opc_package_file(libraries[i]), &file, &ignored) != OPC_OK) continue;
    const opc_status_t status = opc_kernel_names_read(file, &sanitize->kernels, error);
    opc_elf_close(file);
    OPC_RETURN_IF_ERROR(status);
  }
  if (sanitize->kernels.count > KERNELS_MAX) opc_kernel_names_clear(&sanitize->kernels);
  return OPC_OK;
}

static void sanitize_add_word(opc_sanitize_t *sanitize, const char *word) {
  sanitize->words[sanitize->word_count++] = word;
}

static void sanitize_add_option(opc_sanitize_t *sanitize, const char *option, const char *value) {
  sanitize_add_word(sanitize, option);
  sanitize_add_word(sanitize, value);
}

/* The words except for the report's path: each process has its own. */
static opc_status_t make_words(opc_sanitize_t *sanitize, opc_error_t *error) {
  size_t kernels = sanitize->kernels.count;
  sanitize->filters = calloc(kernels + 1, sizeof *sanitize->filters);
  sanitize->words = calloc(FIXED_WORDS + 2 * kernels, sizeof *sanitize->words);
  if (!sanitize->filters || !sanitize->words) return opc_out_of_memory(error);
  sanitize_add_word(sanitize, sanitize->program);
  sanitize_add_option(sanitize, "--tool", sanitize->tool);
  sanitize_add_option(sanitize, "--error-exitcode", "86");
  sanitize_add_option(sanitize, "--require-cuda-init", "no"); /* all cases of an operator may be skipped */
  sanitize_add_option(sanitize, "--launch-timeout", "300");   /* libtorch_cuda takes long to load */
  sanitize_add_option(sanitize, "--print-limit", "1000");     /* also limits what is saved */
  if (strcmp(sanitize->tool, "memcheck") == 0) {
    sanitize_add_option(sanitize, "--padding", "256"); /* so that no two tensors touch */
    sanitize_add_option(sanitize, "--report-api-errors",
                        "no"); /* a failed call concerns the operator: see check launch */
  }
  /* libtorch copies whole storages, including gaps between a tensor's rows. */
  if (strcmp(sanitize->tool, "initcheck") == 0) sanitize_add_option(sanitize, "--check-api-memory-access", "no");
  for (size_t i = 0; i < kernels; i++) {
    sanitize->filters[i] = opc_string_format("kns=%s", sanitize->kernels.items[i]);
    if (!sanitize->filters[i]) return opc_out_of_memory(error);
    sanitize_add_option(sanitize, "--kernel-name", sanitize->filters[i]);
  }
  sanitize_add_word(sanitize,
                    "--xml"); /* before another option: some versions would take the next word for its value */
  sanitize_add_word(sanitize, "--save");
  return OPC_OK;
}

static void scope_sanitize(opc_sanitize_t **sanitize) { opc_sanitize_free(*sanitize); }

opc_status_t opc_sanitize_new(const char *tool, const char *const *libraries, size_t library_count,
                              opc_sanitize_t **out, opc_error_t *error) {
  *out = NULL;
  OPC_SCOPED(scope_sanitize) opc_sanitize_t *sanitize = calloc(1, sizeof *sanitize);
  if (!sanitize) return opc_out_of_memory(error);
  sanitize->tool = tool;
  OPC_RETURN_IF_ERROR(find_program(sanitize, error));
  OPC_RETURN_IF_ERROR(read_kernels(sanitize, libraries, library_count, error));
  OPC_RETURN_IF_ERROR(opc_tool_folder_make("compute-sanitizer", sanitize->folder, error));
  OPC_RETURN_IF_ERROR(make_words(sanitize, error));
  *out = sanitize;
  sanitize = NULL;
  return OPC_OK;
}

void opc_sanitize_free(opc_sanitize_t *sanitize) {
  if (!sanitize) return;
  opc_tool_folder_remove(sanitize->folder);
  for (size_t i = 0; sanitize->filters && i < sanitize->kernels.count; i++) free(sanitize->filters[i]);
  free(sanitize->filters);
  free(sanitize->words);
  opc_kernel_names_clear(&sanitize->kernels);
  free(sanitize->save);
  free(sanitize->program);
  free(sanitize);
}

static char *report_path(const opc_sanitize_t *sanitize, uint64_t child) {
  return opc_string_format("%s/%" PRIu64 ".xml", sanitize->folder, child);
}

opc_status_t opc_sanitize_launcher(opc_sanitize_t *sanitize, uint64_t child, const opc_launcher_t **out,
                                   opc_error_t *error) {
  free(sanitize->save);
  sanitize->save = report_path(sanitize, child);
  if (!sanitize->save) return opc_out_of_memory(error);
  sanitize->processes++;
  sanitize->words[sanitize->word_count] = sanitize->save;
  sanitize->words[sanitize->word_count + 1] = NULL;
  /* Without libtorch's cache each tensor is its own allocation, with bounds that the tool can watch. */
  sanitize->launcher =
      (opc_launcher_t){.words = sanitize->words, .variable = "PYTORCH_NO_CUDA_MEMORY_CACHING", .value = "1", .log = -1};
  *out = &sanitize->launcher;
  return OPC_OK;
}

const char *opc_sanitize_tool(const opc_sanitize_t *sanitize) { return sanitize->tool; }

/* ---- a process that ended ---- */

void opc_sanitize_take_signal(opc_child_t *child) {
  const int number = child->crash_record->signal;
  if (child->cause == OPC_END_BY_ITSELF && child->crash_record->crashed == 1 && number > 0 && number < NSIG)
    child->status = number;
}

opc_status_t opc_sanitize_report(const opc_sanitize_t *sanitize, const opc_child_t *child, bool called,
                                 opc_sanitize_records_t *out, char **out_lost, opc_error_t *error) {
  opc_error_t why = {0};
  OPC_SCOPED(opc_scope_free) char *path = report_path(sanitize, child->id);
  if (!path) return opc_out_of_memory(error);
  const opc_status_t status = opc_sanitize_xml_read(path, out, &why);
  const bool unread = status != OPC_OK;
  const bool says_found = WIFEXITED(child->status) && WEXITSTATUS(child->status) == FOUND;
  if (status == OPC_ERR_MEMORY) return opc_error_set(error, status, "%s", why.message);
  if (!unread && says_found && out->count == 0) {
    *out_lost = opc_string_copy("it ends with the exit code for errors, and its report holds none");
  } else if (unread && child->leaving && (called || says_found)) {
    OPC_SCOPED(opc_text_clear) opc_text_t tail = {0};
    opc_output_tail(child->output, TAIL_SIZE, &tail);
    *out_lost =
        opc_string_format("%s%s%s", why.message, tail.length > 0 ? "; its last output: " : "", opc_text_c(&tail));
  }
  return OPC_OK;
}

opc_status_t opc_sanitize_note_begin(const opc_sanitize_t *sanitize, opc_journal_t *journal, opc_error_t *error) {
  if (!sanitize || sanitize->kernels.count > 0) return OPC_OK;
  return opc_journal_note(
      journal, error,
      "sanitize: no names of kernels can be read from the libraries, or too many: compute-sanitizer watches every "
      "kernel, libtorch's too, which takes longer");
}

opc_status_t opc_sanitize_note_end(const opc_sanitize_t *sanitize, opc_journal_t *journal, opc_error_t *error) {
  if (!sanitize) return OPC_OK;
  return opc_journal_note(journal, error,
                          "sanitize: compute-sanitizer's %s watched %lu process%s, %zu name%s of kernels",
                          sanitize->tool, sanitize->processes, sanitize->processes == 1 ? "" : "es",
                          sanitize->kernels.count, sanitize->kernels.count == 1 ? "" : "s");
}
