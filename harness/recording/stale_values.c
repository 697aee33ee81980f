#include "recording/merge_recordings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "recording/record_folder.h"

static const char folder_ending[] = ".values/";
enum { DIGITS = 16, FOLDER_ENDING = sizeof folder_ending - 1, DTYPE_LONGEST = 32 };

/* Takes "float32-0123456789abcdef", which ends at `end`, after "….values/". Returns a copy with the ending; NULL: no
 * recording named it. */
static char *name_before(const char *line, const char *end, const char *ending) {
  char dtype[DTYPE_LONGEST + 1];
  if (end - line < DIGITS + 1 || end[-DIGITS - 1] != '-' || strspn(end - DIGITS, "0123456789abcdef") != DIGITS)
    return NULL;
  const char *dash = end - DIGITS - 1, *start = dash;
  while (start > line && start[-1] != '/') start--;
  size_t length = (size_t)(dash - start);
  bool beside = start - line >= FOLDER_ENDING && strncmp(start - FOLDER_ENDING, folder_ending, FOLDER_ENDING) == 0;
  if (!beside || length > DTYPE_LONGEST) return NULL;
  memcpy(dtype, start, length);
  dtype[length] = '\0';
  if (strcmp(dtype, OPC_RECORD_OBJECT) != 0 && opc_dtype_find(dtype) == OPC_DTYPE_OTHER) return NULL;
  return opc_string_format("%.*s%s", (int)(end - start), start, ending);
}

static int stale_values_compare(const void *left, const void *right) {
  return strcmp(*(char *const *)left, *(char *const *)right);
}

/* The names in the line with this ending. */
static void stale_values_add(opc_stale_values_t *values, const char *line, const char *ending) {
  for (const char *at = strstr(line, ending); at; at = strstr(at + 1, ending)) {
    char *name = at[strlen(ending)] == '"' ? name_before(line, at, ending) : NULL;
    if (name && OPC_ARRAY_GROW(values->names, values->count)) values->names[values->count++] = name;
    else free(name);
  }
}

opc_stale_values_t opc_stale_values_of(const char *samples) {
  opc_stale_values_t values = {0};
  char *line = NULL;
  size_t size = 0;
  FILE *file = fopen(samples, "re");
  while (file && getline(&line, &size, file) > 0) {
    stale_values_add(&values, line, ".npy");
    stale_values_add(&values, line, ".pt");
  }
  if (file) fclose(file);
  free(line);
  if (values.count) qsort(values.names, values.count, sizeof *values.names, stale_values_compare);
  return values;
}

void opc_stale_values_remove(const opc_stale_values_t *before, const opc_stale_values_t *after, const char *output) {
  char path[PATH_MAX];
  for (size_t i = 0; i < before->count; i++) {
    if (after->count &&
        bsearch(&before->names[i], after->names, after->count, sizeof *after->names, stale_values_compare))
      continue;
    int length = snprintf(path, sizeof path, "%s.values/%s", output, before->names[i]);
    if (length > 0 && (size_t)length < sizeof path) (void)unlink(path);
  }
  int length = snprintf(path, sizeof path, "%s.values", output);
  if (before->count && length > 0 && (size_t)length < sizeof path) (void)rmdir(path);
}

void opc_stale_values_clear(opc_stale_values_t *values) {
  for (size_t i = 0; i < values->count; i++) free(values->names[i]);
  free(values->names);
  *values = (opc_stale_values_t){0};
}
