/* Expected failures: a text file with one `PATTERN [rule=NAME] reason words` per line; `#` starts a comment line.
 * PATTERN is an fnmatch glob for case ids ('*' also matches '/'). A plain id must fail. Of the cases that match a glob
 * at least one must fail; the others may pass.
 *
 * Ownership: opc_xfail_free; entries belong to the list. Threads: one. NULL: an empty list. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "catalogue/rules.h"

typedef struct opc_xfail_entry {
  char *pattern;
  opc_rule_id_t rule; /* OPC_RULE_NONE: any rule */
  char *reason;
  int line;
  bool used; /* it matched a finding or a pass */
  bool glob; /* not a plain case id */
  uint64_t findings;
  /* The first pass that matched a glob: only at the end is it clear whether it is unexpected. */
  struct opc_case_result *held;
  const struct opc_operator *held_operator;
} opc_xfail_entry_t;

typedef struct opc_xfail {
  char *file;
  opc_xfail_entry_t *entries;
  size_t count;
} opc_xfail_t;

/* OPC_ERR_INPUT: "FILE:LINE: what is wrong" (missing reason); OPC_ERR_IO: unreadable. */
opc_status_t opc_xfail_read(const char *file, opc_xfail_t **out, opc_error_t *error) OPC_CHECKED;
void opc_xfail_free(opc_xfail_t *list);
/* The first entry for the case. OPC_RULE_NONE: the case passed; matches entries with any rule. Marks the entry as used.
 * NULL: none. */
opc_xfail_entry_t *opc_xfail_match(opc_xfail_t *list, const char *case_id, opc_rule_id_t rule);
