/* meta: the operator on tensors without data is compared with the operator on tensors with data, in all metadata of all
 * outputs. */
#include <stdlib.h>
#include <string.h>

#include "checks/compare/compare.h"
#include "checks/meta/sample_fits.h"

/* Which arguments and other outputs one output is the same as or shares storage with. */
typedef struct sharing {
  bool is_input, with_input, with_output;
} sharing_t;

typedef struct side {
  opc_call_t call;
  opc_result_t result;
  opc_output_t *outputs;
  size_t output_count;
} side_t;

typedef struct comparison {
  const opc_case_context_t *context;
  const side_t *real, *meta;
  bool shape_depends_on_data; /* a tag says that only the number of dimensions can be known */
  bool value_depends_on_data;
  bool own_kernel; /* has its own Meta kernel */
  opc_finding_t *finding;
} comparison_t;

/* Without its own Meta kernel, an operator's composite kernel answers. Under torch.compile that kernel runs too, but
 * there its tensors have a device, and decompositions in Python are below it. So the device of its tensors here, or its
 * refusal, proves nothing. */
static bool has_own_kernel(const opc_operator_t *op) { return opc_operator_has_kernel(op, "Meta"); }

static void side_clear(side_t *side) {
  free(side->outputs);
  opc_result_clear(&side->result);
  opc_call_clear(&side->call);
}

static opc_status_t side_take(side_t *side, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_result_take(&side->result, &side->call, OPC_RESULT_ARGUMENTS | OPC_RESULT_META, error));
  return opc_call_outputs(&side->call, &side->outputs, &side->output_count, error);
}

static sharing_t sharing_of(const side_t *side, size_t output) {
  sharing_t result = {0};
  const opc_tensor_meta_t *meta = &side->outputs[output].meta;
  for (size_t i = 0; i < side->call.tensor_arg_count; i++) {
    opc_tensor_meta_t now;
    opc_tensor_describe(side->call.tensor_args[i].tensor, &now);
    result.is_input |= meta->impl == now.impl;
    result.with_input |=
        opc_tensor_shares_storage(meta, &now) || opc_tensor_shares_storage(meta, &side->call.tensor_args[i].before);
  }
  for (size_t i = 0; i < side->output_count; i++)
    result.with_output |= i != output && opc_tensor_shares_storage(meta, &side->outputs[i].meta);
  return result;
}

static const char *sharing_text(sharing_t sharing) {
  if (sharing.is_input) return "an argument itself";
  if (sharing.with_input) return "a view of an argument";
  if (sharing.with_output) return "a tensor that shares storage with another output";
  return "a tensor of its own";
}

static void compare_sharing(const comparison_t *comparison) {
  for (size_t i = 0; i < comparison->real->output_count && i < comparison->meta->output_count; i++) {
    sharing_t real = sharing_of(comparison->real, i), meta = sharing_of(comparison->meta, i);
    if (real.is_input == meta.is_input && real.with_input == meta.with_input && real.with_output == meta.with_output)
      continue;
    opc_finding_fail(comparison->finding, OPC_RULE_meta_alias,
                     "%s is %s from the real kernel and %s from the Meta kernel", comparison->real->outputs[i].path,
                     sharing_text(real), sharing_text(meta));
  }
}

static bool compare_shape(const comparison_t *comparison, const opc_result_item_t *real,
                          const opc_result_item_t *meta) {
  char here[160], there[160];
  if (comparison->shape_depends_on_data ? real->meta.ndim == meta->meta.ndim
                                        : opc_tensor_same_sizes(&real->meta, &meta->meta))
    return true;
  opc_sizes_text(real->meta.ndim, real->meta.sizes, here, sizeof here);
  opc_sizes_text(meta->meta.ndim, meta->meta.sizes, there, sizeof there);
  opc_finding_fail(
      comparison->finding, OPC_RULE_meta_shape, "%s has shape %s from the real kernel and %s from the Meta kernel%s",
      real->path, here, there,
      comparison->shape_depends_on_data ? " (its sizes depend on data, the number of dimensions must not)" : "");
  return false;
}

