#include "plan/cases/planner.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"
#include "plan/cases/conditions.h"
#include "plan/variant/variant_change.h"
#include "plan/variant/variant_table.h"

#define CALLED ".called" /* after a method's name */
#define USED "used"

/* For cases that no row asks for. */
static const opc_case_rule_t refusal_case = {.why = "the sample states that the operator refuses it"};
static const opc_case_rule_t no_call_case = {.why = "there is nothing to call, and the case says why"};

/* Where families apply, whichever row asks for them. A model is compiled for its inputs' sizes and dtypes, and a
 * constructor has its own: none of these vary. */
static const struct {
  unsigned families, devices, kinds; /* kinds: bits of opc_operator_kind_t */
} limits[] = {
    {OPC_VARIANT_LARGE, OPC_ON_SIMULATED, 1U << OPC_OPERATOR},
    {OPC_VARIANT_METHOD | OPC_VARIANT_USED, OPC_ON_CPU, 1U << OPC_OPERATOR_CLASS},
    {OPC_VARIANT_ALL & ~OPC_VARIANT_PLAIN, OPC_ON_CPU | OPC_ON_CUDA | OPC_ON_SIMULATED, 1U << OPC_OPERATOR},
    {OPC_VARIANT_SURVEY, OPC_ON_CPU, 1U << OPC_OPERATOR},
    {OPC_VARIANT_CONTENTS, OPC_ON_CPU | OPC_ON_CUDA, 1U << OPC_OPERATOR},
    {OPC_VARIANT_NEIGHBOUR | OPC_VARIANT_FEWER, OPC_ON_CPU | OPC_ON_CUDA | OPC_ON_SIMULATED, 1U << OPC_OPERATOR},
    {OPC_VARIANT_LONG, OPC_ON_CPU | OPC_ON_CUDA | OPC_ON_SIMULATED, 1U << OPC_OPERATOR},
};

static const opc_dtype_t representative[] = {OPC_DTYPE_FLOAT64, OPC_DTYPE_FLOAT16, OPC_DTYPE_INT64, OPC_DTYPE_BOOL,
                                             OPC_DTYPE_COMPLEX64};

/* A walk through the cases of one table, one device and one sample. */
typedef struct plan {
  const opc_plan_request_t *request;
  const opc_case_table_t *table;
  const opc_plan_device_t *device;
  opc_planned_case_t planned; /* shared by every case of this walk */
  opc_plan_emit_t *emit;
  void *context;
  opc_plan_part_t part;
  int64_t *own_cases; /* (optional) of each device and sample; -1: not counted yet */
  bool stopped;
  opc_status_t status; /* of a callback, which cannot return a status */
  opc_error_t *error;
} plan_t;

/* ---- rows ---- */

static unsigned rule_devices(const opc_case_rule_t *rule) {
  return rule->devices ? rule->devices : (unsigned)(OPC_ON_CPU | OPC_ON_CUDA);
}

static unsigned rule_samples(const opc_case_rule_t *rule) { return rule->samples ? rule->samples : OPC_ACCEPTED; }

unsigned opc_case_table_devices(const opc_case_table_t *table) {
  unsigned devices = 0;
  for (size_t i = 0; i < table->rule_count; i++) devices |= rule_devices(&table->rules[i]);
  return devices;
}

unsigned opc_case_table_needs(const opc_case_table_t *table) {
  unsigned needs = 0;
  for (size_t i = 0; i < table->rule_count; i++) needs |= table->rules[i].needs;
  return needs;
}

bool opc_sample_is_callable(const opc_sample_t *sample) { return !sample->expect.rejects && !sample->unchecked; }

static const opc_case_rule_t *rule_of_scope(const opc_case_table_t *table, opc_case_scope_t scope) {
  for (size_t i = 0; i < table->rule_count; i++)
    if (table->rules[i].scope == scope) return &table->rules[i];
  return NULL;
}

/* The row for samples that are refused, or unchecked. */
static const opc_case_rule_t *rule_of_samples(const opc_case_table_t *table, unsigned samples) {
  for (size_t i = 0; i < table->rule_count; i++)
    if (rule_samples(&table->rules[i]) & samples) return &table->rules[i];
  return NULL;
}

static const opc_case_rule_t *rule_of_unchecked(const opc_case_table_t *table, const opc_sample_t *sample) {
  return rule_of_samples(table, sample->uninitialised ? OPC_UNINITIALISED : OPC_UNCHECKED);
}

