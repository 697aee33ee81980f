#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "reports/compare/comparison.h"

/* Records of a journal are read by their places in the file. The copy has no name from the beginning: whatever ends the
 * process, nothing is left. */
static opc_status_t copy_journal(FILE *stream, const char *path, FILE **out, opc_error_t *error) {
  const char *folder = getenv("TMPDIR");
  char block[1 << 16];
  size_t length;
  OPC_SCOPED(opc_scope_free)
  char *name = opc_string_format("%s/opcheck-c-XXXXXX.jsonl", folder && *folder ? folder : "/tmp");
  if (!name) return opc_out_of_memory(error);
  const int file = mkstemps(name, (int)strlen(".jsonl"));
  FILE *copy = *out = file >= 0 ? fdopen(file, "w") : NULL;
  if (file >= 0) unlink(name);
  while (copy && (length = fread(block, 1, sizeof block, stream)) > 0)
    if (fwrite(block, 1, length, copy) != length) copy = NULL;
  if (!copy || fflush(copy) != 0)
    return opc_error_set(error, OPC_ERR_IO, "cannot write %s, which %s is unpacked to: %s; set TMPDIR", name, path,
                         strerror(errno));
  return ferror(stream) ? opc_error_set(error, OPC_ERR_INPUT, "%s is cut off or damaged: copy it again", path) : OPC_OK;
}

static opc_status_t open_journal(FILE *stream, const char *path, opc_journal_reader_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_fclose) FILE *copy = NULL;
  char name[64];
  if (opc_compression_in(path) == OPC_COMPRESSION_NONE) return opc_journal_reader_open(path, out, error);
  OPC_RETURN_IF_ERROR(copy_journal(stream, path, &copy, error));
  snprintf(name, sizeof name, "/proc/self/fd/%d", fileno(copy));
  return opc_journal_reader_open(name, out, error);
}

/* A journal's lines begin with their kind; a report has no such field. */
static bool is_journal(FILE *stream) {
  char head[16];
  const size_t length = fread(head, 1, sizeof head - 1, stream);
  head[length] = '\0';
  return opc_string_begins(head, "{\"t\":");
}

static opc_status_t check_file(const char *path, opc_error_t *error) {
  struct stat info;
  if (stat(path, &info) != 0) return opc_error_set(error, OPC_ERR_INPUT, "cannot read %s: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode))
    return opc_error_set(error, OPC_ERR_INPUT, "%s is no file: give a journal or a JSON report", path);
  return OPC_OK;
}

static FILE *compare_open(const char *path, opc_error_t *error, opc_status_t *out_status) {
  FILE *stream = opc_decompressed_stream(path);
  *out_status = stream ? OPC_OK : opc_error_set(error, OPC_ERR_INPUT, "cannot read %s: %s", path, strerror(errno));
  return stream;
}

opc_status_t opc_run_file_open(const char *path, FILE **out_report, opc_journal_reader_t **out_journal,
                               opc_error_t *error) {
  opc_status_t status;
  *out_report = NULL;
  *out_journal = NULL;
  OPC_RETURN_IF_ERROR(check_file(path, error));
  OPC_SCOPED(opc_scope_fclose) FILE *head = compare_open(path, error, &status), *stream = NULL;
  OPC_RETURN_IF_ERROR(status);
  const bool journal = is_journal(head);
  stream = compare_open(path, error, &status);
  OPC_RETURN_IF_ERROR(status);
  if (journal) return open_journal(stream, path, out_journal, error);
  OPC_MOVE(out_report, stream);
  return OPC_OK;
}
