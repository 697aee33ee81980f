/* Launches: each succeeds, its error is checked, and no error is left behind. */
#include <string.h>

#include "checks/cuda_log/cuda_analysis.h"

enum { INVALID_VALUE = 1, INVALID_CONFIGURATION = 9 }; /* for a grid of 0: of the driver, and of the runtime */

/* ---- a failing launch ---- */

static bool has_zero(const uint32_t extent[3]) { return !extent[0] || !extent[1] || !extent[2]; }

/* Larger numbers were negative before they became unsigned. */
static bool was_negative(uint32_t number) { return number > INT32_MAX; }

static void add_extent(const char *name, const uint32_t extent[3], const uint32_t limit[3], char *out, size_t size) {
  for (size_t i = 0; i < 3; i++) {
    size_t length = strlen(out);
    const char *before = length ? ", and " : "";
    char was[48] = "";
    if (was_negative(extent[i])) snprintf(was, sizeof was, " (%d before it became unsigned)", (int32_t)extent[i]);
    if (!extent[i]) snprintf(out + length, size - length, "%s%s.%c is 0", before, name, "xyz"[i]);
    else if (limit[i] && extent[i] > limit[i])
      snprintf(out + length, size - length, "%s%s.%c is %u%s; the device allows %u", before, name, "xyz"[i], extent[i],
               was, limit[i]);
  }
}

/* The limit that the launch exceeds: "gridDim.y is 65536 where the device takes 65535"; "": no known limit. */
static void limits_broken(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call, char *out, size_t size) {
  const opc_cuda_limits_t *limits = &facts->limits;
  uint64_t threads = (uint64_t)call->block[0] * call->block[1] * call->block[2];
  out[0] = '\0';
  add_extent("gridDim", call->grid, limits->grid, out, size);
  add_extent("blockDim", call->block, limits->block, out, size);
  size_t length = strlen(out);
  if (limits->threads && threads > limits->threads && !length) {
    snprintf(out, size, "a block of %u x %u x %u is %llu threads; the device allows %u", call->block[0], call->block[1],
             call->block[2], (unsigned long long)threads, limits->threads);
  } else if (limits->shared_optin && call->shared > limits->shared_optin && !length) {
    snprintf(out, size, "%llu bytes of shared memory per block; the device has %u", (unsigned long long)call->shared,
             limits->shared_optin);
  } else if (limits->shared && call->shared > limits->shared && !length) {
    snprintf(out, size,
             "%llu bytes of shared memory per block; more than %u must be requested first, with cudaFuncSetAttribute",
             (unsigned long long)call->shared, limits->shared);
  }
}

static bool is_of_host(const opc_cuda_address_t *address) {
  return address->place == OPC_CUDA_PINNED || address->place == OPC_CUDA_PAGEABLE;
}

/* Before the launch, data that no kernel has written was copied back from the device; the launch may be computed from
 * it. */
static bool follows_made_up_numbers(const opc_cuda_facts_t *facts, size_t index) {
  bool launched = facts->large;
  for (size_t i = 0; i < index && facts->simulated; i++) {
    const opc_cuda_call_t *call = &facts->log.calls[i];
    launched = launched || opc_cuda_is_kernel(call);
    bool read = call->kind == OPC_CUDA_COPY && is_of_host(&call->to) && !is_of_host(&call->from);
    if (launched && (read || call->kind == OPC_CUDA_HOST_ACCESS)) return true;
  }
  return false;
}

/* What may grow with a tensor: the grid, and a block's shared memory. */
static bool breaks_by_size(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call) {
  bool grid = has_zero(call->grid), block = has_zero(call->block);
  for (size_t i = 0; i < 3; i++) {
    grid = grid || (facts->limits.grid[i] && call->grid[i] > facts->limits.grid[i]);
    block = block || (facts->limits.block[i] && call->block[i] > facts->limits.block[i]);
  }
  return grid || (!block && call->shared > facts->limits.shared);
}

static void analyse_failure(const opc_cuda_facts_t *facts, size_t index, opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[index];
  if (follows_made_up_numbers(facts, index)) return;
  char name[256], code[96], limits[300];
  opc_cuda_call_name(call, name, sizeof name);
  opc_cuda_code_name(call->code, code, sizeof code);
  limits_broken(facts, call, limits, sizeof limits);
  const char *colon = limits[0] ? ": " : "";
  bool invalid = call->code == INVALID_CONFIGURATION || call->code == INVALID_VALUE;
  if (facts->empty && invalid && has_zero(call->grid)) {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_empty_tensor, index, index,
                       "the launch of %s for an empty tensor fails with %s%s%s", name, code, colon, limits);
  } else if (facts->large && breaks_by_size(facts, call)) {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_large_tensor, index, index,
                       "the launch of %s for a large tensor fails with %s%s%s", name, code, colon, limits);
  } else {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_failed, index, index, "the launch of %s fails with %s%s%s",
                       name, code, colon, limits);
  }
}

/* ---- error checks ---- */

/* nvcc's stubs discard the result. Code that calls cudaLaunchKernel itself has it, and only a failure shows whether it
 * is checked. */
