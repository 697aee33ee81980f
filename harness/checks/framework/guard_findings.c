#include "checks/call/changed_argument.h"
#include "checks/cuda_log/cuda_analysis.h"
#include "checks/framework/check.h"

#include <inttypes.h>
#include <string.h>

#include "model/json/json_write.h"

/* ---- arguments that must not be written ---- */

void opc_call_protect(const opc_call_t *call, bool read_only) {
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    if (tensor_arg->before.storage_data)
      opc_guard_protect(tensor_arg->before.storage_data, read_only && !opc_argument_may_be_written(call, tensor_arg));
  }
}

/* ---- text ---- */

/* "argument x", "64 bytes that the operator allocated", "64 bytes that the operator took from malloc or new" */
static void add_block(const opc_access_t *access, opc_text_t *text) {
  const opc_guard_block_t *block = &access->block;
  if (block->label[0]) opc_text_addf(text, "argument %s", block->label);
  else
    opc_text_addf(text, "%zu bytes that the operator %s", block->bytes,
                  block->heap ? "took from malloc or new" : "allocated");
}

static void add_outside(const opc_access_t *access, opc_text_t *text) {
  int64_t beyond = access->offset - (int64_t)access->block.bytes;
  opc_text_add(text, access->write ? "writes " : "reads ");
  if (access->offset < 0) opc_text_addf(text, "%" PRId64 " bytes before the start of ", -access->offset);
  else if (beyond == 0) opc_text_add(text, "past the end of ");
  else opc_text_addf(text, "%" PRId64 " bytes past the end of ", beyond);
  add_block(access, text);
  if (access->block.label[0]) opc_text_addf(text, ", whose storage has %zu bytes", access->block.bytes);
}

enum { NEAR = 1 << 20 }; /* bytes: farther away, the allocation says nothing */

void opc_device_fault_place(const opc_device_fault_t *fault, opc_text_t *text) {
  char kernel[160];
  opc_text_addf(text, ", in kernel %.120s", opc_cuda_kernel_name(fault->kernel, kernel, sizeof kernel));
  if (fault->line != 0) opc_text_addf(text, " (%.80s:%u)", opc_base_name(fault->file), fault->line);
  opc_text_addf(text, ", thread %u,%u,%u of block %u,%u,%u", fault->thread[0], fault->thread[1], fault->thread[2],
                fault->block[0], fault->block[1], fault->block[2]);
  if (fault->times > 1) opc_text_addf(text, " first, %llu accesses in all", (unsigned long long)fault->times);
  if (fault->blocks != 0)
    opc_text_addf(text, "; only %llu of its %llu blocks ran", (unsigned long long)fault->blocks_run,
                  (unsigned long long)fault->blocks);
}

static void add_of_kernel(const opc_access_t *access, opc_text_t *text) {
  const opc_device_fault_t *fault = access->device;
  const char *does = access->write ? "writes" : "reads";
  const int64_t beyond = access->offset - (int64_t)access->block.bytes;
  if (strcmp(fault->space, "global") != 0)
    opc_text_addf(text, "%s %u bytes at byte %llu of %s memory, which ends before that", does, fault->bytes,
                  (unsigned long long)fault->address, fault->space);
  else if (access->kind == OPC_ACCESS_FREED)
    opc_text_addf(text, "%s device memory after it was freed (byte %" PRId64 " of %zu)", does, access->offset,
                  access->block.bytes);
  else if (fault->nearest == 0 || access->offset < -NEAR || beyond > NEAR)
    opc_text_addf(text, "%s %u bytes at 0x%llx, where no device memory is", does, fault->bytes,
                  (unsigned long long)fault->address);
  else add_outside(access, text);
  opc_device_fault_place(fault, text);
}

static void add_freed(const opc_access_t *access, opc_text_t *text) {
  opc_text_addf(text, "%s ", access->write ? "writes" : "reads");
  add_block(access, text);
  opc_text_addf(text, "%s, after that memory was freed (byte %" PRId64 " of %zu)",
                access->block.label[0] ? " of an earlier call" : "", access->offset, access->block.bytes);
}

