/* The rules of a check: which apply to a sample, their variants, and a case of one of them. */
#include <fnmatch.h>
#include <string.h>

#include "plan/cases/planner_inside.h"
#include "plan/variant/variant_table.h"

/* Where families apply, whichever rule asks for them. A model is compiled for its inputs' sizes and dtypes, and a
 * constructor has its own: none of these vary. */
static const struct {
  unsigned families, devices, kinds; /* kinds: bits of opc_operator_kind_t */
} limits[] = {
    {OPC_VARIANT_LARGE, OPC_ON_SIMULATED, 1U << OPC_OPERATOR},
    {OPC_VARIANT_METHOD | OPC_VARIANT_USED, OPC_ON_CPU, 1U << OPC_OPERATOR_CLASS},
    {OPC_VARIANT_ALL & ~OPC_VARIANT_PLAIN, OPC_ON_CPU | OPC_ON_CUDA | OPC_ON_SIMULATED, 1U << OPC_OPERATOR},
    {OPC_VARIANT_SURVEY, OPC_ON_CPU, 1U << OPC_OPERATOR},
    {OPC_VARIANT_CONTENTS | OPC_VARIANT_ONE_ZERO, OPC_ON_CPU | OPC_ON_CUDA, 1U << OPC_OPERATOR},
    {OPC_VARIANT_NEIGHBOUR | OPC_VARIANT_OTHER_SHAPE, OPC_ON_CPU | OPC_ON_CUDA | OPC_ON_SIMULATED, 1U << OPC_OPERATOR},
    {OPC_VARIANT_EQUIVALENT | OPC_VARIANT_LARGER_LAYOUT | OPC_VARIANT_DEEP, OPC_ON_CPU | OPC_ON_CUDA,
     1U << OPC_OPERATOR},
    {OPC_VARIANT_LONG, OPC_ON_CPU | OPC_ON_CUDA | OPC_ON_SIMULATED, 1U << OPC_OPERATOR},
};

const opc_dtype_t opc_plan_representative[OPC_PLAN_REPRESENTATIVE_COUNT] = {
    OPC_DTYPE_FLOAT64, OPC_DTYPE_FLOAT32, OPC_DTYPE_FLOAT16, OPC_DTYPE_INT64, OPC_DTYPE_BOOL, OPC_DTYPE_COMPLEX64};

/* ---- rules ---- */

unsigned opc_plan_rule_devices(const opc_case_rule_t *rule) {
  return rule->devices ? rule->devices : (unsigned)(OPC_ON_CPU | OPC_ON_CUDA);
}

unsigned opc_plan_rule_samples(const opc_case_rule_t *rule) { return rule->samples ? rule->samples : OPC_ACCEPTED; }

unsigned opc_case_table_devices(const opc_case_table_t *table) {
  unsigned devices = 0;
  for (size_t i = 0; i < table->rule_count; i++) devices |= opc_plan_rule_devices(&table->rules[i]);
  return devices;
}

unsigned opc_case_table_needs(const opc_case_table_t *table) {
  unsigned needs = 0;
  for (size_t i = 0; i < table->rule_count; i++) needs |= table->rules[i].needs;
  return needs;
}

bool opc_sample_is_callable(const opc_sample_t *sample) { return !sample->expect.rejects && !sample->unchecked; }

/* The rule's families that exist for this operator and sample on this device. */
unsigned opc_plan_rule_families(const plan_t *plan, const opc_case_rule_t *rule) {
  unsigned families = rule->families;
  if (plan->planned.base && plan->planned.base->brief) families &= OPC_VARIANT_PLAIN;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if (!(limits[i].devices & plan->device->bit) || !(limits[i].kinds & 1U << plan->request->op->kind))
      families &= ~limits[i].families;
  return families;
}

bool opc_plan_name_matches(const opc_case_rule_t *rule, const char *variant) {
  return !rule->names || fnmatch(rule->names, variant, FNM_EXTMATCH) == 0;
}

/* ---- the variants of a rule ---- */

/* A name without a pattern, or the name with the size that the rule chooses. */
static const char *rule_variant_name(const opc_case_rule_t *rule, const opc_sample_t *base, char *out, size_t size) {
  if (rule->families == OPC_VARIANT_PLAIN) return "plain";
  if (rule->names && !strpbrk(rule->names, "*?[\\")) return rule->names;
  if (rule->size == OPC_EVERY_SIZE) return NULL;
  int64_t chosen = opc_case_size(rule, base);
  for (size_t i = 0; i < opc_transformation_count; i++) {
    if (!(opc_transformations[i].family & rule->families) || opc_transformations[i].parameter != OPC_PARAMETER_SIZE)
      continue;
    snprintf(out, size, "all.%s%lld", opc_transformations[i].name, (long long)chosen);
    if (opc_plan_name_matches(rule, out)) return out;
  }
  return NULL;
}

