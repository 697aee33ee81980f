#include "checks/framework/check.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "checks/call/device_faults.h"
#include "memory/device_zones.h"

enum { HOST_TO_ANY_BY_ADDRESS = 4 }; /* cudaMemcpyDefault */

/* ---- CUDA's functions ---- */

/* cudaError_t is an int. */
static int (*cuda_malloc)(void **, size_t);
static int (*cuda_free)(void *);
static int (*cuda_memset)(void *, int, size_t);
static int (*cuda_memcpy)(void *, const void *, size_t, int);
static int (*cuda_device_synchronize)(void);

static int read_memory(void *host, const void *memory, size_t bytes) {
  return cuda_memcpy(host, memory, bytes, HOST_TO_ANY_BY_ADDRESS);
}
static int device_allocate(void **out, size_t bytes) { return cuda_malloc(out, bytes); }
static int device_release(void *memory) { return cuda_free(memory); }
static int device_fill(void *memory, int byte, size_t bytes) { return cuda_memset(memory, byte, bytes); }
static int wait_for_device(void) { return cuda_device_synchronize(); }

/* Uses the runtime's own functions: the wrappers would record calls that belong to no operator. */
static bool find_function(const char *name, void *function) {
  const opc_launch_api_t *launch = opc_launch();
  void *found = launch ? launch->real(name) : NULL;
  if (!found) found = dlsym(RTLD_DEFAULT, name);
  *(void **)function = found;
  return found;
}

static bool find_functions(void) {
  return find_function("cudaMalloc", &cuda_malloc) && find_function("cudaFree", &cuda_free) &&
         find_function("cudaMemset", &cuda_memset) && find_function("cudaMemcpy", &cuda_memcpy) &&
         find_function("cudaDeviceSynchronize", &cuda_device_synchronize);
}

/* ---- the choice ---- */

static enum { CHOICE_OPEN = 0, CHOICE_CACHE, CHOICE_ZONES } chosen;
static char missing[512] = "the memory of this device is not instrumented";

bool opc_device_zones_elsewhere(void) {
  const char *given = getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
  return given && given[0] && given[0] != '0';
}

/* libtorch refuses another allocator once CUDA is initialised. */
static enum { SET_UP, CACHE_IN_USE, NOT_SUPPORTED } set_up(void) {
  static opc_device_calls_t calls = {device_allocate, device_release, device_fill, read_memory, wait_for_device, NULL};
  static const opc_device_allocator_t allocator = {opc_device_zones_allocate, opc_device_zones_release};
  opc_error_t error = {0};
  if (!find_functions()) {
    snprintf(missing, sizeof missing, "the CUDA runtime's functions are not found in this process");
    return NOT_SUPPORTED;
  }
  if (opc_cuda_simulated()) calls.bound = opc_launch()->bound;
  opc_device_zones_begin(&calls);
  if (opc_cuda_allocator_set(&allocator, &error) == OPC_OK) return SET_UP;
  snprintf(missing, sizeof missing, "%.500s", error.message);
  return error.code == OPC_ERR_UNSUPPORTED ? NOT_SUPPORTED : CACHE_IN_USE;
}

/* From now on seeds are those of CUDA's generators too (opc_bridge_seed), also for an operator that takes no tensor. */
static void initialise_cuda(void) { (void)opc_cuda_stream_current(0); }

static void choose(bool zones) {
  chosen = zones ? CHOICE_ZONES : CHOICE_CACHE;
  if (zones) {
    const int became = set_up();
    if (became == SET_UP) missing[0] = '\0';
    /* A call on the CPU has initialised CUDA: another process can still have red zones. */
    if (became == CACHE_IN_USE && opc_call_count().made > 0) chosen = CHOICE_CACHE;
  }
  initialise_cuda();
}

bool opc_device_zones_choose(bool zones) {
  if (opc_device_zones_elsewhere()) {
    snprintf(missing, sizeof missing, "PYTORCH_NO_CUDA_MEMORY_CACHING is set: another tool watches this memory");
    if (chosen == CHOICE_OPEN) choose(false);
    return true;
  }
  if (chosen == CHOICE_OPEN) choose(zones);
  return (chosen == CHOICE_ZONES) == zones;
}

const char *opc_device_zones_missing(void) { return missing[0] ? missing : NULL; }

