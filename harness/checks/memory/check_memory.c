/* memory: the operator stays in bounds, does not use freed memory, and returns no output over freed memory. */
#include <stdlib.h>
#include <string.h>

#include "checks/framework/check.h"
#include "memory/cpu_memory.h"
#include "memory/growth.h"
#include "memory/valgrind_requests.h"

enum { OUTSIDE = 1u << OPC_ACCESS_OUTSIDE, FREED = 1u << OPC_ACCESS_FREED, CACHE_LINE = 64 };

static void memory_mode_reset(void) {
  opc_heap_guard_off();
  opc_guard_quarantine(false);
  opc_cpu_memory_plain();
  opc_cpu_memory_align(CACHE_LINE);
  opc_cpu_memory_align_arguments(CACHE_LINE);
  opc_guard_accesses_reset();
}

/* ---- guards ---- */

/* Where the tensors of a call are placed, in the order of the passes. */
typedef struct pass {
  opc_guard_side_t side;
  size_t argument_alignment, own_alignment;
  const char *detail, *remark;
} pass_t;

static const pass_t aligned = {OPC_GUARD_BEHIND, CACHE_LINE, CACHE_LINE, "on guarded memory", ""};
static const pass_t flush = {OPC_GUARD_BEHIND, 1, CACHE_LINE, "on memory that ends at a guard",
                             ". It happens only when the tensor ends at the end of a page: code that rounds its loads "
                             "up to whole vectors does this, and a tensor may end there"};
/* The operator may have refused because of what it read in the padding between a tensor and its guard. */
static const pass_t after_refusal = {OPC_GUARD_BEHIND, 1, CACHE_LINE, "on memory that ends at a guard", ""};
static const pass_t ahead = {OPC_GUARD_BEFORE, 1, CACHE_LINE, "on memory that starts at a guard", ""};
/* Only to find the instruction of a write that was detected by the bytes it left. */
static const pass_t all_flush = {OPC_GUARD_BEHIND, 1, 1, "with its own memory at a guard too", ""};
static const pass_t all_ahead = {OPC_GUARD_BEFORE, 1, 1, "with its own memory at a guard too", ""};

/* Makes the arguments and runs. The outcome is in call->outcome; the caller reports the accesses. */
static opc_status_t pass_run(opc_case_context_t *context, const pass_t *pass, opc_call_t *call, opc_error_t *error) {
  opc_guard_accesses_reset();
  opc_cpu_memory_align(pass->own_alignment);
  opc_cpu_memory_align_arguments(pass->argument_alignment);
  opc_cpu_memory_guard(pass->side);
  opc_heap_guard(pass->side, OPC_SCRATCH_MEMORY_USUAL, context->unmodified ? OPC_HEAP_THROUGH : OPC_HEAP_DIRECT);
  const opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_OPERATOR, pass->detail}};
  opc_status_t status = opc_again_call(&again, call, error);
  opc_heap_guard_off();
  opc_cpu_memory_align(CACHE_LINE);
  return status;
}

/* Runs a pass and reports its accesses. *out_outcome, *out_message (may be NULL): of the call. */
static opc_status_t pass_check(opc_case_context_t *context, const pass_t *pass, opc_call_outcome_t *out_outcome,
                               opc_text_t *out_message, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  const opc_access_t *accesses = NULL;
  const pass_t *closer = NULL;
  OPC_RETURN_IF_ERROR(pass_run(context, pass, &call, error));
  *out_outcome = call.outcome;
  if (out_message) opc_text_add(out_message, opc_text_c(&call.message));
  size_t count = opc_guard_accesses(&accesses);
  for (size_t i = 0; i < count && !closer; i++)
    if (accesses[i].frame_count == 0) closer = accesses[i].offset < 0 ? &all_ahead : &all_flush;
  opc_accesses_report(context, OUTSIDE, OPC_ACCESSES_PLACED, pass->remark, finding);
  if (!closer) return OPC_OK;
  /* Once more, so that the write itself faults; if it does not, the bytes it left are the evidence. */
  opc_call_clear(&call);
  OPC_RETURN_IF_ERROR(pass_run(context, closer, &call, error));
  opc_accesses_report(context, OUTSIDE, OPC_ACCESSES_PLACED, pass->remark, finding);
  opc_call_clear(&call);
  OPC_RETURN_IF_ERROR(pass_run(context, pass, &call, error));
  opc_accesses_report(context, OUTSIDE, OPC_ACCESSES_ALL, pass->remark, finding);
  return OPC_OK;
}