/* The row's families that exist for this operator on this device. */
static unsigned rule_families(const plan_t *plan, const opc_case_rule_t *rule) {
  unsigned families = rule->families;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if (!(limits[i].devices & plan->device->bit) || !(limits[i].kinds & 1U << plan->request->op->kind))
      families &= ~limits[i].families;
  return families;
}

static bool name_matches(const opc_case_rule_t *rule, const char *variant) {
  return !rule->names || fnmatch(rule->names, variant, 0) == 0;
}

/* ---- the variants of a row ---- */

typedef bool variant_use_t(const char *variant, const opc_sample_t *sample, void *context);

/* A name without a pattern, or the name with the size that the row chooses. */
static const char *rule_variant_name(const opc_case_rule_t *rule, const opc_sample_t *base, char *out, size_t size) {
  if (rule->families == OPC_VARIANT_PLAIN) return "plain";
  if (rule->names && !strpbrk(rule->names, "*?[\\")) return rule->names;
  if (rule->size == OPC_EVERY_SIZE) return NULL;
  int64_t chosen = opc_case_size(rule, base);
  for (size_t i = 0; i < opc_transformation_count; i++)
    if ((opc_transformations[i].family & rule->families) && opc_transformations[i].parameter == OPC_PARAMETER_SIZE)
      snprintf(out, size, "all.%s%lld", opc_transformations[i].name, (long long)chosen);
  return out;
}

typedef struct filtered {
  const opc_case_rule_t *rule;
  variant_use_t *use;
  void *context;
} filtered_t;

static bool use_filtered(const char *variant, const opc_sample_t *sample, void *context) {
  const filtered_t *filtered = context;
  const opc_case_rule_t *rule = filtered->rule;
  if (!name_matches(rule, variant) || (rule->numel_max && opc_sample_numel_max(sample) > rule->numel_max)) return true;
  return filtered->use(variant, sample, filtered->context);
}

/* The variants of one row alone. A named variant is built without its neighbours. */
static opc_status_t rule_variants(const plan_t *plan, const opc_case_rule_t *rule, const opc_sample_t *base,
                                  variant_use_t *use, void *context) {
  char text[OPC_VARIANT_NAME_SIZE];
  filtered_t filtered = {.rule = rule, .use = use, .context = context};
  unsigned families = rule_families(plan, rule);
  const char *name = rule_variant_name(rule, base, text, sizeof text);
  if (!families || (rule->size != OPC_EVERY_SIZE && opc_case_size(rule, base) < 2)) return OPC_OK;
  if (!name) return opc_variants_of(base, plan->request->op, families, use_filtered, &filtered, plan->error);
  if (rule->families == OPC_VARIANT_PLAIN) {
    (void)use_filtered(name, base, &filtered);
    return OPC_OK;
  }
  opc_sample_t built;
  opc_status_t status = opc_variant_apply(base, plan->request->op, name, &built, plan->error);
  if (status == OPC_OK) (void)use_filtered(name, &built, &filtered);
  opc_sample_clear(&built);
  return status == OPC_ERR_NOT_FOUND ? OPC_OK : status;
}

/* ---- which rows apply ---- */

static opc_voucher_t voucher_of(const opc_sample_t *base) {
  switch (base->source) {
    case OPC_SAMPLE_SEARCHED:
      return base->by_recipe ? OPC_VOUCHER_RECIPE : OPC_VOUCHER_SEARCHED;
    case OPC_SAMPLE_RECORDED:
      return OPC_VOUCHER_RECORDED;
    case OPC_SAMPLE_NONE: /* made by a program, not read from a file */
    case OPC_SAMPLE_FILE:
      break;
  }
  return OPC_VOUCHER_DECLARED;
}

static bool note_fit(const char *variant, const opc_sample_t *sample, void *context) {
  (void)variant;
  (void)sample;
  *(bool *)context = true;
  return false;
}

static bool fits(plan_t *plan, const opc_case_rule_t *rule, const opc_sample_t *sample) {
  bool fit = false;
  if (!opc_sample_is_callable(sample) || !opc_case_conditions_hold(rule, plan->request->op, sample)) return false;
  opc_status_t status = rule_variants(plan, rule, sample, note_fit, &fit);
  if (status != OPC_OK) plan->status = status;
  return fit;
}

