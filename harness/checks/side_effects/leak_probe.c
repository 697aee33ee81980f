#include "checks/side_effects/leak_probe.h"
#include "base/system.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { WARM_UP = 4, ROUND = 8, REFUSED_WARM_UP = 2, REFUSED_ROUND = 3 };
enum { KEPT_WAITS = 100, KEPT_WAIT_US = 1000 };
/* If something grew: how many calls it may take to fill a cache. */
static const int cache_totals[] = {64, 128, 256, 512};
/* For slow operators, in seconds of processor time: for counting in every case, for looking for a growth step, and for
 * following a growth. Wall-clock time may be many times as much. */
static const double count_seconds = 0.05, step_seconds = 0.01, cache_seconds = 2;
static const double clock_factor = 30,
                    clock_seconds = 4; /* a busy machine does not make an operator slow; waiting does, in the end */
static const double slow_seconds = 0.2, slow_refusal_seconds = 0.01; /* wall-clock time of one call */

typedef struct opc_leak_held {
  opc_tensor_t *tensor; /* our handle, in addition to the call's */
  char path[96];
  opc_tensor_meta_t meta;
  bool again; /* the same tensor as an earlier entry */
} held_t;

static bool has_taken(const opc_leak_probe_t *probe, double seconds) {
  static double processors;
  if (processors < 1) processors = fmax(1, (double)sysconf(_SC_NPROCESSORS_ONLN));
  double clock = opc_clock() - probe->began;
  if (clock * processors <= seconds)
    return false; /* so no more can have been used; asking the system for that takes as long as a short call */
  return opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - probe->began_processor > seconds ||
         clock > fmin(seconds * clock_factor, clock_seconds);
}

/* ---- one call ---- */

static opc_status_t hold_arguments(opc_leak_probe_t *probe, const opc_call_t *call, opc_error_t *error) {
  if (call->tensor_arg_count > probe->held_room) {
    held_t *grown = realloc(probe->held, call->tensor_arg_count * sizeof *grown);
    if (!grown) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for handles to the arguments");
    probe->held = grown;
    probe->held_room = call->tensor_arg_count;
  }
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    held_t *held = &probe->held[i];
    held->tensor = opc_tensor_ref(call->tensor_args[i].tensor);
    opc_string_put(held->path, sizeof held->path, call->tensor_args[i].path);
  }
  return OPC_OK;
}

/* Only these handles are left: all other references to these tensors, or to their storage, belong to the operator. Two
 * arguments may be the same tensor, and an operator that changes an argument may have given it another's storage. */
static bool is_kept(const opc_leak_probe_t *probe, size_t count, const held_t *held, bool *out_storage_only) {
  size_t impl_uses = 0, storage_uses = 0, own_handles = 0, own_tensors = 0;
  opc_tensor_uses(held->tensor, &impl_uses, &storage_uses);
  for (size_t i = 0; i < count; i++) {
    const held_t *other = &probe->held[i];
    own_handles += other->meta.impl == held->meta.impl;
    own_tensors += other->meta.storage == held->meta.storage && !other->again;
  }
  *out_storage_only = impl_uses <= own_handles;
  return impl_uses > own_handles || storage_uses > own_tensors;
}

static bool find_kept(opc_leak_probe_t *probe, size_t count) {
  bool kept = false;
  for (size_t i = 0; i < count; i++) {
    held_t *held = &probe->held[i];
    opc_tensor_describe(held->tensor, &held->meta);
    held->again = false;
    for (size_t k = 0; k < i && !held->again; k++) held->again = probe->held[k].meta.impl == held->meta.impl;
  }
  for (size_t i = 0; i < count && !kept; i++) {
    kept = is_kept(probe, count, &probe->held[i], &probe->kept_storage);
    if (kept) snprintf(probe->kept, sizeof probe->kept, "%s", probe->held[i].path);
  }
  return kept;
}

/* A thread of the operator may be about to release its reference: it gets time for that when it matters. */
static void look_who_holds(opc_leak_probe_t *probe, size_t count) {
  bool kept = find_kept(probe, count);
  for (int i = 0; kept && probe->kept_calls + 1 == OPC_LEAK_KEPT_CALLS && i < KEPT_WAITS; i++) {
    if (i == 0) opc_bridge_collect_garbage(); /* what only a cycle of Python objects holds is not kept */
    else usleep(KEPT_WAIT_US);
    kept = find_kept(probe, count);
  }
  probe->kept_calls = kept ? probe->kept_calls + 1 : 0;
}

static opc_status_t probe_call(opc_leak_probe_t *probe, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  const opc_again_t again = {.context = probe->context, .label = {OPC_CALL_KIND_OPERATOR, "again and again"}};
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &call, error));
  probe->broken = call.outcome != probe->outcome;
  probe->calls++;
  size_t count = call.tensor_arg_count;
  OPC_RETURN_IF_ERROR(hold_arguments(probe, &call, error));
  opc_call_clear(&call); /* only our handles are left */
  look_who_holds(probe, count);
  for (size_t i = 0; i < count; i++) opc_tensor_free(probe->held[i].tensor);
  return OPC_OK;
}

/* ---- rounds ---- */

/* At least one call, and no more than the time since the first one allows. */
static opc_status_t call_often(opc_leak_probe_t *probe, int calls, double seconds, opc_error_t *error) {
  for (int i = 0; i < calls && !probe->broken; i++) {
    if (i && has_taken(probe, seconds)) break;
    OPC_RETURN_IF_ERROR(probe_call(probe, error));
  }
  return OPC_OK;
}

