#include "supervise/common/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

struct opc_journal {
  int fd;
  char *path;
  off_t length; /* of the whole lines */
  bool holding;
  opc_text_t held;          /* whole lines */
  opc_kept_records_t *kept; /* NULL: no records are kept */
  opc_error_t failure;
};

static const char *advice(int number) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
      return "free some space, or give another file with --journal";
    case EFBIG:
      return "raise the limit on file sizes (ulimit -f), or check fewer libraries at once";
    case ENOENT:
    case ENOTDIR:
      return "create its folder first, or give another file with --journal";
    case EACCES:
    case EPERM:
    case EROFS:
      return "give a file that can be written with --journal";
    default:
      return "give another file with --journal";
  }
}

opc_status_t opc_journal_open(const char *path, opc_journal_t **out, opc_error_t *error) {
  *out = NULL;
  opc_journal_t *journal = calloc(1, sizeof *journal);
  if (!journal) return opc_out_of_memory(error);
  journal->path = opc_string_copy(path);
  journal->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (!journal->path || journal->fd < 0) {
    int number = !journal->path ? ENOMEM : errno;
    opc_journal_close(journal);
    return opc_error_set(error, OPC_ERR_IO, "cannot write the journal %s: %s; %s", path, strerror(number),
                         advice(number));
  }
  *out = journal;
  return OPC_OK;
}

/* Removes the part of a line that a failed write left. The file stays a sequence of whole lines. */
static void cut(opc_journal_t *journal) {
  struct stat status;
  if (fstat(journal->fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
  while (ftruncate(journal->fd, journal->length) != 0 && errno == EINTR) {
  }
}

/* Usually one write. If the disk fills up, the second write reports why the first one was short. */
static opc_status_t journal_write_out(opc_journal_t *journal, const char *lines, size_t length) {
  size_t done = 0;
  ssize_t written = 0;
  while (done < length) {
    written = write(journal->fd, lines + done, length - done);
    if (written > 0) done += (size_t)written;
    else if (written == 0 || errno != EINTR) break;
  }
  int number = written < 0 ? errno : ENOSPC;
  const char *last = done > 0 ? memrchr(lines, '\n', done) : NULL;
  if (last) journal->length += last + 1 - lines;
  if (done == length) return OPC_OK;
  cut(journal);
  if (journal->kept) opc_kept_cut(journal->kept, (uint64_t)journal->length);
  return opc_error_set(&journal->failure, OPC_ERR_IO,
                       "cannot write the journal %s: %s; %s. It holds what was found until then", journal->path,
                       strerror(number), advice(number));
}

void opc_journal_keep(opc_journal_t *journal, opc_kept_records_t *kept) { journal->kept = kept; }

static void journal_keep(opc_journal_t *journal, size_t length, json_t *record) {
  if (journal->kept) opc_kept_add(journal->kept, (uint64_t)journal->length + journal->held.length, length, record);
}

/* The first failure stays: nothing is written after it. */
static opc_status_t failure_of(const opc_journal_t *journal, opc_error_t *error) {
  if (journal->failure.code == OPC_OK) return OPC_OK;
  return opc_error_set(error, journal->failure.code, "%s", journal->failure.message);
}

void opc_journal_hold(opc_journal_t *journal) { journal->holding = true; }

opc_status_t opc_journal_flush(opc_journal_t *journal, opc_error_t *error) {
  if (journal->failure.code == OPC_OK && journal->held.length > 0)
    (void)journal_write_out(journal, journal->held.data, journal->held.length);
  opc_text_reset(&journal->held);
  return failure_of(journal, error);
}

opc_status_t opc_journal_release(opc_journal_t *journal, opc_error_t *error) {
  journal->holding = false;
  return opc_journal_flush(journal, error);
}

opc_status_t opc_journal_write(opc_journal_t *journal, json_t *record, opc_error_t *error) {
  json_auto_t *owned = record;
  OPC_RETURN_IF_ERROR(failure_of(journal, error));
  OPC_SCOPED(opc_scope_free) char *line = record ? json_dumps(record, JSON_COMPACT) : NULL;
  if (line) {
    size_t length = strlen(line);
    line[length] = '\n'; /* replaces the NUL: the length is known */
    journal_keep(journal, length, owned);
    if (journal->holding) opc_text_add_bytes(&journal->held, line, length + 1);
    else (void)journal_write_out(journal, line, length + 1);
  }
  if (journal->failure.code == OPC_OK && (!line || journal->held.failed)) {
    if (journal->kept) opc_kept_cut(journal->kept, (uint64_t)journal->length);
    opc_error_set(&journal->failure, OPC_ERR_MEMORY, "out of memory while writing the journal %s", journal->path);
  }
  return failure_of(journal, error);
}

opc_status_t opc_journal_note(opc_journal_t *journal, opc_error_t *error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  json_t *message = json_vsprintf(format, arguments);
  va_end(arguments);
  return opc_journal_write(journal, json_pack("{s:s, s:o}", "t", "note", "message", message), error);
}

void opc_journal_close(opc_journal_t *journal) {
  if (!journal) return;
  if (journal->fd >= 0) close(journal->fd);
  opc_text_clear(&journal->held);
  free(journal->path);
  free(journal);
}