typedef struct filtered {
  const opc_case_rule_t *rule;
  opc_plan_variant_use_t *use;
  void *context;
} filtered_t;

static bool use_filtered(const char *variant, const opc_sample_t *sample, void *context) {
  const filtered_t *filtered = context;
  const opc_case_rule_t *rule = filtered->rule;
  if (!opc_plan_name_matches(rule, variant) || (rule->numel_max && opc_sample_numel_max(sample) > rule->numel_max))
    return true;
  return filtered->use(variant, sample, filtered->context);
}

/* The variants of one rule alone. A named variant is built without its neighbours. */
opc_status_t opc_plan_rule_variants(const plan_t *plan, const opc_case_rule_t *rule, const opc_sample_t *base,
                                    opc_plan_variant_use_t *use, void *context) {
  char text[OPC_VARIANT_NAME_SIZE];
  filtered_t filtered = {.rule = rule, .use = use, .context = context};
  unsigned families = opc_plan_rule_families(plan, rule);
  const char *name = rule_variant_name(rule, base, text, sizeof text);
  if (!families || (rule->size != OPC_EVERY_SIZE && opc_case_size(rule, base) < 2)) return OPC_OK;
  if (!name) return opc_variants_of(base, plan->request->op, families, use_filtered, &filtered, plan->error);
  if (rule->families == OPC_VARIANT_PLAIN) {
    (void)use_filtered(name, base, &filtered);
    return OPC_OK;
  }
  OPC_SCOPED(opc_sample_clear) opc_sample_t built = {0};
  const opc_status_t status = opc_variant_apply(base, plan->request->op, name, &built, plan->error);
  if (status == OPC_ERR_NOT_FOUND) return OPC_OK;
  OPC_RETURN_IF_ERROR(status);
  (void)use_filtered(name, &built, &filtered);
  return OPC_OK;
}

/* ---- which rules apply ---- */

opc_source_t opc_plan_source(const opc_sample_t *base) {
  switch (base->source) {
    case OPC_SAMPLE_SEARCHED:
      return base->by_recipe ? OPC_SOURCE_RECIPE : OPC_SOURCE_SEARCHED;
    case OPC_SAMPLE_RECORDED:
      return OPC_SOURCE_RECORDED;
    case OPC_SAMPLE_NONE: /* made by a program, not read from a file */
    case OPC_SAMPLE_FILE:
      break;
  }
  return OPC_SOURCE_DECLARED;
}

static bool note_fit(const char *variant, const opc_sample_t *sample, void *context) {
  (void)variant;
  (void)sample;
  *(bool *)context = true;
  return false;
}

static bool planner_rules_fits(plan_t *plan, const opc_case_rule_t *rule, const opc_sample_t *sample) {
  bool fit = false;
  if (!opc_sample_is_callable(sample) || !opc_case_conditions_hold(rule, plan->request->op, sample)) return false;
  opc_status_t status = opc_plan_rule_variants(plan, rule, sample, note_fit, &fit);
  if (status != OPC_OK) plan->status = status;
  return fit;
}

/* The rule applies to the variants of this accepted sample. */
bool opc_plan_is_active(plan_t *plan, const opc_case_rule_t *rule) {
  size_t index = plan->planned.index;
  if (!(opc_plan_rule_devices(rule) & plan->device->bit) || !(opc_plan_rule_samples(rule) & OPC_ACCEPTED)) return false;
  if (rule->scope >= OPC_SCOPE_ALL_SAMPLES || !opc_plan_rule_families(plan, rule)) return false;
  if (rule->scope == OPC_SCOPE_FIRST_SAMPLE && index != 0) return false;
  if (rule->neighbours && index != 0 && opc_plan_source(plan->planned.base) == OPC_SOURCE_SEARCHED) return false;
  if (!opc_case_conditions_hold(rule, plan->request->op, plan->planned.base)) return false;
  for (size_t i = 0; rule->scope == OPC_SCOPE_FIRST_FIT && i < index; i++)
    if (planner_rules_fits(plan, rule, &plan->request->samples[i])) return false;
  return !plan->status;
}