static void compare_strides(const comparison_t *comparison, const opc_result_item_t *real,
                            const opc_result_item_t *meta) {
  char here[160], there[160];
  if (real->meta.numel == 0) return;
  for (int d = 0; d < real->meta.ndim && d < OPC_MAX_DIMS; d++) {
    if (real->meta.sizes[d] <= 1 || real->meta.strides[d] == meta->meta.strides[d]) continue;
    opc_sizes_text(real->meta.ndim, real->meta.strides, here, sizeof here);
    opc_sizes_text(meta->meta.ndim, meta->meta.strides, there, sizeof there);
    opc_finding_fail(comparison->finding, OPC_RULE_meta_stride,
                     "%s has strides %s from the real kernel and %s from the Meta kernel", real->path, here, there);
    return;
  }
}

static bool has_kind(const opc_sample_t *sample, opc_dtype_class_t kind) {
  const opc_tensor_spec_t *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++)
    if (opc_dtype_class(spec->dtype) == kind) return true;
  return false;
}

/* The dtype is of a kind (integers, for example) that no sample has, or the search found that the operator accepts
 * another kind as well. The operator may accept it only because its arithmetic happens to, and then gives another
 * dtype. */
static bool is_unasked_dtype(const opc_case_context_t *context) {
  const opc_tensor_spec_t *first = opc_sample_tensor(context->sample, 0);
  const opc_dtype_t dtype = opc_dtype_find(context->id.dtype);
  if (!first) return false;
  const opc_dtype_class_t kind = opc_dtype_class(dtype == OPC_DTYPE_OTHER ? first->dtype : dtype);
  if (kind == OPC_CLASS_FLOATING) return false;
  const bool searched = context->provenance.source == OPC_SOURCE_SEARCHED;
  bool all = true, some = false;
  for (size_t i = 0; i < context->sample_count; i++) {
    const bool has = has_kind(&context->samples[i], kind);
    all = all && has;
    some = some || has;
  }
  return searched ? !all : !some;
}

static void compare_metadata(const comparison_t *comparison, const opc_result_item_t *real,
                             const opc_result_item_t *meta) {
  opc_finding_t *finding = comparison->finding;
  const opc_tensor_meta_t *r = &real->meta, *m = &meta->meta;
  bool same_shape = compare_shape(comparison, real, meta);
  if (strcmp(r->dtype_text, m->dtype_text) != 0) {
    opc_finding_fail(finding, OPC_RULE_meta_dtype, "%s has dtype %s from the real kernel and %s from the Meta kernel",
                     real->path, opc_meta_dtype_text(r), opc_meta_dtype_text(m));
    if (is_unasked_dtype(comparison->context)) opc_finding_evidence(finding, "unasked_dtype", json_true());
  }
  if (comparison->own_kernel && m->device.type != OPC_DEVICE_META && r->device.type == comparison->context->device.type)
    opc_finding_fail(finding, OPC_RULE_meta_device, "%s of the Meta kernel is on %s: it made a tensor with data",
                     real->path, opc_device_type_name(m->device.type));
  if (strcmp(r->layout, m->layout) != 0)
    opc_finding_fail(finding, OPC_RULE_meta_layout, "%s has layout %s from the real kernel and %s from the Meta kernel",
                     real->path, r->layout, m->layout);
  bool strided = strcmp(r->layout, "strided") == 0 && strcmp(m->layout, "strided") == 0;
  if (!strided || comparison->shape_depends_on_data) return;
  if (same_shape) compare_strides(comparison, real, meta);
  if (r->storage_offset != m->storage_offset)
    opc_finding_fail(finding, OPC_RULE_meta_storage_offset,
                     "%s has storage offset %lld from the real kernel and %lld from the Meta kernel", real->path,
                     (long long)r->storage_offset, (long long)m->storage_offset);
  if (r->conj != m->conj)
    opc_finding_fail(finding, OPC_RULE_meta_conj, "%s %s the conj bit from the real kernel and %s from the Meta kernel",
                     real->path, r->conj ? "has" : "lacks", m->conj ? "has" : "lacks");
  if (r->neg != m->neg)
    opc_finding_fail(finding, OPC_RULE_meta_neg, "%s %s the neg bit from the real kernel and %s from the Meta kernel",
                     real->path, r->neg ? "has" : "lacks", m->neg ? "has" : "lacks");
}

