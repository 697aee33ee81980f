/* symbolic: the Meta kernel runs on symbols instead of sizes, as under torch.compile with dynamic shapes; the real
 * kernel runs on other sizes, which proves what must not be a constant. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "checks/framework/check.h"
#include "memory/cpu_memory.h"

static const opc_device_t meta_device = {OPC_DEVICE_META, -1};

enum { SHAPES_MAX = 3, SHAPES_TRIED_MAX = 8 }; /* in addition to the sample's own */

typedef struct other_shape {
  char variant[96];
  size_t output_count;
  struct sizes {
    int ndim;
    int64_t sizes[OPC_MAX_DIMS];
  } outputs[OPC_SYMBOLIC_OUTPUTS]; /* of the real kernel */
  bool has_symbolic;
  opc_symbolic_t symbolic;
} other_shape_t;

typedef struct symbolic_case {
  opc_case_context_t *context;
  opc_finding_t *finding;
  opc_call_t real;
  opc_output_t *outputs;
  size_t output_count;
  opc_call_t meta; /* tensors on Meta, from which the symbolic ones are made */
  opc_symbolic_t symbolic;
  opc_call_outcome_t outcome;
  opc_text_t message;
  other_shape_t *others;
  size_t other_count, tried;
  opc_status_t status; /* of a callback, which cannot return a status */
  opc_error_t *error;
} symbolic_case_t;

/* The kernel runs on the arguments of a call on Meta, with symbols for their sizes. */
static opc_call_outcome_t call_symbolic(const symbolic_case_t *run, opc_call_t *meta, opc_symbolic_t *out,
                                        opc_text_t *message) {
  run->context->announce(OPC_CALL_LABEL(META_OTHERWISE, "with symbolic sizes"));
  return opc_op_call_symbolic(run->context->handle, meta->arguments, meta->absent, meta->argument_count, out, message);
}

/* ---- other sizes ---- */

static bool same_ranks(const symbolic_case_t *run, const opc_call_t *call) {
  if (call->tensor_arg_count != run->real.tensor_arg_count) return false;
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (call->tensor_args[i].before.ndim != run->real.tensor_args[i].before.ndim) return false;
  return true;
}

/* The length of a list is fixed when a graph is made, and is no symbol: if it contains nulls, the tensors do not show
 * it. */
static bool same_lengths(const opc_sample_t *left, const opc_sample_t *right) {
  for (size_t i = 0; i < left->argument_count; i++) {
    const opc_value_t *a = &left->arguments[i], *b = &right->arguments[i];
    if (a->kind == OPC_VALUE_LIST && (b->kind != OPC_VALUE_LIST || a->list.count != b->list.count)) return false;
  }
  return true;
}

/* On guarded memory: these sizes are not the sample's, and a kernel that does not check them may go out of bounds. Its
 * results then prove nothing. */
static opc_status_t call_real(symbolic_case_t *run, const opc_sample_t *sample, other_shape_t *out,
                              bool *out_accepted) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  opc_case_context_t *context = run->context;
  *out_accepted = false;
  if (opc_call_make(&call, context->op, sample, context->device, context->seed, NULL) != OPC_OK ||
      !same_ranks(run, &call))
    return OPC_OK;
  context->announce(OPC_CALL_LABEL(ON_OTHERS, "other sizes"));
  if (opc_call_run(&call, context->handle, context->seed) != OPC_CALL_RETURNED) return OPC_OK;
  if (opc_accesses_count(OPC_ACCESSES_INVALID)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_call_outputs(&call, &outputs, &out->output_count, run->error));
  for (size_t i = 0; i < out->output_count && i < OPC_SYMBOLIC_OUTPUTS; i++) {
    out->outputs[i].ndim = outputs[i].meta.ndim;
    memcpy(out->outputs[i].sizes, outputs[i].meta.sizes, sizeof out->outputs[i].sizes);
  }
  *out_accepted = true;
  return OPC_OK;
}

