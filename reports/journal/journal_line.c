#include "reports/journal/journal_index.h"

#include <errno.h>
#include <string.h>

opc_status_t opc_journal_line(opc_journal_lines_t *lines, uint64_t offset, ssize_t *out_length, opc_error_t *error) {
  if (lines->position != offset && fseeko(lines->file, (off_t)offset, SEEK_SET) != 0)
    return opc_error_set(error, OPC_ERR_IO, "cannot read journal %s: %s", lines->path, strerror(errno));
  errno = 0;
  ssize_t length = getline(&lines->text, &lines->capacity, lines->file);
  if (length < 0 && (ferror(lines->file) || errno == ENOMEM)) {
    lines->position = UINT64_MAX;
    return opc_error_set(error, OPC_ERR_IO, "cannot read journal %s: %s", lines->path, strerror(errno));
  }
  lines->position = length < 0 ? UINT64_MAX : offset + (uint64_t)length;
  if (length > 0 && lines->text[length - 1] == '\n') lines->text[--length] = '\0';
  else length = -1;
  *out_length = length;
  return OPC_OK;
}
