/* Work belongs on the current stream, or on one that waits for it and that it waits for. Two streams must not use the
 * same memory unordered. */
#include <inttypes.h>
#include <stdlib.h>

#include "checks/cuda_log/cuda_analysis.h"

/* The order of the work in a log: streams are sequences of work, ordered by events, waiting streams and a waiting host.
 *
 * One vector clock per stream: how much of every stream's work comes before its next work. The host counts as one
 * thread, because a log does not show threads waiting for each other. Treating unordered work as ordered causes a
 * missed finding, not a false positive. Ownership: opc_cuda_order_t is a plain struct. Threads: no shared state. */
enum { OPC_CUDA_ORDER_STREAMS = 32, OPC_CUDA_ORDER_EVENTS = 128 };

typedef struct opc_cuda_clock {
  uint32_t work[OPC_CUDA_ORDER_STREAMS]; /* per stream: number of finished pieces of work */
} opc_cuda_clock_t;

typedef struct opc_cuda_order {
  struct opc_cuda_order_stream {
    opc_cuda_stream_kind_t kind;
    uint64_t handle;
    int device;
    opc_cuda_clock_t clock;
  } streams[OPC_CUDA_ORDER_STREAMS]; /* the first is the stream that was current */
  size_t stream_count;
  struct opc_cuda_order_event {
    uint64_t handle;
    opc_cuda_clock_t clock;
  } events[OPC_CUDA_ORDER_EVENTS];
  size_t event_count;
  opc_cuda_clock_t host;
  bool overflow; /* more streams or events than there is room for: the order is unknown */
} opc_cuda_order_t;

/* A piece of work and its place in the order. */
typedef struct opc_cuda_moment {
  size_t stream;   /* index in streams */
  uint32_t number; /* number within the stream, from 1; the current stream has had one piece of work before the call */
  opc_cuda_clock_t after; /* what is finished when it begins, itself included */
} opc_cuda_moment_t;

static void clock_join(opc_cuda_clock_t *clock, const opc_cuda_clock_t *other) {
  for (size_t i = 0; i < OPC_CUDA_ORDER_STREAMS; i++)
    if (other->work[i] > clock->work[i]) clock->work[i] = other->work[i];
}

/* Returns the index; OPC_CUDA_ORDER_STREAMS: no room. */
static size_t stream_index(opc_cuda_order_t *order, opc_cuda_stream_kind_t kind, uint64_t handle, int device) {
  for (size_t i = 0; i < order->stream_count; i++) {
    const struct opc_cuda_order_stream *stream = &order->streams[i];
    bool named = kind == OPC_CUDA_STREAM_CREATED || kind == OPC_CUDA_STREAM_UNKNOWN;
    if (stream->kind == kind && (named ? stream->handle == handle : stream->device == device)) return i;
  }
  if (order->stream_count == OPC_CUDA_ORDER_STREAMS) {
    order->overflow = true;
    return OPC_CUDA_ORDER_STREAMS;
  }
  order->streams[order->stream_count] =
      (struct opc_cuda_order_stream){.kind = kind, .handle = handle, .device = device};
  return order->stream_count++;
}

/* NULL: it was not recorded in this log. */
static struct opc_cuda_order_event *event_find(opc_cuda_order_t *order, uint64_t handle) {
  for (size_t i = 0; i < order->event_count; i++)
    if (order->events[i].handle == handle) return &order->events[i];
  return NULL;
}

static void event_record(opc_cuda_order_t *order, uint64_t handle, const opc_cuda_clock_t *clock) {
  struct opc_cuda_order_event *event = event_find(order, handle);
  if (!event && order->event_count == OPC_CUDA_ORDER_EVENTS) {
    order->overflow = true;
    return;
  }
  if (!event) event = &order->events[order->event_count++];
  *event = (struct opc_cuda_order_event){.handle = handle, .clock = *clock};
}

