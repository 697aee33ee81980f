#include "memory/growth.h"

#include <unistd.h>

#include "memory/cpu_memory.h"
#include "memory/valgrind_requests.h"

enum { THREAD_WAITS = 20, THREAD_WAIT_US = 1000, FLOOR_BYTES = 16, FLOOR_MAPPED = 4096 };
enum { LARGE_COUNT = 64, LARGE_BYTES = 128 << 20 };

static opc_status_t use_read(const opc_reading_t *before, opc_process_use_t *use, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_process_use_read(use, error));
  for (int i = 0; before && use->threads > before->values[OPC_GROWTH_THREADS] && i < THREAD_WAITS; i++) {
    usleep(THREAD_WAIT_US);
    OPC_RETURN_IF_ERROR(opc_process_use_read(use, error));
  }
  return OPC_OK;
}

opc_status_t opc_growth_read(opc_growth_t *growth, int calls, opc_error_t *error) {
  opc_process_use_t use;
  if (growth->count == OPC_READINGS_MAX)
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "more readings than there is room for");
  OPC_RETURN_IF_ERROR(use_read(growth->count ? &growth->readings[growth->count - 1] : NULL, &use, error));
  /* Valgrind delays the reuse of freed memory, in its own memory; it finds such leaks itself. */
  if (opc_valgrind_active()) use.allocated_bytes = use.mapped_bytes = 0;
#ifdef __SANITIZE_ADDRESS__
  use.mapped_bytes =
      0; /* its malloc also keeps freed blocks and creates new mappings, which would look like the operator's */
#endif
  opc_cpu_memory_live_t live = opc_cpu_memory_live();
  growth->readings[growth->count++] = (opc_reading_t){.calls = calls,
                                                      .values = {[OPC_GROWTH_BLOCKS] = live.blocks,
                                                                 [OPC_GROWTH_ALLOCATED] = use.allocated_bytes,
                                                                 [OPC_GROWTH_MAPPED] = use.mapped_bytes,
                                                                 [OPC_GROWTH_DESCRIPTORS] = use.descriptors,
                                                                 [OPC_GROWTH_THREADS] = use.threads},
                                                      .block_bytes = live.bytes};
  return OPC_OK;
}

/* A vector that gets one byte per call grows by that much, in steps; smaller growth comes from the allocator. */
static size_t least_growth(opc_growth_kind_t kind, size_t calls) {
  if (kind == OPC_GROWTH_ALLOCATED) return calls > FLOOR_BYTES ? calls : FLOOR_BYTES;
  return kind == OPC_GROWTH_MAPPED ? FLOOR_MAPPED : 1;
}

bool opc_growth_between(const opc_growth_t *growth, opc_growth_kind_t kind, size_t from, size_t to) {
  const opc_reading_t *before = &growth->readings[from], *after = &growth->readings[to];
  return after->values[kind] >= before->values[kind] + least_growth(kind, (size_t)(after->calls - before->calls));
}

bool opc_growth_any(const opc_growth_t *growth, size_t from, size_t to) {
  for (int kind = 0; kind < OPC_GROWTH_KINDS; kind++)
    if (opc_growth_between(growth, (opc_growth_kind_t)kind, from, to)) return true;
  return false;
}

bool opc_growth_is_steady(const opc_growth_t *growth, opc_growth_kind_t kind) {
  if (growth->count <= OPC_GROWTH_ROUNDS) return false;
  for (size_t to = growth->count - OPC_GROWTH_ROUNDS; to < growth->count; to++)
    if (!opc_growth_between(growth, kind, to - 1, to)) return false;
  return true;
}

bool opc_growth_is_large(const opc_growth_t *growth) {
  const opc_reading_t *first = &growth->readings[0], *last = &growth->readings[growth->count - 1];
  return last->values[OPC_GROWTH_ALLOCATED] > first->values[OPC_GROWTH_ALLOCATED] + LARGE_BYTES ||
         last->values[OPC_GROWTH_MAPPED] > first->values[OPC_GROWTH_MAPPED] + LARGE_BYTES ||
         last->values[OPC_GROWTH_DESCRIPTORS] > first->values[OPC_GROWTH_DESCRIPTORS] + LARGE_COUNT ||
         last->values[OPC_GROWTH_THREADS] > first->values[OPC_GROWTH_THREADS] + LARGE_COUNT;
}
