/* mutation: every argument's whole storage and metadata, before and after the call, and each write in between. */
#include <stdlib.h>
#include <string.h>

#include "checks/framework/check.h"
#include "memory/cpu_memory.h"

static bool shares_storage(const opc_tensor_arg_t *left, const opc_tensor_arg_t *right) {
  return opc_tensor_shares_storage(&left->before, &right->before);
}

/* A mutable argument over the same storage explains changes of its bytes, and the version counter of views. */
static bool storage_is_mutable(const opc_call_t *call, const opc_tensor_arg_t *tensor_arg) {
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (opc_tensor_arg_is_mutable(&call->tensor_args[i]) &&
        (shares_storage(&call->tensor_args[i], tensor_arg) || &call->tensor_args[i] == tensor_arg))
      return true;
  return false;
}

static bool tensor_is_mutable(const opc_call_t *call, const opc_tensor_arg_t *tensor_arg) {
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (opc_tensor_arg_is_mutable(&call->tensor_args[i]) && call->tensor_args[i].before.impl == tensor_arg->before.impl)
      return true;
  return false;
}

static bool is_first_of_storage(const opc_call_t *call, const opc_tensor_arg_t *tensor_arg) {
  for (const opc_tensor_arg_t *other = call->tensor_args; other < tensor_arg; other++)
    if (shares_storage(other, tensor_arg)) return false;
  return true;
}

static void add_elements(const opc_tensor_arg_t *tensor_arg, const opc_change_t *change, const void *now,
                         opc_text_t *text) {
  char index[160], before[160], after[160];
  int64_t rest = change->first_element, offset = tensor_arg->before.storage_offset;
  for (int d = tensor_arg->before.ndim - 1; d >= 0; d--) {
    offset += rest % tensor_arg->before.sizes[d] * tensor_arg->before.strides[d];
    rest /= tensor_arg->before.sizes[d];
  }
  size_t at = (size_t)offset * tensor_arg->before.itemsize;
  opc_index_text(&tensor_arg->before, change->first_element, index, sizeof index);
  opc_element_text(tensor_arg->before.dtype, (const char *)tensor_arg->storage_before + at, before, sizeof before);
  opc_element_text(tensor_arg->before.dtype, (const char *)now + at, after, sizeof after);
  opc_text_addf(text, "%s%s was %s and is %s; %lld of %lld elements changed", tensor_arg->path, index, before, after,
                (long long)change->inside_count, (long long)tensor_arg->before.numel);
}

static opc_status_t report_elements(const opc_tensor_arg_t *tensor_arg, const opc_change_t *change,
                                    opc_finding_t *finding, opc_error_t *error) {
  const void *now = NULL;
  size_t size = 0;
  OPC_SCOPED(opc_scope_free) void *owned = NULL;
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  OPC_RETURN_IF_ERROR(opc_tensor_storage_bytes(tensor_arg->tensor, &now, &size, &owned, error));
  add_elements(tensor_arg, change, now, &text);
  opc_finding_fail(finding, OPC_RULE_mutation_undeclared, "argument %s is not declared mutable but was changed: %s",
                   tensor_arg->path, opc_text_c(&text));
  opc_finding_evidence(finding, "argument", json_string(tensor_arg->path));
  return OPC_OK;
}