/* The row applies to the variants of this accepted sample. */
static bool is_active(plan_t *plan, const opc_case_rule_t *rule) {
  size_t index = plan->planned.index;
  if (!(rule_devices(rule) & plan->device->bit) || !(rule_samples(rule) & OPC_ACCEPTED)) return false;
  if (rule->scope == OPC_SCOPE_ALL_SAMPLES || rule->scope == OPC_SCOPE_OPERATOR || !rule_families(plan, rule))
    return false;
  if (rule->scope == OPC_SCOPE_FIRST_SAMPLE && index != 0) return false;
  if (rule->neighbours && voucher_of(plan->planned.base) == OPC_VOUCHER_SEARCHED) return false;
  if (!opc_case_conditions_hold(rule, plan->request->op, plan->planned.base)) return false;
  for (size_t i = 0; rule->scope == OPC_SCOPE_FIRST_FIT && i < index; i++)
    if (fits(plan, rule, &plan->request->samples[i])) return false;
  return plan->status == OPC_OK;
}

/* Most kernels refuse float8, and the rest take these two: the others are only for samples that hold some. */
static bool is_swept(opc_dtype_t dtype, bool sample_has_float8) {
  return !opc_dtype_is_float8(dtype) || sample_has_float8 || dtype == OPC_DTYPE_FLOAT8_E4M3FN ||
         dtype == OPC_DTYPE_FLOAT8_E5M2;
}

static bool sweep_has(const opc_case_rule_t *rule, opc_dtype_t dtype, bool sample_has_float8) {
  switch (rule->dtypes.sweep) {
    case OPC_SWEEP_OWN:
      return dtype == OPC_DTYPE_OTHER;
    case OPC_SWEEP_ONE:
      return dtype == rule->dtypes.one;
    case OPC_SWEEP_ALL:
      return dtype != OPC_DTYPE_OTHER && is_swept(dtype, sample_has_float8);
    case OPC_SWEEP_REPRESENTATIVE:
      for (size_t i = 0; i < sizeof representative / sizeof *representative; i++)
        if (dtype == representative[i]) return true;
      return false;
  }
  return false;
}

/* A row before `end` gives these arguments. */
static bool is_given(plan_t *plan, const opc_case_rule_t *end, const char *variant, opc_dtype_t dtype, bool float8) {
  unsigned families = opc_variant_facts(variant).families;
  for (const opc_case_rule_t *rule = plan->table->rules; rule < end; rule++)
    if (sweep_has(rule, dtype, float8) && (rule_families(plan, rule) & families) && name_matches(rule, variant) &&
        is_active(plan, rule))
      return true;
  return false;
}

/* ---- cases of a sample ---- */

static void count_tensor(const char *path, opc_value_t *value, void *context) {
  (void)path;
  (void)value;
  ++*(size_t *)context;
}

static size_t count_tensors(const opc_sample_t *sample, const opc_operator_t *op) {
  size_t count = 0;
  for (size_t i = 0; i < sample->argument_count; i++)
    opc_value_visit_tensors(op->arguments[i].name, &sample->arguments[i], count_tensor, &count);
  return count;
}

static opc_standing_t standing_of(const opc_operator_t *op, const opc_planned_case_t *planned) {
  const opc_sample_t *base = planned->base;
  opc_standing_t standing = {.voucher = voucher_of(base), .plain = opc_planned_is_unmodified(planned)};
  /* Nobody has to expect the effect of NaN or the largest numbers on an index, or of another dtype in one of several
   * tensors. */
  if (base->unchecked || (planned->facts.families & (OPC_VARIANT_SPECIAL | OPC_VARIANT_CAST)))
    standing.change = OPC_INPUT_ALONE;
  else if ((planned->facts.families & OPC_VARIANT_SHAPE) && planned->facts.changed == OPC_CHANGED_ONE &&
           count_tensors(base, op) > 1)
    standing.change = OPC_INPUT_ALONE; /* one of several tensors without its dimensions, or a list without its items */
  else if (!standing.plain && op->kind == OPC_OPERATOR)
    standing.change = opc_variant_change(base, op, planned->sample, planned->variant);
  return standing;
}

static bool count_case(const opc_planned_case_t *planned, void *context) {
  (void)planned;
  ++*(int64_t *)context;
  return true;
}

static bool give(plan_t *plan, opc_planned_case_t planned) {
  if (plan->stopped) return false;
  if (plan->emit == count_case) return count_case(&planned, plan->context);
  planned.standing = standing_of(plan->request->op, &planned);
  plan->stopped = !plan->emit(&planned, plan->context);
  return !plan->stopped;
}

