/* What a child's end says about the operator: a rule, a sentence, evidence. From the wait status and the crash record;
 * a hostile child may have written the crash record, so it is read once, bounded, and only believed for its words.
 *
 * Ownership: opc_crash_clear. Threads: one. */
#ifndef OPC_SUPERVISE_EVIDENCE_CRASH_REPORT_H
#define OPC_SUPERVISE_EVIDENCE_CRASH_REPORT_H

#include <jansson.h>

#include "base/text.h"
#include "model/case/standing.h"
#include "supervise/process/batch_child.h"
#include "supervise/symbols/symbolise.h"

typedef struct opc_crash_limits {
  double seconds;         /* a case */
  int memory_mib;         /* a child */
  const char *library;    /* path, under which its frames are known; NULL: unknown */
  const opc_maps_t *maps; /* of the process that died; NULL: unknown */
} opc_crash_limits_t;

typedef struct opc_crash {
  char rule[32];                    /* signal.SIGSEGV, exit, timeout, memory, foreign_exception */
  char place[640];                  /* equal for crashes at the same place */
  char standing[OPC_STANDING_SIZE]; /* of the case that ran; "" where it had no input */
  bool own_call; /* the operator itself ran, on the arguments of the case: neither its Meta kernel, nor on others made
                    from them */
  bool unwatchable; /* Valgrind could not go on: no crash of the operator, and message says why */
  double seconds;   /* that the case had run; 0 where none was running */
  opc_text_t message;
  opc_text_t said;  /* what ended the process on purpose said about it: an exception's text, else what was printed last;
                       empty: nothing */
  json_t *evidence; /* object */
} opc_crash_t;

opc_status_t opc_crash_describe(const opc_child_t *child, opc_symboliser_t *symboliser,
                                const opc_crash_limits_t *limits, opc_crash_t *out, opc_error_t *error) OPC_CHECKED;
void opc_crash_clear(opc_crash_t *crash);

#endif