static opc_status_t try_shape(symbolic_case_t *run, const char *name, const opc_sample_t *sample) {
  const opc_case_context_t *context = run->context;
  other_shape_t *other = &run->others[run->other_count];
  bool accepted = false;
  *other = (other_shape_t){0};
  snprintf(other->variant, sizeof other->variant, "%s", name);
  OPC_RETURN_IF_ERROR(call_real(run, sample, other, &accepted));
  if (!accepted) return OPC_OK;
  run->other_count++;
  if (!run->symbolic.event_count) return OPC_OK;
  OPC_SCOPED(opc_call_clear) opc_call_t meta = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  OPC_RETURN_IF_ERROR(opc_call_make(&meta, context->op, sample, meta_device, context->seed, run->error));
  other->has_symbolic = call_symbolic(run, &meta, &other->symbolic, &message) == OPC_CALL_RETURNED;
  return OPC_OK;
}

static bool try_sizes(const char *name, const opc_sample_t *sample, void *context) {
  symbolic_case_t *run = context;
  if (!same_lengths(run->context->sample, sample)) return true;
  if (run->tried++ == SHAPES_TRIED_MAX) return false;
  run->status = try_shape(run, name, sample);
  if (run->status != OPC_OK) return false;
  return run->other_count < SHAPES_MAX;
}

static opc_status_t try_other_shapes(symbolic_case_t *run) {
  opc_case_context_t *context = run->context;
  bool guarded = opc_cpu_memory_guarded();
  if (opc_accesses_count(OPC_ACCESSES_INVALID)) return OPC_OK; /* the runner reports these */
  run->others = calloc(SHAPES_MAX + 1, sizeof *run->others);
  if (!run->others) return opc_out_of_memory(run->error);
  if (!guarded) opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  const opc_status_t status =
      opc_variants_of(context->sample, context->op, OPC_VARIANT_SHAPE | OPC_VARIANT_SIZES, try_sizes, run, run->error);
  if (!guarded) opc_cpu_memory_plain();
  opc_guard_accesses_reset();
  OPC_RETURN_IF_ERROR(status);
  return run->status;
}

/* ---- findings ---- */

/* The supervisor turns the addresses into a source location, and appends it to the message. */
static void symbolic_add_place(opc_finding_t *finding, opc_rule_id_t rule, const opc_symbolic_event_t *event) {
  json_t *raw = json_array(), *list = finding->evidence ? json_object_get(finding->evidence, "accesses") : NULL;
  for (uint32_t i = 0; i < event->frame_count; i++)
    json_array_append_new(raw, json_sprintf("0x%" PRIx64, event->frames[i]));
  if (!list) {
    list = json_array();
    opc_finding_evidence(finding, "accesses", list);
  }
  json_t *place = json_pack("{s:s, s:s, s:o}", "rule", opc_rule_name(rule), "asks", event->text, "raw_frames", raw);
  if (place) json_array_append_new(list, place);
}

static const char *path_of(const symbolic_case_t *run, int tensor_arg) {
  if (tensor_arg == OPC_SYMBOLIC_GRADIENT) return "the incoming gradient";
  return (size_t)tensor_arg < run->meta.tensor_arg_count ? run->meta.tensor_args[tensor_arg].path : "an argument";
}

static void report_reads(symbolic_case_t *run) {
  for (size_t i = 0; i < run->symbolic.event_count; i++) {
    const opc_symbolic_event_t *event = &run->symbolic.events[i];
    if (event->kind != OPC_SYMBOLIC_READ) continue;
    opc_finding_fail(
        run->finding, OPC_RULE_symbolic_plain_size,
        "called on Meta, the operator asks for %s.%s as a plain number, but it is a symbol under dynamic shapes",
        path_of(run, event->argument), event->text);
    symbolic_add_place(run->finding, OPC_RULE_symbolic_plain_size, event);
  }
}

/* The same query at the same place for other sizes that the operator accepts; NULL: it was not made. */
static const opc_symbolic_event_t *same_question(const opc_symbolic_t *symbolic, const opc_symbolic_event_t *event) {
  for (size_t i = 0; i < symbolic->event_count; i++) {
    const opc_symbolic_event_t *other = &symbolic->events[i];
    if (other->kind == event->kind && other->frame_count == event->frame_count &&
        memcmp(other->frames, event->frames, event->frame_count * sizeof event->frames[0]) == 0)
      return other;
  }
  return NULL;
}

