#include "worker/child/crash_record.h"

#include <time.h>

#include "base/text.h"
#include "worker/child/valgrind_case.h"

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void opc_batch_announce(opc_crash_record_t *box, opc_call_label_t label) {
  box->call_kind = label.kind;
  opc_string_put(box->detail, sizeof box->detail, label.detail ? label.detail : "");
}

void opc_batch_begin(opc_crash_record_t *box, const char *case_id, opc_call_label_t label) {
  opc_string_put(box->case_id, sizeof box->case_id, case_id);
  box->input[0] = '\0';
  opc_batch_announce(box, label);
  box->started_ns = now_ns();
  box->sequence++;
  opc_valgrind_case_begin(box->sequence);
  /* The other side reads while this one writes: it checks `running` first. */
  __atomic_store_n(&box->running, 1, __ATOMIC_RELEASE);
}

void opc_batch_end(opc_crash_record_t *box) { __atomic_store_n(&box->running, 0, __ATOMIC_RELEASE); }
