/* device_memory: the device memory, pinned memory, streams, events and device tensors that calls leave behind do not
 * grow with the number of calls. */
#include "checks/cuda/cuda_watch.h"
#include "checks/cuda_log/cuda_tracker.h"

enum { WARM_UP = 4, ROUND = 8, ROUNDS = OPC_CUDA_TRACKER_STEADY };
/* If something grew: how many calls it may take to fill a cache. */
static const uint64_t cache_totals[] = {64, 128, 256, 512};

typedef struct probe {
  opc_cuda_watch_t *watch;
  opc_cuda_tracker_t tracker;
  uint64_t calls;
  opc_call_outcome_t outcome; /* of the first call */
  bool broken;                /* a later call had another outcome */
} probe_t;

/* One call: its arguments and returns are created and freed within the log. */
static opc_status_t call_once(probe_t *probe, opc_error_t *error) {
  opc_cuda_watch_t *watch = probe->watch;
  opc_case_context_t *context = watch->context;
  watch->api->log_begin();
  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  context->announce(OPC_CALL_LABEL(OPERATOR, probe->calls ? "again and again" : ""));
  opc_call_outcome_t outcome = opc_call_run(&watch->call, context->handle, context->seed);
  if (!probe->calls) probe->outcome = outcome;
  probe->broken = outcome != probe->outcome;
  probe->calls++;
  if (outcome == OPC_CALL_RETURNED) opc_call_clear(&watch->call);
  watch->facts.log = watch->api->log_end();
  opc_cuda_tracker_add(&probe->tracker, &watch->facts);
  return OPC_OK;
}

/* Calls until there were `total` calls, then takes a reading. */
static opc_status_t tracker_round_run(probe_t *probe, uint64_t total, opc_error_t *error) {
  uint64_t bytes = 0;
  while (probe->calls < total && !probe->broken) {
    OPC_RETURN_IF_ERROR(call_once(probe, error));
    if (probe->outcome != OPC_CALL_RETURNED || probe->broken) return OPC_OK;
  }
  OPC_RETURN_IF_ERROR(opc_cuda_allocated(probe->watch->device, &bytes, error));
  opc_cuda_tracker_read(&probe->tracker, probe->calls, bytes);
  return OPC_OK;
}

static opc_status_t probe_run(probe_t *probe, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(tracker_round_run(probe, WARM_UP, error));
  for (uint64_t i = 1; i <= ROUNDS && !probe->broken && probe->outcome == OPC_CALL_RETURNED; i++)
    OPC_RETURN_IF_ERROR(tracker_round_run(probe, WARM_UP + i * ROUND, error));
  for (size_t i = 0; i < sizeof cache_totals / sizeof *cache_totals; i++) {
    if (probe->broken || probe->outcome != OPC_CALL_RETURNED || !opc_cuda_tracker_grew(&probe->tracker)) break;
    OPC_RETURN_IF_ERROR(tracker_round_run(probe, cache_totals[i], error));
  }
  return OPC_OK;
}

static void report_growth(probe_t *probe, opc_finding_t *finding) {
  opc_cuda_call_t makers[OPC_CUDA_HOLDINGS];
  opc_cuda_founds_t founds = {0};
  if (probe->broken) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "call %llu on the same arguments ended differently from the first",
                     (unsigned long long)probe->calls);
  } else if (probe->tracker.incomplete) {
    opc_finding_skip(finding, OPC_SKIP_BUDGET, "more calls of the CUDA runtime than the log can hold");
  } else {
    opc_cuda_analyse_growth(&probe->tracker, makers, &founds);
    opc_cuda_report(&founds, makers, finding);
  }
  if (!finding->decided && !opc_cuda_watch_is_blind(probe->watch, finding))
    opc_finding_pass(finding,
                     "%llu calls leave no growing amount of device memory, pinned memory, streams or events behind",
                     (unsigned long long)probe->calls);
}

static void probe_clear(probe_t *probe) { opc_cuda_tracker_clear(&probe->tracker); }

static opc_status_t device_memory_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_cuda_watch_end) opc_cuda_watch_t watch = {0};
  OPC_SCOPED(probe_clear) probe_t probe = {.watch = &watch};
  if (!opc_cuda_watch_begin(&watch, context, finding)) return OPC_OK;
  opc_cuda_watch_facts(&watch);
  OPC_RETURN_IF_ERROR(probe_run(&probe, error));
  if (probe.outcome != OPC_CALL_RETURNED) opc_finding_from_outcome(context, &watch.call, finding);
  else report_growth(&probe, finding);
  return OPC_OK;
}

const opc_check_t opc_check_device_memory = {.name = "device_memory", .run = device_memory_run};