/* Most kernels refuse float8, and the rest take these two: the others are only for samples that hold some. */
static bool is_swept(opc_dtype_t dtype, bool sample_has_float8) {
  return !opc_dtype_is_float8(dtype) || sample_has_float8 || dtype == OPC_DTYPE_FLOAT8_E4M3FN ||
         dtype == OPC_DTYPE_FLOAT8_E5M2;
}

bool opc_plan_sweep_has(const opc_case_rule_t *rule, opc_dtype_t dtype, bool sample_has_float8) {
  switch (rule->dtypes.sweep) {
    case OPC_SWEEP_OWN:
      return dtype == OPC_DTYPE_OTHER;
    case OPC_SWEEP_ONE:
      return dtype == rule->dtypes.one;
    case OPC_SWEEP_ALL:
      return dtype != OPC_DTYPE_OTHER && is_swept(dtype, sample_has_float8);
    case OPC_SWEEP_REPRESENTATIVE:
      for (size_t i = 0; i < OPC_PLAN_REPRESENTATIVE_COUNT; i++)
        if (dtype == opc_plan_representative[i]) return true;
      return false;
  }
  return false;
}

/* A rule before `end` gives these arguments. */
bool opc_plan_is_given(plan_t *plan, const opc_case_rule_t *end, const char *variant, opc_dtype_t dtype, bool float8) {
  unsigned families = opc_variant_facts(variant).families;
  for (const opc_case_rule_t *rule = plan->table->rules; rule < end; rule++)
    if (opc_plan_sweep_has(rule, dtype, float8) && (opc_plan_rule_families(plan, rule) & families) &&
        opc_plan_name_matches(rule, variant) && opc_plan_is_active(plan, rule))
      return true;
  return false;
}

/* ---- cases of a sample ---- */

bool opc_planned_is_unmodified(const opc_planned_case_t *planned) {
  return planned->base && (planned->facts.families & OPC_VARIANT_PLAIN) && planned->dtype == OPC_DTYPE_OTHER;
}

static void count_tensor(const char *path, opc_value_t *value, void *context) {
  (void)path;
  (void)value;
  ++*(size_t *)context;
}

static size_t planner_rules_count_tensors(const opc_sample_t *sample, const opc_operator_t *op) {
  size_t count = 0;
  for (size_t i = 0; i < sample->argument_count; i++)
    opc_value_visit_tensors(op->arguments[i].name, &sample->arguments[i], count_tensor, &count);
  return count;
}

static opc_provenance_t provenance_of(const opc_operator_t *op, const opc_planned_case_t *planned) {
  const opc_sample_t *base = planned->base;
  opc_provenance_t provenance = {.source = opc_plan_source(base), .plain = opc_planned_is_unmodified(planned)};
  const bool mixed = (planned->facts.families & OPC_VARIANT_EQUIVALENT) && !(planned->facts.keeps & OPC_KEEPS_DTYPES);
  const bool imaginary = opc_dtype_class(planned->dtype) == OPC_CLASS_COMPLEX && !opc_sample_has_complex(base);
  const bool narrow = (planned->facts.families & OPC_VARIANT_CONTENTS) && planned->dtype != OPC_DTYPE_OTHER;
  /* Nobody has to expect the effect of NaN or the largest numbers on an index, of another dtype in one of several
   * tensors, of complex numbers in place of real ones, for which a derivative needs another formula, or of large
   * numbers and zeros in a dtype that has neither their squares nor the constant that is added. */
  if (base->unchecked || mixed || imaginary || narrow || (planned->rule->judge & OPC_JUDGE_OTHER_VALUES) ||
      (planned->facts.families & (OPC_VARIANT_SPECIAL | OPC_VARIANT_CAST)))
    provenance.change = OPC_INPUT_ALONE;
  else if ((planned->facts.families & OPC_VARIANT_SHAPE) && planned->facts.changed == OPC_CHANGED_ONE &&
           planner_rules_count_tensors(base, op) > 1)
    provenance.change =
        OPC_INPUT_ALONE; /* one of several tensors without its dimensions, or a list without its items */
  else if ((planned->method && opc_method_takes_arguments(planned->method)) ||
           (planned->facts.families & OPC_VARIANT_USED))
    provenance.change = OPC_INPUT_ALONE; /* the sample is the constructor's: the check makes the methods' arguments */
  else if (!provenance.plain && op->kind == OPC_OPERATOR)
    provenance.change = opc_variant_change(base, op, planned->sample, planned->variant);
  return provenance;
}

