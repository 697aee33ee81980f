/* Everything that a call must leave as it found it, in one struct: libtorch's settings, the C++ runtime's, and the
 * process's.
 *
 * Ownership: nothing to free. Threads: of the calling thread. The state to go back to is that of the first
 * opc_state_first, before any operator ran. */
#ifndef OPC_CHECKS_FRAMEWORK_GLOBAL_STATE_H
#define OPC_CHECKS_FRAMEWORK_GLOBAL_STATE_H

#include "base/process_state.h"
#include "bridge/api/bridge.h"

typedef struct opc_state {
  int64_t settings[OPC_SETTING_COUNT];
  opc_process_state_t process;
  size_t warned; /* bytes of the standard streams that are libtorch's warnings */
} opc_state_t;

/* What of it can be found changed: a rule each. */
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
  OPC_STATE_PRINTED,
  OPC_STATE_KINDS
} opc_state_kind_t;
extern const char *const opc_state_rules[OPC_STATE_KINDS];

/* One text a kind; an empty one: nothing changed. */
typedef struct opc_state_changes {
  opc_text_t texts[OPC_STATE_KINDS];
} opc_state_changes_t;
bool opc_state_changes_any(const opc_state_changes_t *changes);
void opc_state_changes_clear(opc_state_changes_t *changes);

const opc_state_t *opc_state_first(void);
void opc_state_read(opc_state_t *state);
/* Adds a clause for each thing that differs: "grad mode was on and is off". `after` is the state now: what was printed
 * is read from the streams, and the environment is compared with the first one. Seeds are equal where neither is the
 * operator's. */
void opc_state_compare(const opc_state_t *before, const opc_state_t *after, opc_state_changes_t *out);
/* Puts back whatever `now` has changed of the first state. */
void opc_state_restore(const opc_state_t *now);
/* Settings and floating-point control are as they were first. The seed may be any; the rest is not looked at: under 1
 * us. */
bool opc_state_seems_first(void);
/* Sets another state than the first, which an operator may be called in as well: grad mode, default dtype, threads,
 * determinism, denormals. An operator that puts back what it takes for usual shows. */
void opc_state_make_other(void);

#endif