/* Bytes that belong to no mutable argument of this storage. */
static opc_status_t count_outside(const opc_call_t *call, const opc_tensor_arg_t *tensor_arg, size_t *out_bytes,
                                  size_t *out_first, opc_error_t *error) {
  const void *now = NULL;
  size_t size = 0;
  OPC_SCOPED(opc_scope_free) void *owned = NULL;
  *out_bytes = 0;
  OPC_RETURN_IF_ERROR(opc_tensor_storage_bytes(tensor_arg->tensor, &now, &size, &owned, error));
  size_t common = size < tensor_arg->storage_bytes ? size : tensor_arg->storage_bytes;
  OPC_SCOPED(opc_scope_free) unsigned char *mask = calloc(common + 1, 1);
  if (!mask) return opc_out_of_memory(error);
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    opc_tensor_meta_t after;
    if (!opc_tensor_arg_is_mutable(&call->tensor_args[i]) || !shares_storage(&call->tensor_args[i], tensor_arg))
      continue;
    opc_tensor_describe(call->tensor_args[i].tensor, &after); /* resized in place: elements where none were */
    opc_elements_mark(&call->tensor_args[i].before, mask, common);
    opc_elements_mark(&after, mask, common);
  }
  const unsigned char *before = tensor_arg->storage_before, *after = now;
  for (size_t i = 0; i < common; i++) {
    if (mask[i] || before[i] == after[i]) continue;
    if ((*out_bytes)++ == 0) *out_first = i;
  }
  return OPC_OK;
}

static opc_status_t check_bytes(const opc_call_t *call, const opc_tensor_arg_t *tensor_arg, opc_finding_t *finding,
                                opc_error_t *error) {
  opc_change_t change;
  opc_tensor_meta_t now;
  OPC_RETURN_IF_ERROR(opc_tensor_arg_changed(tensor_arg, &change, error));
  if ((!change.inside && !change.outside)) return OPC_OK;
  opc_tensor_describe(tensor_arg->tensor, &now);
  bool mutable_storage = storage_is_mutable(call, tensor_arg);
  if (change.inside && !mutable_storage) return report_elements(tensor_arg, &change, finding, error);
  if (!is_first_of_storage(call, tensor_arg)) return OPC_OK;
  if (now.storage != tensor_arg->before.storage || now.storage_bytes != tensor_arg->before.storage_bytes)
    return OPC_OK; /* resized: the schema allows that for a mutable argument; for others the metadata shows it */

  size_t bytes = change.outside_bytes, first = change.first_outside;
  if (mutable_storage) OPC_RETURN_IF_ERROR(count_outside(call, tensor_arg, &bytes, &first, error));
  if (bytes)
    opc_finding_fail(finding, OPC_RULE_mutation_outside_view,
                     "%zu bytes of argument %s's storage outside its elements were written, the first at byte %zu",
                     bytes, tensor_arg->path, first);
  return OPC_OK;
}

static const char *changed_metadata(const opc_tensor_meta_t *before, const opc_tensor_meta_t *after) {
  size_t bytes = (size_t)(before->ndim < OPC_MAX_DIMS ? before->ndim : OPC_MAX_DIMS) * sizeof before->sizes[0];
  if (!opc_tensor_same_sizes(before, after)) return "shape";
  if (memcmp(before->strides, after->strides, bytes) != 0) return "strides";
  if (before->storage_offset != after->storage_offset) return "storage offset";
  if (before->storage != after->storage) return "storage";
  if (before->storage_bytes != after->storage_bytes) return "storage size";
  if (before->dtype != after->dtype || strcmp(before->dtype_text, after->dtype_text) != 0) return "dtype";
  if (!opc_device_equal(before->device, after->device)) return "device";
  if (before->conj != after->conj) return "conj bit";
  if (before->neg != after->neg) return "neg bit";
  if (before->requires_grad != after->requires_grad) return "requires_grad";
  return NULL;
}

static void add_layout(const opc_tensor_meta_t *meta, char *out, size_t size) {
  char sizes[160], strides[160];
  opc_sizes_text(meta->ndim, meta->sizes, sizes, sizeof sizes);
  opc_sizes_text(meta->ndim, meta->strides, strides, sizeof strides);
  snprintf(out, size, "%s strides %s offset %lld", sizes, strides, (long long)meta->storage_offset);
}