static bool give_variant(plan_t *plan, const opc_case_rule_t *rule, const char *variant, opc_dtype_t dtype,
                         const opc_sample_t *sample) {
  opc_planned_case_t planned = plan->planned;
  planned.rule = rule;
  planned.variant = variant;
  planned.facts = opc_variant_facts(variant);
  planned.dtype = dtype;
  planned.sample = sample;
  if (dtype != OPC_DTYPE_OTHER && sample != planned.base) planned.facts.keeps &= ~(unsigned)OPC_KEEPS_DTYPES;
  return give(plan, planned);
}

/* At the sample's own dtype: the first row that wants a variant gets it. */
typedef struct own_rows {
  plan_t *plan;
  const opc_case_rule_t *rules[64];
  size_t count;
  unsigned families;
} own_rows_t;

static bool is_row_of_own(plan_t *plan, const opc_case_rule_t *rule) {
  return rule->dtypes.sweep == OPC_SWEEP_OWN && is_active(plan, rule);
}

static bool give_own(const char *variant, const opc_sample_t *sample, void *context) {
  const own_rows_t *own = context;
  unsigned families = opc_variant_facts(variant).families;
  for (size_t i = 0; i < own->count; i++) {
    const opc_case_rule_t *rule = own->rules[i];
    if ((rule_families(own->plan, rule) & families) && name_matches(rule, variant) &&
        (!rule->numel_max || opc_sample_numel_max(sample) <= rule->numel_max))
      return give_variant(own->plan, rule, variant, OPC_DTYPE_OTHER, sample);
  }
  return true;
}

/* A confirmation runs the cases one by one, each by its id: walking hundreds of variants for each would take longer
 * than the cases. */
static void give_only_variant(plan_t *plan, own_rows_t *own) {
  opc_sample_t variant;
  const char *name = plan->request->only->variant;
  plan->status = opc_variant_apply(plan->planned.base, plan->request->op, name, &variant, plan->error);
  if (plan->status != OPC_OK) return;
  (void)give_own(name, &variant, own);
  opc_sample_clear(&variant);
}

static void plan_own_dtype(plan_t *plan) {
  const opc_plan_request_t *request = plan->request;
  own_rows_t own = {.plan = plan};
  for (size_t i = 0; i < plan->table->rule_count; i++) {
    const opc_case_rule_t *rule = &plan->table->rules[i];
    if (own.count == sizeof own.rules / sizeof *own.rules || !is_row_of_own(plan, rule)) continue;
    if (rule->neighbours && !request->only) continue; /* they have a number of their own */
    own.rules[own.count++] = rule;
    own.families |= rule_families(plan, rule);
  }
  if (plan->part == OPC_PLAN_SAMPLES_THEMSELVES) own.families &= OPC_VARIANT_PLAIN;
  if (plan->part == OPC_PLAN_VARIANTS) own.families &= ~(unsigned)OPC_VARIANT_PLAIN;
  if (plan->status != OPC_OK || !own.families) return;
  if (request->only_exists && request->only->dtype[0]) return;
  bool only_plain = request->only && strcmp(request->only->variant, "plain") == 0;
  bool by_name = request->only_exists || (request->only && opc_variant_is_by_name(request->only->variant));
  if (by_name && only_plain != (plan->part == OPC_PLAN_SAMPLES_THEMSELVES)) return;
  if (by_name) give_only_variant(plan, &own);
  else plan->status = opc_variants_of(plan->planned.base, request->op, own.families, give_own, &own, plan->error);
}

/* ---- neighbours ---- */

static opc_status_t plan_sample(const opc_plan_request_t *request, size_t table, size_t device, size_t index,
                                opc_plan_part_t part, opc_plan_emit_t *emit, void *context, int64_t *own_cases,
                                bool *out_stopped, opc_error_t *error);

/* The sample's own cases on the device, under every check: the number must not depend on what a run selects. */
static int64_t count_own_cases(plan_t *plan) {
  const opc_plan_request_t *request = plan->request;
  const size_t device = plan->planned.device, index = plan->planned.index;
  int64_t *known = plan->own_cases ? &plan->own_cases[device * request->sample_count + index] : NULL;
  int64_t count = 0;
  bool stopped;
  if (known && *known >= 0) return *known;
  opc_plan_request_t alone = *request;
  alone.wanted = NULL;
  alone.only = NULL;
  alone.only_exists = false;
  alone.neighbours = 0;
  for (size_t i = 0; i < request->table_count && plan->status == OPC_OK; i++)
    for (opc_plan_part_t part = OPC_PLAN_SAMPLES_THEMSELVES; part <= OPC_PLAN_VARIANTS && plan->status == OPC_OK;
         part++)
      plan->status = plan_sample(&alone, i, device, index, part, count_case, &count, NULL, &stopped, plan->error);
  if (known) *known = count;
  return count;
}

