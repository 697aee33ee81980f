/* A JSON report or a journal, as `report merge` reads it. */
#include "fuzz.h"

#include "reports/json/run_file.h"
#include "reports/merge/merge.h"

static opc_status_t report_item(const opc_report_item_t *item, void *context, opc_error_t *error) {
  size_t *items = context;
  (void)error;
  fuzz_expect(item->list && item->json, "an item without a name or a value");
  fuzz_expect(!item->line || item->length > 0, "an item of an empty line");
  ++*items;
  return OPC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  const char *path = fuzz_file(bytes, size);
  size_t items = 0;
  opc_error_t error = {0};
  opc_merged_t merged = {0};
  FILE *stream = fopen(path, "rbe");
  fuzz_expect(stream, "no file for the input");
  if (opc_report_stream_read(stream, path, report_item, &items, &error) != OPC_OK)
    fuzz_expect(error.message[0], "an error without words");
  (void)fclose(stream);
  error = (opc_error_t){0};
  if (opc_merge(&path, 1, NULL, &merged, &error) != OPC_OK) fuzz_expect(error.message[0], "an error without words");
  opc_merged_clear(&merged);
  return 0;
}