/* The tensor argument that has an element at this byte; NULL: none. *out_element: its logical index. */
static const opc_tensor_arg_t *element_of_access(const opc_call_t *call, const opc_access_t *access,
                                                 int64_t *out_element) {
  for (size_t i = 0; call && i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    if (tensor_arg->before.storage_data != access->block.data) continue;
    *out_element = opc_element_at_byte(&tensor_arg->before, (size_t)access->offset);
    if (*out_element >= 0) return tensor_arg;
  }
  return NULL;
}

static opc_rule_id_t add_read_only(const opc_access_t *access, const opc_call_t *call, opc_text_t *text) {
  int64_t element = -1;
  const opc_tensor_arg_t *tensor_arg = element_of_access(call, access, &element);
  if (!tensor_arg) {
    opc_text_addf(text,
                  "byte %" PRId64
                  " of argument %s's storage, which is not one of its elements, is written, although it has its old "
                  "value after the call",
                  access->offset, access->block.label);
    return OPC_RULE_mutation_outside_view;
  }
  char index[160];
  opc_index_text(&tensor_arg->before, element, index, sizeof index);
  opc_text_addf(text,
                "argument %s is not declared mutable but is written, first at %s%s, although it has its old values "
                "after the call",
                tensor_arg->path, tensor_arg->path, index);
  return OPC_RULE_mutation_undeclared;
}

static opc_rule_id_t describe_access(const opc_access_t *access, const opc_call_t *call, opc_text_t *text) {
  switch (access->kind) {
    case OPC_ACCESS_OUTSIDE:
      if (access->device) add_of_kernel(access, text);
      else add_outside(access, text);
      return access->write ? OPC_RULE_memory_out_of_bounds_write : OPC_RULE_memory_out_of_bounds_read;
    case OPC_ACCESS_FREED:
      if (access->device) add_of_kernel(access, text);
      else add_freed(access, text);
      return OPC_RULE_memory_use_after_free;
    case OPC_ACCESS_READ_ONLY:
      return add_read_only(access, call, text);
    case OPC_ACCESS_INSIDE:
      return opc_watched_describe(access, text);
  }
  return OPC_RULE_NONE;
}

/* ---- evidence ---- */

static void hex_text(uint64_t number, char out[24]) { snprintf(out, 24, "0x%" PRIx64, number); }

static json_t *thread_evidence(const uint32_t at[3]) {
  return json_pack("[i, i, i]", (int)at[0], (int)at[1], (int)at[2]);
}

/* The line of the kernel takes the place of a stack. */
static void add_kernel_evidence(const opc_device_fault_t *fault, json_t *object) {
  char kernel[160];
  json_t *frame = json_pack("{s:s, s:s}", "module", opc_base_name(fault->kernel_library), "symbol",
                            opc_cuda_kernel_name(fault->kernel, kernel, sizeof kernel));
  if (fault->line != 0) {
    json_object_set_new(frame, "file", opc_json_string(fault->file));
    json_object_set_new(frame, "line", json_integer(fault->line));
  }
  json_object_set_new(object, "frames", json_pack("[o]", frame));
  json_object_set_new(object, "kernel", opc_json_string(fault->kernel));
  json_object_set_new(object, "block", thread_evidence(fault->block));
  json_object_set_new(object, "thread", thread_evidence(fault->thread));
  json_object_set_new(object, "times", json_integer((json_int_t)fault->times));
  if (fault->blocks == 0) return;
  json_object_set_new(object, "blocks_run", json_integer((json_int_t)fault->blocks_run));
  json_object_set_new(object, "blocks", json_integer((json_int_t)fault->blocks));
}

