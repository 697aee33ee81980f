/* --shard and --shard-times. */
#include <string.h>

#include "cli/execution.h"
#include "reports/json/run_file.h"

opc_status_t opc_shard_parse(const char *text, opc_run_options_t *out, opc_error_t *error) {
  int index, count, end = 0;
  if (sscanf(text, "%9d/%9d%n", &index, &count, &end) != 2 || text[end] || index < 1 || index > count || text[0] == ' ')
    return opc_error_set(error, OPC_ERR_USAGE, "--shard %.40s: give K/N with K from 1 to N, such as 2/4", text);
  out->shard_index = index;
  out->shard_count = count;
  return OPC_OK;
}

/* An operator takes the time of its search and that of its cases. */
static opc_status_t add_time(json_t *times, const char *name, const json_t *seconds, opc_error_t *error) {
  const double before = json_number_value(json_object_get(times, name));
  return json_object_set_new(times, name, json_real(before + json_number_value(seconds))) == 0
             ? OPC_OK
             : opc_out_of_memory(error);
}

static opc_status_t shard_times_visit(const opc_report_item_t *item, void *context, opc_error_t *error) {
  if (strcmp(item->list, "results") == 0)
    return add_time(context, opc_record_text(item->json, "operator"), json_object_get(item->json, "seconds"), error);
  const json_t *search = strcmp(item->list, "operators") == 0 ? json_object_get(item->json, "search") : NULL;
  return search ? add_time(context, opc_record_text(item->json, "name"), json_object_get(search, "seconds"), error)
                : OPC_OK;
}

opc_status_t opc_shard_times_read(const char *file, json_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_fclose) FILE *report = NULL;
  json_auto_t *times = json_object();
  if (!times) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_run_file_open(file, &report, error));
  OPC_RETURN_IF_ERROR(opc_report_stream_read(report, file, shard_times_visit, times, error));
  json_decref(*out);
  *out = json_incref(times);
  return OPC_OK;
}
