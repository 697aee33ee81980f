#include "memory/cpu_memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "memory/valgrind_requests.h"

static bool guarding;
enum { CACHE_LINE = 64 };
static opc_guard_policy_t guard_policy = {.alignment = CACHE_LINE};
static size_t argument_alignment = CACHE_LINE;
static opc_memory_use_t memory_use;
static atomic_size_t plain_blocks, plain_bytes;

static _Thread_local void (*on_allocation)(void *data, size_t bytes);

void opc_cpu_memory_on_allocation(void (*given)(void *data, size_t bytes)) { on_allocation = given; }

static void *cpu_allocate(size_t bytes, void *context) {
  if (opc_valgrind_active()) return opc_red_zone_allocate(bytes, opc_poison_byte());
  opc_guard_policy_t policy = guard_policy;
  policy.poison = opc_poison_byte();
  if (memory_use != OPC_MEMORY_OWN) policy.alignment = argument_alignment;
  policy.to_protect = memory_use == OPC_MEMORY_READ_ONLY_ARGUMENT;
  void *data = guarding ? opc_guard_allocate(bytes, &policy) : NULL;
  if (data) return data;
  data = opc_poison_allocate(bytes, context);
  if (data) {
    plain_blocks++;
    plain_bytes += malloc_usable_size(data);
  }
  return data;
}

void *opc_cpu_memory_allocate(size_t bytes, void *context) {
  void *data = cpu_allocate(bytes, context);
  if (data && on_allocation) on_allocation(data, bytes);
  return data;
}

void opc_cpu_memory_release(void *data, void *context) {
  if (opc_valgrind_active()) {
    opc_red_zone_release(data);
    return;
  }
  if (!data || opc_guard_release(data)) return;
  plain_blocks--;
  plain_bytes -= malloc_usable_size(data);
  opc_poison_release(data, context);
}

opc_cpu_memory_live_t opc_cpu_memory_live(void) {
  opc_cpu_memory_live_t live;
  opc_guard_live(&live.blocks, &live.bytes);
  if (opc_valgrind_active()) opc_red_zone_live(&live.blocks, &live.bytes);
  live.blocks += plain_blocks;
  live.bytes += plain_bytes;
  return live;
}

void opc_cpu_memory_guard(opc_guard_side_t side) {
  guarding = true;
  guard_policy.side = side;
}

void opc_cpu_memory_plain(void) { guarding = false; }

bool opc_cpu_memory_guarded(void) { return guarding; }

size_t opc_cpu_memory_align(size_t alignment) {
  size_t before = guard_policy.alignment;
  guard_policy.alignment = alignment;
  return before;
}

size_t opc_cpu_memory_align_arguments(size_t alignment) {
  size_t before = argument_alignment;
  argument_alignment = alignment;
  return before;
}

void opc_cpu_memory_fix_slack(bool on) { guard_policy.fixed_slack = on; }

void opc_cpu_memory_use(opc_memory_use_t use) { memory_use = use; }