static opc_status_t read_growth(opc_leak_probe_t *probe, opc_error_t *error) {
  if (probe->broken) return OPC_OK;
  opc_bridge_collect_garbage();
  return opc_growth_read(&probe->growth, probe->calls, error);
}

/* The calls, then a reading. */
static opc_status_t probe_round(opc_leak_probe_t *probe, int calls, double seconds, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(call_often(probe, calls, seconds, error));
  return read_growth(probe, error);
}

/* Above both earlier readings: malloc's own count varies by a block or two, and the rises alone would look like
 * growth. */
static bool last_round_grew(const opc_leak_probe_t *probe) {
  size_t last = probe->growth.count - 1;
  return last > 0 && opc_growth_any(&probe->growth, last - 1, last) &&
         (last == 1 || opc_growth_any(&probe->growth, last - 2, last));
}

static bool goes_on(const opc_leak_probe_t *probe) {
  return !probe->broken && last_round_grew(probe) && !has_taken(probe, cache_seconds) &&
         !opc_growth_is_large(&probe->growth);
}

/* Growth in the first rounds may be a cache that fills: continues until the growth has ended, or has lasted long
 * enough. */
static opc_status_t wait_for_end(opc_leak_probe_t *probe, opc_error_t *error) {
  for (size_t i = 0; i < sizeof cache_totals / sizeof *cache_totals; i++) {
    if (i && !goes_on(probe)) break;
    OPC_RETURN_IF_ERROR(probe_round(probe, cache_totals[i] - probe->calls, cache_seconds, error));
  }
  return OPC_OK;
}

/* Repeats a round's calls on the arguments of one call: faster, and enough to detect a step. Not possible if the
 * operator changed their shape or storage, for example by resize_. */
static opc_status_t probe_quick_round(opc_leak_probe_t *probe, opc_call_t *call, int calls, double seconds,
                                      opc_error_t *error) {
  bool written = false, in_place = true;
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    written = written || opc_tensor_arg_is_mutable(&call->tensor_args[i]);
    in_place = in_place && opc_tensor_arg_is_in_place(&call->tensor_args[i]);
  }
  if (!in_place) return probe_round(probe, calls, seconds, error);
  for (int i = 0; i < calls && !probe->broken && !has_taken(probe, seconds); i++) {
    if (written) OPC_RETURN_IF_ERROR(opc_call_restore(call, error));
    probe->broken = opc_call_run(call, probe->context->handle, probe->context->seed) != probe->outcome;
    probe->calls++;
  }
  return read_growth(probe, error);
}

/* A vector that grows has room for as many calls again as there were, and then doubles: so the number of calls is
 * doubled, and doubled again if that showed growth. */
static opc_status_t wait_for_steps(opc_leak_probe_t *probe, opc_call_t *call, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(probe_quick_round(probe, call, WARM_UP, step_seconds, error));
  size_t from = probe->growth.count - 1;
  for (int round = 0; round < OPC_GROWTH_ROUNDS && !probe->broken; round++) {
    if (round && !goes_on(probe)) break;
    int calls = (int)opc_call_count().made;
    OPC_RETURN_IF_ERROR(probe_quick_round(probe, call, calls, round ? cache_seconds : step_seconds, error));
  }
  probe->grew = probe->grew || opc_growth_any(&probe->growth, from, probe->growth.count - 1);
  return OPC_OK;
}

/* What the first call initialises does not count. */
static void clocks_begin(opc_leak_probe_t *probe) {
  probe->began = opc_clock();
  probe->began_processor = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

static opc_status_t probe_warm_up(opc_leak_probe_t *probe, opc_error_t *error) {
  bool refused = probe->outcome != OPC_CALL_RETURNED;
  clocks_begin(probe);
  OPC_RETURN_IF_ERROR(probe_call(probe, error));
  probe->slow = opc_clock() - probe->began > (refused ? slow_refusal_seconds : slow_seconds);
  if (probe->slow) return OPC_OK;
  return probe_round(probe, (refused ? REFUSED_WARM_UP : WARM_UP) - 1, count_seconds / 4, error);
}

opc_status_t opc_leak_probe_run(opc_leak_probe_t *probe, opc_call_t *first, bool steps, opc_error_t *error) {
  bool refused = probe->outcome != OPC_CALL_RETURNED;
  OPC_RETURN_IF_ERROR(probe_warm_up(probe, error));
  for (int round = 0; round < OPC_GROWTH_ROUNDS && !probe->broken && !probe->slow; round++)
    OPC_RETURN_IF_ERROR(probe_round(probe, refused ? REFUSED_ROUND : ROUND, count_seconds, error));
  if (probe->broken || probe->slow) return OPC_OK;
  probe->grew = opc_growth_any(&probe->growth, 0, probe->growth.count - 1);
  if (probe->grew) OPC_RETURN_IF_ERROR(wait_for_end(probe, error));
  /* If the growth ended, it may have been a step. */
  bool more = steps && !refused && !probe->broken && !last_round_grew(probe) && !has_taken(probe, step_seconds);
  return more ? wait_for_steps(probe, first, error) : OPC_OK;
}

void opc_leak_probe_clear(opc_leak_probe_t *probe) {
  free(probe->held);
  probe->held = NULL;
}
