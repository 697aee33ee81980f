/* What merging needs to know of a finding: a result that is a failure or an error.
 *
 * Ownership: the strings belong to the result, or are constants. Threads: pure functions. */
#pragma once

#include "reports/problems/problem.h"
#include "result/case_result.h"

typedef struct opc_finding_facts {
  opc_rule_id_t rule; /* of an unchecked argument: the one that the check had for it */
  bool unchecked, warning;
  int rank;
  opc_change_kind_t change;
  char argument[256];  /* that was changed, or is not checked; "" for all of them, or none */
  const char *touched; /* the argument that was written or returned; "" where a finding is about neither */
  opc_seen_t seen;     /* where unchecked */
  uint64_t place;
  opc_problem_case_t one; /* without its offset */
} opc_finding_facts_t;

/* library: the operator's; NULL where it is not known. */
void opc_finding_facts_of(const opc_case_result_t *result, const char *library, opc_finding_facts_t *out);

/* The strongest rules first: what damages memory, what ends the process, then in the order of the tables. */
enum { OPC_RANK_HARMFUL = 13 }; /* the ranks below are of those two kinds */
int opc_rule_rank(opc_rule_id_t rule);
/* Findings of one domain can have one cause: the name of a check whose rules are all about one piece of code (the Meta
 * kernel, the derivative), "call" for what a kernel does to its arguments, else the rule itself. */
const char *opc_rule_domain(opc_rule_id_t rule);
/* Signals that end a process differ from run to run: "signal" for each of them, else the rule. */
const char *opc_rule_kind(opc_rule_id_t rule);
