#include "supervise/jobs/task.h"

#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"

opc_status_t opc_suspects_note_case(opc_task_t *task, const char *case_id, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(task->order, task->order_count)) return opc_out_of_memory(error);
  task->order[task->order_count] = opc_string_copy(case_id);
  if (!task->order[task->order_count]) return opc_out_of_memory(error);
  task->order_count++;
  return OPC_OK;
}

opc_status_t opc_suspects_write(opc_task_t *task, const opc_case_result_t *result, opc_error_t *error) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *copy = NULL;
  OPC_RETURN_IF_ERROR(opc_case_result_copy(result, &copy, error));
  free(copy->repro);
  copy->repro = opc_repro_line(task->session, task->op, copy->case_id);
  copy->suspect = true;
  /* A run that stops early reports it as it is known now. */
  opc_case_result_judge_chosen(copy, task->session->options->untrusted_input, task->session->options->choices);
  return opc_journal_write(task->session->journal, opc_case_result_encode(copy), error);
}

opc_status_t opc_suspects_add(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(task->suspects, task->suspect_count)) {
    opc_case_result_free(result);
    return opc_out_of_memory(error);
  }
  task->suspects[task->suspect_count++] = (opc_suspect_t){.result = result,
                                                          .first = task->first,
                                                          .position = task->order_count - 1,
                                                          .skips = json_array_size(task->skips),
                                                          .crashed = json_array_size(task->crashed)};
  return opc_suspects_write(task, result, error);
}

enum { CRASHES_MAX = 3, TIMEOUTS_MAX = 2, HANGS_MAX = 3, FAULTS_MAX = 6 };

static void skip(opc_task_t *task, const char *check, int rank) {
  OPC_SCOPED(opc_scope_free) char *entry = opc_string_format("%s %d", check, rank);
  json_array_append_new(task->skips, opc_json_string(entry));
}

/* An operator that hangs again and again does so in all checks: each would cost two timeouts and their confirmations
 * more. */
static void skip_all(opc_task_t *task, int rank) {
  size_t i;
  json_t *name;
  json_array_foreach(task->session->checks, i, name) skip(task, json_string_value(name), rank);
}

/* So does a kernel that faults: each fault costs a process and its CUDA context. Check launch may still say why it
 * faults. */
static void skip_all_but_launch(opc_task_t *task, int rank) {
  size_t i;
  json_t *name;
  json_array_foreach(task->session->checks, i, name) if (strcmp(json_string_value(name), "launch") != 0)
      skip(task, json_string_value(name), rank);
}

static bool is_timeout(const opc_tally_t *tally) { return tally->rule == OPC_RULE_timeout; }

static bool is_fault(const opc_tally_t *tally) { return tally->rule == OPC_RULE_launch_asynchronous_error; }

static int most(const opc_tally_t *tally) { return is_timeout(tally) ? TIMEOUTS_MAX : CRASHES_MAX; }

/* The counter of equal crashes of the check on input of this rank; made where there was none. NULL: out of memory. */
static opc_tally_t *tally_of(opc_task_t *task, const char *check, int rank, const opc_crash_t *crash) {
  const char *place = crash->rule == OPC_RULE_timeout ? "" : crash->place;
  for (size_t i = 0; i < task->tally_count; i++) {
    opc_tally_t *tally = &task->tallies[i];
    if (tally->rank == rank && strcmp(tally->check, check) == 0 && tally->rule == crash->rule &&
        strcmp(tally->place, place) == 0)
      return tally;
  }
  if (!OPC_ARRAY_GROW(task->tallies, task->tally_count)) return NULL;
  opc_tally_t *tally = &task->tallies[task->tally_count++];
  *tally = (opc_tally_t){.rule = crash->rule, .rank = rank};
  snprintf(tally->check, sizeof tally->check, "%s", check);
  snprintf(tally->place, sizeof tally->place, "%s", place);
  return tally;
}

/* The arguments of the case. If it hung on a variant, the same variant of another sample would cost its time again and
 * show nothing new. As the samples themselves may, that is no rule for plain ones. */
static void note_arguments(opc_task_t *task, const opc_case_id_t *id, bool hung) {
  opc_case_id_t of_all = *id;
  char text[OPC_CASE_ID_SIZE];
  opc_case_id_format(id, text);
  json_array_append_new(task->crashed, json_string(text));
  if (!hung || id->variant[0] == '\0' || strcmp(id->variant, "plain") == 0) return;
  of_all.sample[0] = '\0';
  opc_case_id_format(&of_all, text);
  json_array_append_new(task->crashed, json_string(text));
}

/* A check with too many crashes is skipped from then on, for this rank and worse ones: a crash on arguments that nobody
 * vouches for costs no valid sample its check. */
opc_status_t opc_known_crashes_note(opc_task_t *task, const opc_case_id_t *id, const opc_crash_t *crash,
                                    bool by_arguments, opc_suspect_t *suspect, opc_error_t *error) {
  opc_provenance_t provenance;
  (void)opc_provenance_parse(crash->provenance, &provenance);
  provenance.plain = id->variant[0] == '\0' || (strcmp(id->variant, "plain") == 0 && id->dtype[0] == '\0');
  const int rank = opc_provenance_rank(&provenance);
  opc_tally_t *tally = tally_of(task, id->check, rank, crash);
  if (!tally) return opc_out_of_memory(error);
  if (++tally->count == most(tally)) skip(task, id->check, rank);
  if (is_timeout(tally) && ++task->hangs[rank] == HANGS_MAX) skip_all(task, rank);
  if (is_fault(tally) && ++task->faults[rank] == FAULTS_MAX) skip_all_but_launch(task, rank);
  if (by_arguments) note_arguments(task, id, is_timeout(tally));
  if (!suspect) return OPC_OK;
  suspect->crashed_here = true;
  suspect->tally = (size_t)(tally - task->tallies);
  suspect->by_arguments = by_arguments;
  return OPC_OK;
}

static bool forget_counts(opc_task_t *task) {
  bool any = false;
  for (size_t i = 0; i < task->suspect_count; i++) {
    opc_suspect_t *suspect = &task->suspects[i];
    if (!suspect->crashed_here || !suspect->gone) continue;
    opc_tally_t *tally = &task->tallies[suspect->tally];
    tally->count--;
    if (is_timeout(tally)) task->hangs[tally->rank]--;
    if (is_fault(tally)) task->faults[tally->rank]--;
    suspect->crashed_here = false;
    any = true;
  }
  return any;
}

bool opc_known_crashes_forget(opc_task_t *task) {
  if (!forget_counts(task)) return false;
  json_array_clear(task->skips);
  json_array_clear(task->crashed);
  for (size_t i = 0; i < task->tally_count; i++)
    if (task->tallies[i].count >= most(&task->tallies[i])) skip(task, task->tallies[i].check, task->tallies[i].rank);
  for (int rank = 0; rank < OPC_PROVENANCE_RANKS; rank++)
    if (task->hangs[rank] >= HANGS_MAX) skip_all(task, rank);
    else if (task->faults[rank] >= FAULTS_MAX) skip_all_but_launch(task, rank);
  for (size_t i = 0; i < task->suspect_count; i++) {
    const opc_suspect_t *suspect = &task->suspects[i];
    if (suspect->crashed_here && suspect->by_arguments)
      note_arguments(task, &suspect->result->id, is_timeout(&task->tallies[suspect->tally]));
  }
  return true;
}
