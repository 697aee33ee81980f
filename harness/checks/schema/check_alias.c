/* alias: the storages that inputs and outputs share are compared with the alias sets of the schema. */
#include <stdlib.h>
#include <string.h>

#include "checks/framework/check.h"

/* Alias sets are names joined by '|'; "*" stands for all. */
static bool set_has(const char *set, const char *name, size_t length) {
  for (const char *at = set; at && *at;) {
    size_t size = strcspn(at, "|");
    if ((size == 1 && at[0] == '*') || (size == length && memcmp(at, name, length) == 0)) return true;
    at += size + (at[size] == '|');
  }
  return false;
}

static bool sets_meet(const char *left, const char *right) {
  for (const char *at = left; at && *at;) {
    size_t size = strcspn(at, "|");
    if (size == 1 && at[0] == '*' && right && *right) return true;
    if (size && set_has(right, at, size)) return true;
    at += size + (at[size] == '|');
  }
  return false;
}

static bool may_alias(const opc_alias_t *left, const opc_alias_t *right) {
  if (!left || !right || !left->present || !right->present) return false;
  return sets_meet(left->before, right->before) || sets_meet(left->before, right->after) ||
         sets_meet(left->after, right->before) || sets_meet(left->after, right->after);
}

static bool is_wildcard(const opc_alias_t *alias) {
  return alias->present && (set_has(alias->before, "", 0) || set_has(alias->after, "", 0));
}

static const opc_alias_t *output_alias(const opc_operator_t *op, const opc_output_t *output) {
  static const opc_alias_t none = {0};
  return output->return_index < op->return_count ? &op->returns[output->return_index].alias : &none;
}

static const char *alias_name(const opc_alias_t *alias) {
  return alias->present && alias->before ? alias->before : "nothing";
}

/* A view of a kernel that decomposes may return its input itself: the dispatcher never treats it as an operator below
 * Autograd. */
static bool decomposes(const opc_operator_t *op) { return opc_operator_kernel(op, "CompositeImplicitAutograd"); }

/* Two storages over the same bytes, as from_numpy, from_dlpack and from_blob make them. Those
 * of _lazy_clone do not count: the first write copies the bytes. Both tensors must still exist. */
static bool same_bytes(const opc_tensor_meta_t *left, const opc_tensor_meta_t *right) {
  const char *a = left->storage_data, *b = right->storage_data;
  const bool both = left->defined && right->defined && a && b && !left->copy_on_write && !right->copy_on_write;
  return both && left->device.type == OPC_DEVICE_CPU && right->device.type == OPC_DEVICE_CPU &&
         a < b + right->storage_bytes && b < a + left->storage_bytes;
}

static bool shares_memory(const opc_tensor_meta_t *left, const opc_tensor_meta_t *right) {
  return opc_tensor_shares_storage(left, right) || same_bytes(left, right);
}

/* Compares one output with all arguments: the schema may forbid for one tensor argument what it allows for another with
 * the same storage. */