static void compare_items(const comparison_t *comparison) {
  const opc_result_t *real = &comparison->real->result, *meta = &comparison->meta->result;
  if (real->count != meta->count) {
    if (!comparison->shape_depends_on_data)
      opc_finding_fail(comparison->finding, OPC_RULE_meta_count,
                       "the real kernel returns %zu %s (lists counted by items), the Meta kernel %zu", real->count,
                       real->count == 1 ? "value" : "values", meta->count);
    return;
  }
  for (size_t i = 0; i < real->count; i++) {
    const opc_result_item_t *r = &real->items[i], *m = &meta->items[i];
    bool both = r->kind == OPC_VALUE_TENSOR && m->kind == OPC_VALUE_TENSOR;
    if (both) {
      compare_metadata(comparison, r, m);
    } else if (r->kind == OPC_VALUE_TENSOR || m->kind == OPC_VALUE_TENSOR) {
      opc_finding_fail(comparison->finding, OPC_RULE_meta_count,
                       "%s is %s from the real kernel and %s from the Meta kernel", r->path,
                       r->kind == OPC_VALUE_TENSOR ? "a tensor" : "no tensor",
                       m->kind == OPC_VALUE_TENSOR ? "a tensor" : "none");
    } else if (!comparison->value_depends_on_data &&
               (r->kind != m->kind || r->size != m->size || (r->size && memcmp(r->bytes, m->bytes, r->size) != 0))) {
      opc_finding_fail(comparison->finding, OPC_RULE_meta_value,
                       "%s is %s from the real kernel and %s from the Meta kernel", r->path, r->text, m->text);
    }
  }
}

/* A device argument would send the outputs past the Meta kernel, so it becomes meta too. True: the call reaches
 * Meta. */
static bool move_to_meta(const opc_operator_t *op, opc_sample_t *sample, size_t tensor_arg_count) {
  bool reaches = tensor_arg_count > 0;
  for (size_t i = 0; i < op->argument_count && i < sample->argument_count; i++) {
    const opc_type_t *type = &op->arguments[i].type;
    if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
    if (type->kind != OPC_TYPE_DEVICE) continue;
    bool given = !sample->absent[i] && sample->arguments[i].kind == OPC_VALUE_DEVICE;
    if (!given && tensor_arg_count > 0) continue;
    opc_value_clear(&sample->arguments[i]);
    sample->arguments[i] = (opc_value_t){.kind = OPC_VALUE_DEVICE, .device = {OPC_DEVICE_META, -1}};
    sample->absent[i] = false;
    reaches = true;
  }
  return reaches;
}

/* It gives numbers and nothing else: no tensor, no object, no written argument. Numbers that depend on data cannot be
 * computed without data, so a Meta kernel can only refuse. */
static bool gives_numbers_only(const opc_operator_t *op) {
  return opc_operator_returns_numbers(op) && !op->is_varret && !opc_operator_is_mutable(op);
}

/* The kernel that took the Meta tensors is libtorch's. In Python another one may take its place. */
static bool is_torchs(const opc_operator_t *op) {
  static const char *const keys[] = {"Meta", "CompositeExplicitAutograd", "CompositeImplicitAutograd"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const opc_kernel_t *kernel = opc_operator_kernel(op, keys[i]);
    if (kernel && !kernel->fallthrough) return opc_kernel_is_torchs(kernel);
  }
  return true;
}

/* Without a Meta kernel another one runs on Meta tensors, such as one that is registered for every device. */
static const char *who_throws(const opc_operator_t *op) {
  if (opc_operator_kernel(op, "Meta")) return "the real kernel returns, the Meta kernel throws";
  return "the real kernel returns; there is no Meta kernel, and the kernel that runs on Meta tensors in its place "
         "throws";
}

