/* leak: what calls leave behind after their arguments and results were freed: tensors, memory, references, descriptors,
 * threads. */
#include <errno.h>

#include "checks/compare/compare.h"
#include "checks/framework/global_state.h"
#include "checks/side_effects/leak_probe.h"
#include "memory/cpu_memory.h"

static json_t *readings_evidence(const opc_growth_t *growth, opc_growth_kind_t kind) {
  json_t *list = json_array();
  for (size_t i = 0; i < growth->count; i++) {
    const opc_reading_t *reading = &growth->readings[i];
    json_array_append_new(list,
                          json_pack("{s:i, s:I}", "calls", reading->calls, "held", (json_int_t)reading->values[kind]));
  }
  return list;
}

typedef struct span {
  int calls;
  double amount, block_bytes;
} span_t;

static span_t last_rounds(const opc_growth_t *growth, opc_growth_kind_t kind) {
  const opc_reading_t *from = &growth->readings[growth->count - 1 - OPC_GROWTH_ROUNDS],
                      *to = &growth->readings[growth->count - 1];
  return (span_t){.calls = to->calls - from->calls,
                  .amount = (double)to->values[kind] - (double)from->values[kind],
                  .block_bytes = (double)to->block_bytes - (double)from->block_bytes};
}

static const char *refusing(const opc_leak_probe_t *probe) {
  if (probe->with_grad) return ", with arguments that require grad";
  return probe->outcome == OPC_CALL_RETURNED ? "" : ", each of which was refused";
}

static bool report_steady(const opc_leak_probe_t *probe, opc_growth_kind_t kind, opc_rule_id_t rule, const char *what,
                          opc_finding_t *finding) {
  if (!opc_growth_is_steady(&probe->growth, kind)) return false;
  span_t span = last_rounds(&probe->growth, kind);
  opc_finding_fail(finding, rule, "%.0f %s are left after %d calls%s: %.1f per call, still growing after %d calls",
                   span.amount, what, span.calls, refusing(probe), span.amount / span.calls, probe->calls);
  opc_finding_evidence(finding, "readings", readings_evidence(&probe->growth, kind));
  return true;
}

static void report_reference(const opc_leak_probe_t *probe, bool grows, opc_finding_t *finding) {
  const char *what = probe->kept_storage ? "the storage of argument" : "argument";
  if (grows)
    opc_finding_fail(finding, OPC_RULE_leak_reference,
                     "%s %s of every call is still referenced after the caller has released it%s: the memory of %d "
                     "calls' arguments is not freed",
                     what, probe->kept, refusing(probe), probe->calls);
  else
    opc_finding_fail(finding, OPC_RULE_leak_argument_kept,
                     "%s %s is still referenced after the caller has released it%s: its memory is freed only by a "
                     "later call, if ever",
                     what, probe->kept, refusing(probe));
}

/* Each call returns the address of an object of its own: it is meant to stay until another operator releases it. */
static bool returns_objects(const opc_leak_probe_t *probe) {
  const opc_again_t again = {.context = probe->context, .label = {OPC_CALL_KIND_OPERATOR, "once more"}};
  OPC_SCOPED(opc_result_clear) opc_result_t first = {0}, second = {0};
  opc_call_outcome_t outcome = probe->outcome;
  opc_error_t error = {0};
  return outcome == OPC_CALL_RETURNED && opc_again_run(&again, &first, &outcome, NULL, &error) == OPC_OK &&
         opc_again_run(&again, &second, &outcome, NULL, &error) == OPC_OK && opc_results_are_handles(&first, &second);
}

