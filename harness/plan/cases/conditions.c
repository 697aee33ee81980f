#include "plan/cases/planner.h"

#include <string.h>

/* ---- conditions on an operator ---- */

static bool takes(const opc_operator_t *op, opc_type_kind_t kind) {
  bool found = false;
  for (size_t i = 0; i < op->argument_count; i++) found |= opc_type_given(&op->arguments[i].type)->kind == kind;
  return found;
}

static bool takes_tensor(const opc_operator_t *op) {
  for (size_t i = 0; i < op->argument_count; i++)
    if (opc_type_may_hold_tensor(&op->arguments[i].type)) return true;
  return op->is_vararg;
}

static bool returns_tensor(const opc_operator_t *op) {
  for (size_t i = 0; i < op->return_count; i++)
    if (opc_type_may_hold_tensor(&op->returns[i].type)) return true;
  return op->is_varret;
}

static bool returns_or_writes(const opc_operator_t *op) {
  return op->return_count || op->is_varret || opc_operator_is_mutable(op);
}

static bool is_not_built_in(const opc_operator_t *op) {
  OPC_SCOPED(opc_text_clear) opc_text_t reason = {0};
  bool built_in = opc_functionalise_rule(op, &reason) == OPC_FUNCTIONALISE_BUILT_IN;
  return !built_in;
}

static bool has_no_alias(const opc_operator_t *op) {
  for (size_t i = 0; i < op->argument_count; i++)
    if (op->arguments[i].alias.present) return false;
  for (size_t i = 0; i < op->return_count; i++)
    if (op->returns[i].alias.present) return false;
  return true;
}

/* The C++ fallback unwraps tensors and lists of them; in other places the kernel would see a tensor's wrapper. */
static bool is_unwrapped(const opc_operator_t *op) {
  for (size_t i = 0; i < op->argument_count; i++) {
    const opc_type_t *type = opc_type_given(&op->arguments[i].type);
    if (type->kind == OPC_TYPE_OTHER || (type->kind == OPC_TYPE_LIST && type->element->kind != OPC_TYPE_TENSOR &&
                                         opc_type_may_hold_tensor(type->element)))
      return false;
  }
  return !op->is_vararg;
}

static bool may_have_derivative(const opc_operator_t *op) {
  for (size_t i = 0; i < op->kernel_count; i++)
    if (!op->kernels[i].fallthrough && (strncmp(op->kernels[i].key, "Autograd", 8) == 0 ||
                                        strcmp(op->kernels[i].key, "CompositeImplicitAutograd") == 0))
      return true;
  return false;
}

static bool has_tag_of(const opc_operator_t *op, const char *const *tags) {
  for (; *tags; tags++)
    if (opc_operator_has_tag(op, *tags)) return true;
  return false;
}

/* ---- conditions on a sample ---- */

typedef struct tensor_facts {
  size_t count;
  size_t floating; /* the number of floating ones */
  size_t int64;    /* and of those that hold int64 */
  size_t exact;    /* and of those that hold integers or flags */
  bool float8, is_complex;
  int64_t numel_max;
  int64_t size; /* the last size of the first tensor with dimensions; 0: none has any */
} tensor_facts_t;

static tensor_facts_t facts_of(const opc_sample_t *sample) {
  tensor_facts_t facts = {0};
  const opc_tensor_spec_t *spec;
  for (; (spec = opc_sample_tensor(sample, facts.count)); facts.count++) {
    int64_t numel = opc_tensor_spec_numel(spec);
    facts.floating += opc_dtype_class(spec->dtype) == OPC_CLASS_FLOATING;
    facts.int64 += spec->dtype == OPC_DTYPE_INT64;
    facts.exact += !opc_dtype_is_inexact(spec->dtype);
    facts.float8 |= opc_dtype_is_float8(spec->dtype);
    facts.is_complex |= opc_dtype_class(spec->dtype) == OPC_CLASS_COMPLEX;
    if (numel > facts.numel_max) facts.numel_max = numel;
    if (!facts.size && spec->ndim > 0) facts.size = spec->sizes[spec->ndim - 1];
  }
  return facts;
}

/* False: a tensor has the size twice. */
static bool has_size_once(const opc_sample_t *sample, int64_t size) {
  const opc_tensor_spec_t *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++) {
    int count = 0;
    for (int dim = 0; dim < spec->ndim; dim++) count += spec->sizes[dim] == size;
    if (count > 1) return false;
  }
  return true;
}