/* The rows of all checks share the sample's neighbours; earlier rows get what does not divide evenly. */
static int64_t neighbours_of(plan_t *plan, const opc_case_rule_t *rule) {
  const opc_plan_request_t *request = plan->request;
  int64_t rows = 0, before = 0, all = request->neighbours;
  for (size_t i = 0; i < request->table_count; i++) {
    for (size_t k = 0; k < request->tables[i].rule_count; k++) {
      const opc_case_rule_t *other = &request->tables[i].rules[k];
      if (other == rule) before = rows;
      rows += other->neighbours > 0 && (rule_devices(other) & plan->device->bit);
    }
  }
  if (all == OPC_NEIGHBOURS_AS_OWN) all = count_own_cases(plan);
  const int64_t share = rows ? all / rows + (before < all % rows) : 0;
  return share < rule->neighbours ? share : rule->neighbours;
}

typedef struct neighbours {
  plan_t *plan;
  const opc_case_rule_t *rule;
  int64_t left;
} neighbours_t;

static bool give_neighbour(const char *variant, const opc_sample_t *sample, void *context) {
  neighbours_t *neighbours = context;
  const opc_case_rule_t *rule = neighbours->rule;
  if (!name_matches(rule, variant) || is_given(neighbours->plan, rule, variant, OPC_DTYPE_OTHER, false)) return true;
  if (rule->numel_max && opc_sample_numel_max(sample) > rule->numel_max) return true;
  if ((rule->when & OPC_WHEN_RELATED) &&
      opc_variant_change(neighbours->plan->planned.base, neighbours->plan->request->op, sample, variant) ==
          OPC_INPUT_ALONE)
    return true;
  return give_variant(neighbours->plan, rule, variant, OPC_DTYPE_OTHER, sample) && --neighbours->left > 0;
}

static void plan_neighbours(plan_t *plan) {
  const opc_plan_request_t *request = plan->request;
  if (plan->part != OPC_PLAN_VARIANTS || request->neighbours == 0 || request->only) return;
  for (size_t i = 0; i < plan->table->rule_count && plan->status == OPC_OK && !plan->stopped; i++) {
    const opc_case_rule_t *rule = &plan->table->rules[i];
    if (!rule->neighbours || !is_row_of_own(plan, rule)) continue;
    neighbours_t neighbours = {.plan = plan, .rule = rule, .left = neighbours_of(plan, rule)};
    if (plan->status == OPC_OK && neighbours.left > 0)
      plan->status = opc_variants_of(plan->planned.base, request->op, rule_families(plan, rule), give_neighbour,
                                     &neighbours, plan->error);
  }
}

/* ---- other dtypes ---- */

typedef struct dtype_step {
  plan_t *plan;
  const opc_case_rule_t *rule;
  opc_dtype_t dtype;
  bool float8;  /* the sample holds some */
  int64_t left; /* cases of neighbours */
} dtype_step_t;

static bool give_dtype(const char *variant, const opc_sample_t *sample, void *context) {
  dtype_step_t *step = context;
  plan_t *plan = step->plan;
  const opc_case_rule_t *rule = step->rule;
  OPC_SCOPED(opc_sample_clear) opc_sample_t cast = {0};
  opc_dtype_t own = opc_sample_main_dtype(sample);
  if (own == OPC_DTYPE_OTHER || is_given(plan, rule, variant, step->dtype, step->float8)) return true;
  plan->status = opc_sample_copy(sample, &cast, plan->error);
  if (plan->status != OPC_OK) return false;
  bool changed = opc_sample_cast(&cast, step->dtype);
  bool wanted = changed;
  if (!changed && !(rule->when & OPC_WHEN_DTYPE_CHANGES))
    wanted = (own == step->dtype || rule->dtypes.sweep == OPC_SWEEP_ONE) &&
             !is_given(plan, rule, variant, OPC_DTYPE_OTHER, step->float8);
  if (!wanted) return true;
  (void)give_variant(plan, rule, variant, step->dtype, changed ? &cast : sample);
  return !plan->stopped && (!rule->neighbours || --step->left > 0);
}

