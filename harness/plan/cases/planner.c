#include "plan/cases/planner.h"

#include <stdlib.h>
#include <string.h>

#include "plan/cases/planner_inside.h"
#include "plan/variant/variant_table.h"

#define CALLED ".called" /* after a method's name */
#define USED "used"

/* For cases that no rule asks for. */
static const opc_case_rule_t refusal_case = {.why = "the sample states that the operator refuses it"};
static const opc_case_rule_t no_call_case = {.why = "there is nothing to call, and the case says why"};

/* ---- rules for samples that are not varied ---- */

static const opc_case_rule_t *rule_of_scope(const opc_case_table_t *table, opc_case_scope_t scope) {
  for (size_t i = 0; i < table->rule_count; i++)
    if (table->rules[i].scope == scope) return &table->rules[i];
  return NULL;
}

/* The rule for samples that are refused, or unchecked. */
static const opc_case_rule_t *rule_of_samples(const opc_case_table_t *table, unsigned samples) {
  for (size_t i = 0; i < table->rule_count; i++)
    if (opc_plan_rule_samples(&table->rules[i]) & samples) return &table->rules[i];
  return NULL;
}

static const opc_case_rule_t *rule_of_unchecked(const opc_case_table_t *table, const opc_sample_t *sample) {
  return rule_of_samples(table, sample->uninitialised ? OPC_UNINITIALISED : OPC_UNCHECKED);
}

/* ---- at the sample's own dtype ---- */

/* At the sample's own dtype: the first rule that wants a variant gets it. */
typedef struct own_rules {
  plan_t *plan;
  const opc_case_rule_t *rules[64];
  size_t count;
  unsigned families;
} own_rules_t;

static bool give_own(const char *variant, const opc_sample_t *sample, void *context) {
  const own_rules_t *own = context;
  unsigned families = opc_variant_facts(variant).families;
  for (size_t i = 0; i < own->count; i++) {
    const opc_case_rule_t *rule = own->rules[i];
    if ((opc_plan_rule_families(own->plan, rule) & families) && opc_plan_name_matches(rule, variant) &&
        (!rule->numel_max || opc_sample_numel_max(sample) <= rule->numel_max))
      return opc_plan_give_variant(own->plan, rule, variant, OPC_DTYPE_OTHER, sample);
  }
  return true;
}

/* A confirmation runs the cases one by one, each by its id: walking hundreds of variants for each would take longer
 * than the cases. */
static void give_only_variant(plan_t *plan, own_rules_t *own) {
  opc_sample_t variant;
  const char *name = plan->request->only->variant;
  plan->status = opc_variant_apply(plan->planned.base, plan->request->op, name, &variant, plan->error);
  if (plan->status != OPC_OK) return;
  (void)give_own(name, &variant, own);
  opc_sample_clear(&variant);
}

