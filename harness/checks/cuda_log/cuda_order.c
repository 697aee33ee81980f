#include "checks/cuda_log/cuda_order.h"

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

void opc_cuda_order_begin(opc_cuda_order_t *order, uint64_t stream, int device) {
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

bool opc_cuda_order_step(opc_cuda_order_t *order, const opc_cuda_call_t *call, opc_cuda_moment_t *out) {
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

bool opc_cuda_moment_before(const opc_cuda_moment_t *first, const opc_cuda_moment_t *second) {
  return second->after.work[first->stream] >= first->number;
}

bool opc_cuda_order_is_awaited(const opc_cuda_order_t *order, const opc_cuda_moment_t *moment) {
  return order->streams[0].clock.work[moment->stream] >= moment->number ||
         order->host.work[moment->stream] >= moment->number;
}
