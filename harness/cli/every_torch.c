/* --torch all: one run with each installed libtorch, each in a process of its own, and what differs. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/execution.h"
#include "inspect/package.h"
#include "reports/compare/comparison.h"
#include "supervise/process/worker_find.h"

typedef struct torch_run {
  char version[16], root[PATH_MAX];
  char *journal;
  bool loaded; /* all its libraries were loaded, so that it is compared */
  bool kept;   /* it broke off, and has told where its journal is */
  int code;
} torch_run_t;

typedef struct every_torch {
  opc_execution_t *execution;
  torch_run_t runs[OPC_WORKERS];
  size_t count, wanted; /* wanted: without an interrupt */
  bool interrupted;
} every_torch_t;

static void every_torch_clear(every_torch_t *every) {
  for (size_t i = 0; i < every->count; i++) {
    const torch_run_t *run = &every->runs[i];
    if (run->journal && !run->kept && !every->execution->journal) unlink(run->journal);
    free(every->runs[i].journal);
  }
}

/* ---- which ---- */

/* The libtorches that all libraries can be loaded into, as far as their symbols say. */
typedef struct torch_range {
  const char *lowest, *highest, *lowest_of, *highest_of; /* NULL: no limit; whose limits these are */
} torch_range_t;

static torch_range_t range_of(const opc_execution_t *execution) {
  torch_range_t range = {0};
  for (size_t i = 0; i < execution->libraries.count; i++) {
    const char *name = execution->libraries.items[i], *lowest = NULL, *highest = NULL;
    opc_torch_range(opc_package_file(name), &lowest, &highest);
    if (lowest && (!range.lowest || opc_version_number(lowest) > opc_version_number(range.lowest))) {
      range.lowest = lowest;
      range.lowest_of = name;
    }
    if (highest && (!range.highest || opc_version_number(highest) < opc_version_number(range.highest))) {
      range.highest = highest;
      range.highest_of = name;
    }
  }
  return range;
}

static bool is_in_range(const torch_range_t *range, const char *version) {
  const unsigned number = opc_version_number(version);
  if (range->lowest && number < opc_version_number(range->lowest)) {
    opc_complain("libtorch %s is left out: %s needs symbols of %s", version, range->lowest_of, range->lowest);
    return false;
  }
  if (range->highest && number > opc_version_number(range->highest)) {
    opc_complain("libtorch %s is left out: %s needs symbols that only libtorch up to %s has", version,
                 range->highest_of, range->highest);
    return false;
  }
  return true;
}

static opc_status_t every_torch_find(every_torch_t *every, opc_error_t *error) {
  OPC_SCOPED(opc_worker_plan_clear) opc_worker_plan_t plan = {0};
  OPC_SCOPED(opc_workers_clear) opc_workers_t workers = {0};
  opc_torches_t torches;
  const torch_range_t range = range_of(every->execution);
  opc_torches_find(&torches);
  OPC_RETURN_IF_ERROR(opc_worker_plan(NULL, NULL, &plan, error));
  OPC_RETURN_IF_ERROR(opc_worker_plan_workers(&plan, &torches, &workers, error));
  for (size_t i = 0; i < workers.count; i++) {
    const opc_worker_candidate_t *worker = &workers.items[i];
    const char *end = strrchr(worker->torch_folder, '/');
    if (!end || worker->version[0] == '\0' || !is_in_range(&range, worker->version)) continue;
    torch_run_t *run = &every->runs[every->count++];
    opc_string_put(run->version, sizeof run->version, worker->version);
    snprintf(run->root, sizeof run->root, "%.*s", (int)(end - worker->torch_folder), worker->torch_folder);
  }
  if (every->count > 1) return OPC_OK;
  return opc_error_set(error, OPC_ERR_USAGE,
                       "--torch all: there is %s%s to run it with, and nothing to compare: install another torch that "
                       "there is a worker for (opcheck-c devices lists both)",
                       every->count == 0 ? "no libtorch" : "only libtorch ",
                       every->count == 0 ? "" : every->runs[0].version);
}

/* ---- the runs ---- */

