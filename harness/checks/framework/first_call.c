#include "checks/framework/global_state.h"

#include "checks/call/call.h"

static opc_first_call_t watch;

void opc_first_call_begin(void) {
  static bool begun;
  if (begun) return;
  begun = true;
  (void)opc_state_first();
  if (opc_process_use_read(&watch.use, NULL) != OPC_OK) watch.use = (opc_process_use_t){0};
}

void opc_first_call_case(const char *case_id) {
  static uint64_t calls_seen;
  opc_call_count_t calls = opc_call_count();
  bool called = calls.made != calls_seen, first = called && !watch.case_id[0];
  calls_seen = calls.made;
  if (!called || (!first && opc_state_seems_first())) return;
  opc_state_t now;
  opc_state_read(&now);
  if (first) {
    now.settings[OPC_SETTING_SEED] =
        opc_state_first()->settings[OPC_SETTING_SEED]; /* the harness's own, different in each call */
    opc_state_compare(opc_state_first(), &now, &watch.changes);
    if (calls.refused)
      opc_text_reset(&watch.changes.texts[OPC_STATE_PRINTED]); /* libtorch's stable interface prints every exception */
    snprintf(watch.case_id, sizeof watch.case_id, "%s", case_id);
  }
  opc_state_restore(&now);
}

const opc_first_call_t *opc_first_call_changes(void) { return &watch; }