static void report_guards(symbolic_case_t *run) {
  for (size_t i = 0; i < run->symbolic.event_count; i++) {
    const opc_symbolic_event_t *event = &run->symbolic.events[i];
    for (size_t k = 0; event->kind != OPC_SYMBOLIC_READ && k < run->other_count; k++) {
      const opc_symbolic_event_t *other =
          run->others[k].has_symbolic ? same_question(&run->others[k].symbolic, event) : NULL;
      if (!other || other->value == event->value) continue;
      bool number = event->kind == OPC_SYMBOLIC_NUMBER;
      const char *yes = event->value ? "holds" : "does not hold";
      opc_finding_note_variant(run->finding, run->others[k].variant);
      if (number)
        opc_finding_fail(run->finding, OPC_RULE_symbolic_specialises,
                         "the Meta kernel turns %s into its number, %lld for the sample and %lld with %s, which the "
                         "operator also accepts",
                         event->text, (long long)event->value, (long long)other->value, run->others[k].variant);
      else
        opc_finding_fail(
            run->finding, OPC_RULE_symbolic_specialises,
            "the Meta kernel decides by %s, which %s for the sample and %s with %s, which the operator also accepts",
            event->text, yes, event->value ? "does not" : "does", run->others[k].variant);
      symbolic_add_place(run->finding, OPC_RULE_symbolic_specialises, event);
      break;
    }
  }
}

static bool has_number(const symbolic_case_t *run) {
  for (size_t i = 0; i < run->symbolic.output_count; i++)
    for (int d = 0; d < run->symbolic.outputs[i].ndim && d < OPC_MAX_DIMS; d++)
      if (run->symbolic.outputs[i].number[d]) return true;
  return false;
}

/* With the arguments of the other shape the Meta kernel gives this size, so it depends on something that is no
 * symbol: a size of 1, or a number among the arguments. */
static bool meta_depends_too(symbolic_case_t *run, const char *variant, size_t number, int dimension, int64_t size) {
  opc_case_context_t *context = run->context;
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  if (opc_variant_apply(context->sample, context->op, variant, &sample, NULL) != OPC_OK ||
      opc_call_make(&call, context->op, &sample, meta_device, context->seed, NULL) != OPC_OK)
    return false;
  context->announce(OPC_CALL_LABEL(META_OTHERWISE, "on other sizes"));
  if (opc_call_run(&call, context->handle, context->seed) != OPC_CALL_RETURNED ||
      opc_call_outputs(&call, &outputs, &count, NULL) != OPC_OK)
    return false;
  return number < count && dimension < outputs[number].meta.ndim && outputs[number].meta.sizes[dimension] == size;
}

static void report_numbers(symbolic_case_t *run) {
  if (opc_operator_output_depends_on_data(run->context->op)) return;
  for (size_t i = 0; i < run->symbolic.output_count; i++) {
    const opc_symbolic_output_t *output = &run->symbolic.outputs[i];
    for (size_t k = 0; k < run->other_count; k++) {
      const struct sizes *real = &run->others[k].outputs[i];
      if (run->others[k].output_count != run->symbolic.output_count || real->ndim != output->ndim) continue;
      for (int d = 0; d < output->ndim && d < OPC_MAX_DIMS; d++) {
        if (!output->number[d] || real->sizes[d] == output->sizes[d] ||
            meta_depends_too(run, run->others[k].variant, i, d, real->sizes[d]))
          continue;
        opc_finding_note_variant(run->finding, run->others[k].variant);
        opc_finding_fail(
            run->finding, OPC_RULE_symbolic_hard_coded,
            "the Meta kernel gives %s size %lld in dimension %d, whatever the sizes of the arguments are; the real "
            "kernel gives it %lld with %s",
            run->outputs[i].path, (long long)output->sizes[d], d, (long long)real->sizes[d], run->others[k].variant);
        return;
      }
    }
  }
}

static bool asked(const symbolic_case_t *run, opc_symbolic_kind_t kind) {
  for (size_t i = 0; i < run->symbolic.event_count; i++)
    if (run->symbolic.events[i].kind == kind) return true;
  return false;
}