/* stream, device: the current one when the operator was called. */
static void cuda_order_begin(opc_cuda_order_t *order, uint64_t stream, int device) {
  opc_cuda_stream_kind_t kind = stream <= 1   ? OPC_CUDA_STREAM_LEGACY
                                : stream == 2 ? OPC_CUDA_STREAM_PER_THREAD
                                              : OPC_CUDA_STREAM_CREATED;
  *order = (opc_cuda_order_t){0};
  size_t current = stream_index(order, kind, stream, device);
  order->streams[current].clock.work[current] = 1; /* the work that created the arguments */
}

static void host_waits_for_device(opc_cuda_order_t *order, int device) {
  for (size_t i = 0; i < order->stream_count; i++)
    if (order->streams[i].device == device || order->streams[i].device < 0)
      clock_join(&order->host, &order->streams[i].clock);
}

static bool is_of_stream(const opc_cuda_call_t *call) {
  switch (call->kind) {
    case OPC_CUDA_LAUNCH:
    case OPC_CUDA_LIBRARY_WORK:
    case OPC_CUDA_COPY:
    case OPC_CUDA_FILL:
    case OPC_CUDA_EVENT_RECORD:
    case OPC_CUDA_STREAM_WAIT:
    case OPC_CUDA_STREAM_SYNCHRONIZE:
      return true;
    case OPC_CUDA_QUERY:
      return call->event == 0;
    default:
      return false;
  }
}

static void do_work(opc_cuda_order_t *order, const opc_cuda_call_t *call, size_t index, opc_cuda_moment_t *out) {
  opc_cuda_clock_t *clock = &order->streams[index].clock;
  clock_join(clock, &order->host);
  clock->work[index]++;
  if (out) *out = (opc_cuda_moment_t){.stream = index, .number = clock->work[index], .after = *clock};
  if (call->synchronous) clock_join(&order->host, clock);
}

/* Processes the next call of the log. True: it is work (opc_cuda_is_work), and *out (may be NULL) is filled in. */
static bool cuda_order_step(opc_cuda_order_t *order, const opc_cuda_call_t *call, opc_cuda_moment_t *out) {
  if (call->kind == OPC_CUDA_DEVICE_SYNCHRONIZE) host_waits_for_device(order, call->device);
  struct opc_cuda_order_event *event = event_find(order, call->event);
  if (call->kind == OPC_CUDA_EVENT_SYNCHRONIZE && event) clock_join(&order->host, &event->clock);
  bool is_over = call->kind == OPC_CUDA_QUERY && call->code == 0; /* later calls of the host come after it */
  if (is_over && event) clock_join(&order->host, &event->clock);
  if (!is_of_stream(call)) return false;

  size_t index = stream_index(order, call->stream_kind, call->stream, call->stream_device);
  if (index == OPC_CUDA_ORDER_STREAMS) return false;
  opc_cuda_clock_t *clock = &order->streams[index].clock;
  switch (call->kind) {
    case OPC_CUDA_LAUNCH:
    case OPC_CUDA_LIBRARY_WORK:
    case OPC_CUDA_COPY:
    case OPC_CUDA_FILL:
      do_work(order, call, index, out);
      return true;
    case OPC_CUDA_EVENT_RECORD:
      event_record(order, call->event, clock);
      break;
    case OPC_CUDA_STREAM_WAIT:
      if (event) clock_join(clock, &event->clock);
      break;
    case OPC_CUDA_STREAM_SYNCHRONIZE:
      clock_join(&order->host, clock);
      break;
    case OPC_CUDA_QUERY:
      if (is_over) clock_join(&order->host, clock);
      break;
    default:
      break;
  }
  return false;
}

/* True: the first is finished when the second begins. */
static bool cuda_moment_before(const opc_cuda_moment_t *first, const opc_cuda_moment_t *second) {
  return second->after.work[first->stream] >= first->number;
}

