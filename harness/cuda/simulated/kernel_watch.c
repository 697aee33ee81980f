/* What kernels that run are watched for beside bounds, what is known of the memory that they read, and the order of
 * their blocks and warps. Everything that is not known counts as written. */
#include <stdio.h>
#include <string.h>

#include "cuda/simulated/simulated.h"

/* Kernels do not run on larger tensors (kernel_run.c), and remembering them would take memory. */
static const size_t remembered_most = (size_t)1 << 30;

/* Under opc_lock_copies: no copy is made while a kernel runs. */
static bool watching;
static opc_written_t *memory; /* NULL: all of it counts as written */
static opc_schedule_t schedule;
static uint64_t schedule_seed;

static void memory_changed(uint64_t to, uint64_t from, uint64_t bytes) {
  if (memory && from != 0) opc_written_copied(memory, to, from, bytes);
  else if (memory) opc_written_by_host(memory, to, bytes);
}

void opc_watch_set(bool on) {
  pthread_mutex_lock(&opc_lock_copies);
  atomic_store(&opc_device_changed, memory_changed);
  opc_written_free(memory);
  memory = on ? opc_written_make() : NULL;
  watching = on;
  pthread_mutex_unlock(&opc_lock_copies);
}

void opc_schedule_set(opc_schedule_t given, uint64_t seed) {
  pthread_mutex_lock(&opc_lock_copies);
  schedule = given;
  schedule_seed = seed;
  pthread_mutex_unlock(&opc_lock_copies);
}

/* A kernel that waits for a block before it may not end in another order. One thread that waits runs as long for its
 * instructions as 32 do for theirs. */
static uint64_t budget_in_order(const opc_kernel_program_t *program, uint64_t budget) {
  enum { TIMES = 2, SPARE = 1 << 20, MOST = 1 << 24 };
  const uint64_t wanted = TIMES * program->instructions_most + SPARE, most = wanted < MOST ? wanted : MOST;
  return schedule == OPC_SCHEDULE_ASCENDING || budget < most ? budget : most;
}

void opc_watch_launch(const opc_kernel_program_t *program, opc_ptx_launch_t *launch) {
  static const opc_ptx_order_t orders[] = {[OPC_SCHEDULE_ASCENDING] = OPC_PTX_ORDER_ASCENDING,
                                           [OPC_SCHEDULE_DESCENDING] = OPC_PTX_ORDER_DESCENDING,
                                           [OPC_SCHEDULE_SEEDED] = OPC_PTX_ORDER_SEEDED};
  launch->watch = watching ? OPC_PTX_WATCH_RACES | OPC_PTX_WATCH_VALUES : 0;
  launch->written = memory;
  launch->order = orders[schedule];
  launch->seed = schedule_seed;
  launch->budget = budget_in_order(program, launch->budget);
}

void opc_watch_ended(opc_kernel_program_t *program, const opc_ptx_outcome_t *outcome, uint64_t threads) {
  if (schedule != OPC_SCHEDULE_ASCENDING) return;
  if (outcome->end == OPC_PTX_OVER_BUDGET && threads < program->threads_most) program->threads_most = threads;
  if (outcome->end != OPC_PTX_OVER_BUDGET && outcome->lane_instructions > program->instructions_most)
    program->instructions_most = outcome->lane_instructions;
}

/* ---- memory ---- */

void opc_watch_allocated(const void *data, size_t bytes) {
  pthread_mutex_lock(&opc_lock_copies);
  if (memory && bytes < remembered_most) opc_written_allocated(memory, (uint64_t)(uintptr_t)data, bytes);
  pthread_mutex_unlock(&opc_lock_copies);
}

void opc_watch_bound(const void *base, const void *data, size_t bytes) {
  opc_range_bound(base, data, bytes);
  opc_watch_allocated(data, bytes);
}

void opc_watch_written(const void *data, size_t bytes) {
  pthread_mutex_lock(&opc_lock_copies);
  if (memory) opc_written_by_host(memory, (uint64_t)(uintptr_t)data, bytes);
  pthread_mutex_unlock(&opc_lock_copies);
}

/* Kernels cannot read it any more: nothing is asked of it. */
void opc_watch_released(uint64_t begin, uint64_t bytes) { opc_watch_written((const void *)(uintptr_t)begin, bytes); }

/* ---- faults ---- */

bool opc_watch_kind(opc_ptx_finding_kind_t kind, opc_device_fault_kind_t *out) {
  static const struct {
    opc_ptx_finding_kind_t found;
    opc_device_fault_kind_t fault;
  } kinds[] = {{OPC_PTX_RACE, OPC_FAULT_RACE},
               {OPC_PTX_RACE_OF_EQUALS, OPC_FAULT_RACE_OF_EQUALS},
               {OPC_PTX_RACE_IN_WARP, OPC_FAULT_RACE_IN_WARP},
               {OPC_PTX_UNINITIALISED, OPC_FAULT_UNINITIALISED},
               {OPC_PTX_DIVERGENT_BARRIER, OPC_FAULT_BARRIER},
               {OPC_PTX_UNFINISHED_COPY, OPC_FAULT_UNFINISHED_COPY}};
  for (size_t i = 0; watching && i < sizeof kinds / sizeof *kinds; i++) {
    if (kinds[i].found != kind) continue;
    *out = kinds[i].fault;
    return true;
  }
  return false;
}

/* *out_bytes (may be NULL): of what kernels may access there. */
static uint64_t allocation_of(uint64_t address, uint64_t *out_bytes) {
  opc_range_t range;
  if (address == 0 || !opc_range_find(address, &range)) return 0;
  if (out_bytes) *out_bytes = range.part_bytes != 0 ? range.part_bytes : range.bytes;
  return range.part_bytes != 0 ? range.part : range.base;
}

static void describe_other(const opc_ptx_side_t *side, opc_device_side_t *out) {
  char file[1024];
  *out = (opc_device_side_t){.known = side->ptx_line != 0,
                             .file = "",
                             .line = side->source_line,
                             .block = {side->block[0], side->block[1], side->block[2]},
                             .thread = {side->thread[0], side->thread[1], side->thread[2]},
                             .write = side->access != OPC_PTX_READ};
  if (!side->file) return;
  (void)snprintf(file, sizeof file, "%.*s", (int)side->file_length, side->file);
  out->file = opc_log_intern(file);
}

void opc_watch_describe(const opc_ptx_finding_t *finding, opc_device_fault_t *out) {
  if (out->kind < OPC_FAULT_RACE) return;
  describe_other(&finding->other, &out->other);
  out->stored_in = allocation_of(finding->stored_to, NULL);
  if (strcmp(finding->space, "global") == 0) out->nearest = allocation_of(finding->address, &out->nearest_bytes);
}