/* The Meta kernel runs and throws. has_own: there is a kernel for Meta tensors. */
static void report_meta_throwing(const opc_operator_t *op, const char *message, bool has_own, opc_finding_t *finding) {
  const int length = (int)strcspn(message, "\n");
  const bool wants_data = opc_torch_says(OPC_TORCH_WANTS_DATA, message);
  if (opc_torch_says(OPC_TORCH_WANTS_PYTHON, message))
    opc_finding_skip(finding, OPC_SKIP_NO_KERNEL,
                     "a call that the Meta kernel makes failed, perhaps because there is no Meta kernel in C++: %.*s",
                     length, message);
  else if (opc_torch_says(OPC_TORCH_NO_FAKE, message))
    opc_finding_fail(finding, OPC_RULE_registration_no_meta_kernel,
                     "there is no fake kernel (register_fake): the Meta kernel that torch.library.custom_op "
                     "registers instead only throws");
  else if (opc_operator_output_depends_on_data(op))
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "the result depends on data, as its tags say, so the Meta kernel refuses: %.*s", length, message);
  else if (gives_numbers_only(op) && wants_data)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "it gives numbers only, which follow from data, so the Meta kernel refuses: %.*s", length,
                     message);
  else if (opc_torch_says(OPC_TORCH_MAKES_SIZE, message))
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "its fake kernel makes a size that depends on data (new_dynamic_size), for which Meta tensors "
                     "are not enough");
  else if (!has_own && !wants_data)
    opc_finding_skip(finding, OPC_SKIP_NO_KERNEL, "there is no Meta kernel: %.*s", length, message);
  else if (!has_own_kernel(op) && !wants_data)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "it has no Meta kernel of its own; its composite kernel refuses plain Meta tensors, which "
                     "proves nothing: %.*s",
                     length, message);
  else {
    if (wants_data && !opc_operator_fake_may_be_in_python(op)) /* whatever the arguments are */
      opc_finding_evidence(finding, "every_input", json_true());
    opc_finding_fail(finding, OPC_RULE_meta_rejects, "%s: %.*s", who_throws(op), length, message);
  }
}

static bool is_fake_in_python(const opc_operator_t *op) {
  const opc_kernel_t *kernel = opc_operator_kernel(op, "Meta");
  return kernel && opc_kernel_is_python(kernel);
}

/* What it means if the Meta call did not return, although the real one did. */
static void report_refusal(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding) {
  const char *message = opc_text_c(&call->message);
  int length = (int)strcspn(message, "\n");
  const opc_operator_t *op = context->op;
  bool has_own = opc_operator_kernel(op, "Meta") || opc_operator_kernel(op, "CompositeImplicitAutograd") ||
                 opc_operator_kernel(op, "CompositeExplicitAutograd");
  const bool asks_for_value =
      call->outcome == OPC_CALL_NO_KERNEL && opc_torch_says(OPC_TORCH_WANTS_DATA, message) && !is_torchs(op);
  /* Under FakeTensorMode the fake kernel of a factory gets the device that the caller names. */
  if (call->tensor_arg_count == 0 && is_fake_in_python(op)) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "without a tensor argument the fake kernel refuses device meta, which proves nothing (see check "
                     "fake): %.*s",
                     length, message);
    return;
  }
  switch (asks_for_value ? OPC_CALL_REJECTED : call->outcome) {
    case OPC_CALL_FAKE_IN_PYTHON:
      opc_finding_skip(finding, OPC_SKIP_FAKE_IN_PYTHON, "the fake kernel is said to be in Python module %s",
                       op->python_module ? op->python_module : "(unnamed)");
      break;
    case OPC_CALL_NO_KERNEL:
      /* Calls inside the kernel may also lack one. Many of ATen's Meta kernels are in Python, which is not available
       * here. */
      opc_finding_skip(
          finding, OPC_SKIP_NO_KERNEL, "%s: %.*s",
          has_own ? "the kernel calls an operator that has no Meta kernel in C++" : "there is no Meta kernel in C++",
          length, message);
      break;
    case OPC_CALL_FOREIGN_EXCEPTION:
      opc_finding_error(finding, OPC_RULE_foreign_exception,
                        "the Meta kernel throws something that is not a std::exception");
      break;
    case OPC_CALL_UNCONVERTIBLE:
      opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the arguments cannot be made on Meta: %.*s", length, message);
      break;
    case OPC_CALL_REJECTED:
    case OPC_CALL_INTERNAL_ASSERT:
    case OPC_CALL_RESULT_REFUSED:
    case OPC_CALL_OUT_OF_MEMORY:
    case OPC_CALL_RETURNED:
      report_meta_throwing(op, message, has_own, finding);
      break;
  }
}

