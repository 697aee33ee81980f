#include "supervise/evidence/external_tool.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *opc_tool_on_path(const char *name) {
  const char *path = getenv("PATH");
  while (path && *path != '\0') {
    size_t length = strcspn(path, ":");
    char *file = opc_string_format("%.*s/%s", length > 0 ? (int)length : 1, length > 0 ? path : ".", name);
    if (!file || access(file, X_OK) == 0) return file;
    free(file);
    path += length + (path[length] == ':');
  }
  return NULL;
}

opc_status_t opc_tool_folder_make(const char *whose, char out[PATH_MAX], opc_error_t *error) {
  const char *base = getenv("TMPDIR");
  OPC_SCOPED(opc_scope_free)
  char *made = opc_string_format("%s/opcheck-c-XXXXXX", base && base[0] != '\0' ? base : "/tmp");
  out[0] = '\0';
  if (!made) return opc_out_of_memory(error);
  else if (!mkdtemp(made) || !realpath(made, out)) {
    out[0] = '\0';
    return opc_error_set(error, OPC_ERR_IO, "cannot make a folder for %s's reports: %s: %s; set TMPDIR", whose, made,
                         strerror(errno));
  }
  return OPC_OK;
}

void opc_tool_folder_remove(const char *path) {
  DIR *folder = path[0] != '\0' ? opendir(path) : NULL;
  if (!folder) return;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] != '.') (void)unlinkat(dirfd(folder), entry->d_name, 0);
  }
  closedir(folder);
  (void)rmdir(path);
}