bool opc_plan_give(plan_t *plan, opc_planned_case_t planned) {
  if (plan->stopped) return false;
  if (plan->counted) {
    ++*plan->counted;
    return true;
  }
  planned.provenance = provenance_of(plan->request->op, &planned);
  plan->stopped = !plan->emit(&planned, plan->context);
  return !plan->stopped;
}

bool opc_plan_give_variant(plan_t *plan, const opc_case_rule_t *rule, const char *variant, opc_dtype_t dtype,
                           const opc_sample_t *sample) {
  opc_planned_case_t planned = plan->planned;
  planned.rule = rule;
  planned.variant = variant;
  planned.facts = opc_variant_facts(variant);
  planned.dtype = dtype;
  planned.sample = sample;
  if (dtype != OPC_DTYPE_OTHER && sample != planned.base) planned.facts.keeps &= ~(unsigned)OPC_KEEPS_DTYPES;
  return opc_plan_give(plan, planned);
}

bool opc_plan_is_rule_of_own(plan_t *plan, const opc_case_rule_t *rule) {
  return rule->dtypes.sweep == OPC_SWEEP_OWN && opc_plan_is_active(plan, rule);
}

/* Neighbours of a sample: how many each rule may have, and which. */

/* The rules of all checks share the sample's neighbours; earlier rules get what does not divide evenly. Rules with a
 * few additional neighbours get them if the sample has many. */
int64_t opc_plan_neighbours_of(const plan_t *plan, const opc_case_rule_t *rule) {
  enum { MANY = 16 };
  const opc_plan_request_t *request = plan->request;
  int64_t rules = 0, before = 0;
  const int64_t all = plan->neighbours;
  if (rule->beside) return all / MANY < rule->neighbours ? all / MANY : rule->neighbours;
  for (size_t i = 0; i < request->table_count; i++) {
    for (size_t k = 0; k < request->tables[i].rule_count; k++) {
      const opc_case_rule_t *other = &request->tables[i].rules[k];
      if (other == rule) before = rules;
      rules += other->neighbours > 0 && !other->beside && (opc_plan_rule_devices(other) & plan->device->bit);
    }
  }
  const int64_t share = rules ? all / rules + (before < all % rules) : 0;
  return share < rule->neighbours ? share : rule->neighbours;
}

bool opc_plan_has_neighbours(plan_t *plan) {
  bool has = false;
  for (size_t i = 0; i < plan->table->rule_count && !has && !plan->request->only; i++)
    has = plan->table->rules[i].neighbours > 0 && opc_plan_is_active(plan, &plan->table->rules[i]);
  return has && opc_sample_is_callable(plan->planned.base);
}

typedef struct neighbours {
  plan_t *plan;
  const opc_case_rule_t *rule;
  int64_t left;
} neighbours_t;

static bool give_neighbour(const char *variant, const opc_sample_t *sample, void *context) {
  neighbours_t *neighbours = context;
  const opc_case_rule_t *rule = neighbours->rule;
  if (!opc_plan_name_matches(rule, variant) ||
      opc_plan_is_given(neighbours->plan, rule, variant, OPC_DTYPE_OTHER, false))
    return true;
  if ((rule->numel_max && opc_sample_numel_max(sample) > rule->numel_max) || opc_sample_leaves_range(sample))
    return true;
  /* What was searched may belong together in ways that nobody knows. */
  const opc_sample_t *base = neighbours->plan->planned.base;
  if (((rule->when & OPC_WHEN_RELATED) || opc_plan_source(base) == OPC_SOURCE_SEARCHED) &&
      opc_variant_change(base, neighbours->plan->request->op, sample, variant) == OPC_INPUT_ALONE)
    return true;
  return opc_plan_give_variant(neighbours->plan, rule, variant, OPC_DTYPE_OTHER, sample) && --neighbours->left > 0;
}

void opc_plan_neighbours(plan_t *plan) {
  const opc_plan_request_t *request = plan->request;
  if (plan->part != OPC_PLAN_VARIANTS || plan->neighbours == 0 || request->only) return;
  for (size_t i = 0; i < plan->table->rule_count && opc_plan_goes_on(plan); i++) {
    const opc_case_rule_t *rule = &plan->table->rules[i];
    if (!rule->neighbours || !opc_plan_is_rule_of_own(plan, rule)) continue;
    neighbours_t neighbours = {.plan = plan, .rule = rule, .left = opc_plan_neighbours_of(plan, rule)};
    if (!plan->status && neighbours.left > 0)
      plan->status = opc_variants_of(plan->planned.base, request->op, opc_plan_rule_families(plan, rule),
                                     give_neighbour, &neighbours, plan->error);
  }
}
