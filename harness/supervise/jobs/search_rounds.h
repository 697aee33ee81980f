/* The searches of a run: in rounds, each with more tries and with what earlier rounds found for other operators. An
 * operator's next round begins as soon as its helpers have made theirs, whatever else runs: what it finds is the same.
 *
 * Ownership: the operators are the run's. The entries are in session->found, and stay there until opc_searched_clear.
 * Threads: one. */
#pragma once

#include "supervise/jobs/searching.h"

typedef struct opc_search_rounds opc_search_rounds_t;

/* operators: those to search for. Helpful operators of the same library are searched too, if some are not found at
 * once. */
opc_status_t opc_search_rounds_new(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                                   opc_search_rounds_t **out, opc_error_t *error) OPC_CHECKED;
/* Frees what searches found for one another, too. */
void opc_search_rounds_free(opc_search_rounds_t *rounds);
/* The operator whose next round begins now; NULL: none can begin until another one has ended, or all searches are
 * over. */
opc_status_t opc_search_rounds_next(opc_search_rounds_t *rounds, const opc_operator_t **out,
                                    opc_error_t *error) OPC_CHECKED;
/* The round of this operator has ended. */
void opc_search_rounds_ended(opc_search_rounds_t *rounds, const opc_operator_t *op);
bool opc_search_rounds_running(const opc_search_rounds_t *rounds); /* some round has begun and not ended */
/* No further round will change what was found for the operator. */
bool opc_search_rounds_settled(const opc_search_rounds_t *rounds, const opc_operator_t *op);
/* A file or a recording has a sample of the operator. */
bool opc_search_rounds_has_sample(const opc_session_t *session, const opc_operator_t *op);
/* Releases session->found. */
void opc_searched_clear(opc_session_t *session);
