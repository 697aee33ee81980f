#include "reports/rule_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

opc_status_t opc_rule_table_add(opc_rule_table_t *table, const char *rule, bool warning, const char *operator_name,
                                uint64_t *out_before, opc_error_t *error) {
  size_t i = 0;
  *out_before = 0;
  while (i < table->count && (strcmp(table->rows[i].rule, rule) != 0 || table->rows[i].warning != warning)) i++;
  if (i == table->count) {
    opc_rule_row_t *rows = realloc(table->rows, (i + 1) * sizeof *rows);
    if (!rows) return opc_out_of_memory(error);
    table->rows = rows;
    rows[i] = (opc_rule_row_t){.rule = opc_string_copy(rule), .warning = warning};
    if (!rows[i].rule) return opc_out_of_memory(error);
    table->count++;
  }
  opc_rule_row_t *row = &table->rows[i];
  *out_before = row->operators;
  if (row->operators < OPC_RULE_TABLE_NAMES && !(row->names[row->operators] = opc_string_copy(operator_name)))
    return opc_out_of_memory(error);
  row->operators++;
  return OPC_OK;
}

static int compare(const void *left, const void *right) {
  const opc_rule_row_t *a = left, *b = right;
  if (a->warning != b->warning) return a->warning ? 1 : -1;
  if (a->operators != b->operators) return a->operators < b->operators ? 1 : -1;
  return strcmp(a->rule, b->rule);
}

void opc_rule_table_show(opc_rule_table_t *table, const opc_screen_t *screen) {
  if (table->count > 0) qsort(table->rows, table->count, sizeof *table->rows, compare);
  for (size_t i = 0; i < table->count; i++) {
    const opc_rule_row_t *row = &table->rows[i];
    opc_text_t names = {0};
    for (size_t k = 0; k < OPC_RULE_TABLE_NAMES && row->names[k]; k++)
      opc_text_addf(&names, "%s%s", k ? ", " : "", row->names[k]);
    if (row->operators > OPC_RULE_TABLE_NAMES) opc_text_add(&names, ", …");
    opc_screen_text(screen, row->warning ? OPC_TONE_YELLOW : OPC_TONE_RED, row->warning ? "warn" : "FAIL");
    fprintf(screen->stream, "  %5" PRIu64 " operator%s  ", row->operators, row->operators == 1 ? " " : "s");
    opc_screen_text(screen, OPC_TONE_BOLD, row->rule);
    fputs("  ", screen->stream);
    opc_screen_text(screen, OPC_TONE_PLAIN, opc_text_c(&names));
    fputc('\n', screen->stream);
    opc_text_clear(&names);
  }
}

void opc_rule_table_clear(opc_rule_table_t *table) {
  for (size_t i = 0; i < table->count; i++) {
    free(table->rows[i].rule);
    for (size_t k = 0; k < OPC_RULE_TABLE_NAMES; k++) free(table->rows[i].names[k]);
  }
  free(table->rows);
  *table = (opc_rule_table_t){0};
}
