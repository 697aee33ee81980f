/* The "tried" message of one call of a search (wire/protocol.h). */
#pragma once

#include <jansson.h>

#include "base/text.h"
#include "checks/call/call.h"
#include "memory/guard.h"
#include "model/sample/tried.h"

typedef struct try {
  opc_call_t call;
  bool wrote_outside, read_outside;
  opc_access_t access; /* the most informative of these accesses */
  opc_output_t *outputs;
  size_t output_count;
  json_t *mutated;
  opc_text_t effects; /* bytes of outputs and changed arguments */
}
try_t;

typedef struct try_facts {
  const char *refused_on_meta; /* what the operator's own Meta kernel says; NULL: it does not refuse the arguments */
  bool observed;               /* the outcome and its message are what was observed around the call */
  opc_try_outcome_t outcome;
  const char *why;
  double seconds, cpu_seconds;
  bool effect, depends;
  bool steady; /* repeating the call gave the same result */
  bool values; /* the values of small outputs are requested */
  char site[40];
} try_facts_t;

/* New reference; NULL: out of memory. */
json_t *opc_try_answer(const try_t *own, const try_facts_t *facts);
