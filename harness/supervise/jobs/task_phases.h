/* The phases of a task, one file each. A search goes from its first phase to its second; words to relations, and
 * relations to cases; cases to confirmation, and from there to the cases that an unconfirmed crash has cost. */
#pragma once

#include "supervise/jobs/task.h"

extern const opc_phase_t opc_phase_search;         /* search_task.c */
extern const opc_phase_t opc_phase_search_confirm; /* search_confirm.c */
extern const opc_phase_t opc_phase_words;          /* words_task.c */
extern const opc_phase_t opc_phase_relations;      /* relations_task.c */
extern const opc_phase_t opc_phase_cases;          /* cases_task.c */
extern const opc_phase_t opc_phase_confirm;        /* confirm.c */
extern const opc_phase_t opc_phase_rerun;          /* rerun.c */
extern const opc_phase_t opc_phase_sanitize;       /* sanitize_task.c: the only phase under compute-sanitizer */

/* The task's first phase is opc_phase_sanitize. */
opc_status_t opc_sanitize_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;

/* Enters the confirmation of the findings. */
opc_status_t opc_confirm_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