static void check_metadata(const opc_call_t *call, const opc_tensor_arg_t *tensor_arg, opc_finding_t *finding) {
  opc_tensor_meta_t now;
  char before[360], after[360];
  opc_tensor_describe(tensor_arg->tensor, &now);
  if (tensor_is_mutable(call, tensor_arg)) return;
  const char *what = changed_metadata(&tensor_arg->before, &now);
  bool storage_shared =
      storage_is_mutable(call, tensor_arg); /* set_ and resize_ of the mutable argument show here too */
  if (!what || (storage_shared && strcmp(what, "storage size") == 0)) return;
  add_layout(&tensor_arg->before, before, sizeof before);
  add_layout(&now, after, sizeof after);
  opc_finding_fail(finding, OPC_RULE_mutation_metadata, "the %s of argument %s changed: it was %s and is %s", what,
                   tensor_arg->path, before, after);
}

static opc_status_t check_version(const opc_call_t *call, const opc_tensor_arg_t *tensor_arg, opc_finding_t *finding,
                                  opc_error_t *error) {
  opc_tensor_meta_t now;
  opc_change_t change;
  opc_tensor_describe(tensor_arg->tensor, &now);
  OPC_RETURN_IF_ERROR(opc_tensor_arg_changed(tensor_arg, &change, error));
  if (tensor_arg->before.version < 0 || now.version < 0) return OPC_OK;
  if (opc_tensor_arg_is_mutable(tensor_arg)) {
    if (change.inside && now.version == tensor_arg->before.version)
      opc_finding_fail(finding, OPC_RULE_mutation_version_counter,
                       "argument %s was written but its version counter is still %lld", tensor_arg->path,
                       (long long)now.version);
  } else if (!storage_is_mutable(call, tensor_arg) && now.version != tensor_arg->before.version && !change.inside &&
             tensor_arg->before.numel > 0 && !changed_metadata(&tensor_arg->before, &now)) {
    opc_finding_fail(finding, OPC_RULE_mutation_undeclared,
                     "argument %s is not declared mutable, but its version counter went from %lld to %lld: an in-place "
                     "operation ran on it, although its values are as before",
                     tensor_arg->path, (long long)tensor_arg->before.version, (long long)now.version);
    opc_finding_evidence(finding, "argument", json_string(tensor_arg->path));
  }
  return OPC_OK;
}

/* How the arguments are placed while the operator runs. */
typedef enum arrangement {
  READ_ONLY = 0, /* read-only arguments are write-protected, so writes that are undone later or change nothing are
                    detected as well */
  GUARDED,
  PLAIN,
  ARRANGEMENTS
} arrangement_t;

static opc_status_t run_arranged(opc_case_context_t *context, arrangement_t arrangement, opc_call_t *call,
                                 opc_error_t *error) {
  static const char *const details[ARRANGEMENTS] = {"with read-only arguments", "on guarded memory", ""};
  if (arrangement == PLAIN) opc_cpu_memory_plain();
  else opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  const opc_call_options_t options = {.device = context->device, .seed = context->seed, .to_protect = true};
  OPC_RETURN_IF_ERROR(opc_call_make_with(call, context->op, context->sample, &options, error));
  OPC_RETURN_IF_ERROR(opc_call_snapshot(call, error));
  if (arrangement != PLAIN) opc_call_protect(call, true);
  if (arrangement == GUARDED)
    opc_call_protect(call, false); /* then the heap has the same contents, for operators that read out of bounds */
  context->announce(OPC_CALL_LABEL(OPERATOR, details[arrangement]));
  opc_call_run(call, context->handle, context->seed);
  if (arrangement == READ_ONLY) opc_call_protect(call, false);
  return OPC_OK;
}

/* Repeats a refusal with read-only arguments and a return on guarded memory. *call is the last call. */
static opc_status_t repeat_refusal(opc_case_context_t *context, opc_call_t *call, bool *out_same, opc_error_t *error) {
  for (arrangement_t arrangement = READ_ONLY; arrangement <= GUARDED && *out_same; arrangement++) {
    opc_call_clear(call);
    OPC_RETURN_IF_ERROR(run_arranged(context, arrangement, call, error));
    *out_same = call->outcome == (arrangement == READ_ONLY ? OPC_CALL_REJECTED : OPC_CALL_RETURNED);
  }
  return OPC_OK;
}

