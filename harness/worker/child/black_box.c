#include "worker/child/black_box.h"

#include <string.h>
#include <time.h>

#include "worker/child/valgrind_case.h"

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void copy_cut(const char *from, char *to, size_t size) {
  size_t length = strnlen(from, size - 1);
  memcpy(to, from, length);
  to[length] = '\0';
}

void opc_batch_phase(opc_blackbox_t *box, const char *phase) { copy_cut(phase, box->phase, sizeof box->phase); }

void opc_batch_begin(opc_blackbox_t *box, const char *case_id, const char *phase) {
  copy_cut(case_id, box->case_id, sizeof box->case_id);
  box->input[0] = '\0';
  opc_batch_phase(box, phase);
  box->started_ns = now_ns();
  box->sequence++;
  opc_valgrind_case_begin(box->sequence);
  /* The other side reads while this one writes: it looks at `running` first. */
  __atomic_store_n(&box->running, 1, __ATOMIC_RELEASE);
}

void opc_batch_end(opc_blackbox_t *box) { __atomic_store_n(&box->running, 0, __ATOMIC_RELEASE); }
