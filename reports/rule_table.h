/* Which rules were broken, by how many operators, and by which: what a person wants to see first of a library with
 * hundreds of operators.
 *
 * Ownership: opc_rule_table_clear; a zeroed table is empty and valid. Names are copied. Threads: one. */
#ifndef OPC_REPORTS_RULE_TABLE_H
#define OPC_REPORTS_RULE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "reports/screen.h"

enum { OPC_RULE_TABLE_NAMES = 3 }; /* operators that are named a rule */

typedef struct opc_rule_row {
  char *rule;
  bool warning;
  uint64_t operators;
  char *names[OPC_RULE_TABLE_NAMES]; /* the first ones */
} opc_rule_row_t;

typedef struct opc_rule_table {
  opc_rule_row_t *rows;
  size_t count;
} opc_rule_table_t;

/* One finding of one operator. *out_before: how many operators had it before. */
opc_status_t opc_rule_table_add(opc_rule_table_t *table, const char *rule, bool warning, const char *operator_name,
                                uint64_t *out_before, opc_error_t *error) OPC_CHECKED;
/* A line a rule: failures before warnings, what most operators break first. */
void opc_rule_table_show(opc_rule_table_t *table, const opc_screen_t *screen);
void opc_rule_table_clear(opc_rule_table_t *table);

#endif