static bool result_is_thrown_away(const opc_cuda_call_t *call) {
  return call->by_stub || strncmp(call->function, "__cuda", 6) == 0;
}

/* A CUDA runtime linked statically into a library has its own last error: only that library can query it, and it
 * queries no other. */
static bool is_same_runtime(const opc_cuda_call_t *launch, const opc_cuda_call_t *call) {
  return launch->unwrapped == call->unwrapped && (!launch->unwrapped || strcmp(launch->library, call->library) == 0);
}

static bool is_check(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call, const opc_cuda_call_t *launch) {
  bool asks = call->kind == OPC_CUDA_LAST_ERROR || call->kind == OPC_CUDA_PEEK_ERROR;
  return asks && call->thread == launch->thread && is_same_runtime(launch, call) &&
         facts->owner(call->library, facts->context) != OPC_CUDA_OF_OTHERS;
}

typedef enum checked { CHECKED = 0, CHECKED_LATE, UNCHECKED } checked_t;

static checked_t how_checked(const opc_cuda_facts_t *facts, size_t index, size_t *out_next) {
  const opc_cuda_log_t *log = &facts->log;
  const opc_cuda_call_t *launch = &log->calls[index];
  *out_next = index;
  for (size_t i = index + 1; i < log->count; i++) {
    const opc_cuda_call_t *call = &log->calls[i];
    if (is_check(facts, call, launch)) return *out_next == index ? CHECKED : CHECKED_LATE;
    if (call->kind == OPC_CUDA_LAUNCH && call->thread == launch->thread && *out_next == index) *out_next = i;
  }
  return UNCHECKED;
}

static void analyse_check(const opc_cuda_facts_t *facts, size_t index, opc_cuda_founds_t *out,
                          opc_cuda_founds_t *late) {
  const opc_cuda_log_t *log = &facts->log;
  const opc_cuda_call_t *call = &log->calls[index];
  char name[256], next_name[256];
  size_t next;
  if (!result_is_thrown_away(call)) return;
  opc_cuda_call_name(call, name, sizeof name);
  switch (how_checked(facts, index, &next)) {
    case CHECKED:
      break;
    case CHECKED_LATE:
      opc_cuda_found_add(late, log, OPC_RULE_launch_checked_late, index, next,
                         "the error of launching %s is checked only after %s was launched", name,
                         opc_cuda_call_name(&log->calls[next], next_name, sizeof next_name));
      break;
    case UNCHECKED:
      if (log->dropped || facts->cut) break; /* the check may be missing from the log */
      opc_cuda_found_add(out, log, OPC_RULE_launch_unchecked, index, index,
                         "%s is launched, but nothing asks %sfor the launch's error before the operator %s", name,
                         call->unwrapped ? "the library's own runtime " : "", facts->returned ? "returns" : "throws");
      break;
  }
}

/* ---- errors left behind ---- */

/* The last call of the operator's thread that failed, through the shared runtime, which holds the error; log.count:
 * none failed. */
static size_t find_error_source(const opc_cuda_facts_t *facts) {
  for (size_t i = facts->log.count; i-- > 0;)
    if (facts->log.calls[i].thread == 0 && !facts->log.calls[i].unwrapped &&
        facts->log.calls[i].code == facts->last_error)
      return i;
  return facts->log.count;
}

static bool is_told(const opc_cuda_founds_t *founds, opc_rule_id_t rule, uint64_t caller, const opc_cuda_log_t *log) {
  for (size_t i = 0; i < founds->count; i++)
    if (founds->items[i].rule == rule && log->calls[founds->items[i].calls[0]].caller == caller) return true;
  return false;
}

static void analyse_error_left(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out) {
  const opc_cuda_log_t *log = &facts->log;
  size_t source = find_error_source(facts);
  char code[96], name[256];
  if (facts->cut || !facts->last_error || source == log->count) return;
  const opc_cuda_call_t *call = &log->calls[source];
  /* A launch that is never checked leaves its error behind: launch.unchecked already reports it. */
  if (!opc_cuda_is_own(facts, call) || is_told(out, OPC_RULE_launch_unchecked, call->caller, log)) return;
  opc_cuda_found_add(out, log, OPC_RULE_launch_error_left, source, source,
                     "the operator %s with %s pending, the error of %s: the next error check gets it",
                     facts->returned ? "returns" : "throws", opc_cuda_code_name(facts->last_error, code, sizeof code),
                     opc_cuda_call_name(call, name, sizeof name));
}

void opc_cuda_analyse_launches(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out) {
  opc_cuda_founds_t late = {0};
  for (int failures = 1; failures >= 0; failures--) {
    for (size_t i = 0; i < facts->log.count; i++) {
      const opc_cuda_call_t *call = &facts->log.calls[i];
      if (call->kind != OPC_CUDA_LAUNCH || call->injected || !opc_cuda_is_own(facts, call)) continue;
      if (!failures) analyse_check(facts, i, out, &late);
      else if (call->code) analyse_failure(facts, i, out);
    }
  }
  analyse_error_left(facts, out);
  for (size_t i = 0; i < late.count && out->count < OPC_CUDA_FOUND_MAX; i++) out->items[out->count++] = late.items[i];
}
