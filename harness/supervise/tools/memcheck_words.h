/* One error of Valgrind as a finding: its rule, a sentence, and the frames.
 *
 * Threads: one. */
#ifndef OPC_SUPERVISE_TOOLS_MEMCHECK_WORDS_H
#define OPC_SUPERVISE_TOOLS_MEMCHECK_WORDS_H

#include <jansson.h>

#include "supervise/symbols/symbolise.h"
#include "supervise/tools/memcheck_xml.h"

/* Whose addresses they are. */
typedef struct opc_memcheck_view {
  opc_symboliser_t *symboliser;
  const opc_maps_t *maps; /* may be NULL */
  const char *library;    /* path of the one under test; may be NULL */
} opc_memcheck_view_t;

/* "memcheck.invalid_read". Kinds that this version does not know come under memcheck.suspicious. */
const char *opc_memcheck_rule(const char *kind);
/* {"rule", "message", "frames": […], "block": […] of where the memory comes from, "valgrind": {"kind", "what", "about":
 * [TEXT…]}}. New reference; NULL: out of memory. */
json_t *opc_memcheck_describe(const opc_memcheck_error_t *error, const opc_memcheck_view_t *view);

#endif