/* "raw" frames: the supervisor replaces them by names. */
static json_t *access_evidence(const opc_access_t *access, opc_rule_id_t rule, const char *remark) {
  char text[24];
  json_auto_t *raw = json_array();
  for (uint32_t i = 0; i < access->frame_count; i++) {
    hex_text(access->frames[i], text);
    json_array_append_new(raw, json_string(text));
  }
  hex_text(access->address, text);
  json_t *object =
      json_pack("{s:s, s:s, s:s, s:I, s:I}", "rule", opc_rule_name(rule), "access", access->write ? "write" : "read",
                "address", text, "offset", (json_int_t)access->offset, "bytes", (json_int_t)access->block.bytes);
  if (object && access->block.label[0]) json_object_set_new(object, "argument", json_string(access->block.label));
  if (object && remark && remark[0]) json_object_set_new(object, "remark", json_string(remark));
  if (object && access->frame_count) json_object_set(object, "raw_frames", raw);
  if (object && access->device) add_kernel_evidence(access->device, object);
  return object;
}

static json_t *reported_accesses(opc_finding_t *finding) {
  json_t *reported = finding->evidence ? json_object_get(finding->evidence, "accesses") : NULL;
  if (reported) return reported;
  reported = json_array();
  opc_finding_evidence(finding, "accesses", reported);
  return reported;
}

/* The same instruction, found in another pass or on another tensor, is the same bug. */
static bool is_known_access(const json_t *reported, const json_t *evidence) {
  const char *key = json_object_get(evidence, "kernel") ? "frames" : "raw_frames";
  const json_t *raw = json_object_get(evidence, key);
  size_t i;
  json_t *other;
  json_array_foreach((json_t *)reported, i, other) {
    if (!json_equal(json_object_get(other, "rule"), json_object_get(evidence, "rule"))) continue;
    const json_t *its = json_object_get(other, key);
    if (!raw || !its || json_equal(json_array_get(raw, 0), json_array_get(its, 0))) return true;
  }
  return false;
}

static void report_access(const opc_case_context_t *context, const opc_access_t *access, const opc_call_t *call,
                          const char *remark, opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const opc_rule_id_t rule = describe_access(access, call, &text);
  /* For arguments that may not fit together, nothing else is reported. */
  json_auto_t *evidence = access_evidence(access, rule, opc_case_arguments_fit(context) ? remark : NULL);
  const bool reported =
      evidence && finding->evidence && is_known_access(json_object_get(finding->evidence, "accesses"), evidence);
  /* The changed bytes already showed the write; only the instruction is new. */
  const bool known = access->kind == OPC_ACCESS_READ_ONLY && finding->rule == rule;
  if (!reported && !known) opc_finding_fail(finding, rule, "%s", opc_text_c(&text));
  /* Few callers have tensors of so many elements. */
  if (access->device && access->device->blocks != 0 && finding->rule == rule) finding->severity = OPC_SEVERITY_WARNING;
  if (!reported && evidence) json_array_append(reported_accesses(finding), evidence);
}

void opc_accesses_report(const opc_case_context_t *context, unsigned kinds, opc_accesses_wanted_t wanted,
                         const char *remark, opc_finding_t *finding) {
  const opc_access_t *accesses = NULL;
  size_t count = opc_guard_accesses(&accesses);
  for (int placed = 1; placed >= (wanted == OPC_ACCESSES_PLACED); placed--)
    for (size_t i = 0; i < count; i++)
      if ((kinds & 1u << accesses[i].kind) && (accesses[i].frame_count > 0) == placed)
        report_access(context, &accesses[i], NULL, remark, finding);
}

void opc_accesses_report_writes(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding) {
  const opc_access_t *accesses = NULL;
  size_t count = opc_guard_accesses(&accesses);
  for (size_t i = 0; i < count; i++)
    if (accesses[i].kind == OPC_ACCESS_READ_ONLY) report_access(context, &accesses[i], call, NULL, finding);
}

size_t opc_accesses_count(unsigned kinds) {
  const opc_access_t *accesses = NULL;
  size_t count = opc_guard_accesses(&accesses), found = 0;
  for (size_t i = 0; i < count; i++) found += (kinds & 1u << accesses[i].kind) != 0;
  return found;
}