/* An operator that reads past a list, or unwritten memory, may refuse depending on the bytes there, so its outcome
 * varies. *call is the last call. */
static opc_status_t is_refusal_deterministic(opc_case_context_t *context, opc_call_t *call, bool *out,
                                             opc_error_t *error) {
  enum { TIMES = 4 };
  *out = true;
  for (int i = 0; i < TIMES && *out; i++) {
    opc_scratch_memory_shift(i % 2 == 0);
    const opc_status_t status = repeat_refusal(context, call, out, error);
    opc_scratch_memory_shift(false);
    OPC_RETURN_IF_ERROR(status);
  }
  return OPC_OK;
}

/* Whoever catches the exception goes on with arguments that are neither old nor new. The old
 * contents of an out argument do not count: nobody reads them. */
static opc_status_t check_half_done(const opc_operator_t *op, const opc_call_t *call, opc_finding_t *finding,
                                    opc_error_t *error) {
  const char *message = opc_text_c(&call->message);
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    opc_change_t change;
    OPC_RETURN_IF_ERROR(opc_tensor_arg_changed(tensor_arg, &change, error));
    if (!change.inside || op->arguments[tensor_arg->argument].kwarg_only) continue;
    opc_finding_fail(finding, OPC_RULE_mutation_half_done, "the call throws, and argument %s is changed already: %.*s",
                     tensor_arg->path, (int)strcspn(message, "\n"), message);
    opc_finding_evidence(finding, "argument", json_string(tensor_arg->path));
    break;
  }
  return OPC_OK;
}

/* A system call that writes to protected memory does not fault: it fails. So a refusal is repeated on unprotected
 * memory. *out_returned false: the finding is made. */
static opc_status_t run_operator(opc_case_context_t *context, opc_call_t *call, bool *out_returned,
                                 opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  bool deterministic = false;
  OPC_RETURN_IF_ERROR(run_arranged(context, READ_ONLY, call, error));
  opc_text_add(&message, opc_text_c(&call->message));
  arrangement_t last = READ_ONLY;
  while (call->outcome == OPC_CALL_REJECTED && ++last < ARRANGEMENTS) {
    opc_call_clear(call);
    OPC_RETURN_IF_ERROR(run_arranged(context, last, call, error));
  }
  if (last == GUARDED && call->outcome == OPC_CALL_RETURNED)
    OPC_RETURN_IF_ERROR(is_refusal_deterministic(context, call, &deterministic, error));
  if (deterministic)
    opc_finding_fail(finding, OPC_RULE_mutation_system_call,
                     "returns, but fails when the arguments that are not declared mutable are read-only: %.300s",
                     opc_text_c(&message));
  if (call->outcome == OPC_CALL_REJECTED) OPC_RETURN_IF_ERROR(check_half_done(context->op, call, finding, error));
  *out_returned = !finding->decided && !opc_finding_from_outcome(context, call, finding);
  return OPC_OK;
}

static opc_status_t check_arguments(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  size_t bytes = 0;
  bool returned = false;
  OPC_RETURN_IF_ERROR(run_operator(context, &call, &returned, finding, error));
  if (!returned) return OPC_OK;
  if (opc_operator_may_alias_or_mutate(context->op))
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                            "the tag maybe_aliasing_or_mutating says that the operator may change its arguments");
  for (size_t i = 0; i < call.tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call.tensor_args[i];
    check_metadata(&call, tensor_arg, finding);
    OPC_RETURN_IF_ERROR(check_bytes(&call, tensor_arg, finding, error));
    OPC_RETURN_IF_ERROR(check_version(&call, tensor_arg, finding, error));
    bytes += tensor_arg->storage_bytes;
  }
  opc_accesses_report_writes(context, &call, finding);
  if (call.tensor_arg_count)
    return opc_finding_pass(finding, "%zu tensor arguments, %zu bytes compared: changed only as declared",
                            call.tensor_arg_count, bytes);
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no tensor among the arguments");
}

/* ---- over all samples: is a declared mutable argument ever written ---- */