static opc_status_t plain_run(opc_case_context_t *context, opc_call_t *call, opc_error_t *error) {
  opc_guard_accesses_reset();
  opc_cpu_memory_plain();
  const opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_OPERATOR, "on plain memory"}};
  return opc_again_call(&again, call, error);
}

static opc_status_t refuses_again(opc_case_context_t *context, const pass_t *pass, opc_call_t *call, bool *out,
                                  opc_error_t *error) {
  opc_call_clear(call);
  OPC_RETURN_IF_ERROR(pass_run(context, pass, call, error));
  *out = call->outcome == OPC_CALL_REJECTED;
  if (!*out) return OPC_OK;
  opc_call_clear(call);
  OPC_RETURN_IF_ERROR(plain_run(context, call, error));
  *out = call->outcome == OPC_CALL_RETURNED;
  return OPC_OK;
}

/* True if the call is refused between guards and returns on plain memory, each time: an operator may refuse once
 * because of bytes next to a list of numbers, or in unwritten memory. *call is the last call. */
static opc_status_t refuses_for_guards(opc_case_context_t *context, const pass_t *pass, opc_call_t *call, bool *out,
                                       opc_error_t *error) {
  enum { TIMES = 4 };
  OPC_RETURN_IF_ERROR(plain_run(context, call, error));
  *out = call->outcome == OPC_CALL_RETURNED;
  for (int i = 0; i < TIMES && *out; i++) {
    opc_scratch_memory_shift(i % 2 == 0);
    const opc_status_t status = refuses_again(context, pass, call, out, error);
    opc_scratch_memory_shift(false);
    OPC_RETURN_IF_ERROR(status);
  }
  return OPC_OK;
}

/* It also refuses on plain memory if its tensors start one element later: it requires an alignment, which the guards
 * changed. */
static opc_status_t demands_alignment(opc_case_context_t *context, bool *out, opc_error_t *error) {
  opc_case_context_t moved = *context;
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  const opc_status_t status = opc_variant_apply(context->sample, context->op, "all.misaligned", &sample, error);
  if (status == OPC_ERR_NOT_FOUND) return OPC_OK;
  OPC_RETURN_IF_ERROR(status);
  moved.sample = &sample;
  OPC_RETURN_IF_ERROR(plain_run(&moved, &call, error));
  *out = call.outcome == OPC_CALL_REJECTED;
  return OPC_OK;
}

/* The operator refuses. Does it also refuse on plain memory? For inaccessible memory a system call does not fault: it
 * returns an error. */
static opc_status_t check_refusal(opc_case_context_t *context, const pass_t *pass, opc_call_outcome_t outcome,
                                  const opc_text_t *message, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  const opc_call_t refused = {.outcome = outcome, .message = *message};
  bool for_guards = false, aligned_only = false;
  if (outcome == OPC_CALL_REJECTED) OPC_RETURN_IF_ERROR(refuses_for_guards(context, pass, &call, &for_guards, error));
  if (for_guards) OPC_RETURN_IF_ERROR(demands_alignment(context, &aligned_only, error));
  if (aligned_only)
    opc_finding_skip(finding, OPC_SKIP_REJECTED, "its tensors have to be aligned to more than an element: %.300s",
                     opc_text_c(message));
  else if (for_guards)
    opc_finding_fail(finding, OPC_RULE_memory_system_call,
                     "returns on plain memory but fails when its tensors lie between inaccessible pages: %.300s",
                     opc_text_c(message));
  else (void)opc_finding_from_outcome(context, &refused, finding);
  return OPC_OK;
}

/* ---- freed memory ---- */

static void report_freed_output(const opc_output_t *output, const opc_guard_block_t *block, const char *when,
                                opc_finding_t *finding) {
  if (block->label[0])
    opc_finding_fail(finding, OPC_RULE_memory_dangling_output,
                     "%s uses the memory of argument %s but does not keep it alive: it was freed %s", output->path,
                     block->label, when);
  else
    opc_finding_fail(finding, OPC_RULE_memory_dangling_output, "%s uses %zu bytes that were freed %s", output->path,
                     block->bytes, when);
}

static void check_outputs_live(const opc_output_t *outputs, size_t count, const char *when, opc_finding_t *finding) {
  for (size_t i = 0; i < count; i++) {
    opc_guard_block_t block;
    if (outputs[i].meta.storage_data && outputs[i].meta.numel > 0 &&
        opc_guard_find(outputs[i].meta.storage_data, &block) && block.freed)
      report_freed_output(&outputs[i], &block, when, finding);
  }
}

/* What a buffer holds before and after other memory was used. Static: a malloc block might be that very buffer. */
enum { LOOKED_AT = 64 << 10 };
static unsigned char before[LOOKED_AT], after[LOOKED_AT];

