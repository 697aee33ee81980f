/* Converts a Valgrind error to a finding: its rule, a sentence, and the frames.
 *
 * Threads: one. */
#pragma once

#include "result/case_result.h"
#include "supervise/symbols/symbolise.h"
#include "supervise/tools/memcheck_xml.h"

/* How to resolve addresses. */
typedef struct opc_memcheck_view {
  opc_symboliser_t *symboliser;
  const opc_maps_t *maps; /* may be NULL */
  const char *library;    /* path of the library under test; may be NULL */
} opc_memcheck_view_t;

/* "memcheck.invalid_read". Unknown kinds give memcheck.suspicious. */
opc_rule_id_t opc_memcheck_rule(const char *kind);
/* A finding for opc_also_add. `rest` has "frames", "block" (frames) for the origin of the memory, and "valgrind":
 * {"kind", "what", "about": [TEXT…]}. Its message is NULL if memory ran out. */
opc_also_t opc_memcheck_describe(const opc_memcheck_error_t *error, const opc_memcheck_view_t *view);