static void plan_other_dtypes(plan_t *plan, const opc_case_rule_t *rule) {
  dtype_step_t step = {.plan = plan, .rule = rule, .float8 = opc_sample_has_float8(plan->planned.base)};
  bool in_order = rule->dtypes.sweep == OPC_SWEEP_REPRESENTATIVE; /* the list's order; otherwise that of dtype.def */
  int count = in_order ? (int)(sizeof representative / sizeof *representative) : OPC_DTYPE_COUNT;
  if (rule->neighbours) step.left = plan->request->only ? INT64_MAX : neighbours_of(plan, rule);
  if (rule->neighbours && step.left < 1) return;
  for (int i = in_order ? 0 : OPC_DTYPE_OTHER + 1; i < count && !plan->stopped && plan->status == OPC_OK; i++) {
    step.dtype = in_order ? representative[i] : (opc_dtype_t)i;
    if (!sweep_has(rule, step.dtype, step.float8)) continue;
    opc_status_t status = rule_variants(plan, rule, plan->planned.base, give_dtype, &step);
    if (status != OPC_OK) plan->status = status;
  }
}

/* The class itself, each of its methods in a separate case (a crash costs only that case), and the class after calls of
 * them. */
static void plan_class(plan_t *plan) {
  const opc_operator_t *op = plan->request->op;
  char variant[96];
  for (size_t i = 0; i < plan->table->rule_count; i++) {
    const opc_case_rule_t *rule = &plan->table->rules[i];
    opc_planned_case_t planned = plan->planned;
    planned.rule = rule;
    planned.sample = planned.base;
    if (!is_active(plan, rule)) continue;
    if (plan->part == OPC_PLAN_SAMPLES_THEMSELVES) {
      if (rule->families & OPC_VARIANT_PLAIN) (void)give_variant(plan, rule, "plain", OPC_DTYPE_OTHER, planned.base);
      continue;
    }
    for (size_t k = 0; k < op->method_count && (rule->families & OPC_VARIANT_METHOD); k++) {
      if (strncmp(op->methods[k].name, "__", 2) == 0) continue;
      snprintf(variant, sizeof variant, "%.80s" CALLED, op->methods[k].name);
      planned.variant = variant;
      planned.method = &op->methods[k];
      planned.facts = (opc_variant_facts_t){.families = OPC_VARIANT_METHOD, .keeps = OPC_KEEPS_ALL};
      (void)give(plan, planned);
    }
    if ((rule->families & OPC_VARIANT_USED) && opc_class_is_used_and_pickled(op)) {
      planned.variant = USED;
      planned.method = NULL;
      planned.facts = (opc_variant_facts_t){.families = OPC_VARIANT_USED, .keeps = OPC_KEEPS_ALL};
      (void)give(plan, planned);
    }
  }
}

static void give_plain(plan_t *plan, const opc_case_rule_t *rule, opc_plan_action_t action) {
  opc_planned_case_t planned = plan->planned;
  planned.rule = rule;
  planned.variant = "plain";
  planned.facts = opc_variant_facts("plain");
  planned.sample = planned.base;
  planned.action = action;
  planned.reason = action == OPC_PLAN_SKIP ? OPC_SKIP_NOT_APPLICABLE : OPC_SKIP_NONE;
  planned.detail = action == OPC_PLAN_SKIP ? "the operator is expected to refuse the sample" : NULL;
  (void)give(plan, planned);
}

/* No table before this one calls the operator on the device. */
static bool is_first_to_call(const plan_t *plan) {
  const opc_plan_request_t *request = plan->request;
  for (size_t i = 0; i < plan->planned.table; i++) {
    const opc_case_table_t *earlier = &request->tables[i];
    if ((!request->wanted || request->wanted[i]) && earlier->calls &&
        (opc_case_table_devices(earlier) & plan->device->bit))
      return false;
  }
  return plan->table->calls && (opc_case_table_devices(plan->table) & plan->device->bit);
}

static void plan_refused(plan_t *plan) {
  const opc_case_rule_t *rule = rule_of_samples(plan->table, OPC_REFUSED);
  opc_plan_action_t action = rule ? OPC_PLAN_CHECK : OPC_PLAN_SKIP;
  bool judged = rule && (rule->judge & OPC_JUDGE_REFUSAL);
  if (!judged && is_first_to_call(plan)) action = OPC_PLAN_MUST_REJECT;
  give_plain(plan, rule ? rule : &refusal_case, action);
}

