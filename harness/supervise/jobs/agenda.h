/* What a run does next: an operator's search, or its cases. Operators that have samples begin their cases at once, and
 * the others as soon as their search is over, those with the most cases first. While no cases can begin, operators are
 * searched.
 *
 * Ownership: opc_agenda_free; the operators are the run's. Threads: one. */
#pragma once

#include "supervise/session/session.h"

typedef struct opc_agenda opc_agenda_t;

typedef enum opc_agenda_part {
  OPC_AGENDA_ALL = 0,
  OPC_AGENDA_SEARCHES /* hold all cases back: they need another worker */
} opc_agenda_part_t;

/* operators: those to check; the first `searchable` of them take arguments. */
opc_status_t opc_agenda_new(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                            size_t searchable, opc_agenda_t **out, opc_error_t *error) OPC_CHECKED;
void opc_agenda_free(opc_agenda_t *agenda);
size_t opc_agenda_left(const opc_agenda_t *agenda); /* operators whose cases have not begun */
/* Takes the next operator; NULL: nothing can begin until a search has ended. Nothing is left if none runs. */
opc_status_t opc_agenda_next(opc_agenda_t *agenda, opc_agenda_part_t part, const opc_operator_t **out, bool *out_search,
                             opc_error_t *error) OPC_CHECKED;
/* A search that opc_agenda_next began has ended. */
opc_status_t opc_agenda_searched(opc_agenda_t *agenda, const opc_operator_t *op, opc_error_t *error) OPC_CHECKED;