/* ---- the check ---- */

/* call: NULL: not known. */
static void name_hit(const opc_device_zone_hit_t *hit, const opc_call_t *call, const opc_output_t *outputs,
                     size_t output_count, char *out, size_t size) {
  for (size_t i = 0; call && i < call->tensor_arg_count; i++) {
    if (call->tensor_args[i].before.storage_data != hit->data) continue;
    snprintf(out, size, "%s (%zu bytes)", call->tensor_args[i].path, hit->bytes);
    return;
  }
  for (size_t i = 0; i < output_count; i++) {
    if (outputs[i].meta.storage_data != hit->data) continue;
    snprintf(out, size, "%s (%zu bytes)", outputs[i].path, hit->bytes);
    return;
  }
  snprintf(out, size, "a tensor of %zu bytes%s", hit->bytes, call ? " that the operator made" : "");
}

static void report_hits(const opc_call_t *call, const opc_output_t *outputs, size_t output_count,
                        opc_finding_t *finding) {
  const opc_device_zone_hit_t *hits;
  size_t count = opc_device_zones_hits(&hits);
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) {
    const opc_device_zone_hit_t *hit = &hits[i];
    char name[160];
    name_hit(hit, call, outputs, output_count, name, sizeof name);
    const char *plural = hit->count == 1 ? "" : "s";
    if (hit->offset < 0)
      opc_finding_fail(finding, OPC_RULE_memory_out_of_bounds_write,
                       "writes %zu byte%s before the start of %s, from byte %lld on", hit->count, plural, name,
                       hit->offset);
    else if (hit->offset == 0)
      opc_finding_fail(finding, OPC_RULE_memory_out_of_bounds_write, "writes %zu byte%s past the end of %s", hit->count,
                       plural, name);
    else
      opc_finding_fail(finding, OPC_RULE_memory_out_of_bounds_write, "writes %zu byte%s, %lld past the end of %s",
                       hit->count, plural, hit->offset, name);
    json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I}", "tensor", name, "bytes", (json_int_t)hit->bytes,
                                          "offset", (json_int_t)hit->offset, "count", (json_int_t)hit->count));
  }
  if (count) opc_finding_evidence(finding, "zones", list);
  else json_decref(list);
}

bool opc_device_zones_written(void) {
  const opc_device_zone_hit_t *hits;
  if (opc_device_zones_missing()) return false;
  opc_device_zones_verify();
  return opc_device_zones_hits(&hits) > 0;
}

void opc_device_zones_report(opc_finding_t *finding) { report_hits(NULL, NULL, 0, finding); }

static opc_status_t call_and_verify(opc_case_context_t *context, opc_call_t *call, opc_finding_t *finding,
                                    opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  const opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_OPERATOR, ""}};
  opc_device_zones_reset();
  opc_device_faults_watch(true);
  const opc_status_t status = opc_again_call(&again, call, error);
  opc_device_faults_watch(false);
  OPC_RETURN_IF_ERROR(status);
  if (call->outcome == OPC_CALL_RETURNED) OPC_RETURN_IF_ERROR(opc_call_outputs(call, &outputs, &count, error));
  if (opc_device_zones_missing()) return OPC_OK;
  opc_device_zones_verify();
  opc_accesses_report(context, OPC_ACCESSES_INVALID, OPC_ACCESSES_ALL, NULL, finding);
  if (!finding->decided) report_hits(call, outputs, count, finding);
  /* What lies out of bounds may be the cause of everything else. */
  if (!finding->decided) opc_accesses_report(context, OPC_ACCESSES_WATCHED, OPC_ACCESSES_ALL, NULL, finding);
  return OPC_OK;
}

opc_status_t opc_device_zones_check(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  const char *why = opc_device_zones_missing();
  if (why && !opc_device_zones_elsewhere()) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "%s", why);
  OPC_RETURN_IF_ERROR(call_and_verify(context, &call, finding, error));
  if (finding->decided || opc_finding_from_outcome(context, &call, finding)) return OPC_OK;
  if (why) return opc_finding_pass(finding, "it returns; the other tool reports what its kernels access");
  return opc_finding_pass(finding, "nothing is written in the %d bytes on either side of its tensors%s",
                          OPC_DEVICE_ZONE, context->simulated ? ", by copies, fills and the kernels that ran" : "");
}
