/* Runs opc_run_execute with the fake worker in a temporary folder, and reads the journal back. */
#ifndef OPC_TESTS_RUN_FIXTURE_H
#define OPC_TESTS_RUN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <jansson.h>

#include "base/text.h"
#include "supervise/run/run.h"

static char run_folder[128];
static char run_journal[192], run_samples[192];
static const char *run_sample_files[] = {run_samples};
static const char *const run_library[] = {OPC_FAKE_FOLDER "/fake_good.so"};
static const char *const run_argv[] = {"opcheck-c", "run"};

static inline int run_begin(void **state) {
  (void)state;
  static const char *const names[] = {"healthy", "fails",  "segv",     "abort",      "exit0",   "hang",
                                      "parent",  "closes", "junk",     "grandchild", "flood",   "depends",
                                      "flaky",   "late",   "allcrash", "sleepy",     "refused", "lies",
                                      "wild",    "spent",  "after",    "hidden",     "group",   "twice"};
  snprintf(run_folder, sizeof run_folder, "/tmp/opc-faults-XXXXXX");
  if (mkdtemp(run_folder) == NULL) return -1;
  snprintf(run_journal, sizeof run_journal, "%s/journal", run_folder);
  snprintf(run_samples, sizeof run_samples, "%s/samples.json", run_folder);
  FILE *file = fopen(run_samples, "we");
  if (file == NULL) return -1;
  fprintf(file, "{\"format\": \"opcheck-c/samples/1\", \"samples\": [");
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    fprintf(file, "%s{\"operator\": \"fake::%s\", \"name\": \"one\", \"args\": [1]}", i > 0 ? "," : "", names[i]);
  }
  fprintf(file, "]}\n");
  return fclose(file);
}

static inline int run_end(void **state) {
  (void)state;
  opc_text_t command = {0};
  opc_text_addf(&command, "rm -rf '%s'", run_folder);
  int status = system(opc_text_c(&command));
  opc_text_clear(&command);
  return status;
}

/* Options for one operator, for example "segv"; NULL: all. */
static inline opc_run_options_t run_options(const char *const *op) {
  opc_run_options_t options;
  opc_run_options_default(&options);
  options.libraries = run_library;
  options.library_count = 1;
  options.worker = OPC_FAKE_FOLDER "/fake_worker";
  options.sample_files = run_sample_files;
  options.sample_file_count = 1;
  options.op_globs = op;
  options.op_glob_count = op != NULL ? 1 : 0;
  options.argv = run_argv;
  options.argc = 2;
  options.journal = run_journal;
  options.timeout = 1;
  options.jobs = 2;
  static const char *const cpu[] = {"cpu"};
  options.devices = cpu;
  options.device_count = 1;
  return options;
}

/* The complete lines of the journal as an array. */
static inline json_t *run_read(void) {
  json_t *records = json_array();
  FILE *file = fopen(run_journal, "re");
  char *line = NULL;
  size_t size = 0;
  while (file != NULL && getline(&line, &size, file) > 0) {
    json_t *record = json_loads(line, 0, NULL);
    assert_non_null(record);
    json_array_append_new(records, record);
  }
  free(line);
  if (file != NULL) fclose(file);
  return records;
}

static inline const char *run_text(const json_t *record, const char *key) {
  const char *text = json_string_value(json_object_get(record, key));
  return text != NULL ? text : "";
}

/* The only record of kind t for the case that ends in `tail` ("" for any); fails when there are several. NULL: none. */
static inline json_t *run_find(json_t *records, const char *t, const char *tail) {
  json_t *found = NULL, *record;
  size_t i;
  json_array_foreach(records, i, record) {
    const char *id = run_text(record, "case");
    size_t length = strlen(id), tail_length = strlen(tail);
    if (strcmp(run_text(record, "t"), t) != 0 || length < tail_length || strcmp(id + length - tail_length, tail) != 0)
      continue;
    assert_null(found);
    found = record;
  }
  return found;
}

/* How many records of kind t have key = value (value NULL: all of the kind). */
static inline int run_count(json_t *records, const char *t, const char *key, const char *value) {
  int count = 0;
  size_t i;
  json_t *record;
  json_array_foreach(records, i, record) {
    if (strcmp(run_text(record, "t"), t) == 0 && (value == NULL || strcmp(run_text(record, key), value) == 0)) count++;
  }
  return count;
}

#endif