static void check_output(const opc_case_context_t *context, const opc_call_t *call, const opc_output_t *output,
                         opc_finding_t *finding) {
  const opc_alias_t *declared = output_alias(context->op, output);
  const opc_tensor_arg_t *shares = NULL, *identical = NULL;
  bool by_bytes = false;
  bool allowed = false, returned_mutable = false;
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    opc_tensor_meta_t now;
    opc_tensor_describe(tensor_arg->tensor, &now); /* a mutable argument may have got another storage */
    bool is_same = output->meta.impl == tensor_arg->before.impl;
    if (!is_same && !shares_memory(&output->meta, &now) &&
        !opc_tensor_shares_storage(&output->meta, &tensor_arg->before))
      continue;
    if (!shares)
      by_bytes = !is_same && !opc_tensor_shares_storage(&output->meta, &now) &&
                 !opc_tensor_shares_storage(&output->meta, &tensor_arg->before);
    if (!shares) shares = tensor_arg;
    if (is_same && !identical) identical = tensor_arg;
    if (!may_alias(declared, tensor_arg->alias)) continue;
    allowed = true;
    if (is_same && opc_tensor_arg_is_mutable(tensor_arg)) returned_mutable = true;
  }
  const opc_tensor_arg_t *blamed = identical ? identical : shares;
  if (identical && !allowed)
    opc_finding_fail(finding, OPC_RULE_alias_input_returned,
                     "%s is argument %s itself; the schema says that it is a new tensor", output->path, blamed->path);
  else if (identical && !returned_mutable && !decomposes(context->op))
    opc_finding_fail(finding, OPC_RULE_alias_input_returned,
                     "%s is argument %s itself, not a view of it: a declared view must be a new tensor object",
                     output->path, blamed->path);
  else if (shares && !allowed)
    opc_finding_fail(finding, OPC_RULE_alias_undeclared_input,
                     "%s shares %s with argument %s%s; the schema declares that it may alias %s", output->path,
                     by_bytes ? "memory" : "storage", blamed->path,
                     by_bytes ? ", through a storage object of its own" : "", alias_name(declared));
  else return;
  opc_finding_evidence(finding, "argument", json_string(blamed->path));
}

static void check_output_pairs(const opc_case_context_t *context, const opc_call_t *call, const opc_output_t *outputs,
                               size_t count, opc_finding_t *finding) {
  for (size_t i = 0; i < count; i++) {
    for (size_t k = i + 1; k < count; k++) {
      if (!shares_memory(&outputs[i].meta, &outputs[k].meta)) continue;
      if (may_alias(output_alias(context->op, &outputs[i]), output_alias(context->op, &outputs[k]))) continue;
      /* Both share with the argument, through different declarations or none: reported above already, once per
       * output. */
      bool through_input = false;
      for (size_t l = 0; l < call->tensor_arg_count; l++)
        through_input |= shares_memory(&outputs[i].meta, &call->tensor_args[l].before);
      if (through_input) continue;
      opc_finding_fail(finding, OPC_RULE_alias_outputs_share, "%s and %s %s", outputs[i].path, outputs[k].path,
                       outputs[i].meta.impl == outputs[k].meta.impl ? "are one tensor"
                       : opc_tensor_shares_storage(&outputs[i].meta, &outputs[k].meta)
                           ? "share one storage"
                           : "share memory, through two storage objects");
      return;
    }
  }
}

/* A second call, on its own arguments, while everything of the first is still alive. */
static opc_status_t check_earlier(opc_case_context_t *context, const opc_call_t *first, const opc_output_t *outputs,
                                  size_t count, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_scope_free) opc_output_t *later = NULL;
  size_t later_count = 0;
  const opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_OPERATOR, "second call"}};
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &call, error));
  if (call.outcome != OPC_CALL_RETURNED) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_call_outputs(&call, &later, &later_count, error));
  for (size_t i = 0; i < later_count; i++) {
    const opc_output_t *output = &later[i];
    bool own = is_wildcard(output_alias(context->op, output));
    for (size_t l = 0; l < call.tensor_arg_count; l++) own |= shares_memory(&output->meta, &call.tensor_args[l].before);
    if (own) continue;
    for (size_t k = 0; k < count; k++)
      if (shares_memory(&output->meta, &outputs[k].meta))
        opc_finding_fail(finding, OPC_RULE_alias_earlier_output,
                         "%s shares storage with %s of an earlier call, which is still in use", output->path,
                         outputs[k].path);
    for (size_t l = 0; l < first->tensor_arg_count; l++)
      if (opc_tensor_shares_storage(&output->meta, &first->tensor_args[l].before))
        opc_finding_fail(finding, OPC_RULE_alias_earlier_output,
                         "%s shares storage with argument %s of an earlier call", output->path,
                         first->tensor_args[l].path);
  }

  return OPC_OK;
}