static void meta_handle_free(opc_op_handle_t **handle) { opc_op_free(*handle); }

/* No tensor selects a kernel, and neither does a kernel at BackendSelect: the call would reach the kernel that is
 * registered for every device. */
static bool needs_meta_key(const opc_operator_t *op, size_t tensor_arg_count) {
  return tensor_arg_count == 0 && has_own_kernel(op) &&
         (!opc_operator_has_kernel(op, "BackendSelect") || is_fake_in_python(op));
}

static opc_status_t call_kernel_at_meta(const opc_again_t *again, opc_call_t *call, opc_error_t *error) {
  OPC_SCOPED(meta_handle_free) opc_op_handle_t *handle = NULL;
  OPC_RETURN_IF_ERROR(opc_op_find(again->context->op->name, &handle, error));
  opc_op_at_meta(handle);
  OPC_RETURN_IF_ERROR(opc_again_make(again, call, error));
  again->context->announce(again->label);
  opc_call_run(call, handle, again->context->seed);
  return OPC_OK;
}

/* Calls the operator on Meta tensors. *out_reaches false: there was no call. */
static opc_status_t try_on_meta(opc_case_context_t *context, const opc_sample_t *arguments, size_t tensor_arg_count,
                                opc_call_t *call, bool *out_reaches, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  const opc_device_t device = {OPC_DEVICE_META, -1};
  OPC_RETURN_IF_ERROR(opc_sample_copy(arguments, &sample, error));
  *out_reaches = move_to_meta(context->op, &sample, tensor_arg_count);
  const opc_again_t again = {
      .context = context, .sample = &sample, .device = &device, .label = {OPC_CALL_KIND_META, ""}};
  if (!*out_reaches) return OPC_OK;
  return needs_meta_key(context->op, tensor_arg_count) ? call_kernel_at_meta(&again, call, error)
                                                       : opc_again_call(&again, call, error);
}

/* *out_returned false: the finding is decided. */
static opc_status_t call_on_meta(opc_case_context_t *context, size_t tensor_arg_count, opc_call_t *call,
                                 bool *out_returned, opc_finding_t *finding, opc_error_t *error) {
  bool reaches = false;
  OPC_RETURN_IF_ERROR(try_on_meta(context, context->sample, tensor_arg_count, call, &reaches, error));
  if (!reaches) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no tensor argument selects the Meta kernel");
  *out_returned = call->outcome == OPC_CALL_RETURNED;
  if (!*out_returned) report_refusal(context, call, finding);
  return OPC_OK;
}

static opc_status_t compare_sides(opc_case_context_t *context, side_t *real, opc_finding_t *finding,
                                  opc_error_t *error) {
  OPC_SCOPED(side_clear) side_t meta = {0};
  bool returned = false;
  OPC_RETURN_IF_ERROR(side_take(real, error));
  OPC_RETURN_IF_ERROR(call_on_meta(context, real->call.tensor_arg_count, &meta.call, &returned, finding, error));
  if (!returned) return OPC_OK;
  OPC_RETURN_IF_ERROR(side_take(&meta, error));
  bool dynamic = opc_operator_has_tag(context->op, "dynamic_output_shape"),
       dependent = opc_operator_has_tag(context->op, "data_dependent_output");
  comparison_t comparison = {
      .context = context,
      .real = real,
      .meta = &meta,
      .shape_depends_on_data = dynamic || dependent,
      /* each call makes an object of its own */
      .value_depends_on_data = dynamic || dependent || opc_results_are_handles(&real->result, &meta.result),
      .own_kernel = has_own_kernel(context->op),
      .finding = finding};
  compare_items(&comparison);
  if (!comparison.shape_depends_on_data && real->result.count == meta.result.count) compare_sharing(&comparison);
  if (real->result.count)
    return opc_finding_pass(finding, "%zu results have the metadata of the real kernel's", real->result.count);
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                          "the Meta kernel accepts the arguments; there is no result to compare");
}

