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
