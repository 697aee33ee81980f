/* A call captured in a CUDA graph: what ended the capture, and what the graph lacks or wrongly contains. */
#include <string.h>

#include "checks/cuda_log/cuda_analysis.h"

/* cudaError_t, "stream capture": results of calls that are not allowed during a capture. */
enum {
  UNSUPPORTED = 900,
  INVALIDATED = 901,
  MERGE = 902,
  UNJOINED = 904,
  ISOLATION = 905,
  IMPLICIT = 906,
  CAPTURED_EVENT = 907
};

bool opc_cuda_capture_find(const opc_cuda_log_t *log, opc_cuda_capture_t *out) {
  size_t begin = 0, end;
  while (begin < log->count && (log->calls[begin].kind != OPC_CUDA_CAPTURE || log->calls[begin].code != 0 ||
                                strcmp(log->calls[begin].function, "cudaStreamBeginCapture") != 0))
    begin++;
  if (begin == log->count) return false;
  for (end = log->count; end-- > begin + 1;) {
    const opc_cuda_call_t *call = &log->calls[end];
    if (call->kind == OPC_CUDA_CAPTURE && strcmp(call->function, "cudaStreamEndCapture") == 0 &&
        call->stream == log->calls[begin].stream)
      break;
  }
  if (end == begin) end = log->count;
  *out = (opc_cuda_capture_t){.begin = begin, .end = end, .code = end < log->count ? log->calls[end].code : 0};
  return true;
}

size_t opc_cuda_captured_work(const opc_cuda_log_t *log) {
  size_t count = 0;
  for (size_t i = 0; i < log->count; i++)
    count += opc_cuda_is_work(&log->calls[i]) && log->calls[i].captured && log->calls[i].code == 0;
  return count;
}

/* " (called by libtorch_cuda.so on the operator's behalf)" */
static const char *by_whom(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call, char *out, size_t size) {
  *out = '\0';
  if (!opc_cuda_is_own(facts, call) && call->library[0])
    snprintf(out, size, " (called by %.100s on the operator's behalf)", opc_base_name(call->library));
  return out;
}

/* ---- the capture is lost ---- */

static const char *why_refused(int code) {
  switch (code) {
    case UNSUPPORTED:
      return "a capture allows no waits, no queries and no allocations by the runtime";
    case MERGE:
      return "two captures would become one";
    case ISOLATION:
      return "it would wait for work before or outside the capture";
    case IMPLICIT:
      return "the legacy default stream would have to wait for the capture";
    case CAPTURED_EVENT:
      return "the event was recorded after work that was captured and has not run";
    default:
      return "an earlier call, which is not seen here, had ended the capture";
  }
}

static bool is_refusal(const opc_cuda_call_t *call) {
  if (call->kind == OPC_CUDA_LAST_ERROR || call->kind == OPC_CUDA_PEEK_ERROR) return false;
  return call->code >= UNSUPPORTED && call->code <= CAPTURED_EVENT && call->code != UNJOINED;
}

/* The call that ended the capture; OPC_CUDA_NO_CALL: none was seen. */
static size_t find_refusal(const opc_cuda_facts_t *facts, const opc_cuda_capture_t *capture) {
  for (size_t i = capture->begin + 1; i < capture->end; i++)
    if (is_refusal(&facts->log.calls[i])) return i;
  return OPC_CUDA_NO_CALL;
}

static void analyse_lost(const opc_cuda_facts_t *facts, const opc_cuda_capture_t *capture, opc_cuda_founds_t *out) {
  char name[256], code[96], whom[160];
  const size_t refusal = find_refusal(facts, capture);
  if (refusal == OPC_CUDA_NO_CALL) {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_capture_invalidated, OPC_CUDA_NO_CALL, OPC_CUDA_NO_CALL,
                       "the capture fails with %s, and the call that ended it is not visible: it goes to a statically "
                       "linked CUDA runtime or to the driver",
                       opc_cuda_code_name(capture->code, code, sizeof code));
    return;
  }
  const opc_cuda_call_t *call = &facts->log.calls[refusal];
  opc_cuda_found_add(out, &facts->log, OPC_RULE_capture_invalidated, refusal, refusal,
                     "%s%s fails with %s and ends the capture: %s", opc_cuda_call_name(call, name, sizeof name),
                     by_whom(facts, call, whom, sizeof whom), opc_cuda_code_name(call->code, code, sizeof code),
                     why_refused(call->code));
}

