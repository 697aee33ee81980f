/* A progress line on the terminal. Not shown if stderr is not a terminal. Ownership: a plain struct. Threads: one. */
#pragma once

#include "reports/screen.h"
#include "supervise/run/run.h"

typedef struct opc_progress {
  opc_screen_t screen;
  bool enabled, shown;
} opc_progress_t;

opc_progress_t opc_progress_start(void);
/* For opc_run_options_t.progress; context is the opc_progress_t. */
void opc_progress_show(const opc_run_progress_t *state, void *context);
/* Erases the line; call before printing anything else. */
void opc_progress_clear(opc_progress_t *progress);