static opc_status_t agree_on_metadata(opc_case_context_t *context, bool *out, opc_error_t *error) {
  OPC_SCOPED(side_clear) side_t real = {0};
  OPC_SCOPED(opc_finding_clear) opc_finding_t finding = {0};
  const opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_ON_OTHERS, "arguments that fit together"}};
  *out = false;
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &real.call, error));
  if (real.call.outcome != OPC_CALL_RETURNED) return OPC_OK;
  OPC_RETURN_IF_ERROR(compare_sides(context, &real, &finding, error));
  *out = finding.decided && finding.verdict == OPC_VERDICT_PASS;
  return OPC_OK;
}

/* ---- what the real kernel refuses ---- */

/* The Meta kernel knows which dimensions there are: it takes this one, and refuses the one before the first. */
static opc_status_t knows_dimensions(opc_case_context_t *context, size_t tensor_arg_count, bool *out,
                                     opc_error_t *error) {
  char argument[sizeof context->id.variant];
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  bool reaches = false;
  *out = false;
  opc_string_put(argument, sizeof argument, context->id.variant);
  argument[strcspn(argument, ".")] = '\0';
  const int index = opc_operator_argument(context->op, argument);
  const opc_tensor_spec_t *first = opc_sample_tensor(context->sample, 0);
  if (index < 0 || !first) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_sample_copy(context->sample, &sample, error));
  sample.arguments[index].integer = -first->ndim - 1;
  OPC_RETURN_IF_ERROR(try_on_meta(context, &sample, tensor_arg_count, &call, &reaches, error));
  *out = reaches && call.outcome == OPC_CALL_REJECTED;
  return OPC_OK;
}

/* The real kernel refuses a dimension that is counted from the end. Only its own Meta kernel can contradict it. */
static opc_status_t check_refused_by_real(opc_case_context_t *context, const opc_call_t *real, opc_finding_t *finding,
                                          opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  const char *message = opc_text_c(&real->message);
  bool reaches = false, counts = false;
  if (real->outcome != OPC_CALL_REJECTED || !has_own_kernel(context->op) || !strstr(context->id.variant, ".from_end"))
    return OPC_OK;
  OPC_RETURN_IF_ERROR(try_on_meta(context, context->sample, real->tensor_arg_count, &call, &reaches, error));
  if (!reaches || call.outcome != OPC_CALL_RETURNED) return OPC_OK;
  OPC_RETURN_IF_ERROR(knows_dimensions(context, real->tensor_arg_count, &counts, error));
  if (counts)
    opc_finding_fail(finding, OPC_RULE_meta_accepts,
                     "the Meta kernel takes a dimension that is counted from the end, as far as there are dimensions, "
                     "and the real kernel refuses it: %.*s",
                     (int)strcspn(message, "\n"), message);
  return OPC_OK;
}

static opc_status_t run_meta(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(side_clear) side_t real = {0};
  bool fits = false;
  if (!opc_case_call(context, false, &real.call, finding))
    return check_refused_by_real(context, &real.call, finding, error);
  OPC_RETURN_IF_ERROR(compare_sides(context, &real, finding, error));
  if (!finding->rule || !opc_sample_is_only_searched(context)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_sample_fits(context, &real.call, agree_on_metadata, &fits, error));
  if (fits) opc_finding_evidence(finding, "fits", json_true());
  return OPC_OK;
}

const opc_check_t opc_check_meta = {.name = "meta", .run = run_meta};