/* Reuses the freed memory: heap blocks of similar sizes, and the stack. */
static void use_freed_memory(size_t bytes) {
  enum { BLOCKS = 16, FILL = 0x3c };
  void *volatile blocks[BLOCKS];
  opc_scratch_memory_fill(FILL);
  for (int i = 0; i < BLOCKS; i++) {
    blocks[i] = malloc(bytes);
    if (blocks[i]) memset(blocks[i], FILL, bytes);
  }
  for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
  opc_scratch_memory_plain();
}

/* A tensor over a buffer that libtorch did not allocate: is the buffer still valid? */
static void check_foreign_buffer(const opc_output_t *output, opc_finding_t *finding) {
  opc_guard_block_t block;
  size_t bytes = output->meta.storage_bytes < LOOKED_AT ? output->meta.storage_bytes : LOOKED_AT;
  if (!output->meta.storage_data || !bytes || output->meta.device.type != OPC_DEVICE_CPU ||
      opc_guard_find(output->meta.storage_data, &block))
    return;
  bool readable = opc_memory_safe_read(output->meta.storage_data, before, bytes);
  if (readable) use_freed_memory(output->meta.storage_bytes);
  readable = readable && opc_memory_safe_read(output->meta.storage_data, after, bytes);
  if (!readable)
    opc_finding_fail(finding, OPC_RULE_memory_dangling_output, "%s uses memory that no longer exists", output->path);
  else if (memcmp(before, after, bytes) != 0)
    opc_finding_fail(finding, OPC_RULE_memory_dangling_output,
                     "%s uses memory that was reused: its bytes changed while only unrelated memory was allocated, so "
                     "its buffer has been freed",
                     output->path);
}

static bool is_foreign_buffer(const opc_tensor_meta_t *meta) {
  opc_guard_block_t block;
  return meta->defined && meta->storage_data && meta->storage_bytes && meta->device.type == OPC_DEVICE_CPU &&
         (!opc_guard_find(meta->storage_data, &block) || block.heap);
}

/* Checks one output after all others were released: another output may own its buffer. */
static opc_status_t check_alone(opc_case_context_t *context, size_t number, opc_finding_t *finding,
                                opc_error_t *error) {
  enum { TIMES = 3 };
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  const opc_again_t again = {.context = context,
                             .label = {OPC_CALL_KIND_OPERATOR, "before all its outputs but one are released"}};
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &call, error));
  if (call.outcome != OPC_CALL_RETURNED) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_call_outputs(&call, &outputs, &count, error));
  if (number >= count || !is_foreign_buffer(&outputs[number].meta)) return OPC_OK;
  opc_output_t alone = outputs[number];
  alone.tensor = opc_tensor_ref(alone.tensor);
  opc_call_clear_arguments(&call);
  size_t bytes = alone.meta.storage_bytes < LOOKED_AT ? alone.meta.storage_bytes : LOOKED_AT;
  bool readable = alone.tensor && opc_memory_safe_read(alone.meta.storage_data, before, bytes), was_readable = readable;
  opc_call_clear(&call);
  for (size_t i = 1; i <= TIMES && readable; i++)
    use_freed_memory(i * alone.meta.storage_bytes); /* the owner's block is larger */
  readable = readable && opc_memory_safe_read(alone.meta.storage_data, after, bytes);
  if (was_readable && (!readable || memcmp(before, after, bytes) != 0))
    opc_finding_fail(
        finding, OPC_RULE_memory_dangling_output,
        "%s uses memory that another output owns, but does not keep it alive: %s after the other outputs were released",
        alone.path, readable ? "its bytes changed" : "it no longer existed");
  opc_tensor_free(alone.tensor);
  return OPC_OK;
}

/* Two calls; everything that the first one freed stays inaccessible. */
static opc_status_t lifetime_pass(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t first = {0}, second = {0};
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  opc_guard_accesses_reset();
  opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  opc_heap_guard(OPC_GUARD_BEHIND, OPC_SCRATCH_MEMORY_USUAL, OPC_HEAP_THROUGH);
  opc_guard_quarantine(true);
  opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_OPERATOR, "where freed memory stays inaccessible"}};
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &first, error));
  if (first.outcome != OPC_CALL_RETURNED) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_call_outputs(&first, &outputs, &count, error));
  check_outputs_live(outputs, count, "before the call returned", finding);
  for (size_t i = 0; i < count; i++) check_foreign_buffer(&outputs[i], finding);
  opc_call_clear_arguments(&first);
  if (!finding->decided) check_outputs_live(outputs, count, "with the arguments", finding);
  again.label = OPC_CALL_LABEL(OPERATOR, "after the arguments of an earlier call were freed");
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &second, error));
  opc_accesses_report(context, FREED, OPC_ACCESSES_ALL, NULL, finding);
  for (size_t i = 0; i < count && count > 1 && !finding->decided; i++)
    if (is_foreign_buffer(&outputs[i].meta)) OPC_RETURN_IF_ERROR(check_alone(context, i, finding, error));
  return OPC_OK;
}

