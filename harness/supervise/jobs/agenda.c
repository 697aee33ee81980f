#include "supervise/jobs/agenda.h"

#include <stdlib.h>
#include <string.h>

#include "plan/cases/planner.h"
#include "supervise/jobs/search_rounds.h"

/* An operator whose cases can begin. */
typedef struct ready {
  const opc_operator_t *op;
  uint64_t cases; /* about how many, in proportion to those of others */
} ready_t;

struct opc_agenda {
  opc_session_t *session;
  ready_t *ready; /* the most cases first, equal ones in the order of the operators */
  size_t ready_count;
  const opc_operator_t **waiting; /* for their search, in the order of the operators */
  size_t waiting_count;
  opc_search_rounds_t *rounds; /* NULL: nothing is searched any more */
};

/* ---- which has the most cases ---- */

/* Most cases are variants of the sample's tensors, under each check. */
static uint64_t cases_of(const opc_sample_t *sample) {
  enum { OF_SAMPLE = 2, OF_TENSOR = 8, OF_OTHER = 1 };
  uint64_t cases = OF_SAMPLE;
  if (sample->brief || !opc_sample_is_callable(sample)) return 1;
  for (size_t i = 0; i < sample->argument_count; i++) {
    size_t left = SIZE_MAX;
    (void)opc_value_tensor(&sample->arguments[i], &left);
    const size_t tensors = SIZE_MAX - left;
    cases += tensors > 0 ? tensors * OF_TENSOR : OF_OTHER;
  }
  return cases;
}

static uint64_t cases_about(const opc_session_t *session, const opc_operator_t *op) {
  const opc_searched_t *found = opc_search_found(session, op);
  uint64_t cases = 0;
  for (size_t i = 0; i < session->samples.count; i++)
    if (strcmp(session->samples.samples[i].operator_name, op->name) == 0)
      cases += cases_of(&session->samples.samples[i]);
  for (size_t i = 0; cases == 0 && found && i < found->samples.count; i++)
    cases += cases_of(&found->samples.samples[i]);
  return cases;
}

static void put_ready(opc_agenda_t *agenda, const opc_operator_t *op) {
  const ready_t ready = {.op = op, .cases = cases_about(agenda->session, op)};
  size_t place = agenda->ready_count++;
  for (; place > 0 && agenda->ready[place - 1].cases < ready.cases; place--)
    agenda->ready[place] = agenda->ready[place - 1];
  agenda->ready[place] = ready;
}

/* ---- searches ---- */

/* A constructor for which a search found no arguments gets simple ones: these show why they are refused. */
static opc_status_t give_simple_arguments(opc_session_t *session, const opc_operator_t *op, opc_error_t *error) {
  opc_searched_t *found = opc_search_found(session, op);
  if (op->kind != OPC_OPERATOR_CLASS || !found || found->rounds == 0 || found->samples.count > 0) return OPC_OK;
  return opc_class_samples(session, op, &found->samples, error);
}

/* Operators of which the searches will find nothing more begin their cases. */
static opc_status_t take_settled(opc_agenda_t *agenda, opc_error_t *error) {
  size_t left = 0;
  for (size_t i = 0; i < agenda->waiting_count; i++) {
    const opc_operator_t *op = agenda->waiting[i];
    if (!opc_search_rounds_settled(agenda->rounds, op)) {
      agenda->waiting[left++] = op;
      continue;
    }
    OPC_RETURN_IF_ERROR(give_simple_arguments(agenda->session, op, error));
    put_ready(agenda, op);
  }
  agenda->waiting_count = left;
  return OPC_OK;
}

static opc_status_t next_search(opc_agenda_t *agenda, const opc_operator_t **out, opc_error_t *error) {
  *out = NULL;
  if (!agenda->rounds) return OPC_OK;
  if (agenda->waiting_count > 0) OPC_RETURN_IF_ERROR(opc_search_rounds_next(agenda->rounds, out, error));
  if (*out || opc_search_rounds_running(agenda->rounds)) return OPC_OK;
  OPC_RETURN_IF_ERROR(take_settled(agenda, error));
  opc_search_rounds_free(agenda->rounds); /* session->found holds the samples for the checks */
  agenda->rounds = NULL;
  return OPC_OK;
}

opc_status_t opc_agenda_searched(opc_agenda_t *agenda, const opc_operator_t *op, opc_error_t *error) {
  opc_search_rounds_ended(agenda->rounds, op);
  return take_settled(agenda, error);
}

/* ---- */

size_t opc_agenda_left(const opc_agenda_t *agenda) { return agenda->ready_count + agenda->waiting_count; }

opc_status_t opc_agenda_next(opc_agenda_t *agenda, opc_agenda_part_t part, const opc_operator_t **out, bool *out_search,
                             opc_error_t *error) {
  *out_search = false;
  if (part == OPC_AGENDA_SEARCHES || agenda->ready_count == 0) {
    OPC_RETURN_IF_ERROR(next_search(agenda, out, error));
    *out_search = *out;
    if (*out || part == OPC_AGENDA_SEARCHES || agenda->ready_count == 0) return OPC_OK;
  }
  *out = agenda->ready[0].op;
  memmove(&agenda->ready[0], &agenda->ready[1], --agenda->ready_count * sizeof agenda->ready[0]);
  return OPC_OK;
}

static bool wants_search(const opc_session_t *session, const opc_operator_t *op) {
  return !session->options->no_search && session->calls && json_array_size(session->devices) > 0 && op->schema &&
         !opc_search_rounds_has_sample(session, op);
}

static void scope_own_agenda(opc_agenda_t **agenda) { opc_agenda_free(*agenda); }

opc_status_t opc_agenda_new(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                            size_t searchable, opc_agenda_t **out, opc_error_t *error) {
  OPC_SCOPED(scope_own_agenda) opc_agenda_t *agenda = calloc(1, sizeof *agenda);
  if (!agenda) return opc_out_of_memory(error);
  *agenda = (opc_agenda_t){.session = session,
                           .ready = calloc(count + 1, sizeof *agenda->ready),
                           .waiting = calloc(count + 1, sizeof(const opc_operator_t *))};
  if (!agenda->ready || !agenda->waiting) return opc_out_of_memory(error);
  for (size_t i = 0; i < count; i++) {
    if (i < searchable && wants_search(session, operators[i])) agenda->waiting[agenda->waiting_count++] = operators[i];
    else put_ready(agenda, operators[i]);
  }
  if (agenda->waiting_count > 0)
    OPC_RETURN_IF_ERROR(opc_search_rounds_new(session, operators, searchable, &agenda->rounds, error));
  OPC_MOVE(out, agenda);
  return OPC_OK;
}

void opc_agenda_free(opc_agenda_t *agenda) {
  if (!agenda) return;
  opc_search_rounds_free(agenda->rounds);
  free(agenda->ready);
  free(agenda->waiting);
  free(agenda);
}