/* The kernel threw on symbols, but not on the same sizes as numbers. */
static void report_symbols_refused(symbolic_case_t *run) {
  const char *message = opc_text_c(&run->message);
  int length = (int)strcspn(message, "\n");
  if (opc_kernel_is_python(opc_operator_kernel(run->context->op, "Meta")))
    opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE,
                     "its Meta kernel is in Python and throws on symbols that are no FakeTensors: see check fake: %.*s",
                     length, message);
  else if (run->symbolic.inner_threw[0])
    opc_finding_skip(
        run->finding, OPC_SKIP_NOT_APPLICABLE,
        "the Meta kernel calls %s, which throws on symbolic sizes; in a process with Python it need not: %.*s",
        run->symbolic.inner_threw, length, message);
  else if (run->outcome == OPC_CALL_NO_KERNEL || run->outcome == OPC_CALL_FAKE_IN_PYTHON)
    opc_finding_skip(run->finding, OPC_SKIP_NO_KERNEL,
                     "the Meta kernel calls an operator that has no Meta kernel in C++: %.*s", length, message);
  else if (run->outcome == OPC_CALL_UNCONVERTIBLE)
    opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, "the arguments cannot be made with symbolic sizes: %.*s",
                     length, message);
  else if (run->outcome == OPC_CALL_FOREIGN_EXCEPTION)
    opc_finding_error(run->finding, OPC_RULE_foreign_exception,
                      "the Meta kernel throws something that is not a std::exception");
  else
    opc_finding_fail(run->finding, OPC_RULE_symbolic_rejects,
                     "the Meta kernel takes these sizes as numbers but throws on symbols: %.*s", length, message);
}

/* ---- backward ---- */

/* libtorch's own derivatives have formulas in Python too. An operator that writes its arguments cannot be given leaves.
 */
static bool has_own_derivative(const opc_operator_t *op) {
  const opc_kernel_t *kernel = opc_operator_kernel(op, "Autograd"), *cpu = opc_operator_kernel(op, "AutogradCPU");
  if (!kernel) kernel = cpu;
  return kernel && !kernel->fallthrough && !opc_kernel_is_torchs(kernel) && !opc_operator_is_mutable(op);
}

/* Forward passes with symbols. What the derivative asks for is found in the same way. */
static void check_backward(symbolic_case_t *run, const opc_call_t *arguments) {
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  OPC_SCOPED(opc_scope_free) opc_symbolic_t *seen = calloc(1, sizeof *seen);
  if (!seen || !has_own_derivative(run->context->op)) return;
  run->context->announce(OPC_CALL_LABEL(BACKWARD, "with symbolic sizes"));
  const opc_call_outcome_t outcome = opc_op_backward_symbolic(
      run->context->handle, arguments->arguments, arguments->absent, arguments->argument_count, seen, &message);
  if (outcome == OPC_CALL_UNCONVERTIBLE) return;
  for (size_t i = 0; i < seen->event_count; i++) {
    const opc_symbolic_event_t *event = &seen->events[i];
    if (event->kind != OPC_SYMBOLIC_READ) continue;
    opc_finding_fail(run->finding, OPC_RULE_symbolic_backward,
                     "backward asks for %s of %s as a plain number, but it is a symbol under dynamic shapes",
                     event->text, path_of(run, event->argument));
    symbolic_add_place(run->finding, OPC_RULE_symbolic_backward, event);
  }
  const char *text = opc_text_c(&message);
  if (outcome != OPC_CALL_RETURNED && !run->finding->rule && !seen->inner_threw[0] &&
      opc_torch_says(OPC_TORCH_WANTS_NUMBER, text))
    opc_finding_fail(run->finding, OPC_RULE_symbolic_backward, "backward throws on symbolic sizes: %.*s",
                     (int)strcspn(text, "\n"), text);
}

