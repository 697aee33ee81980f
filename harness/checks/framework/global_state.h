/* Everything that a call must leave unchanged, in one struct: the settings of libtorch, of the C++ runtime, and of the
 * process.
 *
 * Ownership: nothing to free. Threads: state of the calling thread. The state to restore is that of the first
 * opc_state_first, before any operator ran. */
#pragma once

#include "base/process_state.h"
#include "bridge/api/bridge.h"
#include "catalogue/rules.h"

typedef struct opc_state {
  int64_t settings[OPC_SETTING_COUNT];
  opc_process_state_t process;
  size_t warned; /* bytes on the standard streams that are libtorch's warnings */
} opc_state_t;

/* The kinds of change, each with its own rule. */
typedef enum opc_state_kind {
  OPC_STATE_GRAD_MODE = 0,
  OPC_STATE_DISPATCH,
  OPC_STATE_DEFAULT_DTYPE,
  OPC_STATE_SETTINGS,
  OPC_STATE_GENERATOR,
  OPC_STATE_THREADS,
  OPC_STATE_FLOATING_POINT,
  OPC_STATE_STREAMS,
  OPC_STATE_PROCESS,
  OPC_STATE_OUTSIDE, /* what the sandbox refused */
  OPC_STATE_STARTED, /* processes that still run */
  OPC_STATE_PYTHON,  /* what only the interpreter knows: check_state.c asks it */
  OPC_STATE_PRINTED,
  OPC_STATE_KINDS
} opc_state_kind_t;
extern const opc_rule_id_t opc_state_rules[OPC_STATE_KINDS];

/* One text per kind; empty: nothing changed. */
typedef struct opc_state_changes {
  opc_text_t texts[OPC_STATE_KINDS];
} opc_state_changes_t;
bool opc_state_changes_any(const opc_state_changes_t *changes);
void opc_state_changes_clear(opc_state_changes_t *changes);

const opc_state_t *opc_state_first(void);
void opc_state_forget_first(void); /* the next opc_state_first reads it again */
void opc_state_read(opc_state_t *state);
/* Adds a clause for each difference: "grad mode was on and is off". `after` is the current state: printed text is read
 * from the streams, and the environment is compared with the first one. The caller makes the seeds equal if neither is
 * the operator's. */
void opc_state_compare(const opc_state_t *before, const opc_state_t *after, opc_state_changes_t *out);
/* Restores everything of the first state that `now` has changed. */
void opc_state_restore(const opc_state_t *now);
/* True: settings and floating-point control are as in the first state. Ignores the seed and the rest of the state:
 * under 1 us. */
bool opc_state_seems_first(void);
/* Sets a valid state other than the first: grad mode, default dtype, threads, determinism, denormals. Reveals an
 * operator that restores assumed defaults instead of the previous state. */
void opc_state_make_other(void);

/* What loading a library or importing a module changed and left changed. Operators are called in the state that it
 * left.
 *
 * Ownership: what opc_load_state_of returns is the process's, also a child's. Threads: one. */
typedef struct opc_load_change {
  char *library;
  /* Clauses, as of opc_state_compare; "": none. Numbers that other code computes depend on the first ones. */
  opc_text_t results, rest;
} opc_load_change_t;
/* Around loading one, 50 us. The working directory must not be put back in between. Errors: the interpreter raised. */
opc_status_t opc_load_state_begin(opc_error_t *error) OPC_CHECKED;
opc_status_t opc_load_state_end(const char *library, opc_error_t *error) OPC_CHECKED;
/* NULL: it was not loaded, or changed nothing. */
const opc_load_change_t *opc_load_state_of(const char *library);

/* What an operator's calls did to the process before the check that reports it runs. Some effects occur only in the
 * first call, which is made by whichever check runs first.
 *
 * Ownership: nothing to free. Threads: one. A child has one watch, because it serves one operator. */

/* Before the first call of the child; later ones do nothing. */
void opc_first_call_begin(void);
/* After every case. Restores the global state if its calls changed it. After the first case that called the operator,
 * the whole state is compared and changes are recorded (15 us); after others only settings and floating-point control
 * are compared (under 1 us). */
void opc_first_call_case(const char *case_id);

typedef struct opc_first_call {
  char case_id[OPC_CASE_ID_SIZE]; /* the first case that called the operator; "": none so far */
  opc_state_changes_t changes;    /* made by that case */
  opc_process_use_t use;          /* at the beginning; zeroes: unknown */
} opc_first_call_t;
const opc_first_call_t *opc_first_call_changes(void);
