#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/execution.h"

opc_status_t opc_execution_append(const opc_execution_t *execution, json_t *record, opc_error_t *error) {
  const char *path = execution->options.journal;
  json_auto_t *owned = record;
  OPC_SCOPED(opc_scope_free) char *line = owned ? json_dumps(owned, JSON_COMPACT) : NULL;
  if (!line) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory while writing journal %s", path);
  FILE *file = fopen(path, "ae");
  bool written = file && fprintf(file, "%s\n", line) >= 0;
  const int cause = errno;
  if (file && fclose(file) != 0 && written)
    return opc_error_set(error, OPC_ERR_IO, "cannot write journal %s: %s", path, strerror(errno));
  return written ? OPC_OK : opc_error_set(error, OPC_ERR_IO, "cannot write journal %s: %s", path, strerror(cause));
}
