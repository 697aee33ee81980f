/* The findings of one operator, merged into problems (opcheck-c explain problems says how).
 *
 * Ownership: opc_operator_findings_clear; a zeroed one is empty and valid. Names belong to the set that the caller
 * gives. Memory is bounded by rules, arguments and kinds of change, but for eight bytes an input of unchecked arguments
 * until it is cleared. Threads: one. */
#pragma once

#include "model/case/hash_set.h"
#include "reports/problems/problems.h"

/* The place in the code that a finding names: in the operator's own library the function and line of an access or a
 * crash, else the kernel that the case looks at; symbol and offset where there is no debug information.
 *
 * Threads: pure functions. */

typedef struct opc_code_place {
  uint64_t key;       /* equal for the same place of an access or a crash; 0: none, or the kernel as a whole */
  char function[160]; /* without arguments of templates and of functions; "" where the library has no name for it */
  char text[320];     /* "kernel (ops.cpp:33)", "kernel (libops.so+0x1234)" */
  char file[512];     /* whole path; "": not known */
  int line;
} opc_code_place_t;

/* Of a result's frames; library is the operator's, NULL where it is not known. False, and a zeroed place, where the
 * finding names none. */
bool opc_code_place_of(const opc_case_result_t *result, const char *library, opc_code_place_t *out);

/* Equal for all lines of a function that has a name. */
uint64_t opc_code_function_key(const opc_code_place_t *place);

/* What a finding says without what is the operator's own: its name, its argument's, sizes and positions. Findings of a
 * library that say the same come from one habit. habit.c */
void opc_habit_say(const opc_case_result_t *result, opc_text_t *out);
uint64_t opc_habit_key(const opc_text_t *habit, const char *library); /* not 0 */

/* What merging needs to know of a finding: a result that is a failure or an error.
 *
 * Ownership: the strings belong to the result, or are constants. Threads: pure functions. */

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

typedef struct opc_operator_findings {
  json_t *names;           /* a set: name -> null */
  const char *library;     /* of the operator; NULL: unknown */
  uint32_t operator_index; /* in the journal reader */
  opc_problem_t *problems; /* while findings are added: one a rule, severity, argument and kind of change */
  size_t count, capacity;
  opc_hash_set_t inputs; /* of unchecked arguments */
  json_t *plain;         /* rules that the sample as it is shows */
} opc_operator_findings_t;

/* A failure or an error; offset is where the journal has it. */
opc_status_t opc_operator_findings_add(opc_operator_findings_t *findings, const opc_case_result_t *result,
                                       uint64_t offset, opc_error_t *error) OPC_CHECKED;
/* After the last one: what is left in `problems` has one cause each. */
opc_status_t opc_operator_findings_merge(opc_operator_findings_t *findings, opc_error_t *error) OPC_CHECKED;
void opc_operator_findings_clear(opc_operator_findings_t *findings);
