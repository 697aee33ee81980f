/* What one call of a search, a "try", gave: the "tried" message of wire/protocol.h as a value, read once where it
 * arrives.
 *
 * Ownership: opc_tried_clear for the outputs; the texts are borrowed from the message. Threads: none. */
#pragma once

#include "model/sample/sample.h"

#define OPC_TRY_OUTCOMES(X)                                                                                          \
  X(RETURNED, "returned")                                                                                            \
  X(REJECTED, "rejected")                                                                                            \
  X(INTERNAL_ASSERT, "internal_assert")                                                                              \
  X(NO_KERNEL, "no_kernel")                                                                                          \
  X(FAKE_IN_PYTHON, "fake_in_python")                                                                                \
  X(OUT_OF_MEMORY, "out_of_memory")                                                                                  \
  X(FOREIGN_EXCEPTION, "foreign_exception")                                                                          \
  X(UNCLEAN, "unclean")             /* returned, but accessed memory outside its arguments: inconclusive */          \
  X(UNINITIALISED, "uninitialised") /* stayed within its arguments' memory; its result depends on what is not set */ \
  X(UNCONVERTIBLE, "unconvertible") /* the arguments could not be made */                                            \
  X(CRASHED, "crashed")             /* no message says these two: the process died */                                \
  X(TIMEOUT, "timeout")
typedef enum opc_try_outcome {
#define X(constant, text) OPC_TRY_##constant,
  OPC_TRY_OUTCOMES(X)
#undef X
      OPC_TRY_OUTCOME_COUNT
} opc_try_outcome_t;
const char *opc_try_outcome_name(opc_try_outcome_t outcome);
/* False: no outcome has this name. */
bool opc_try_outcome_find(const char *name, opc_try_outcome_t *out);

/* An access outside of the arguments' memory. */
typedef struct opc_try_access {
  const char *argument; /* next to which one; "": memory that the operator allocated; NULL: there was no access */
  const char *place;    /* the instruction; "": unknown */
  int64_t beyond;       /* bytes past its end; negative: before it */
  bool write;
} opc_try_access_t;

typedef struct opc_tried {
  opc_try_outcome_t outcome;
  const char *message; /* of a try that did not return; "" if there is none */
  const char *said; /* CRASHED: what the operator printed before it ended the process on purpose (assert, abort, exit);
                       NULL or empty: nothing */
  const char *site; /* where it threw or crashed, in any text that is the same every time; NULL: unknown */
  double seconds, cpu_seconds; /* of the call; of its process so far, processor time */
  uint64_t digest;             /* of all its effects; 0: unknown */
  bool steady;                 /* a repeated call gave the same result */
  bool effect;                 /* a non-empty tensor output, a changed argument, or a result that is no tensor */
  bool depends_on_values;      /* another fill gave other bytes */
  opc_try_access_t access;     /* UNCLEAN: the most informative one */
  const char *refused_on_meta; /* RETURNED: what the operator's own Meta kernel says if it refuses these arguments;
                                  NULL: it does not */
  int64_t output_numel;        /* of the largest tensor that was returned or changed */
  opc_value_t *outputs;        /* tensors that it returned, as far as a sample can hold them */
  size_t output_count;
  const char **changed; /* paths of arguments whose bytes changed; not yet in output_numel when it is read */
  size_t changed_count;
} opc_tried_t;

/* The digest of effects that are the same every time; 0: they are not. */
static inline uint64_t opc_tried_digest(const opc_tried_t *tried) { return tried->steady ? tried->digest : 0; }

/* Reads a "tried" message, or "refused": the arguments are UNCONVERTIBLE, and so they are with OPC_ERR_PROTOCOL: the
 * message has an outcome that nobody knows. */
opc_status_t opc_tried_read(const json_t *message, opc_tried_t *out, opc_error_t *error) OPC_CHECKED;
void opc_tried_clear(opc_tried_t *tried);
