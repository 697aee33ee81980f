/* What the death of a child says about the operator: a rule, a sentence, evidence. Uses the wait status and the crash
 * record. A hostile child may have written the crash record: it is read once, within bounds, and only its texts are
 * used.
 *
 * Ownership: opc_crash_clear. Threads: one. */
#pragma once

#include "catalogue/rules.h"
#include "supervise/process/batch_child.h"

typedef struct opc_crash_limits {
  double seconds;         /* per case */
  int memory_mib;         /* per child */
  const char *library;    /* path that identifies its frames; NULL: unknown */
  const opc_maps_t *maps; /* of the dead process; NULL: unknown */
} opc_crash_limits_t;

typedef struct opc_crash {
  opc_rule_id_t rule;                   /* signal.SIGSEGV, exit, timeout, memory, foreign_exception */
  char place[640];                      /* equal for crashes at the same place */
  char provenance[OPC_PROVENANCE_SIZE]; /* of the running case; "" if it had no input */
  bool
      own_call; /* the operator itself ran on the case's own arguments: not its Meta kernel, not on derived arguments */
  bool asked_meta;  /* a search asked the Meta kernel, after the operator itself had returned */
  bool unwatchable; /* Valgrind could not continue: not a crash of the operator; message says why */
  double seconds;   /* how long the case had run; 0: none was running */
  opc_text_t message;
  opc_text_t said;  /* what a process that ended on purpose said about it: an exception's text, or the last output;
                       empty: nothing */
  json_t *evidence; /* object */
} opc_crash_t;

opc_status_t opc_crash_describe(const opc_child_t *child, opc_symboliser_t *symboliser,
                                const opc_crash_limits_t *limits, opc_crash_t *out, opc_error_t *error) OPC_CHECKED;
void opc_crash_clear(opc_crash_t *crash);
