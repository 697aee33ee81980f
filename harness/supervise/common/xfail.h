/* Expected failures: a text file, one `PATTERN [rule=NAME] reason words` a line; `#` starts a comment line. PATTERN is
 * an fnmatch glob over the case id
 * ('*' matches '/' too). An id must fail; of the cases that a glob matches one must, and the others may pass.
 *
 * Ownership: opc_xfail_free; entries belong to the list. Threads: one. NULL: an empty list. */
#ifndef OPC_SUPERVISE_COMMON_XFAIL_H
#define OPC_SUPERVISE_COMMON_XFAIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct opc_xfail_entry {
  char *pattern, *rule; /* rule: NULL for any */
  char *reason;
  int line;
  bool used; /* it matched a finding or a pass */
  bool glob; /* not the id of one case */
  uint64_t findings;
  /* The first pass that a glob matched: whether it is unexpected shows at the end. */
  json_t *held;
  const struct opc_operator *held_operator;
} opc_xfail_entry_t;

typedef struct opc_xfail {
  char *file;
  opc_xfail_entry_t *entries;
  size_t count;
} opc_xfail_t;

/* OPC_ERR_INPUT: "FILE:LINE: what is wrong" (no reason given); OPC_ERR_IO: unreadable. */
opc_status_t opc_xfail_read(const char *file, opc_xfail_t **out, opc_error_t *error) OPC_CHECKED;
void opc_xfail_free(opc_xfail_t *list);
/* The first entry for the case; rule NULL: of a case that passed, which any entry of that case matches. Marks it used.
 * NULL: none. */
opc_xfail_entry_t *opc_xfail_match(opc_xfail_t *list, const char *case_id, const char *rule);

#endif
