#include "supervise/run/run.h"

#include <stdlib.h>
#include <string.h>

#include "inspect/fatbin.h"
#include "plan/cases/planner.h"
#include "supervise/jobs/searching.h"

enum { DEVICES_MAX = 8 };

typedef struct lister {
  const opc_session_t *session;
  opc_plan_request_t request;
  bool without_sample; /* the operator would have a case if it had a sample */
} lister_t;

static bool list_case(const opc_planned_case_t *planned, void *context) {
  lister_t *lister = context;
  const opc_run_options_t *options = lister->session->options;
  bool skip = planned->action == OPC_PLAN_SKIP;
  opc_case_id_t id;
  char text[OPC_CASE_ID_SIZE];
  if (skip && planned->reason == OPC_SKIP_NO_SAMPLE) {
    lister->without_sample = true;
    return true;
  }
  opc_planned_case_id(&lister->request, planned, &id);
  opc_case_id_format(&id, text);
  if (lister->session->has_only && strcmp(text, options->case_id) != 0) return true;
  options->planned(text, skip, skip ? planned->detail : planned->rule->why, options->planned_context);
  return true;
}

static size_t list_cases_add_device(opc_plan_device_t *devices, size_t count, const char *name, bool usable,
                                    const opc_operator_t *op) {
  bool simulated = strcmp(name, OPC_MODE_SIMULATED) == 0, cuda = simulated || strcmp(name, OPC_MODE_CUDA) == 0;
  if (count == DEVICES_MAX) return count;
  devices[count] = (opc_plan_device_t){.name = name,
                                       .bit = simulated ? opc_plan_simulated(opc_gpu_library_has_ptx(op->library))
                                              : cuda    ? OPC_ON_CUDA
                                                        : OPC_ON_CPU,
                                       .usable = usable,
                                       .served = opc_operator_serves(op, cuda ? OPC_DEVICE_CUDA : OPC_DEVICE_CPU)};
  return count + 1;
}

/* Devices that a run would skip are listed too. */
static size_t devices_of(const opc_session_t *session, const opc_operator_t *op, opc_plan_device_t *out) {
  size_t count = 0, i;
  const char *name;
  json_t *device;
  json_array_foreach(session->devices, i, device) count =
      list_cases_add_device(out, count, json_string_value(device), true, op);
  json_object_foreach(session->absent, name, device) count = list_cases_add_device(out, count, name, false, op);
  return count;
}

/* The session keeps the samples. */
static opc_status_t samples_of(const opc_session_t *session, const opc_operator_t *op, opc_sample_set_t *out,
                               opc_error_t *error) {
  const opc_sample_set_t *all = &session->samples;
  *out = (opc_sample_set_t){.samples = calloc(all->count + 1, sizeof *out->samples)};
  if (!out->samples) return opc_out_of_memory(error);
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->samples[i].operator_name, op->name) == 0) out->samples[out->count++] = all->samples[i];
  return OPC_OK;
}

static void forget_list(opc_sample_set_t *samples) { free(samples->samples); }

static void say_searched(const opc_session_t *session, const opc_operator_t *op) {
  const opc_run_options_t *options = session->options;
  const opc_recipe_t *recipe = opc_recipe_find(&session->recipes, op->name);
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  if (options->no_search) {
    options->planned(op->name, true, "it has no sample, and --no-search is given", options->planned_context);
    return;
  }
  opc_text_add(&text, "would be searched: it has no sample");
  if (recipe) opc_text_addf(&text, ", and a recipe (%s)", opc_recipe_origin(recipe));
  options->planned(op->name, false, opc_text_c(&text), options->planned_context);
}

/* The cases of what it would find are unknown, as no try is made. */
static void say_searched_beside(const opc_session_t *session, const opc_operator_t *op,
                                const opc_sample_set_t *samples) {
  bool callable = false, brief = false;
  for (size_t i = 0; i < samples->count; i++) {
    callable |= opc_sample_is_callable(&samples->samples[i]);
    brief |= samples->samples[i].brief;
  }
  if (callable && !brief && !session->options->no_search && !session->has_only && opc_search_is_guarded(session, op) &&
      !opc_recipe_find(&session->recipes, op->name))
    session->options->planned(op->name, false, "would be searched for inputs of other kinds than its samples",
                              session->options->planned_context);
}

static opc_status_t list_operator(const opc_session_t *session, const opc_operator_t *op, bool searched,
                                  const bool *wanted, opc_error_t *error) {
  opc_plan_device_t devices[DEVICES_MAX];
  bool of_kind[64] = {false};
  OPC_SCOPED(forget_list) opc_sample_set_t samples = {0};
  OPC_RETURN_IF_ERROR(samples_of(session, op, &samples, error));
  for (size_t i = 0; i < opc_check_info_count && i < sizeof of_kind; i++)
    of_kind[i] = wanted[i] && opc_check_info_is_of(&opc_check_infos[i], op);
  lister_t lister = {.session = session,
                     .request = {.op = op,
                                 .tables = opc_case_tables,
                                 .table_count = opc_check_info_count,
                                 .wanted = of_kind,
                                 .devices = devices,
                                 .device_count = devices_of(session, op, devices),
                                 .samples = samples.samples,
                                 .sample_count = samples.count,
                                 .only = session->has_only ? &session->only : NULL,
                                 .neighbours = session->options->neighbours}};
  OPC_RETURN_IF_ERROR(opc_plan_all(&lister.request, list_case, &lister, error));
  if (searched) say_searched_beside(session, op, &samples);
  if (searched && op->schema && lister.without_sample) say_searched(session, op);
  return OPC_OK;
}

opc_status_t opc_list_cases(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                            size_t searched, opc_error_t *error) {
  bool wanted[64] = {false};
  json_t *check;
  size_t i;
  json_array_foreach(session->checks, i, check) {
    int index = opc_check_info_find(json_string_value(check));
    if (index >= 0 && index < (int)sizeof wanted) wanted[index] = true;
  }
  for (i = 0; i < count; i++) OPC_RETURN_IF_ERROR(list_operator(session, operators[i], i < searched, wanted, error));
  return OPC_OK;
}