static opc_status_t plan_sample(const opc_plan_request_t *request, size_t table, size_t device, size_t index,
                                opc_plan_part_t part, opc_plan_emit_t *emit, void *context, int64_t *own_cases,
                                bool *out_stopped, opc_error_t *error) {
  const opc_sample_t *base = &request->samples[index];
  plan_t plan = {.request = request,
                 .table = &request->tables[table],
                 .device = &request->devices[device],
                 .planned = {.table = table,
                             .device = device,
                             .device_name = request->devices[device].name,
                             .index = index,
                             .base = base,
                             .source = base->source,
                             .dtype = OPC_DTYPE_OTHER},
                 .emit = emit,
                 .context = context,
                 .part = part,
                 .own_cases = own_cases,
                 .error = error};
  *out_stopped = false;
  if (request->only && strcmp(base->name, request->only->sample) != 0) return OPC_OK;
  if (base->expect.rejects) {
    if (part == OPC_PLAN_SAMPLES_THEMSELVES) plan_refused(&plan);
  } else if (base->unchecked) {
    const opc_case_rule_t *rule = rule_of_unchecked(plan.table, base);
    /* A crashing sample must not cost the others their turn; one that returned is planned with them. */
    const opc_plan_part_t turn = base->uninitialised ? OPC_PLAN_SAMPLES_THEMSELVES : OPC_PLAN_VARIANTS;
    if (rule && part == turn) give_plain(&plan, rule, OPC_PLAN_CHECK);
  } else if (request->op->kind == OPC_OPERATOR_CLASS) {
    plan_class(&plan);
  } else {
    plan_own_dtype(&plan);
    plan_neighbours(&plan);
    bool only_own = part == OPC_PLAN_SAMPLES_THEMSELVES || (request->only_exists && !request->only->dtype[0]);
    for (size_t i = 0; i < plan.table->rule_count && !only_own && request->op->kind == OPC_OPERATOR; i++) {
      const opc_case_rule_t *rule = &plan.table->rules[i];
      if (rule->dtypes.sweep != OPC_SWEEP_OWN && !plan.stopped && plan.status == OPC_OK && is_active(&plan, rule))
        plan_other_dtypes(&plan, rule);
    }
  }
  *out_stopped = plan.stopped;
  return plan.status;
}

opc_status_t opc_plan_sample(const opc_plan_request_t *request, size_t table, size_t device, size_t index,
                             opc_plan_part_t part, opc_plan_emit_t *emit, void *context, bool *out_stopped,
                             opc_error_t *error) {
  return plan_sample(request, table, device, index, part, emit, context, NULL, out_stopped, error);
}

/* ---- all cases ---- */

/* Why a device has nothing to call with, or nothing to learn; NULL: it has. */
static const char *nothing_to_run(const opc_plan_request_t *request, const opc_case_table_t *table,
                                  const opc_plan_device_t *device, opc_skip_reason_t *out_reason) {
  size_t checked = 0;
  for (size_t i = 0; i < request->sample_count; i++)
    checked += !request->samples[i].unchecked || rule_of_unchecked(table, &request->samples[i]);
  if (!device->usable) {
    *out_reason = OPC_SKIP_NO_DEVICE;
    return "there is no such device here";
  }
  if (!device->served && !(opc_case_table_needs(table) & OPC_NEEDS_NO_KERNEL)) {
    *out_reason = OPC_SKIP_NO_KERNEL;
    return "the operator has no kernel for this device";
  }
  if (!(opc_case_table_devices(table) & device->bit)) {
    *out_reason = OPC_SKIP_SIMULATED;
    return "kernels do not run on the simulated device: this check needs what they compute. Only launches, where they "
           "go and what the host does are checked there";
  }
  if (!checked) {
    *out_reason = OPC_SKIP_NO_SAMPLE;
    return "there are no arguments to call the operator with";
  }
  return NULL;
}