static void plan_own_dtype(plan_t *plan) {
  const opc_plan_request_t *request = plan->request;
  own_rules_t own = {.plan = plan};
  for (size_t i = 0; i < plan->table->rule_count; i++) {
    const opc_case_rule_t *rule = &plan->table->rules[i];
    if (own.count == sizeof own.rules / sizeof *own.rules || !opc_plan_is_rule_of_own(plan, rule)) continue;
    if (rule->neighbours && !request->only) continue; /* they have a number of their own */
    own.rules[own.count++] = rule;
    own.families |= opc_plan_rule_families(plan, rule);
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
  if (own == OPC_DTYPE_OTHER || opc_plan_is_given(plan, rule, variant, step->dtype, step->float8)) return true;
  plan->status = opc_sample_copy(sample, &cast, plan->error);
  if (plan->status != OPC_OK) return false;
  bool changed = opc_sample_cast(&cast, step->dtype);
  bool wanted = changed;
  if (!changed && !(rule->when & OPC_WHEN_DTYPE_CHANGES))
    wanted = (own == step->dtype || rule->dtypes.sweep == OPC_SWEEP_ONE) &&
             !opc_plan_is_given(plan, rule, variant, OPC_DTYPE_OTHER, step->float8);
  if (!wanted) return true;
  (void)opc_plan_give_variant(plan, rule, variant, step->dtype, changed ? &cast : sample);
  return !plan->stopped && (!rule->neighbours || --step->left > 0);
}

static void plan_other_dtypes(plan_t *plan, const opc_case_rule_t *rule) {
  dtype_step_t step = {.plan = plan, .rule = rule, .float8 = opc_sample_has_float8(plan->planned.base)};
  bool in_order = rule->dtypes.sweep == OPC_SWEEP_REPRESENTATIVE; /* the list's order; otherwise that of dtype.def */
  int count = in_order ? OPC_PLAN_REPRESENTATIVE_COUNT : OPC_DTYPE_COUNT;
  if (rule->neighbours) step.left = plan->request->only ? INT64_MAX : opc_plan_neighbours_of(plan, rule);
  if (rule->neighbours && step.left < 1) return;
  for (int i = in_order ? 0 : OPC_DTYPE_OTHER + 1; i < count && opc_plan_goes_on(plan); i++) {
    step.dtype = in_order ? opc_plan_representative[i] : (opc_dtype_t)i;
    if (!opc_plan_sweep_has(rule, step.dtype, step.float8)) continue;
    opc_status_t status = opc_plan_rule_variants(plan, rule, plan->planned.base, give_dtype, &step);
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
    if (!opc_plan_is_active(plan, rule)) continue;
    if (plan->part == OPC_PLAN_SAMPLES_THEMSELVES) {
      if (rule->families & OPC_VARIANT_PLAIN)
        (void)opc_plan_give_variant(plan, rule, "plain", OPC_DTYPE_OTHER, planned.base);
      continue;
    }
    for (size_t k = 0; k < op->method_count && (rule->families & OPC_VARIANT_METHOD); k++) {
      if (strncmp(op->methods[k].name, "__", 2) == 0) continue;
      snprintf(variant, sizeof variant, "%.80s" CALLED, op->methods[k].name);
      planned.variant = variant;
      planned.method = &op->methods[k];
      planned.facts = (opc_variant_facts_t){.families = OPC_VARIANT_METHOD, .keeps = OPC_KEEPS_ALL};
      (void)opc_plan_give(plan, planned);
    }
    if ((rule->families & OPC_VARIANT_USED) && opc_class_is_used_and_pickled(op)) {
      planned.variant = USED;
      planned.method = NULL;
      planned.facts = (opc_variant_facts_t){.families = OPC_VARIANT_USED, .keeps = OPC_KEEPS_ALL};
      (void)opc_plan_give(plan, planned);
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
  (void)opc_plan_give(plan, planned);
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
  bool checked = rule && (rule->judge & OPC_JUDGE_REFUSAL);
  if (!checked && is_first_to_call(plan)) action = OPC_PLAN_MUST_REJECT;
  give_plain(plan, rule ? rule : &refusal_case, action);
}

/* What the walks of one plan share. */
typedef struct planning {
  const opc_plan_request_t *request;
  opc_plan_part_t part;
  opc_plan_emit_t *emit;
  void *context;
  int64_t *own_cases; /* of each device and sample, -1 if not counted yet */
  bool stopped;
  opc_error_t *error;
} planning_t;

static plan_t plan_of(const planning_t *planning, size_t table, size_t device, size_t index) {
  const opc_plan_request_t *request = planning->request;
  const opc_sample_t *base = &request->samples[index];
  return (plan_t){.request = request,
                  .table = &request->tables[table],
                  .device = &request->devices[device],
                  .planned = {.table = table,
                              .device = device,
                              .device_name = request->devices[device].name,
                              .index = index,
                              .base = base,
                              .source = base->source,
                              .dtype = OPC_DTYPE_OTHER},
                  .part = planning->part,
                  .emit = planning->emit,
                  .context = planning->context,
                  .error = planning->error};
}

static opc_status_t walk_sample(plan_t *plan) {
  const opc_plan_request_t *request = plan->request;
  const opc_sample_t *base = plan->planned.base;
  const opc_plan_part_t part = plan->part;
  if (request->only && strcmp(base->name, request->only->sample) != 0) return OPC_OK;
  if (base->expect.rejects) {
    if (part == OPC_PLAN_SAMPLES_THEMSELVES) plan_refused(plan);
  } else if (base->unchecked) {
    const opc_case_rule_t *rule = rule_of_unchecked(plan->table, base);
    /* A crashing sample must not cost the others their turn; one that returned is planned with them. */
    const opc_plan_part_t turn = base->uninitialised ? OPC_PLAN_SAMPLES_THEMSELVES : OPC_PLAN_VARIANTS;
    if (rule && part == turn) give_plain(plan, rule, OPC_PLAN_CHECK);
  } else if (request->op->kind == OPC_OPERATOR_CLASS) {
    plan_class(plan);
  } else {
    plan_own_dtype(plan);
    opc_plan_neighbours(plan);
    bool only_own =
        part == OPC_PLAN_SAMPLES_THEMSELVES || base->brief || (request->only_exists && !request->only->dtype[0]);
    for (size_t i = 0; i < plan->table->rule_count && !only_own && request->op->kind == OPC_OPERATOR; i++) {
      const opc_case_rule_t *rule = &plan->table->rules[i];
      if (rule->dtypes.sweep != OPC_SWEEP_OWN && opc_plan_goes_on(plan) && opc_plan_is_active(plan, rule))
        plan_other_dtypes(plan, rule);
    }
  }
  return plan->status;
}

/* The sample's own cases on the device, under every check: the number must not depend on what a run selects. */
static opc_status_t count_own_cases(const opc_plan_request_t *request, size_t device, size_t index, int64_t *out,
                                    opc_error_t *error) {
  opc_plan_request_t alone = *request;
  planning_t counting = {.request = &alone, .error = error};
  alone.wanted = NULL;
  alone.neighbours = 0;
  *out = 0;
  for (size_t i = 0; i < request->table_count; i++) {
    for (counting.part = OPC_PLAN_SAMPLES_THEMSELVES; counting.part <= OPC_PLAN_VARIANTS; counting.part++) {
      plan_t plan = plan_of(&counting, i, device, index);
      plan.counted = out;
      OPC_RETURN_IF_ERROR(walk_sample(&plan));
    }
  }
  return OPC_OK;
}

/* A child that continues after another one would make thousands of variants only to pass over them. */
static bool is_before_start(const planning_t *planning, size_t table, size_t device, size_t index) {
  const opc_plan_request_t *request = planning->request;
  const opc_case_id_t *start = request->start;
  if (!start || request->by_yield || planning->part != OPC_PLAN_VARIANTS) return false;
  return strcmp(request->tables[table].check, start->check) != 0 ||
         strcmp(request->devices[device].name, start->device) != 0 ||
         strcmp(request->samples[index].name, start->sample) != 0;
}

static opc_status_t plan_sample(planning_t *planning, size_t table, size_t device, size_t index) {
  const opc_plan_request_t *request = planning->request;
  int64_t *own = &planning->own_cases[device * request->sample_count + index];
  plan_t plan = plan_of(planning, table, device, index);
  enum { SEARCHED = 4 }; /* one neighbour for so many cases */
  plan.neighbours = request->neighbours;
  if (plan.neighbours == OPC_NEIGHBOURS_AS_OWN && plan.part == OPC_PLAN_VARIANTS && opc_plan_has_neighbours(&plan)) {
    if (*own < 0) OPC_RETURN_IF_ERROR(count_own_cases(request, device, index, own, plan.error));
    plan.neighbours = opc_plan_source(plan.planned.base) == OPC_SOURCE_SEARCHED ? *own / SEARCHED : *own;
  }
  const opc_status_t status = walk_sample(&plan);
  planning->stopped = plan.stopped;
  return status;
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
  /* Some checks need no kernel, but arguments. Where both are missing, the missing kernel is the reason. */
  if (!device->served && (!checked || !(opc_case_table_needs(table) & OPC_NEEDS_NO_KERNEL))) {
    *out_reason = OPC_SKIP_NO_KERNEL;
    return "the operator has no kernel for this device";
  }
  if (!(opc_case_table_devices(table) & device->bit)) {
    *out_reason = OPC_SKIP_SIMULATED;
    return "this check needs what kernels compute, and on the simulated device only kernels with PTX run: compile the "
           "library with PTX, nvcc -gencode arch=compute_90,code=compute_90";
  }
  if (!checked) {
    *out_reason = OPC_SKIP_NO_SAMPLE;
    return "there are no arguments to call the operator with";
  }
  return NULL;
}

static opc_status_t plan_device(planning_t *planning, size_t index, size_t device_index) {
  const opc_plan_request_t *request = planning->request;
  const opc_case_table_t *table = &request->tables[index];
  const opc_plan_device_t *device = &request->devices[device_index];
  const opc_case_rule_t *all_samples = rule_of_scope(table, OPC_SCOPE_ALL_SAMPLES);
  bool here = opc_case_table_devices(table) & device->bit;
  if (request->op->kind == OPC_OPERATOR_CLASS && device->bit != OPC_ON_CPU) return OPC_OK;
  if (!here && !(table->calls && (device->bit & OPC_ON_SIMULATED))) return OPC_OK;
  opc_planned_case_t bare = {
      .table = index, .device = device_index, .device_name = device->name, .rule = &no_call_case};
  if (table->calls) bare.detail = nothing_to_run(request, table, device, &bare.reason);
  if (bare.detail) {
    if (planning->part != OPC_PLAN_SAMPLES_THEMSELVES) return OPC_OK;
    bare.action = OPC_PLAN_SKIP;
    planning->stopped = !planning->emit(&bare, planning->context);
    return OPC_OK;
  }
  size_t callable = 0;
  for (size_t i = 0; i < request->sample_count; i++) {
    const opc_sample_t *sample = &request->samples[i];
    opc_provenance_t provenance = {.source = opc_plan_source(sample), .plain = true};
    if (opc_sample_is_callable(sample) && callable++ == 0) bare.provenance = provenance;
    /* A case about all samples is as good as the best of them. */
    if (opc_sample_is_callable(sample) && opc_provenance_rank(&provenance) < opc_provenance_rank(&bare.provenance))
      bare.provenance = provenance;
    if (!is_before_start(planning, index, device_index, i))
      OPC_RETURN_IF_ERROR(plan_sample(planning, index, device_index, i));
    if (planning->stopped) return OPC_OK;
  }
  if (!all_samples || !callable || planning->part != OPC_PLAN_VARIANTS) return OPC_OK;
  bare.rule = all_samples;
  if (all_samples->judge & OPC_JUDGE_OTHER_VALUES) {
    bare.provenance.plain = false;
    bare.provenance.change = OPC_INPUT_ALONE;
  }
  planning->stopped = !planning->emit(&bare, planning->context);
  return OPC_OK;
}

static opc_status_t plan_table(planning_t *planning, size_t index) {
  const opc_plan_request_t *request = planning->request;
  const opc_case_table_t *table = &request->tables[index];
  const opc_case_rule_t *alone =
      rule_of_scope(table, request->op->kind == OPC_OPERATOR_LIBRARY ? OPC_SCOPE_LIBRARY : OPC_SCOPE_OPERATOR);
  if (request->wanted && !request->wanted[index]) return OPC_OK;
  if (request->only && strcmp(table->check, request->only->check) != 0) return OPC_OK;
  if (alone && planning->part == OPC_PLAN_SAMPLES_THEMSELVES)
    planning->stopped = !planning->emit(&(opc_planned_case_t){.table = index, .rule = alone}, planning->context);
  for (size_t d = 0; d < request->device_count && !alone && !planning->stopped; d++)
    OPC_RETURN_IF_ERROR(plan_device(planning, index, d));
  return OPC_OK;
}

static opc_status_t plan_walk(planning_t *planning, opc_plan_part_t to) {
  const opc_plan_request_t *request = planning->request;
  for (int last = 0; last < 2; last++)
    for (planning->part = OPC_PLAN_SAMPLES_THEMSELVES; planning->part <= to; planning->part++)
      for (size_t i = 0; i < request->table_count && !planning->stopped; i++)
        if (request->tables[i].last == (last == 1)) OPC_RETURN_IF_ERROR(plan_table(planning, i));
  return OPC_OK;
}

/* ---- by yield ---- */

/* Turn 0 is given at once; the other cases are kept, to be given in the order of their turns. */
typedef struct kept_case {
  opc_planned_case_t planned;
  opc_sample_t sample; /* empty: the base */
  char *variant;       /* NULL: none */
} kept_case_t;

typedef struct turns {
  const planning_t *planning; /* of whoever asked */
  const planning_t *walking;
  bool keeps;
  kept_case_t *kept;
  size_t count;
  opc_status_t status; /* of a callback, which cannot return a status */
} turns_t;

static void turns_clear(turns_t *turns) {
  for (size_t i = 0; i < turns->count; i++) {
    opc_sample_clear(&turns->kept[i].sample);
    free(turns->kept[i].variant);
  }
  free(turns->kept);
}

static int turn_of(const planning_t *planning, const opc_planned_case_t *planned) {
  const bool brief = planned->base && planned->base->brief;
  if (planning->part == OPC_PLAN_SAMPLES_THEMSELVES && !brief) return 0;
  const opc_case_table_t *table = &planning->request->tables[planned->table];
  const int turn = opc_yield_turn(table->check, planned);
  return table->last && turn > 1 ? turn + OPC_YIELD_TURNS : turn;
}

static opc_status_t keep_case(turns_t *turns, const opc_planned_case_t *planned, int turn) {
  opc_error_t *error = turns->planning->error;
  if (!OPC_ARRAY_GROW(turns->kept, turns->count)) return opc_out_of_memory(error);
  kept_case_t *kept = &turns->kept[turns->count++];
  *kept = (kept_case_t){.planned = *planned, .variant = opc_string_copy(planned->variant)};
  kept->planned.turn = turn;
  if (planned->variant && !kept->variant) return opc_out_of_memory(error);
  return planned->sample == planned->base ? OPC_OK : opc_sample_copy(planned->sample, &kept->sample, error);
}

static bool give_or_keep(const opc_planned_case_t *planned, void *context) {
  turns_t *turns = context;
  const int turn = turn_of(turns->walking, planned);
  if (turn > 0 && turns->keeps) turns->status = keep_case(turns, planned, turn);
  if (turn > 0 || turns->keeps) return !turns->status;
  return turns->planning->emit(planned, turns->planning->context);
}

static opc_status_t plan_by_yield(const planning_t *planning) {
  planning_t own = *planning;
  OPC_SCOPED(turns_clear) turns_t turns = {.planning = planning, .walking = &own};
  own.emit = give_or_keep;
  own.context = &turns;
  OPC_RETURN_IF_ERROR(plan_walk(&own, OPC_PLAN_SAMPLES_THEMSELVES));
  if (own.stopped || planning->request->themselves_only) return turns.status;
  turns.keeps = true;
  OPC_RETURN_IF_ERROR(plan_walk(&own, OPC_PLAN_VARIANTS));
  for (int turn = 1; turn <= 2 * OPC_YIELD_TURNS && !turns.status; turn++)
    for (size_t i = 0; i < turns.count; i++) {
      kept_case_t *kept = &turns.kept[i];
      kept->planned.variant = kept->variant;
      if (kept->planned.sample != kept->planned.base) kept->planned.sample = &kept->sample;
      if (kept->planned.turn == turn && !planning->emit(&kept->planned, planning->context)) return OPC_OK;
    }
  return turns.status;
}

opc_status_t opc_plan_all(const opc_plan_request_t *request, opc_plan_emit_t *emit, void *context, opc_error_t *error) {
  const size_t counts = request->device_count * request->sample_count;
  OPC_SCOPED(opc_scope_free) int64_t *own_cases = malloc((counts + 1) * sizeof *own_cases);
  if (!own_cases) return opc_out_of_memory(error);
  for (size_t i = 0; i < counts; i++) own_cases[i] = -1;
  planning_t planning = {.request = request, .emit = emit, .context = context, .own_cases = own_cases, .error = error};
  return request->by_yield ? plan_by_yield(&planning) : plan_walk(&planning, OPC_PLAN_VARIANTS);
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