static opc_status_t check_shared(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0, defined = 0;
  const bool as_tagged = opc_operator_may_alias_or_mutate(context->op);
  if (!opc_case_call(context, false, &call, finding)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_call_outputs(&call, &outputs, &count, error));
  for (size_t i = 0; i < count; i++) {
    if (!outputs[i].meta.defined) continue;
    defined++;
    if (!as_tagged) check_output(context, &call, &outputs[i], finding);
  }
  if (!as_tagged) check_output_pairs(context, &call, outputs, count, finding);
  if (defined) OPC_RETURN_IF_ERROR(check_earlier(context, &call, outputs, count, finding, error));
  if (defined && as_tagged)
    return opc_finding_pass(finding,
                            "%zu outputs share no storage with an earlier call's; with arguments they may, by the tag "
                            "maybe_aliasing_or_mutating",
                            defined);
  if (defined) return opc_finding_pass(finding, "%zu outputs share storage only as declared", defined);
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the operator returns no tensor");
}

/* ---- over all samples: does a declared alias ever occur ---- */

typedef struct declared_use {
  bool seen, possible; /* possible: a call had both the argument and the output */
} declared_use_t;

static opc_status_t see_aliases(opc_case_context_t *context, const opc_sample_t *sample, declared_use_t *uses,
                                opc_error_t *error) {
  const opc_operator_t *op = context->op;
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  const opc_again_t again = {.context = context, .sample = sample, .label = {OPC_CALL_KIND_OPERATOR, ""}};
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &call, error));
  if (call.outcome != OPC_CALL_RETURNED) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_call_outputs(&call, &outputs, &count, error));
  for (size_t i = 0; i < count; i++) {
    if (outputs[i].return_index >= op->return_count) continue;
    for (size_t l = 0; l < call.tensor_arg_count; l++) {
      declared_use_t *use = &uses[outputs[i].return_index];
      if (!may_alias(call.tensor_args[l].alias, output_alias(op, &outputs[i]))) continue;
      use->possible = true;
      opc_tensor_meta_t now;
      opc_tensor_describe(call.tensor_args[l].tensor, &now);
      use->seen |= opc_tensor_shares_storage(&outputs[i].meta, &now) ||
                   opc_tensor_shares_storage(&outputs[i].meta, &call.tensor_args[l].before);
    }
  }

  return OPC_OK;
}

static opc_status_t check_declared_aliases(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  const opc_operator_t *op = context->op;
  OPC_SCOPED(opc_scope_free) declared_use_t *uses = calloc(op->return_count + 1, sizeof *uses);
  size_t declared = 0, possible = 0;
  if (!uses) return opc_out_of_memory(error);
  for (size_t i = 0; i < context->sample_count; i++) {
    if (context->samples[i].expect.rejects) continue;
    OPC_RETURN_IF_ERROR(opc_status_of_sample(see_aliases(context, &context->samples[i], uses, error)));
  }
  for (size_t r = 0; r < op->return_count; r++) {
    if (!op->returns[r].alias.present) continue;
    declared++;
    possible += uses[r].possible;
    if (uses[r].possible && !uses[r].seen)
      opc_finding_fail(finding, OPC_RULE_alias_declared_not_aliased,
                       "returns[%zu] is declared to alias (%s) and never did, on %zu samples", r,
                       alias_name(&op->returns[r].alias), context->sample_count);
  }
  if (possible) return opc_finding_pass(finding, "%zu declared aliases do happen", possible);
  return opc_finding_skip(
      finding, OPC_SKIP_NOT_APPLICABLE,
      declared ? "no call returned an output with a declared alias" : "the schema declares no alias");
}

static opc_status_t run_alias(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  return context->sample ? check_shared(context, finding, error) : check_declared_aliases(context, finding, error);
}

const opc_check_t opc_check_alias = {.name = "alias", .run = run_alias};