static opc_status_t plan_device(const opc_plan_request_t *request, size_t index, size_t device_index,
                                opc_plan_part_t part, opc_plan_emit_t *emit, void *context, int64_t *own_cases,
                                bool *out_stopped, opc_error_t *error) {
  const opc_case_table_t *table = &request->tables[index];
  const opc_plan_device_t *device = &request->devices[device_index];
  const opc_case_rule_t *all_samples = rule_of_scope(table, OPC_SCOPE_ALL_SAMPLES);
  bool here = opc_case_table_devices(table) & device->bit;
  if (request->op->kind == OPC_OPERATOR_CLASS && device->bit != OPC_ON_CPU) return OPC_OK;
  if (!here && !(table->calls && device->bit == OPC_ON_SIMULATED)) return OPC_OK;
  opc_planned_case_t bare = {
      .table = index, .device = device_index, .device_name = device->name, .rule = &no_call_case};
  if (table->calls) bare.detail = nothing_to_run(request, table, device, &bare.reason);
  if (bare.detail) {
    if (part != OPC_PLAN_SAMPLES_THEMSELVES) return OPC_OK;
    bare.action = OPC_PLAN_SKIP;
    *out_stopped = !emit(&bare, context);
    return OPC_OK;
  }
  size_t callable = 0;
  for (size_t i = 0; i < request->sample_count; i++) {
    const opc_sample_t *sample = &request->samples[i];
    opc_standing_t standing = {.voucher = voucher_of(sample), .plain = true};
    if (opc_sample_is_callable(sample) && callable++ == 0) bare.standing = standing;
    /* A case about all samples is as good as the best of them. */
    if (opc_sample_is_callable(sample) && opc_standing_rank(&standing) < opc_standing_rank(&bare.standing))
      bare.standing = standing;
    opc_status_t status =
        plan_sample(request, index, device_index, i, part, emit, context, own_cases, out_stopped, error);
    if (status != OPC_OK || *out_stopped) return status;
  }
  if (!all_samples || !callable || part != OPC_PLAN_VARIANTS) return OPC_OK;
  bare.rule = all_samples;
  *out_stopped = !emit(&bare, context);
  return OPC_OK;
}

static opc_status_t plan_table(const opc_plan_request_t *request, size_t index, opc_plan_part_t part,
                               opc_plan_emit_t *emit, void *context, int64_t *own_cases, bool *out_stopped,
                               opc_error_t *error) {
  const opc_case_table_t *table = &request->tables[index];
  const opc_case_rule_t *alone = rule_of_scope(table, OPC_SCOPE_OPERATOR);
  opc_status_t status = OPC_OK;
  if (request->wanted && !request->wanted[index]) return OPC_OK;
  if (request->only && strcmp(table->check, request->only->check) != 0) return OPC_OK;
  if (alone && part == OPC_PLAN_SAMPLES_THEMSELVES)
    *out_stopped = !emit(&(opc_planned_case_t){.table = index, .rule = alone}, context);
  for (size_t d = 0; d < request->device_count && !alone && status == OPC_OK && !*out_stopped; d++)
    status = plan_device(request, index, d, part, emit, context, own_cases, out_stopped, error);
  return status;
}

opc_status_t opc_plan_all(const opc_plan_request_t *request, opc_plan_emit_t *emit, void *context, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  bool stopped = false;
  const size_t counts = request->device_count * request->sample_count;
  int64_t *own_cases = malloc((counts + 1) * sizeof *own_cases);
  if (!own_cases) return opc_out_of_memory(error);
  for (size_t i = 0; i < counts; i++) own_cases[i] = -1;
  for (int last = 0; last < 2; last++)
    for (opc_plan_part_t part = OPC_PLAN_SAMPLES_THEMSELVES; part <= OPC_PLAN_VARIANTS; part++)
      for (size_t i = 0; i < request->table_count && status == OPC_OK && !stopped; i++)
        if (request->tables[i].last == (last == 1))
          status = plan_table(request, i, part, emit, context, own_cases, &stopped, error);
  free(own_cases);
  return status;
}

/* ---- a planned case ---- */

void opc_planned_case_id(const opc_plan_request_t *request, const opc_planned_case_t *planned, opc_case_id_t *out) {
  *out = (opc_case_id_t){0};
  snprintf(out->operator_name, sizeof out->operator_name, "%s", request->op->name);
  snprintf(out->check, sizeof out->check, "%s", request->tables[planned->table].check);
  if (planned->device_name) snprintf(out->device, sizeof out->device, "%s", planned->device_name);
  if (!planned->base) return;
  snprintf(out->sample, sizeof out->sample, "%s", planned->base->name);
  snprintf(out->variant, sizeof out->variant, "%s", planned->variant);
  if (planned->dtype != OPC_DTYPE_OTHER) snprintf(out->dtype, sizeof out->dtype, "%s", opc_dtype_name(planned->dtype));
}

bool opc_planned_is_unmodified(const opc_planned_case_t *planned) {
  return planned->base && (planned->facts.families & OPC_VARIANT_PLAIN) && planned->dtype == OPC_DTYPE_OTHER;
}
