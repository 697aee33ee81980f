/* The calls of the leak check: many of them on equal arguments, with readings between of what the process holds, and a
 * look after each at who holds its arguments when the caller has let go of them.
 *
 * Ownership: opc_leak_probe_clear. Threads: one. */
#ifndef OPC_CHECKS_SIDE_EFFECTS_LEAK_PROBE_H
#define OPC_CHECKS_SIDE_EFFECTS_LEAK_PROBE_H

#include "checks/framework/check.h"
#include "memory/growth.h"

enum { OPC_LEAK_KEPT_CALLS = 3 }; /* in a row */

typedef struct opc_leak_probe {
  opc_case_context_t *context;
  opc_call_outcome_t outcome; /* of the first call, and so of all */
  bool with_grad;             /* the arguments require grad */
  int calls;                  /* made since the first */
  bool broken;                /* a call ended in another way than the first: no more are made */
  bool slow;                  /* a call takes too long to make many */
  int kept_calls;    /* of the last ones in a row: something held an argument when all handles but ours were gone */
  char kept[96];     /* the argument */
  bool kept_storage; /* only its storage */
  bool grew;         /* something did, be it for a while */
  opc_growth_t growth;
  double began, began_processor; /* seconds */
  struct opc_leak_held *held;
  size_t held_room;
} opc_leak_probe_t;

/* probe->context and probe->outcome are set. `first` is the call that came to that outcome. steps: growth in steps,
 * too, for which as many calls are made as the process has seen, on the arguments of `first` where they are still in
 * place; opc_call_snapshot was called before it ran. OPC_ERR_SYSTEM: as opc_growth_read. */
opc_status_t opc_leak_probe_run(opc_leak_probe_t *probe, opc_call_t *first, bool steps, opc_error_t *error) OPC_CHECKED;
void opc_leak_probe_clear(opc_leak_probe_t *probe);

#endif
