/* --since: the report of the earlier run is opened before anything is written, because this run's own report may
 * replace it. */
#include <stdlib.h>
#include <string.h>

#include "cli/execution.h"
#include "reports/json/run_file.h"

typedef struct since_reading {
  opc_earlier_visit_t *visit;
  void *context;
} since_reading_t;

static opc_status_t since_visit_item(const opc_report_item_t *item, void *context, opc_error_t *error) {
  const since_reading_t *reading = context;
  return reading->visit(item->list, item->json, reading->context, error);
}

static opc_status_t since_read(const opc_earlier_t *earlier, opc_earlier_visit_t *visit, void *context,
                               opc_error_t *error) {
  since_reading_t reading = {visit, context};
  return opc_report_stream_read(earlier->stream, earlier->name, since_visit_item, &reading, error);
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
  bool journal = false;
  if (!file) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_run_file_is_journal(file, &journal, error));
  OPC_RETURN_IF_ERROR(opc_run_file_open(file, &out->stream, error));
  if (!journal) OPC_RETURN_IF_ERROR(since_check(file, error));
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