bool opc_sample_leaves_range(const opc_sample_t *sample) {
  const opc_tensor_spec_t *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++)
    if (spec->fill.kind == OPC_FILL_UNIFORM &&
        (spec->fill.special == OPC_SPECIAL_NEGATED || spec->fill.special == OPC_SPECIAL_TIMES_64))
      return true;
  return false;
}

bool opc_sample_has_float8(const opc_sample_t *sample) { return facts_of(sample).float8; }
bool opc_sample_has_complex(const opc_sample_t *sample) { return facts_of(sample).is_complex; }
int64_t opc_sample_numel_max(const opc_sample_t *sample) { return facts_of(sample).numel_max; }

int64_t opc_case_size(const opc_case_rule_t *rule, const opc_sample_t *sample) {
  return rule->size == OPC_LAST_OF_FIRST_TENSOR ? facts_of(sample).size : 0;
}

/* ---- all conditions ---- */

static bool operator_holds(unsigned when, const opc_operator_t *op) {
  return (!(when & OPC_WHEN_TAKES_TENSOR) || takes_tensor(op)) &&
         (!(when & OPC_WHEN_RETURNS_TENSOR) || returns_tensor(op)) &&
         (!(when & OPC_WHEN_RETURNS_OR_WRITES) || returns_or_writes(op)) &&
         (!(when & OPC_WHEN_NOT_BUILT_IN) || is_not_built_in(op)) &&
         (!(when & OPC_WHEN_NO_ALIAS) || has_no_alias(op)) && (!(when & OPC_WHEN_UNWRAPPED) || is_unwrapped(op)) &&
         (!(when & OPC_WHEN_META_KERNEL) || opc_operator_has_kernel(op, "Meta")) &&
         (!(when & OPC_WHEN_FORMULA) || opc_operator_has_formula(op)) &&
         (!(when & OPC_WHEN_AUTOGRAD) || may_have_derivative(op)) && (!(when & OPC_WHEN_IN_PYTHON) || op->in_python) &&
         (!(when & OPC_WHEN_NUMBER) || takes(op, OPC_TYPE_FLOAT) || takes(op, OPC_TYPE_SCALAR));
}

static bool sample_holds(const opc_case_rule_t *rule, const opc_sample_t *sample) {
  if ((rule->when & OPC_WHEN_SEARCHED) && (sample->source != OPC_SAMPLE_SEARCHED || sample->by_recipe)) return false;
  enum {
    OF_TENSORS = OPC_WHEN_ONE_TENSOR | OPC_WHEN_SEVERAL_TENSORS | OPC_WHEN_ALL_FLOATING | OPC_WHEN_SIZE_ONCE |
                 OPC_WHEN_INT64 | OPC_WHEN_SELECTION | OPC_WHEN_ONE_FLOATING
  };
  unsigned when = rule->when;
  if ((when & OPC_WHEN_SAME_BITS) && !sample->expect.same_bits_count) return false;
  if ((when & OPC_WHEN_OUTPUTS) && !sample->expect.outputs) return false;
  if ((when & OPC_WHEN_REFERENCE) && !sample->expect.reference) return false;
  if ((when & OPC_WHEN_MAIN_FLOATING) && opc_dtype_class(opc_sample_main_dtype(sample)) != OPC_CLASS_FLOATING)
    return false;
  if (!(when & OF_TENSORS)) return true;
  tensor_facts_t facts = facts_of(sample);
  return (!(when & OPC_WHEN_INT64) || facts.int64 > 0) && (!(when & OPC_WHEN_ONE_FLOATING) || facts.floating == 1) &&
         (!(when & OPC_WHEN_SELECTION) || (facts.floating > 0 && facts.exact > 0)) &&
         (!(when & OPC_WHEN_ONE_TENSOR) || facts.count == 1) &&
         (!(when & OPC_WHEN_SEVERAL_TENSORS) || facts.count > 1) &&
         (!(when & OPC_WHEN_ALL_FLOATING) || facts.floating == facts.count) &&
         (!(when & OPC_WHEN_SIZE_ONCE) || has_size_once(sample, opc_case_size(rule, sample)));
}

bool opc_case_conditions_hold(const opc_case_rule_t *rule, const opc_operator_t *op, const opc_sample_t *sample) {
  return operator_holds(rule->when, op) && (!rule->tags || has_tag_of(op, rule->tags)) &&
         (!rule->key || opc_operator_has_kernel(op, rule->key)) && sample_holds(rule, sample);
}
