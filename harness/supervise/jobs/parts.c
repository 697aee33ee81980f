#include "supervise/jobs/parts.h"

#include <stdlib.h>
#include <string.h>

#include "plan/cases/planner.h"

static const double least_seconds = 1; /* a part costs a process and its plan */

struct opc_parts {
  opc_part_begin_t *begins;
  size_t begin_count, planned; /* planned: cases in all */
  size_t lost;                 /* parts that were given up */
  opc_part_t *first;           /* that the task has not taken */
};

/* ---- the task that runs a part ---- */

/* Its task has nothing more to do. */
static void part_end(opc_part_t *part) {
  opc_task_t *runs = part->task;
  part->task = NULL;
  if (!runs) return;
  runs->part = NULL;
  opc_task_enter(runs, NULL);
}

void opc_part_free(opc_part_t *part) {
  if (!part) return;
  part_end(part);
  for (size_t i = 0; i < part->count; i++) opc_case_result_free(part->results[i]);
  free(part->results);
  free(part);
}

static opc_status_t part_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  const opc_task_t *owner = task->part->owner;
  *out = opc_task_cases_command(owner, json_array_size(owner->skips), json_array_size(owner->crashed));
  if (!*out) return opc_out_of_memory(error);
  json_object_set_new(*out, "from", json_string(task->part->begin->case_id));
  opc_task_tell_past(owner, *out);
  return OPC_OK;
}

static opc_status_t part_take_result(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) {
  opc_part_t *part = task->part;
  part->complete = part->next && strcmp(result->case_id, part->next->begin->case_id) == 0;
  const bool kept = !part->complete && OPC_ARRAY_GROW(part->results, part->count);
  if (kept) part->results[part->count++] = result;
  else opc_case_result_free(result);
  if (!kept && !part->complete) return opc_out_of_memory(error);
  if (part->complete) part_end(part);
  return OPC_OK;
}

/* Gives up the part there, and those after it. */
static void drop_after(opc_part_t **place) {
  while (*place) {
    opc_part_t *part = *place;
    *place = part->next;
    part->owner->parts->lost++;
    opc_part_free(part);
  }
}

/* The owner itself runs the last case again, which may be the reason, and all that follow. */
static void part_broke(opc_task_t *task) {
  opc_part_t *part = task->part;
  drop_after(&part->next);
  if (part->count > 0) opc_case_result_free(part->results[--part->count]);
  part_end(part);
}

static opc_status_t part_ended(opc_task_t *task, opc_batch_end_t how, const char *why, opc_error_t *error) {
  opc_part_t *part = task->part;
  (void)why;
  (void)error;
  part->complete = how == OPC_BATCH_DONE;
  if (part->complete) part_end(part);
  else part_broke(task);
  return OPC_OK;
}

static opc_status_t part_crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error) {
  (void)case_id;
  (void)crash;
  (void)error;
  part_broke(task);
  return OPC_OK;
}

static double part_seconds(const opc_task_t *task) { return opc_task_case_seconds(task->part->owner); }

const opc_phase_t opc_phase_part = {.command = part_command,
                                    .result = part_take_result,
                                    .ended = part_ended,
                                    .crash = part_crash,
                                    .lost = part_broke,
                                    .seconds = part_seconds};

/* ---- where parts can begin ---- */

typedef struct walk {
  opc_parts_t *parts;
  const opc_plan_request_t *request;
  size_t table;
  bool failed;
} walk_t;

/* Checks that leave graphs behind stay together. */
static bool begins_part(const walk_t *walk, const opc_planned_case_t *planned) {
  const opc_case_table_t *tables = walk->request->tables;
  return walk->parts->planned > 0 && planned->table != walk->table &&
         !(tables[planned->table].last && tables[walk->table].last);
}

static bool note_planned(const opc_planned_case_t *planned, void *context) {
  walk_t *walk = context;
  opc_parts_t *parts = walk->parts;
  if (begins_part(walk, planned)) {
    opc_case_id_t id;
    char text[OPC_CASE_ID_SIZE];
    opc_planned_case_id(walk->request, planned, &id);
    opc_case_id_format(&id, text);
    char *case_id = OPC_ARRAY_GROW(parts->begins, parts->begin_count) ? opc_string_copy(text) : NULL;
    walk->failed = !case_id;
    if (walk->failed) return false;
    parts->begins[parts->begin_count++] = (opc_part_begin_t){.case_id = case_id, .position = parts->planned};
  }
  walk->table = planned->table;
  parts->planned++;
  return true;
}

/* The same plan as the child's: results never change it. */
static opc_status_t find_begins(opc_task_t *task, opc_error_t *error) {
  const opc_operator_t *op = task->op;
  const opc_plan_device_t cpu = {
      .name = OPC_MODE_CPU, .bit = OPC_ON_CPU, .usable = true, .served = opc_operator_serves(op, OPC_DEVICE_CPU)};
  bool wanted[64] = {false};
  json_t *check;
  size_t i;
  json_array_foreach(task->session->checks, i, check) {
    const int index = opc_check_info_find(json_string_value(check));
    if (index >= 0 && index < (int)(sizeof wanted / sizeof *wanted))
      wanted[index] = opc_check_info_is_of(&opc_check_infos[index], op);
  }
  const opc_plan_request_t request = {.op = op,
                                      .tables = opc_case_tables,
                                      .table_count = opc_check_info_count,
                                      .wanted = wanted,
                                      .devices = &cpu,
                                      .device_count = 1,
                                      .samples = task->samples.samples,
                                      .sample_count = task->samples.count,
                                      .neighbours = task->session->options->neighbours};
  walk_t walk = {.parts = task->parts, .request = &request};
  OPC_RETURN_IF_ERROR(opc_plan_all(&request, note_planned, &walk, error));
  return walk.failed ? opc_out_of_memory(error) : OPC_OK;
}