static void check_symbols(symbolic_case_t *run, const opc_call_t *arguments) {
  report_reads(run);
  if (run->outcome != OPC_CALL_RETURNED) {
    report_symbols_refused(run);
    return;
  }
  report_guards(run);
  /* A size that was queried as a number is also a number in the output. */
  if (!run->finding->rule && !run->symbolic.inner_read && !asked(run, OPC_SYMBOLIC_NUMBER)) report_numbers(run);
  if (!run->finding->rule) check_backward(run, arguments);
  if (run->symbolic.inner_read)
    opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE,
                     "the Meta kernel itself asks for no number, but an operator that it calls does; in a process with "
                     "Python that one need not");
  else if (run->other_count)
    opc_finding_pass(run->finding,
                     "%zu symbols pass through the Meta kernel, and the numbers in its %zu outputs are right for %zu "
                     "other shapes too",
                     run->symbolic.symbols, run->symbolic.output_count, run->other_count);
  else
    opc_finding_pass(run->finding, "%zu symbols pass through the Meta kernel%s", run->symbolic.symbols,
                     has_number(run) ? "; it is not known whether the numbers in its outputs are right, as the "
                                       "operator accepts no other shape that was tried"
                                     : ", and every size of its outputs is made of them");
}

/* ---- the case ---- */

/* True: there is nothing to pass as symbols. */
static bool skip_operator(const opc_operator_t *op, opc_finding_t *finding) {
  if (!op->library || (!op->defined_here && opc_kernel_is_torchs(opc_operator_kernel(op, "Meta"))))
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "its Meta kernel is libtorch's own, whose code for symbols is in Python");
  else if (opc_operator_fake_elsewhere(op) && !opc_operator_has_kernel(op, "Meta"))
    opc_finding_skip(finding, OPC_SKIP_FAKE_IN_PYTHON, "the fake kernel is said to be in Python module %s",
                     op->python_module);
  else if (!opc_operator_has_kernel(op, "Meta"))
    opc_finding_skip(finding, OPC_SKIP_NO_KERNEL,
                     opc_operator_has_kernel(op, "CompositeImplicitAutograd") ||
                             opc_operator_has_kernel(op, "CompositeExplicitAutograd")
                         ? "it is composite: there is no Meta kernel of its own"
                         : "there is no Meta kernel in C++");
  return finding->decided;
}

/* *out_returned false: the finding is decided. */
static opc_status_t call_with_numbers(symbolic_case_t *run, bool *out_returned) {
  const opc_again_t again = {.context = run->context, .device = &meta_device, .label = {OPC_CALL_KIND_META, ""}};
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &run->meta, run->error));
  *out_returned = run->meta.outcome == OPC_CALL_RETURNED;
  if (!*out_returned)
    opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE,
                     "the Meta kernel refuses these sizes as numbers too: see check meta");
  return OPC_OK;
}

static void symbolic_case_clear(symbolic_case_t *run) {
  free(run->others);
  free(run->outputs);
  opc_text_clear(&run->message);
  opc_call_clear(&run->meta);
  opc_call_clear(&run->real);
}

static opc_status_t check_symbolic(symbolic_case_t *run) {
  OPC_SCOPED(opc_call_clear) opc_call_t arguments = {0};
  const opc_case_context_t *context = run->context;
  bool returned = false;
  OPC_RETURN_IF_ERROR(opc_call_outputs(&run->real, &run->outputs, &run->output_count, run->error));
  OPC_RETURN_IF_ERROR(call_with_numbers(run, &returned));
  if (!returned) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_call_make(&arguments, context->op, context->sample, meta_device, context->seed, run->error));
  run->outcome = call_symbolic(run, &arguments, &run->symbolic, &run->message);
  if (!run->symbolic.symbols)
    return opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE,
                            "no size of these arguments is 2 or more: there is nothing to make a symbol of");
  bool comparable = run->outcome == OPC_CALL_RETURNED && run->symbolic.output_count == run->output_count;
  if (comparable && (has_number(run) || run->symbolic.event_count)) OPC_RETURN_IF_ERROR(try_other_shapes(run));
  check_symbols(run, &arguments);
  return OPC_OK;
}

static opc_status_t run_symbolic(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(symbolic_case_clear)
  symbolic_case_t run = {.context = context, .finding = finding, .error = error};
  if (skip_operator(context->op, finding) || !opc_case_call(context, false, &run.real, finding)) return OPC_OK;
  return check_symbolic(&run);
}

const opc_check_t opc_check_symbolic = {.name = "symbolic", .run = run_symbolic};
