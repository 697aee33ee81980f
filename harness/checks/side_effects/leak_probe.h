/* The calls of the leak check: many calls on equal arguments. Between them, the resources of the process are measured;
 * after each, it is checked whether anything still holds its arguments once the caller has released them.
 *
 * Ownership: opc_leak_probe_clear. Threads: one. */
#pragma once

#include "checks/framework/check.h"
#include "memory/growth.h"

enum { OPC_LEAK_KEPT_CALLS = 3 }; /* in a row */

typedef struct opc_leak_probe {
  opc_case_context_t *context;
  opc_call_outcome_t outcome; /* of the first call, and therefore of all */
  bool with_grad;             /* the arguments require grad */
  int calls;                  /* made since the first */
  bool broken;                /* a call's outcome differs from the first one's: no more calls are made */
  bool slow;                  /* a call takes too long to make many */
  int kept_calls; /* number of the last calls in a row after which something still held an argument besides our handles
                   */
  char kept[96];  /* the argument */
  bool kept_storage; /* only its storage */
  bool grew;         /* something grew, if only for a while */
  opc_growth_t growth;
  double began, began_processor; /* seconds */
  struct opc_leak_held *held;
  size_t held_room;
} opc_leak_probe_t;

/* probe->context and probe->outcome are set. `first` is the call with that outcome; opc_call_snapshot was called before
 * it ran. steps: also look for growth in steps, by as many calls as the process has made so far, on the arguments of
 * `first` if these are still in place. OPC_ERR_SYSTEM: as opc_growth_read. */
opc_status_t opc_leak_probe_run(opc_leak_probe_t *probe, opc_call_t *first, bool steps, opc_error_t *error) OPC_CHECKED;
void opc_leak_probe_clear(opc_leak_probe_t *probe);