/* ---- the task whose cases they are ---- */

/* Its child runs variants: all parts must know what was found on the samples themselves. */
static bool is_at_variants(const opc_task_t *task) {
  opc_case_id_t id;
  return task->reached > task->first && task->reached == task->order_count &&
         opc_case_id_parse(task->order[task->order_count - 1], &id, NULL) == OPC_OK && id.variant[0] != '\0' &&
         strcmp(id.variant, "plain") != 0;
}

/* An operator that crashes again and again loses its parts. */
static bool parts_are_kept(const opc_task_t *task) {
  const size_t lost = task->parts ? task->parts->lost : 0;
  return task->child && opc_clock() - task->child->opened > least_seconds * (double)(1 + lost);
}

static bool is_divisible(const opc_task_t *task) {
  const opc_session_t *session = task->session;
  const bool plain_run =
      !session->has_only && !session->turns && !session->memcheck && !session->sanitize && !session->loaded.exec_batch;
  return plain_run && !task->exclusive && json_array_size(session->devices) == 1 &&
         strcmp(json_string_value(json_array_get(session->devices, 0)), OPC_MODE_CPU) == 0 && parts_are_kept(task) &&
         is_at_variants(task);
}

/* The possible beginning that is nearest to the middle of these positions; NULL: none is between them. */
static const opc_part_begin_t *begin_between(const opc_parts_t *parts, size_t from, size_t to) {
  const opc_part_begin_t *nearest = NULL;
  size_t least = SIZE_MAX;
  for (size_t i = 0; i < parts->begin_count; i++) {
    const size_t twice = 2 * parts->begins[i].position,
                 distance = twice > from + to ? twice - from - to : from + to - twice;
    if (parts->begins[i].position <= from || parts->begins[i].position >= to || distance >= least) continue;
    nearest = &parts->begins[i];
    least = distance;
  }
  return nearest;
}

/* Seconds that the child needs for this many cases, as it needed for those that it has done; 0: that is not known. */
static double seconds_for(const opc_child_t *child, size_t done, size_t cases) {
  return child && done > 0 ? (opc_clock() - child->opened) / (double)done * (double)cases : 0;
}

/* Divides what takes longest: the new part comes to *out_place. */
static const opc_part_begin_t *choose_begin(opc_task_t *task, opc_part_t ***out_place) {
  const opc_parts_t *parts = task->parts;
  const opc_part_begin_t *chosen = NULL;
  const opc_child_t *child = task->child;
  size_t done = task->order_count - task->first, position = task->order_count;
  double most = least_seconds;
  for (opc_part_t **place = &task->parts->first;; place = &(*place)->next) {
    const size_t end = *place ? (*place)->begin->position : parts->planned;
    const opc_part_begin_t *begin = begin_between(parts, position, end);
    const double seconds = begin ? seconds_for(child, done, end - position) : 0;
    if (seconds > most) {
      most = seconds;
      chosen = begin;
      *out_place = place;
    }
    if (!*place) return chosen;
    done = (*place)->count;
    position = (*place)->begin->position + done;
    child = (*place)->task ? (*place)->task->child : NULL;
  }
}

static opc_status_t parts_prepare(opc_task_t *task, opc_error_t *error) {
  if (task->parts) return OPC_OK;
  task->parts = calloc(1, sizeof *task->parts);
  return task->parts ? find_begins(task, error) : opc_out_of_memory(error);
}

opc_status_t opc_parts_divide(opc_task_t *task, opc_task_t **out, opc_error_t *error) {
  opc_part_t **place = NULL;
  *out = NULL;
  if (!is_divisible(task)) return OPC_OK;
  OPC_RETURN_IF_ERROR(parts_prepare(task, error));
  const opc_part_begin_t *begin = choose_begin(task, &place);
  if (!begin) return OPC_OK;
  opc_part_t *part = calloc(1, sizeof *part);
  opc_task_t *runs = calloc(1, sizeof *runs);
  if (!part || !runs) {
    free(part);
    free(runs);
    return opc_out_of_memory(error);
  }
  *part = (opc_part_t){.begin = begin, .owner = task, .task = runs, .next = *place};
  *place = part;
  *runs = (opc_task_t){.session = task->session,
                       .op = task->op,
                       .phase = &opc_phase_part,
                       .began = opc_clock(),
                       .is_part = true,
                       .part = part};
  *out = runs;
  return OPC_OK;
}

opc_part_t *opc_parts_take(opc_task_t *task) {
  opc_part_t *part = task->parts ? task->parts->first : NULL;
  if (!part) return NULL;
  task->parts->first = part->next;
  if (part->task && part->count > 0) {
    task->child = part->task->child;
    if (task->child) task->child->owner = task;
    part->task->child = NULL;
  }
  part_end(part);
  task->session->parts_taken += part->count > 0;
  return part;
}

bool opc_parts_has(opc_task_t *task, const char *case_id) {
  const opc_part_t *part = task->parts ? task->parts->first : NULL;
  if (!part || strcmp(case_id, part->begin->case_id) != 0) return false;
  if (part->count > 0) return true;
  task->parts->lost++;
  opc_part_free(opc_parts_take(task));
  return false;
}

void opc_parts_drop(opc_task_t *task) {
  if (task->parts) drop_after(&task->parts->first);
}

void opc_parts_free(opc_task_t *task) {
  opc_parts_drop(task);
  for (size_t i = 0; task->parts && i < task->parts->begin_count; i++) free(task->parts->begins[i].case_id);
  if (task->parts) free(task->parts->begins);
  free(task->parts);
  task->parts = NULL;
}
