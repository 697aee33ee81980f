/* Shared by the log analyses: who made a call, its name, and the list of findings. */
#include "checks/cuda_log/cuda_analysis.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

opc_cuda_owner_t opc_cuda_owner_of_file(const char *file) {
  const char *name = opc_base_name(file);
  return strncmp(name, "libtorch", 8) == 0 || strncmp(name, "libc10", 6) == 0 ? OPC_CUDA_OF_TORCH : OPC_CUDA_OF_OTHERS;
}

static opc_cuda_owner_t call_owner(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call) {
  return facts->owner(call->library, facts->context);
}

bool opc_cuda_is_own(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call) {
  return call_owner(facts, call) == OPC_CUDA_OF_OWN;
}

bool opc_cuda_is_kernel(const opc_cuda_call_t *call) {
  return call->kind == OPC_CUDA_LAUNCH || call->kind == OPC_CUDA_LIBRARY_WORK;
}

bool opc_cuda_is_work(const opc_cuda_call_t *call) {
  return opc_cuda_is_kernel(call) || call->kind == OPC_CUDA_COPY || call->kind == OPC_CUDA_FILL;
}

const char *opc_cuda_facts_cut(opc_cuda_facts_t *facts) {
  for (size_t i = 0; i < facts->log.count; i++) {
    if (facts->log.calls[i].kind != OPC_CUDA_UNCOVERED) continue;
    facts->log.count = i;
    facts->log.dropped = 0;
    facts->cut = true;
    return facts->log.calls[i].function;
  }
  return "";
}

size_t opc_cuda_count(const opc_cuda_facts_t *facts, opc_cuda_kind_t kind, opc_cuda_owner_t owner) {
  size_t count = 0;
  for (size_t i = 0; i < facts->log.count; i++)
    count += facts->log.calls[i].kind == kind && call_owner(facts, &facts->log.calls[i]) == owner;
  return count;
}

size_t opc_cuda_waits_of_torch(const opc_cuda_facts_t *facts) {
  size_t count = 0;
  for (size_t i = 0; i < facts->log.count; i++) {
    const opc_cuda_call_t *call = &facts->log.calls[i];
    bool waits = call->kind == OPC_CUDA_STREAM_SYNCHRONIZE || call->kind == OPC_CUDA_DEVICE_SYNCHRONIZE ||
                 call->kind == OPC_CUDA_EVENT_SYNCHRONIZE;
    count += waits && call_owner(facts, call) == OPC_CUDA_OF_TORCH;
  }
  return count;
}

/* ---- text ---- */

const char *opc_cuda_kernel_name(const char *mangled, char *out, size_t size) {
  const char *at = mangled, *name = NULL;
  size_t length = 0;
  snprintf(out, size, "%s", mangled);
  if (strncmp(at, "_Z", 2) != 0) return out;
  at += 2;
  if (*at == 'N') at++;
  for (;;) {
    char *end;
    if (*at == 'L') at++; /* internal linkage */
    if (!isdigit((unsigned char)*at)) break;
    unsigned long long letters = strtoull(at, &end, 10);
    if (letters == 0 || letters > strlen(end)) return out;
    name = end;
    length = (size_t)letters;
    at = end + letters;
  }
  if (name) snprintf(out, size, "%.*s", length < 200 ? (int)length : 200, name);
  return out;
}

const char *opc_cuda_call_name(const opc_cuda_call_t *call, char *out, size_t size) {
  char kernel[256];
  if (call->kind == OPC_CUDA_LAUNCH && call->kernel[0])
    snprintf(out, size, "kernel %.200s", opc_cuda_kernel_name(call->kernel, kernel, sizeof kernel));
  else if (call->kind == OPC_CUDA_LAUNCH) snprintf(out, size, "a kernel");
  else snprintf(out, size, "%s", call->function);
  return out;
}

const char *opc_cuda_stream_name(const opc_cuda_call_t *call, char *out, size_t size) {
  char device[24] = "";
  if (call->stream_device >= 0) snprintf(device, sizeof device, " of device %d", call->stream_device);
  switch (call->stream_kind) {
    case OPC_CUDA_STREAM_LEGACY:
      snprintf(out, size, "the legacy default stream%s", device);
      break;
    case OPC_CUDA_STREAM_PER_THREAD:
      snprintf(out, size, "the per-thread default stream%s", device);
      break;
    case OPC_CUDA_STREAM_CREATED:
      snprintf(out, size, "stream 0x%" PRIx64 "%s", call->stream, device);
      break;
    case OPC_CUDA_STREAM_UNKNOWN:
      snprintf(out, size, "0x%" PRIx64 ", which is not a live stream,", call->stream);
      break;
  }
  return out;
}

const char *opc_cuda_code_name(int code, char *out, size_t size) {
  snprintf(out, size, "%s (%d)", opc_cuda_error_name(code), code);
  return out;
}

/* ---- findings ---- */

static uint64_t caller_at(const opc_cuda_log_t *log, size_t index) {
  return index == OPC_CUDA_NO_CALL ? 0 : log->calls[index].caller;
}

void opc_cuda_found_add(opc_cuda_founds_t *out, const opc_cuda_log_t *log, opc_rule_id_t rule, size_t blamed,
                        size_t shown, const char *format, ...) {
  for (size_t i = 0; i < out->count; i++) {
    opc_cuda_found_t *other = &out->items[i];
    if (other->rule != rule || (other->call_count ? caller_at(log, other->calls[0]) : 0) != caller_at(log, blamed))
      continue;
    other->more++;
    return;
  }
  if (out->count == OPC_CUDA_FOUND_MAX) return;
  opc_cuda_found_t *found = &out->items[out->count++];
  *found = (opc_cuda_found_t){
      .rule = rule, .calls = {blamed, shown}, .call_count = blamed == OPC_CUDA_NO_CALL ? 0 : 1 + (shown != blamed)};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(found->message, sizeof found->message, format, arguments);
  va_end(arguments);
}