/* ---- memory use ---- */

/* Both must be exceeded: workspaces of some MiB are usual, and so is a workspace as large as large tensors. */
enum { TIMES_TENSORS = 100 };
static const double mib = 1 << 20;

static size_t tensor_bytes(const opc_call_t *call, const opc_output_t *outputs, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < call->tensor_arg_count; i++) bytes += call->tensor_args[i].before.storage_bytes;
  for (size_t i = 0; i < count; i++) bytes += outputs[i].meta.storage_bytes;
  return bytes;
}

/* Whether a call takes far more memory than its tensors. Makes one call, in plain memory. */
static opc_status_t check_peak(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  const opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_OPERATOR, "while its memory is measured"}};
  size_t count = 0;
  opc_cpu_memory_plain();
  if (opc_valgrind_active() || !opc_peak_begin()) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &call, error));
  const size_t peak = opc_peak_bytes();
  if (call.outcome != OPC_CALL_RETURNED || peak <= opc_peak_allowed()) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_call_outputs(&call, &outputs, &count, error));
  const size_t bytes = tensor_bytes(&call, outputs, count);
  if (peak / TIMES_TENSORS > bytes)
    opc_finding_fail(finding, OPC_RULE_memory_peak,
                     "the call takes %.0f MiB at its peak; its arguments and outputs together have %.3g MiB",
                     (double)peak / mib, (double)bytes / mib);
  return OPC_OK;
}

/* ---- the check ---- */

/* What an operator keeps from its first call is made for that call's sizes. The calls of a larger variant follow one of
 * the sample, so that the case shows it on its own. */
static opc_status_t call_base(opc_case_context_t *context, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  if (!(context->variant.families & OPC_VARIANT_LONG) || !context->base) return OPC_OK;
  const opc_again_t again = {.context = context,
                             .sample = context->base,
                             .label = {OPC_CALL_KIND_ON_OTHERS, "the sample's own arguments, before larger ones"}};
  return opc_again_call(&again, &call, error);
}

/* *out_returned: the call returned in all passes. */
static opc_status_t check_passes(opc_case_context_t *context, bool *out_returned, opc_finding_t *finding,
                                 opc_error_t *error) {
  static const pass_t *const passes[] = {&aligned, &flush, &ahead};
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  opc_call_outcome_t outcome = OPC_CALL_RETURNED, ignored;
  const pass_t *last = NULL;
  for (size_t i = 0; i < sizeof passes / sizeof *passes && outcome == OPC_CALL_RETURNED; i++) {
    opc_text_reset(&message);
    last = passes[i];
    OPC_RETURN_IF_ERROR(pass_check(context, last, &outcome, &message, finding, error));
  }
  *out_returned = outcome == OPC_CALL_RETURNED;
  if (outcome == OPC_CALL_REJECTED && last == &aligned && !finding->decided)
    OPC_RETURN_IF_ERROR(pass_check(context, &after_refusal, &ignored, NULL, finding, error));
  if (!*out_returned && !finding->decided)
    OPC_RETURN_IF_ERROR(check_refusal(context, last, outcome, &message, finding, error));
  /* Memory in quarantine is mapped anew, which costs more than all other steps: what an operator keeps or returns is
   * the same for every variant. */
  if (!*out_returned || !context->unmodified) return OPC_OK;
  OPC_RETURN_IF_ERROR(lifetime_pass(context, finding, error));
  /* A write out of bounds would do harm. */
  return finding->decided ? OPC_OK : check_peak(context, finding, error);
}

static opc_status_t run_memory(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  bool returned = false;
  if (context->device.type != OPC_DEVICE_CPU) return opc_device_zones_check(context, finding, error);
  const opc_check_session_t *session = context->session;
  if ((context->rule->judge & OPC_JUDGE_UNLESS_FOUND) && *session->found)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it goes out of bounds on ordinary values too");
  OPC_RETURN_IF_ERROR(call_base(context, error));
  const opc_status_t status = check_passes(context, &returned, finding, error);
  memory_mode_reset();
  if (!status && returned)
    opc_finding_pass(finding, "nothing outside its tensors%s is accessed, with guards before and after its tensors",
                     context->unmodified ? ", and nothing that was freed," : "");
  return status;
}

const opc_check_t opc_check_memory = {.name = "memory", .run = run_memory};
