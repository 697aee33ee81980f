/* The file that a program is written to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervise/emit/program_inside.h"

enum { HEADER_LINES = 6 };

bool opc_program_may_replace(const char *file) {
  OPC_SCOPED(opc_scope_fclose) FILE *stream = fopen(file, "re");
  OPC_SCOPED(opc_scope_free) char *line = NULL;
  size_t size = 0;
  int count = 0;
  if (!stream) return errno == ENOENT;
  for (; count < HEADER_LINES && getline(&line, &size, stream) > 0; count++) {
    const size_t mark = opc_string_begins(line, "# ") ? 2 : opc_string_begins(line, "// ") ? 3 : 0;
    if (mark && opc_string_begins(line + mark, "opcheck-c ") && strstr(line, OPC_PROGRAM_FOUND)) return true;
  }
  return count == 0 && !ferror(stream);
}

static opc_status_t cannot_write_program(const char *file, opc_error_t *error) {
  return opc_error_set(error, OPC_ERR_IO, "--emit: cannot write %s: %s", file, strerror(errno));
}

static opc_status_t write_program(const char *beside, const char *file, const opc_text_t *text, opc_error_t *error) {
  OPC_SCOPED(opc_scope_fclose) FILE *stream = fopen(beside, "we");
  const bool written = stream && fwrite(opc_text_c(text), 1, text->length, stream) == text->length &&
                       fflush(stream) == 0 && fsync(fileno(stream)) == 0;
  return written ? OPC_OK : cannot_write_program(file, error);
}

opc_status_t opc_program_write(const char *file, const opc_text_t *text, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *real = realpath(file, NULL); /* a link stays one */
  OPC_SCOPED(opc_scope_free) char *beside = opc_string_format("%s.tmp-%ld", real ? real : file, (long)getpid());
  if (!beside) return opc_out_of_memory(error);
  opc_status_t status = write_program(beside, file, text, error);
  if (!status && rename(beside, real ? real : file) != 0) status = cannot_write_program(file, error);
  if (status != OPC_OK) unlink(beside);
  return status;
}
