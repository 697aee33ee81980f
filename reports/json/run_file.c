#include "reports/json/run_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "reports/json/json_report.h"

opc_status_t opc_run_file_unnamed(const char *what, FILE **out, opc_error_t *error) {
  const char *folder = getenv("TMPDIR");
  OPC_SCOPED(opc_scope_free) char *name = opc_string_format("%s/opcheck-c-XXXXXX", folder && *folder ? folder : "/tmp");
  if (!name) return opc_out_of_memory(error);
  const int file = mkostemp(name, O_CLOEXEC);
  *out = file >= 0 ? fdopen(file, "w+") : NULL;
  if (file >= 0) unlink(name);
  if (*out) return OPC_OK;
  return opc_error_set(error, OPC_ERR_IO, "cannot write %s, which %s is unpacked to: %s; set TMPDIR", name, what,
                       strerror(errno));
}

static opc_status_t unpack_failed(const char *path, opc_error_t *error) {
  return opc_error_set(error, OPC_ERR_IO, "cannot write a temporary file for %s: %s; set TMPDIR", path,
                       strerror(errno));
}

/* Records of a journal are read by their places in the file. */
static opc_status_t run_file_unpack(FILE *packed, const char *path, FILE **out, opc_error_t *error) {
  char block[1 << 16];
  size_t length;
  OPC_RETURN_IF_ERROR(opc_run_file_unnamed(path, out, error));
  while ((length = fread(block, 1, sizeof block, packed)) > 0)
    if (fwrite(block, 1, length, *out) != length) return unpack_failed(path, error);
  if (fflush(*out) != 0) return unpack_failed(path, error);
  return ferror(packed) ? opc_error_set(error, OPC_ERR_INPUT, "%s is cut off or damaged: copy it again", path) : OPC_OK;
}

static opc_status_t open_journal(FILE *stream, const char *path, opc_journal_reader_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_fclose) FILE *copy = NULL;
  char name[64];
  if (opc_compression_in(path) == OPC_COMPRESSION_NONE) return opc_journal_reader_open(path, out, error);
  OPC_RETURN_IF_ERROR(run_file_unpack(stream, path, &copy, error));
  snprintf(name, sizeof name, "/proc/self/fd/%d", fileno(copy));
  return opc_journal_reader_open(name, out, error);
}

static opc_status_t run_file_render(FILE *stream, const char *path, FILE **out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_journal_reader) opc_journal_reader_t *journal = NULL;
  OPC_SCOPED(opc_problems_clear) opc_problems_t problems = {0};
  OPC_RETURN_IF_ERROR(open_journal(stream, path, &journal, error));
  OPC_RETURN_IF_ERROR(opc_problems_make(journal, &problems, error));
  OPC_RETURN_IF_ERROR(opc_run_file_unnamed(path, out, error));
  const opc_report_source_t source = {.journal = journal, .problems = &problems};
  OPC_RETURN_IF_ERROR(opc_report_json.write(&source, *out, error));
  return fflush(*out) == 0 && fseek(*out, 0, SEEK_SET) == 0 ? OPC_OK : unpack_failed(path, error);
}

static opc_status_t check_file(const char *path, opc_error_t *error) {
  struct stat info;
  if (stat(path, &info) != 0) return opc_error_set(error, OPC_ERR_INPUT, "cannot read %s: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode))
    return opc_error_set(error, OPC_ERR_INPUT, "%s is no file: give a journal or a JSON report", path);
  return OPC_OK;
}

static opc_status_t run_file_decompress(const char *path, FILE **out, opc_error_t *error) {
  *out = opc_decompressed_stream(path);
  return *out ? OPC_OK : opc_error_set(error, OPC_ERR_INPUT, "cannot read %s: %s", path, strerror(errno));
}

opc_status_t opc_run_file_is_journal(const char *path, bool *out, opc_error_t *error) {
  char head[16];
  OPC_SCOPED(opc_scope_fclose) FILE *stream = NULL;
  OPC_RETURN_IF_ERROR(check_file(path, error));
  OPC_RETURN_IF_ERROR(run_file_decompress(path, &stream, error));
  head[fread(head, 1, sizeof head - 1, stream)] = '\0';
  *out = opc_string_begins(head, "{\"t\":");
  return OPC_OK;
}

opc_status_t opc_run_file_open(const char *path, FILE **out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_fclose) FILE *stream = NULL;
  OPC_SCOPED(opc_scope_fclose) FILE *rendered = NULL;
  bool journal = false;
  *out = NULL;
  OPC_RETURN_IF_ERROR(opc_run_file_is_journal(path, &journal, error));
  OPC_RETURN_IF_ERROR(run_file_decompress(path, &stream, error));
  if (!journal) OPC_MOVE(out, stream);
  if (journal) OPC_RETURN_IF_ERROR(run_file_render(stream, path, &rendered, error));
  if (journal) OPC_MOVE(out, rendered);
  return OPC_OK;
}