/* True: it is finished before the next work on the current stream, or before the host continues. */
static bool cuda_order_is_awaited(const opc_cuda_order_t *order, const opc_cuda_moment_t *moment) {
  return order->streams[0].clock.work[moment->stream] >= moment->number ||
         order->host.work[moment->stream] >= moment->number;
}

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
  cuda_order_begin(&works->order, facts->stream, facts->device);
  for (size_t i = 0; i < log->count; i++) {
    work_t *work = &works->items[works->count];
    work->index = i;
    works->count += cuda_order_step(&works->order, &log->calls[i], &work->moment);
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

static void analyse_place(const opc_cuda_facts_t *facts, const works_t *works, const work_t *work,
                          opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[work->index];
  char name[256], stream[128];
  bool waits = work->moment.after.work[0] >= 1 || touches_only_fresh(facts, work->index);
  bool awaited = facts->cut || facts->log.dropped ||
                 cuda_order_is_awaited(&works->order, &work->moment); /* the wait may be missing from the log */
  if (waits && awaited) return;
  opc_cuda_call_name(call, name, sizeof name);
  opc_cuda_stream_name(call, stream, sizeof stream);
  if (call->stream_kind == OPC_CUDA_STREAM_LEGACY) {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_stream_legacy, work->index, work->index,
                       "%s goes to %s instead of the current stream", name, stream);
  } else if (!waits && !awaited) {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_stream_other, work->index, work->index,
                       "%s goes to %s, and neither it nor the current stream waits for the other", name, stream);
  } else if (!waits) {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_stream_starts_early, work->index, work->index,
                       "%s goes to %s, which does not wait for what the current stream has before it", name, stream);
  } else {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_stream_not_awaited, work->index, work->index,
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

static void analyse_pair(const opc_cuda_facts_t *facts, const work_t *first, const work_t *second,
                         opc_cuda_founds_t *out) {
  const opc_cuda_call_t *earlier = &facts->log.calls[first->index], *later = &facts->log.calls[second->index];
  char writer_name[256], user_name[256], stream[128], other[128];
  if (first->moment.stream == second->moment.stream || cuda_moment_before(&first->moment, &second->moment)) return;
  if (!opc_cuda_is_own(facts, earlier) && !opc_cuda_is_own(facts, later)) return;
  bool earlier_writes = writes_what_is_used(earlier, later);
  if (!earlier_writes && !writes_what_is_used(later, earlier)) return;
  const opc_cuda_call_t *writer = earlier_writes ? earlier : later, *user = earlier_writes ? later : earlier;
  opc_cuda_found_add(
      out, &facts->log, OPC_RULE_stream_race, second->index, first->index,
      "%s on %s writes memory that %s on %s is given, but nothing orders the two",
      opc_cuda_call_name(writer, writer_name, sizeof writer_name), opc_cuda_stream_name(writer, stream, sizeof stream),
      opc_cuda_call_name(user, user_name, sizeof user_name), opc_cuda_stream_name(user, other, sizeof other));
}

static bool is_on_other_stream(const works_t *works, size_t i) { return works->items[i].moment.stream != 0; }

static void works_clear(works_t *works) { free(works->items); }

void opc_cuda_analyse_streams(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out) {
  OPC_SCOPED(works_clear) works_t works = {0};
  if (facts->device != facts->device_before)
    return; /* then work may be on a wrong device, which opc_cuda_analyse_devices reports */
  if (!works_collect(facts, &works)) return;
  const size_t before = out->count;
  for (size_t i = 0; i < works.count; i++)
    if (is_on_other_stream(&works, i) && opc_cuda_is_own(facts, &facts->log.calls[works.items[i].index]))
      analyse_place(facts, &works, &works.items[i], out);
  /* If a stream is not ordered with the current one, neither is anything on it: one finding is enough. */
  for (size_t i = 0; i < works.count && out->count == before; i++)
    for (size_t k = i + 1; k < works.count; k++)
      if (is_on_other_stream(&works, i) || is_on_other_stream(&works, k))
        analyse_pair(facts, &works.items[i], &works.items[k], out);
}
