#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/execution.h"

opc_status_t opc_execution_check_target(const char *option, const char *file, opc_error_t *error) {
  struct stat info;
  if (!file) return OPC_OK;
  if (stat(file, &info) == 0 && !S_ISREG(info.st_mode))
    return opc_error_set(error, OPC_ERR_USAGE, "%s %s: give a regular file", option, file);
  OPC_SCOPED(opc_scope_free) char *folder = opc_string_copy(file);
  char *slash = folder ? strrchr(folder, '/') : NULL;
  if (!folder) return opc_out_of_memory(error);
  if (slash) slash[slash == folder] = '\0';
  if (access(slash ? folder : ".", W_OK) == 0) return OPC_OK;
  return opc_error_set(error, OPC_ERR_IO, "%s %s: its folder cannot be written: %s", option, file, strerror(errno));
}

bool opc_execution_is_same_file(const char *left, const char *right) {
  struct stat own, other;
  if (!left || !right) return false;
  return strcmp(left, right) == 0 || (stat(left, &own) == 0 && stat(right, &other) == 0 && own.st_dev == other.st_dev &&
                                      own.st_ino == other.st_ino);
}

static size_t without_ending(const char *name, size_t length, const char *ending) {
  const size_t own = strlen(ending);
  return length > own && strncmp(name + length - own, ending, own) == 0 ? length - own : length;
}

/* report.json and report.json.zst: report.found-samples.json, a name that nobody's own sample file has. */
char *opc_execution_found_samples_name(const char *report) {
  static const char *const endings[] = {".gz", ".zst", ".json", ".html"};
  size_t stem = strlen(report);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) stem = without_ending(report, stem, endings[i]);
  return opc_string_format("%.*s.found-samples.json", (int)stem, report);
}
