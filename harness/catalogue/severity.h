/* Which findings may be errors: the severity depends on the rule and on the standing of its case. Checks do not decide
 * it. The table is severity.def; rules.def has the severity on valid input. No libtorch.
 *
 * Threads: any. Ownership: texts are constant, but `rule` of a judgement may be the pointer passed in. */
#pragma once

#include <stddef.h>

#include "catalogue/rules.h"
#include "model/case/standing.h"

#define OPC_UNCHECKED_ARGUMENTS "memory.unchecked_arguments"

typedef struct opc_judgement {
  const char *rule; /* the rule under which the finding is reported */
  opc_severity_t severity;
  const char *seen; /* of memory.unchecked_arguments: "write", "crash", "read", "hang", "memory"; NULL otherwise */
} opc_judgement_t;

typedef struct opc_judgement_asked {
  const char *rule;
  const char *operator_name; /* "ns::op"; may be NULL */
  opc_severity_t severity;   /* as set by the check or by confirmation: a warning stays a warning */
  opc_standing_t standing;
  bool control_held;  /* the same logical values in plain layout, under the same conditions, do not show the finding */
  bool every_input;   /* every accepted input shows this, so no argument is to blame */
  bool other_rank;    /* the variant gave one argument a number of dimensions that it does not have in the sample */
  bool after_other;   /* it shows only after another case in the same process */
  bool uneven_lists;  /* its lists of tensors have other lengths than lists beside them */
  bool lone_tensor;   /* its arguments are one tensor and no number, so there is nothing that might not fit together */
  bool unasked_dtype; /* the dtype is not the sample's, and the operator may not be meant for it */
  bool index_beyond;  /* another layout of the sample shows that an index is too large for the sizes */
  bool clean_reference; /* the reference stays in bounds with the arguments and gives the same result again */
  bool on_gpu;          /* a real one, where kernels can read out of bounds unseen */
  bool untrusted_input; /* --untrusted-input: unchecked arguments are an error */
} opc_judgement_asked_t;

opc_judgement_t opc_rule_judge(const opc_judgement_asked_t *asked);

/* True: the finding (an out-of-bounds access, a crash, a hang) counts only on valid input. */
bool opc_rule_needs_valid_input(const char *rule);

/* True: on input that nobody vouches for, the finding is a warning, unless only another layout shows it. */
bool opc_rule_warns_on_searched(const char *rule);

/* The rules that severity.def names, for tests: with the one claim that each may have, and with a claim in addition. */
extern const char *const opc_claimed_rules[], *const opc_added_claim_rules[];
extern const size_t opc_claimed_rule_count, opc_added_claim_rule_count;
