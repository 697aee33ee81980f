/* Work belongs on the current stream, or on one that waits for it and that it waits for. Two streams must not use the
 * same memory unordered. */
#include <inttypes.h>
#include <stdlib.h>

#include "checks/cuda_log/cuda_analysis.h"
#include "checks/cuda_log/cuda_order.h"

/* A piece of work and its position in the stream order. */
typedef struct work {
  size_t index; /* in the log */
  opc_cuda_moment_t moment;
} work_t;

typedef struct works {
  work_t *items;
  size_t count;
  opc_cuda_order_t order;
} works_t;

/* False: out of memory, or more streams than the order has room for. */
static bool works_collect(const opc_cuda_facts_t *facts, works_t *works) {
  const opc_cuda_log_t *log = &facts->log;
  works->items = calloc(log->count + 1, sizeof *works->items);
  if (!works->items) return false;
  opc_cuda_order_begin(&works->order, facts->stream, facts->device);
  for (size_t i = 0; i < log->count; i++) {
    work_t *work = &works->items[works->count];
    work->index = i;
    works->count += opc_cuda_order_step(&works->order, &log->calls[i], &work->moment);
  }
  return !works->order.overflow;
}

/* ---- memory that nothing else can be using ---- */

static bool is_fresh(const opc_cuda_facts_t *facts, size_t before, const opc_cuda_address_t *address) {
  for (size_t i = 0; i < before; i++) {
    const opc_cuda_call_t *call = &facts->log.calls[i];
    bool inside = call->to.value <= address->value && address->value - call->to.value < call->bytes;
    if (call->kind == OPC_CUDA_ALLOCATE && inside && opc_cuda_is_own(facts, call)) return true;
  }
  return false;
}

static bool is_on_device(const opc_cuda_address_t *address) {
  return address->place == OPC_CUDA_DEVICE || address->place == OPC_CUDA_MANAGED || address->place == OPC_CUDA_FREED;
}

/* The operator allocated all device memory that it touches from the runtime in this call: there is nothing to wait
 * for. */
static bool touches_only_fresh(const opc_cuda_facts_t *facts, size_t index) {
  const opc_cuda_call_t *call = &facts->log.calls[index];
  if (!opc_cuda_is_kernel(call)) {
    bool to = is_on_device(&call->to), from = is_on_device(&call->from);
    return (!to || is_fresh(facts, index, &call->to)) && (!from || is_fresh(facts, index, &call->from));
  }
  if (!call->parameters_known || call->pointer_count == 0 || call->pointer_count == OPC_CUDA_POINTERS) return false;
  for (size_t i = 0; i < call->pointer_count; i++)
    if (!is_fresh(facts, index, &call->pointers[i])) return false;
  return true;
}

/* ---- work on other streams ---- */

static void judge_place(const opc_cuda_facts_t *facts, const works_t *works, const work_t *work,
                        opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[work->index];
  char name[256], stream[128];
  bool waits = work->moment.after.work[0] >= 1 || touches_only_fresh(facts, work->index);
  bool awaited = facts->cut || facts->log.dropped ||
                 opc_cuda_order_is_awaited(&works->order, &work->moment); /* the wait may be missing from the log */
  if (waits && awaited) return;
  opc_cuda_call_name(call, name, sizeof name);
  opc_cuda_stream_name(call, stream, sizeof stream);
  if (call->stream_kind == OPC_CUDA_STREAM_LEGACY) {
    opc_cuda_found_add(out, &facts->log, "stream.legacy", work->index, work->index,
                       "%s goes to %s instead of the current stream", name, stream);
  } else if (!waits && !awaited) {
    opc_cuda_found_add(out, &facts->log, "stream.other", work->index, work->index,
                       "%s goes to %s, and neither it nor the current stream waits for the other", name, stream);
  } else if (!waits) {
    opc_cuda_found_add(out, &facts->log, "stream.starts_early", work->index, work->index,
                       "%s goes to %s, which does not wait for what the current stream has before it", name, stream);
  } else {
    opc_cuda_found_add(out, &facts->log, "stream.not_awaited", work->index, work->index,
                       "%s goes to %s, and the current stream does not wait for it", name, stream);
  }
}

/* ---- two streams, one memory ---- */

static bool overlaps(const opc_cuda_address_t *left, uint64_t left_bytes, const opc_cuda_address_t *right,
                     uint64_t right_bytes) {
  return is_on_device(left) && is_on_device(right) && left->value < right->value + right_bytes &&
         right->value < left->value + left_bytes;
}

/* A copy or fill writes to memory that the other call gets. */
static bool writes_what_is_used(const opc_cuda_call_t *writer, const opc_cuda_call_t *user) {
  if (opc_cuda_is_kernel(writer) || !writer->bytes) return false;
  if (!opc_cuda_is_kernel(user)) {
    bool to = overlaps(&writer->to, writer->bytes, &user->to, user->bytes);
    return to || (user->kind == OPC_CUDA_COPY && overlaps(&writer->to, writer->bytes, &user->from, user->bytes));
  }
  for (size_t i = 0; i < user->pointer_count; i++)
    if (user->alone[i] && overlaps(&writer->to, writer->bytes, &user->pointers[i], 1)) return true;
  return false;
}

static void judge_pair(const opc_cuda_facts_t *facts, const work_t *first, const work_t *second,
                       opc_cuda_founds_t *out) {
  const opc_cuda_call_t *earlier = &facts->log.calls[first->index], *later = &facts->log.calls[second->index];
  char writer_name[256], user_name[256], stream[128], other[128];
  if (first->moment.stream == second->moment.stream || opc_cuda_moment_before(&first->moment, &second->moment)) return;
  if (!opc_cuda_is_own(facts, earlier) && !opc_cuda_is_own(facts, later)) return;
  bool earlier_writes = writes_what_is_used(earlier, later);
  if (!earlier_writes && !writes_what_is_used(later, earlier)) return;
  const opc_cuda_call_t *writer = earlier_writes ? earlier : later, *user = earlier_writes ? later : earlier;
  opc_cuda_found_add(
      out, &facts->log, "stream.race", second->index, first->index,
      "%s on %s writes memory that %s on %s is given, but nothing orders the two",
      opc_cuda_call_name(writer, writer_name, sizeof writer_name), opc_cuda_stream_name(writer, stream, sizeof stream),
      opc_cuda_call_name(user, user_name, sizeof user_name), opc_cuda_stream_name(user, other, sizeof other));
}

static bool is_beside(const works_t *works, size_t i) { return works->items[i].moment.stream != 0; }

void opc_cuda_analyse_streams(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out) {
  works_t works = {0};
  if (facts->device != facts->device_before)
    return; /* then work may be on a wrong device, which opc_cuda_analyse_devices reports */
  if (works_collect(facts, &works)) {
    size_t before = out->count;
    for (size_t i = 0; i < works.count; i++)
      if (is_beside(&works, i) && opc_cuda_is_own(facts, &facts->log.calls[works.items[i].index]))
        judge_place(facts, &works, &works.items[i], out);
    /* If a stream is not ordered with the current one, neither is anything on it: one finding is enough. */
    for (size_t i = 0; i < works.count && out->count == before; i++)
      for (size_t k = i + 1; k < works.count; k++)
        if (is_beside(&works, i) || is_beside(&works, k)) judge_pair(facts, &works.items[i], &works.items[k], out);
  }
  free(works.items);
}
