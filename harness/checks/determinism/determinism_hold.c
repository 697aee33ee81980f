#include "checks/determinism/determinism_hold.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "memory/cpu_memory.h"
#include "memory/guard.h"
#include "memory/trap.h"
#include "memory/valgrind_requests.h"

enum { PARTS = 3, STEP_NS = 200 * 1000, STEPS = 200 };
static const uintptr_t page = 4096;

static double linger_until;

/* Called in the fault handler. */
static void linger(void) {
  const struct timespec time = {.tv_nsec = STEP_NS};
  for (int step = 0; step < STEPS && opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) < linger_until; step++)
    (void)nanosleep(&time, NULL);
}

/* ---- what the operator writes ---- */

static opc_trap_pages_t written[OPC_TRAP_PAGES_MAX];
static atomic_size_t written_count; /* read in the fault handler of another thread */

static void note_written(const void *data, size_t bytes) {
  const uintptr_t start = (uintptr_t)data / page * page, end = ((uintptr_t)data + bytes + page - 1) / page * page;
  const size_t count = written_count;
  if (bytes == 0 || count == OPC_TRAP_PAGES_MAX) return;
  written[count] = (opc_trap_pages_t){.start = (void *)start, .bytes = end - start};
  written_count = count + 1;
}

/* Guarded memory has its pages to itself. The pages of a small block stay after it was freed. */
static void note_block(void *data, size_t bytes) {
  enum { SMALL = 32 << 10 };
  opc_guard_block_t block;
  if (bytes <= SMALL && opc_guard_find(data, &block)) note_written(data, bytes);
}

static void note_arguments(const opc_call_t *call, const opc_places_t *places) {
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_meta_t *meta = &call->tensor_args[i].before;
    if (opc_tensor_arg_is_mutable(&call->tensor_args[i]) && opc_places_have(places, meta->storage_data))
      note_written(meta->storage_data, meta->storage_bytes);
  }
}

static void await_write(void) { opc_trap_arm_writes(written, written_count, linger); }

/* ---- both ---- */

static const opc_tensor_meta_t *largest_of(const opc_call_t *call) {
  const opc_tensor_meta_t *largest = NULL;
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (!largest || call->tensor_args[i].before.storage_bytes > largest->storage_bytes)
      largest = &call->tensor_args[i].before;
  return largest;
}

void opc_hold_begin(const opc_call_t *call, const opc_places_t *places, opc_hold_t where, double until) {
  const opc_tensor_meta_t *largest = largest_of(call);
  const bool at_write = where >= OPC_HOLD_WRITE_AFTER_FIRST;
  linger_until = until;
  written_count = 0;
  if (where < OPC_HOLD_FIRST || !largest || opc_valgrind_active()) return;
  const size_t part = (size_t)(where - (at_write ? OPC_HOLD_WRITE_AFTER_FIRST : OPC_HOLD_FIRST));
  const uintptr_t data = (uintptr_t)largest->storage_data, end = (data + largest->storage_bytes) / page * page,
                  start = (data + largest->storage_bytes * part / PARTS + page - 1) / page * page;
  if (end <= start) return;
  if (at_write) {
    note_arguments(call, places);
    opc_cpu_memory_tell(note_block);
    opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  }
  (void)opc_trap_arm((void *)start, page, at_write ? await_write : linger);
}

void opc_hold_end(void) {
  opc_trap_disarm();
  opc_cpu_memory_tell(NULL);
  opc_cpu_memory_plain();
}
