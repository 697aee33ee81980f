#include "worker/child/batch.h"

#include <time.h>

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void opc_crash_case_announce(opc_crash_record_t *record, opc_call_label_t label) {
  record->call_kind = label.kind;
  opc_string_put(record->detail, sizeof record->detail, label.detail ? label.detail : "");
}

void opc_crash_case_begin(opc_crash_record_t *record, const char *case_id, opc_call_label_t label) {
  opc_string_put(record->case_id, sizeof record->case_id, case_id);
  record->input[0] = '\0';
  opc_crash_case_announce(record, label);
  record->started_ns = now_ns();
  record->refused_before = record->refusals.count;
  record->sequence++;
  opc_valgrind_case_begin(record->sequence);
  /* The other side reads while this one writes: it checks `running` first. */
  __atomic_store_n(&record->running, 1, __ATOMIC_RELEASE);
}

void opc_crash_case_end(opc_crash_record_t *record) { __atomic_store_n(&record->running, 0, __ATOMIC_RELEASE); }