/* "report.json.zst": "report.torch-2.10.json.zst". A pipe or a device stays what it is. */
static opc_status_t name_for_torch(const char *file, const char *version, const char **out, opc_error_t *error) {
  struct stat about;
  *out = file;
  if (!file || (stat(file, &about) == 0 && !S_ISREG(about.st_mode))) return OPC_OK;
  const char *base = opc_base_name(file), *dot = *base ? strchr(base + 1, '.') : NULL;
  const size_t stem = dot ? (size_t)(dot - file) : strlen(file);
  *out = opc_string_format("%.*s.torch-%s%s", (int)stem, file, version, file + stem);
  return *out ? OPC_OK : opc_out_of_memory(error);
}

/* In the run's own process, which keeps the names until it ends. */
static opc_status_t adapt_execution(opc_execution_t *execution, const torch_run_t *run, opc_error_t *error) {
  opc_run_options_t *options = &execution->options;
  const char *found = NULL;
  options->torch_root = run->root;
  for (size_t i = 0; i < execution->target_count; i++)
    OPC_RETURN_IF_ERROR(name_for_torch(execution->targets[i].file, run->version, &execution->targets[i].file, error));
  OPC_RETURN_IF_ERROR(name_for_torch(options->save_samples, run->version, &options->save_samples, error));
  OPC_RETURN_IF_ERROR(name_for_torch(options->init_samples, run->version, &options->init_samples, error));
  OPC_RETURN_IF_ERROR(name_for_torch(execution->write_baseline, run->version, &execution->write_baseline, error));
  OPC_RETURN_IF_ERROR(name_for_torch(options->found_samples, run->version, &found, error));
  options->found_samples = found;
  execution->journal = run->journal;
  return OPC_OK;
}

static opc_status_t make_journal(const opc_execution_t *execution, torch_run_t *run, opc_error_t *error) {
  const char *folder = getenv("TMPDIR"), *named = NULL;
  if (execution->journal) {
    OPC_RETURN_IF_ERROR(name_for_torch(execution->journal, run->version, &named, error));
    return opc_string_copy_to(named, &run->journal, error);
  }
  run->journal = opc_string_format("%s/opcheck-c-XXXXXX.jsonl", folder && *folder ? folder : "/tmp");
  if (!run->journal) return opc_out_of_memory(error);
  const int file = mkstemps(run->journal, (int)strlen(".jsonl"));
  if (file < 0)
    return opc_error_set(error, OPC_ERR_IO, "cannot write a temporary journal %s: %s; set TMPDIR", run->journal,
                         strerror(errno));
  close(file);
  return OPC_OK;
}

static opc_status_t start_run(const every_torch_t *every, torch_run_t *run, opc_error_t *error) {
  int status = 0;
  OPC_RETURN_IF_ERROR(make_journal(every->execution, run, error));
  printf("libtorch %s, in %s\n\n", run->version, run->root);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    opc_error_t own;
    int code = OPC_EXIT_HARNESS;
    if (adapt_execution(every->execution, run, &own) == OPC_OK) code = opc_execution_run_once(every->execution);
    else opc_complain("%s", own.message);
    fflush(stdout);
    _exit(code);
  }
  pid_t ended = child;
  while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
    kill(child, SIGTERM); /* it ends, and says what it has */
  if (ended < 0) return opc_error_set(error, OPC_ERR_SYSTEM, "cannot start a process: %s", strerror(errno));
  run->code = WIFEXITED(status) ? WEXITSTATUS(status) : OPC_EXIT_HARNESS;
  putchar('\n');
  return OPC_OK;
}

/* ---- what differs ---- */

static opc_status_t read_run(torch_run_t *run, const opc_compare_run_t *before, opc_compare_run_t *out,
                             opc_error_t *error) {
  const opc_status_t status = opc_compare_run_read(run->journal, before, out, error);
  const bool empty = status != OPC_OK && run->code == OPC_EXIT_HARNESS; /* it broke off before it wrote a line */
  if (!empty) OPC_RETURN_IF_ERROR(status);
  run->loaded = !empty && out->complete && json_object_size(out->failed) == 0;
  run->kept = !empty && !out->complete && out->libraries > 0;
  free(out->name);
  return opc_string_copy_to(run->root, &out->name, error);
}

