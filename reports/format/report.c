#include "reports/format/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static opc_status_t report_cannot_write(const char *target, int cause, opc_error_t *error) {
  const char *slash = strrchr(target, '/');
  if (cause == ENOENT && slash)
    return opc_error_set(error, OPC_ERR_IO, "cannot write report %s: the folder %.*s does not exist; make it first",
                         target, (int)(slash - target), target);
  const char *advice =
      cause == ENOSPC || cause == EDQUOT || cause == EFBIG ? "; make room, or give a file elsewhere" : "";
  return opc_error_set(error, OPC_ERR_IO, "cannot write report %s: %s%s", target, strerror(cause), advice);
}

/* Compressed if the target's name says so. */
static opc_status_t write_stream(const opc_report_t *report, const opc_report_source_t *source, FILE *stream,
                                 const char *target, opc_error_t *error) {
  const opc_compression_t compression = report->compressible ? opc_compression_of(target) : OPC_COMPRESSION_NONE;
  FILE *out = compression == OPC_COMPRESSION_NONE ? stream : opc_compressed_stream(stream, compression);
  if (!out) return opc_out_of_memory(error);
  errno = 0;
  const opc_status_t status = report->write(source, out, error);
  int cause = errno;
  bool failed = ferror(out) != 0;
  if (out != stream && fclose(out) != 0 && !failed) {
    failed = true;
    cause = errno;
  }
  if (failed) return report_cannot_write(target, cause ? cause : EIO, error);
  OPC_RETURN_IF_ERROR(status);
  return fflush(stream) == 0 ? OPC_OK : report_cannot_write(target, errno, error);
}

/* A rename would replace a pipe or a device by a file. So this function writes to it directly, once. */
static opc_status_t write_special(const opc_report_t *report, const opc_report_source_t *source, const char *target,
                                  opc_error_t *error) {
  FILE *stream = fopen(target, "we");
  if (!stream) return report_cannot_write(target, errno, error);
  OPC_RETURN_IF_ERROR(write_stream(report, source, stream, target, error));
  if (fclose(stream) != 0) OPC_RETURN_IF_ERROR(report_cannot_write(target, errno, error));
  return OPC_OK;
}

static opc_status_t write_and_close(const opc_report_t *report, const opc_report_source_t *source, int file,
                                    const char *target, bool early, opc_error_t *error) {
  FILE *stream = fdopen(file, "w");
  if (!stream) {
    const int cause = errno;
    close(file);
    return report_cannot_write(target, cause, error);
  }
  opc_status_t status = write_stream(report, source, stream, target, error);
  if (!status && !early && fsync(file) != 0) /* an early report only says that there is nothing yet */
    status = report_cannot_write(target, errno, error);
  if (fclose(stream) != 0 && !status) status = report_cannot_write(target, errno, error);
  return status;
}

static opc_status_t write_beside(const opc_report_t *report, const opc_report_source_t *source, const char *target,
                                 bool early, opc_error_t *error) {
  /* Renaming onto a symbolic link would replace the link. */
  OPC_SCOPED(opc_scope_free) char *real = realpath(target, NULL);
  OPC_SCOPED(opc_scope_free) char *beside = opc_string_format("%s.tmp-%ld", real ? real : target, (long)getpid());
  if (!beside) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory while writing report %s", target);
  const int file = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file < 0) return report_cannot_write(target, errno, error);
  opc_status_t status = write_and_close(report, source, file, target, early, error);
  if (!status && rename(beside, real ? real : target) != 0) status = report_cannot_write(target, errno, error);
  if (status != OPC_OK) unlink(beside);
  return status;
}

static opc_status_t write_target(const opc_report_t *report, const opc_report_source_t *source, const char *target,
                                 bool early, opc_error_t *error) {
  struct stat info;
  bool exists = stat(target, &info) == 0;
  if (!*target) return opc_error_set(error, OPC_ERR_IO, "cannot write a report to a file without name");
  if (exists && S_ISDIR(info.st_mode))
    return opc_error_set(error, OPC_ERR_IO, "cannot write report %s: it is a folder; name a file in it", target);
  if (!exists || S_ISREG(info.st_mode)) return write_beside(report, source, target, early, error);
  if (!early) return write_special(report, source, target, error);
  return access(target, W_OK) == 0 ? OPC_OK : report_cannot_write(target, errno, error);
}

opc_status_t opc_report_begin(const opc_report_t *report, const opc_report_source_t *source, const char *target,
                              opc_error_t *error) {
  return report->on_stdout ? OPC_OK : write_target(report, source, target, true, error);
}

opc_status_t opc_report_finish(const opc_report_t *report, const opc_report_source_t *source, const char *target,
                               opc_error_t *error) {
  if (report->on_stdout) return write_stream(report, source, stdout, "standard output", error);
  return write_target(report, source, target, false, error);
}