/* The last work that entered the graph through another stream. */
static void analyse_unjoined(const opc_cuda_facts_t *facts, const opc_cuda_capture_t *capture, opc_cuda_founds_t *out) {
  const uint64_t origin = facts->log.calls[capture->begin].stream;
  size_t last = OPC_CUDA_NO_CALL;
  char name[256], stream[128], whom[160];
  for (size_t i = capture->begin + 1; i < capture->end; i++) {
    const opc_cuda_call_t *call = &facts->log.calls[i];
    if (opc_cuda_is_work(call) && call->captured && call->stream != origin) last = i;
  }
  if (last == OPC_CUDA_NO_CALL) {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_capture_unjoined, last, last,
                       "a stream joined the capture, but the stream in which the capture began does not wait for it");
    return;
  }
  const opc_cuda_call_t *call = &facts->log.calls[last];
  opc_cuda_found_add(
      out, &facts->log, OPC_RULE_capture_unjoined, last, last,
      "%s%s on %s is part of the capture, but the stream in which the capture began does not wait for it",
      opc_cuda_call_name(call, name, sizeof name), by_whom(facts, call, whom, sizeof whom),
      opc_cuda_stream_name(call, stream, sizeof stream));
}

/* ---- the graph differs from the call ---- */

static void analyse_left_out(const opc_cuda_facts_t *facts, size_t index, opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[index];
  char name[256], stream[128], whom[160];
  bool moves = opc_cuda_is_kernel(call) || call->bytes > 0;
  if (!opc_cuda_is_work(call) || call->captured || call->code != 0 || !moves) return;
  opc_cuda_found_add(out, &facts->log, OPC_RULE_capture_not_captured, index, index,
                     "%s%s goes to %s: it ran once, while the graph was made, and replays of the graph do not run it",
                     opc_cuda_call_name(call, name, sizeof name), by_whom(facts, call, whom, sizeof whom),
                     opc_cuda_stream_name(call, stream, sizeof stream));
}

static bool is_lasting(const opc_cuda_facts_t *facts, uint64_t address) {
  for (size_t i = 0; i < facts->lasting_count; i++)
    if (facts->lasting[i] == address) return true;
  return false;
}

static void analyse_host_memory(const opc_cuda_facts_t *facts, size_t index, opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[index];
  char whom[160];
  if (call->kind != OPC_CUDA_COPY || !call->captured || call->code != 0 || call->bytes == 0) return;
  by_whom(facts, call, whom, sizeof whom);
  if (call->from.place == OPC_CUDA_PAGEABLE && !is_lasting(facts, call->from.value))
    opc_cuda_found_add(out, &facts->log, OPC_RULE_capture_host_memory, index, index,
                       "%s%s of %llu bytes is in the graph: each replay reads them again from host memory that existed "
                       "only during the call",
                       call->function, whom, (unsigned long long)call->bytes);
  else if (call->to.place == OPC_CUDA_PAGEABLE && !is_lasting(facts, call->to.value))
    opc_cuda_found_add(out, &facts->log, OPC_RULE_capture_host_memory, index, index,
                       "%s%s of %llu bytes is in the graph: each replay writes them again to host memory that existed "
                       "only during the call",
                       call->function, whom, (unsigned long long)call->bytes);
}

void opc_cuda_analyse_capture(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out) {
  opc_cuda_capture_t capture;
  if (!opc_cuda_capture_find(&facts->log, &capture)) return;
  /* Findings after the call that ended the capture would only follow from it. */
  const size_t refusal = capture.code == 0 ? OPC_CUDA_NO_CALL : find_refusal(facts, &capture),
               until = refusal < capture.end ? refusal : capture.end;
  for (size_t i = capture.begin + 1; i < until; i++) analyse_left_out(facts, i, out);
  for (size_t i = capture.begin + 1; i < until; i++) analyse_host_memory(facts, i, out);
  if (capture.code == UNJOINED) analyse_unjoined(facts, &capture, out);
  else if (capture.code != 0) analyse_lost(facts, &capture, out);
}