typedef struct written_use {
  bool given, written; /* given: it was passed and has elements to write */
} written_use_t;

typedef struct values_use {
  const opc_sample_t *sample;
  uint64_t seed, other;
} values_use_t;

static opc_status_t give_values(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                                void *context, opc_error_t *error) {
  const values_use_t *use = context;
  (void)tensor_arg;
  return opc_sample_fill_other(use->sample, spec, path, use->seed, use->other, logical, error);
}

/* Python's custom_op bumps the version of each argument that it declares mutable, written or not, in such a kernel. */
static bool bumps_by_itself(const opc_operator_t *op) {
  return op->in_python && opc_operator_kernel(op, "ADInplaceOrView");
}

static opc_status_t see_writes(opc_case_context_t *context, const opc_sample_t *sample, uint64_t seed,
                               written_use_t *uses, opc_error_t *error) {
  values_use_t use = {.sample = sample, .seed = context->seed, .other = seed};
  opc_call_options_t options = {
      .device = context->device, .seed = context->seed, .values = give_values, .values_context = &use};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_RETURN_IF_ERROR(opc_call_make_with(&call, context->op, sample, &options, error));
  OPC_RETURN_IF_ERROR(opc_call_snapshot(&call, error));
  context->announce(OPC_CALL_LABEL(OPERATOR, ""));
  if (opc_call_run(&call, context->handle, seed) != OPC_CALL_RETURNED) return OPC_OK;
  for (size_t i = 0; i < call.tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call.tensor_args[i];
    opc_tensor_meta_t now;
    opc_change_t change;
    if (!opc_tensor_arg_is_mutable(tensor_arg)) continue;
    opc_tensor_describe(tensor_arg->tensor, &now);
    OPC_RETURN_IF_ERROR(opc_tensor_arg_changed(tensor_arg, &change, error));
    bool changed = change.inside || changed_metadata(&tensor_arg->before, &now) ||
                   (now.version != tensor_arg->before.version && !bumps_by_itself(context->op));
    uses[tensor_arg->argument].given |= tensor_arg->before.numel > 0 || changed;
    uses[tensor_arg->argument].written |= changed;
  }
  return OPC_OK;
}

/* Calls with two sets of values: the written ones may equal the old ones. */
static opc_status_t see_sample_writes(opc_case_context_t *context, const opc_sample_t *sample, written_use_t *uses,
                                      opc_error_t *error) {
  for (uint64_t other = 0; other < 2; other++) {
    OPC_RETURN_IF_ERROR(see_writes(context, sample, context->seed + other, uses, error));
  }
  return OPC_OK;
}

static opc_status_t check_declared_writes(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  const opc_operator_t *op = context->op;
  OPC_SCOPED(opc_scope_free) written_use_t *uses = calloc(op->argument_count + 1, sizeof *uses);
  size_t declared = 0, given = 0;
  if (!uses) return opc_out_of_memory(error);
  for (size_t i = 0; i < context->sample_count; i++)
    if (!context->samples[i].expect.rejects)
      OPC_RETURN_IF_ERROR(opc_status_of_sample(see_sample_writes(context, &context->samples[i], uses, error)));
  for (size_t a = 0; a < op->argument_count; a++) {
    if (!op->arguments[a].alias.present || !op->arguments[a].alias.is_write) continue;
    declared++;
    given += uses[a].given;
    if (uses[a].given && !uses[a].written)
      opc_finding_fail(finding, OPC_RULE_mutation_declared_not_written,
                       "argument %s is declared mutable but was never written, on %zu samples", op->arguments[a].name,
                       context->sample_count);
  }
  if (given) return opc_finding_pass(finding, "%zu declared mutable arguments are written", given);
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                          declared ? "no call returned with a mutable argument" : "no argument is declared mutable");
}

static opc_status_t run_mutation(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  return context->sample ? check_arguments(context, finding, error) : check_declared_writes(context, finding, error);
}

const opc_check_t opc_check_mutation = {.name = "mutation", .run = run_mutation};