/* Each with the one before it that could be loaded. */
static opc_status_t compare_runs(every_torch_t *every, size_t *out_differences, opc_error_t *error) {
  OPC_SCOPED(opc_compare_run_clear) opc_compare_run_t before = {0};
  const opc_screen_t screen = opc_screen_of(stdout);
  for (size_t i = 0; i < every->count; i++) {
    OPC_SCOPED(opc_compare_run_clear) opc_compare_run_t now = {0};
    OPC_SCOPED(opc_comparison_clear) opc_comparison_t comparison = {0};
    OPC_RETURN_IF_ERROR(read_run(&every->runs[i], before.name ? &before : NULL, &now, error));
    if (!every->runs[i].loaded) continue;
    if (before.name) {
      OPC_RETURN_IF_ERROR(opc_comparison_make(&before, &now, &comparison, error));
      opc_compare_show(&comparison, &screen, false);
      putchar('\n');
      *out_differences += opc_comparison_differences(&comparison);
    }
    opc_comparison_clear(&comparison);
    opc_compare_run_clear(&before);
    OPC_MOVE(&before, now);
  }
  puts("With every libtorch");
  for (size_t i = 0; i < every->count; i++) {
    OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
    opc_text_addf(&line, "libtorch %s: exit code %d%s", every->runs[i].version, every->runs[i].code,
                  every->runs[i].loaded ? "" : ", not compared: a library could not be loaded, or the run broke off");
    opc_screen_field(&screen, i == 0 ? "runs" : "", opc_text_c(&line));
  }
  return OPC_OK;
}

/* The first of 3, 4, 1 and 5 that a run ended with. Differences are an error, and an interrupt is no pass. */
static int code_of_all(const every_torch_t *every, size_t differences) {
  static const int order[] = {OPC_EXIT_USAGE, OPC_EXIT_HARNESS, OPC_EXIT_LOAD, OPC_EXIT_BROKEN, OPC_EXIT_NOTHING};
  if (every->interrupted) return OPC_EXIT_HARNESS;
  for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
    if (order[k] == OPC_EXIT_BROKEN && differences > 0) return OPC_EXIT_BROKEN;
    for (size_t i = 0; i < every->count; i++)
      if (every->runs[i].code == order[k]) return order[k];
  }
  return OPC_EXIT_OK;
}

/* An interrupt ends the run that it came in, and those after it are not started. */
static opc_status_t start_runs(every_torch_t *every, opc_error_t *error) {
  for (size_t i = 0; i < every->count; i++) {
    OPC_RETURN_IF_ERROR(start_run(every, &every->runs[i], error));
    every->interrupted = opc_interrupted();
    /* What is wrong with the command, the others would say too. */
    if (every->interrupted || every->runs[i].code == OPC_EXIT_USAGE) every->count = i + 1;
  }
  return OPC_OK;
}

static opc_status_t every_torch_run(every_torch_t *every, int *out_code, opc_error_t *error) {
  size_t differences = 0;
  OPC_RETURN_IF_ERROR(every_torch_find(every, error));
  every->wanted = every->count;
  opc_interrupt_begin();
  const opc_status_t status = start_runs(every, error);
  opc_interrupt_end();
  OPC_RETURN_IF_ERROR(status);
  *out_code = every->runs[every->count - 1].code;
  if (*out_code == OPC_EXIT_USAGE) return OPC_OK;
  OPC_RETURN_IF_ERROR(compare_runs(every, &differences, error));
  *out_code = code_of_all(every, differences);
  const char *word = every->interrupted ? "INCOMPLETE: interrupted" : *out_code == OPC_EXIT_OK ? "PASSED" : "FAILED";
  printf("%s: ", word);
  if (every->interrupted) printf("%zu of ", every->count);
  printf("%zu libtorches, %zu difference%s\n", every->wanted, differences, differences == 1 ? "" : "s");
  return OPC_OK;
}

static int run_all(opc_execution_t *execution) {
  OPC_SCOPED(every_torch_clear) every_torch_t every = {.execution = execution};
  opc_error_t error;
  int code = OPC_EXIT_HARNESS;
  const opc_status_t status = every_torch_run(&every, &code, &error);
  if (status != OPC_OK) opc_complain("%s", error.message);
  return status != OPC_OK ? opc_exit_code(status) : code;
}

bool opc_execution_is_for_every_torch(const opc_execution_t *execution) {
  return execution->options.torch_root && strcmp(execution->options.torch_root, "all") == 0;
}

int opc_execution_run(opc_execution_t *execution) {
  return opc_execution_is_for_every_torch(execution) ? run_all(execution) : opc_execution_run_once(execution);
}