static void report_leaks(const opc_leak_probe_t *probe, opc_finding_t *finding) {
  const opc_growth_t *growth = &probe->growth;
  bool kept = probe->kept_calls >= OPC_LEAK_KEPT_CALLS;
  bool blocks = opc_growth_is_steady(growth, OPC_GROWTH_BLOCKS),
       bytes = opc_growth_is_steady(growth, OPC_GROWTH_ALLOCATED);
  bool reported =
      report_steady(probe, OPC_GROWTH_DESCRIPTORS, OPC_RULE_leak_file_descriptor, "file descriptors", finding);
  reported = report_steady(probe, OPC_GROWTH_THREADS, OPC_RULE_leak_thread, "threads", finding) || reported;
  if (kept) report_reference(probe, blocks || bytes, finding);
  if (blocks && !kept) {
    span_t span = last_rounds(growth, OPC_GROWTH_BLOCKS);
    opc_finding_fail(finding, OPC_RULE_leak_tensor,
                     "%.0f blocks of tensor memory, %.0f bytes, are left after %d calls%s: %.0f bytes per call, still "
                     "growing after %d calls",
                     span.amount, span.block_bytes, span.calls, refusing(probe), span.block_bytes / span.calls,
                     probe->calls);
    opc_finding_evidence(finding, "readings", readings_evidence(growth, OPC_GROWTH_BLOCKS));
  }
  /* A leaked tensor, stream or thread has memory of its own; fixing that leak also removes the memory. */
  if (reported || kept || blocks) return;
  if ((bytes || opc_growth_is_steady(growth, OPC_GROWTH_MAPPED)) && returns_objects(probe)) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "each call returns the address of an object of its own, whose memory stays until another operator "
                     "releases it");
    return;
  }
  if (report_steady(probe, OPC_GROWTH_ALLOCATED, OPC_RULE_leak_memory, "bytes of malloc or operator new", finding))
    return;
  report_steady(probe, OPC_GROWTH_MAPPED, OPC_RULE_leak_memory, "bytes of mmap", finding);
}

/* Calls before this case may have used up everything: then no further call can leave more behind. */
static void report_earlier(const opc_leak_probe_t *probe, opc_finding_t *finding) {
  enum { MANY = 64 };
  static const struct {
    opc_growth_kind_t kind;
    opc_rule_id_t rule;
    const char *what;
  } rows[] = {{OPC_GROWTH_DESCRIPTORS, OPC_RULE_leak_file_descriptor, "file descriptors"},
              {OPC_GROWTH_THREADS, OPC_RULE_leak_thread, "threads"}};
  const opc_process_use_t *first = &opc_first_call_changes()->use;
  uint64_t calls = opc_call_count().made;
  for (size_t i = 0; i < sizeof rows / sizeof *rows && first->threads && probe->growth.count; i++) {
    size_t before = rows[i].kind == OPC_GROWTH_THREADS ? first->threads : first->descriptors;
    size_t now = probe->growth.readings[0].values[rows[i].kind];
    if (now < before + MANY || now - before < calls / 2 || opc_growth_is_steady(&probe->growth, rows[i].kind)) continue;
    opc_finding_fail(finding, rows[i].rule, "%zu %s are left after the %llu calls that were made in this process",
                     now - before, rows[i].what, (unsigned long long)calls);
  }
}

static void report_pass(const opc_leak_probe_t *probe, opc_finding_t *finding) {
  const char *where = probe->context->device.type == OPC_DEVICE_CPU ? "" : " on the host";
  if (probe->slow) opc_finding_skip(finding, OPC_SKIP_BUDGET, "a call takes too long to repeat often");
  else if (probe->broken)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "call %d on the same arguments ended differently from the first",
                     probe->calls);
  else if (probe->grew) opc_finding_pass(finding, "what %d calls keep%s has stopped growing", probe->calls, where);
  else opc_finding_pass(finding, "%d calls leave nothing behind%s", probe->calls, where);
}

/* ---- what a graph keeps alive ---- */

/* A result that its own node keeps alive, in saved_data or in a member, forms a reference cycle: without arguments that
 * require grad there is no node. */
