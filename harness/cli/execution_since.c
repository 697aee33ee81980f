/* --since: the report of the earlier run is opened before anything is written, because this run's own report may
 * replace it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/execution.h"
#include "reports/compare/comparison.h"

static opc_status_t since_read(const opc_earlier_t *earlier, opc_earlier_visit_t *visit, void *context,
                               opc_error_t *error) {
  return opc_report_stream_read(earlier->stream, earlier->name, visit, context, error);
}

/* A journal as the report that is made of it, in a file without a name. */
static opc_status_t since_render(opc_journal_reader_t *journal, FILE **out, opc_error_t *error) {
  OPC_SCOPED(opc_problems_clear) opc_problems_t problems = {0};
  const char *folder = getenv("TMPDIR");
  OPC_SCOPED(opc_scope_free) char *name = opc_string_format("%s/opcheck-c-XXXXXX", folder && *folder ? folder : "/tmp");
  if (!name) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_problems_make(journal, &problems, error));
  const int file = mkostemp(name, O_CLOEXEC);
  OPC_SCOPED(opc_scope_fclose) FILE *stream = file >= 0 ? fdopen(file, "w+") : NULL;
  if (file >= 0) unlink(name);
  const opc_report_source_t source = {.journal = journal, .problems = &problems};
  if (stream) OPC_RETURN_IF_ERROR(opc_report_json.write(&source, stream, error));
  if (!stream || fflush(stream) != 0 || fseek(stream, 0, SEEK_SET) != 0)
    return opc_error_set(error, OPC_ERR_IO, "cannot write the temporary file %s: %s; set TMPDIR", name,
                         strerror(errno));
  OPC_MOVE(out, stream);
  return OPC_OK;
}

/* Before libraries are loaded: what else is wrong with the file shows while it is read. */
static opc_status_t since_check(const char *file, opc_error_t *error) {
  char head[256];
  OPC_SCOPED(opc_scope_fclose) FILE *stream = opc_decompressed_stream(file);
  const size_t length = stream ? fread(head, 1, sizeof head - 1, stream) : 0;
  head[length] = '\0';
  if (strstr(head, "\"opcheck-c/report/1\"")) return OPC_OK;
  return opc_error_set(
      error, OPC_ERR_INPUT,
      "--since %s: it is neither a JSON report nor a journal of this opcheck-c; leave --since out, and "
      "write a report with --json FILE",
      file);
}

/* The run before, of --watch, is the newest one. */
opc_status_t opc_since_begin(opc_execution_t *execution, opc_since_t *out, opc_error_t *error) {
  const char *file = execution->before ? execution->before : execution->since;
  OPC_SCOPED(opc_scope_journal_reader) opc_journal_reader_t *journal = NULL;
  if (!file) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_run_file_open(file, &out->stream, &journal, error));
  OPC_RETURN_IF_ERROR(journal ? since_render(journal, &out->stream, error) : since_check(file, error));
  out->found_samples = journal ? opc_string_copy(execution->found_samples) : opc_execution_found_samples_name(file);
  out->earlier = (opc_earlier_t){.name = execution->before ? "the run before" : file,
                                 .found_samples = out->found_samples,
                                 .read = since_read,
                                 .stream = out->stream};
  execution->options.earlier = &out->earlier;
  return OPC_OK;
}

void opc_since_end(opc_since_t *since) {
  if (since->stream) fclose(since->stream);
  free(since->found_samples);
  *since = (opc_since_t){0};
}