static opc_status_t look_at_graph(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  opc_case_context_t with_grad = *context;
  OPC_SCOPED(opc_leak_probe_clear) opc_leak_probe_t probe = {.context = &with_grad, .with_grad = true};
  opc_tensor_spec_t *spec;
  bool some = false;
  if (context->device.type != OPC_DEVICE_CPU || !opc_operator_has_formula(context->op) ||
      opc_operator_is_mutable(context->op))
    return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_sample_copy(context->sample, &sample, error));
  for (size_t i = 0; (spec = opc_sample_tensor(&sample, i)); i++) {
    spec->requires_grad |= opc_dtype_is_inexact(spec->dtype);
    some |= opc_dtype_is_inexact(spec->dtype);
  }
  if (!some) return OPC_OK;
  with_grad.sample = &sample;
  OPC_RETURN_IF_ERROR(opc_call_make(&call, context->op, &sample, context->device, context->seed, error));
  probe.outcome = opc_call_run(&call, context->handle, context->seed);
  if (probe.outcome != OPC_CALL_RETURNED) return OPC_OK;
  opc_call_clear(&call);
  OPC_RETURN_IF_ERROR(opc_leak_probe_run(&probe, NULL, false, error));
  report_leaks(&probe, finding);
  return OPC_OK;
}

/* ---- the case ---- */

/* Leaks of the unmodified sample, and of larger tensors, count if they are accepted; all other cases test what a
 * refusal leaves behind. */
static bool is_counted(const opc_case_context_t *context, opc_call_outcome_t outcome) {
  if (outcome == OPC_CALL_REJECTED || outcome == OPC_CALL_INTERNAL_ASSERT) return true;
  return outcome == OPC_CALL_RETURNED && (context->unmodified || (context->variant.families & OPC_VARIANT_SHAPE));
}

static opc_status_t check_calls(opc_leak_probe_t *probe, opc_call_t *call, opc_finding_t *finding, bool first_case,
                                opc_error_t *error) {
  opc_case_context_t *context = probe->context;
  OPC_RETURN_IF_ERROR(opc_call_make(call, context->op, context->sample, context->device, context->seed, error));
  if (first_case) OPC_RETURN_IF_ERROR(opc_call_snapshot(call, error));
  context->announce(OPC_CALL_LABEL(OPERATOR, ""));
  probe->outcome = opc_call_run(call, context->handle, context->seed);
  if (!is_counted(context, probe->outcome)) return OPC_OK;

  opc_cpu_memory_plain(); /* guarded memory creates mappings of its own */
  const opc_status_t status = opc_leak_probe_run(probe, call, first_case, error);
  if (status == OPC_ERR_SYSTEM && errno == EMFILE)
    return opc_finding_fail(finding, OPC_RULE_leak_file_descriptor,
                            "no file descriptor is left after the %llu calls that were made in this process",
                            (unsigned long long)opc_call_count().made);
  OPC_RETURN_IF_ERROR(status);
  report_leaks(probe, finding);
  report_earlier(probe, finding);
  if (first_case && probe->outcome == OPC_CALL_RETURNED && !finding->decided && !probe->slow)
    OPC_RETURN_IF_ERROR(look_at_graph(context, finding, error));
  if (probe->outcome == OPC_CALL_RETURNED) report_pass(probe, finding);
  return OPC_OK;
}

static opc_status_t leak_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  const opc_check_session_t *session = context->session;
  const bool first_case = !*session->ran;
  OPC_SCOPED(opc_leak_probe_clear) opc_leak_probe_t probe = {.context = context};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_RETURN_IF_ERROR(check_calls(&probe, &call, finding, first_case, error));
  if (probe.outcome != OPC_CALL_RETURNED) opc_finding_from_outcome(context, &call, finding);
  else if (!finding->decided)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "accepted: what is left behind is counted on the unmodified sample");
  return OPC_OK;
}

const opc_check_t opc_check_leak = {.name = "leak", .run = leak_run};
