/* The tables of checks and rules: names, severities, and the texts of `opcheck-c explain`. No libtorch.
 *
 * A rule is `check.what`. Four families belong to no check, because any case can end with them: `sample.…` (a file's
 * sample was refused or accepted, contrary to its expectation), the ends of a child process: `signal.SIG…`, `exit`,
 * `timeout`, `memory`, `foreign_exception`, `memcheck.…` (--tool memcheck), and `sanitize.…`
 * (--sanitize).
 * Threads, fork: constant tables. */
#pragma once

#include "model/case/case.h"
#include "model/schema/schema.h"

/* Every rule: OPC_RULE_meta_shape is meta.shape. After those of the tables come signal.SIGHUP and so on, one for each
 * signal (opc_rule_of_signal). */
typedef enum opc_rule_id {
  OPC_RULE_NONE = 0,
#define OPC_RULE(check, what, ...) OPC_RULE_##check##_##what,
#define OPC_RULE_ALONE(name, ...) OPC_RULE_##name,
#include "catalogue/checks.def"
  OPC_RULE_COUNT,
  OPC_RULE_END = OPC_RULE_COUNT + 32
} opc_rule_id_t;

typedef struct opc_rule {
  const char *name; /* "meta.stride"; "signal" stands for every signal.SIG… */
  opc_severity_t severity;
  unsigned claims;    /* OPC_CLAIM_… (catalogue/severity.h) */
  const char *title;  /* one line: what is wrong, as a sentence without full stop */
  const char *seen;   /* what the check observed */
  const char *why;    /* why it matters to a user of the operator */
  const char *limits; /* what a finding does not prove; for a warning, why it is only a warning */
  const char *fix;    /* how to fix it, with the C++ line to write if there is one */
  const char *source; /* where the rule comes from (PyTorch document, file) */
} opc_rule_t;

extern const opc_rule_t opc_rules[];           /* by opc_rule_id_t; the first is OPC_RULE_NONE, without texts */
extern const size_t opc_rule_count;            /* with OPC_RULE_NONE */
const char *opc_rule_name(opc_rule_id_t rule); /* NULL for OPC_RULE_NONE */
opc_rule_id_t opc_rule_id(const char *name);   /* OPC_RULE_NONE: no such rule */
/* The rule of a child that the signal ended: "signal.SIGSEGV"; "signal.SIG?" for a signal without a name. */
opc_rule_id_t opc_rule_of_signal(int number);
/* Its entry in the tables, which all signals share. */
const opc_rule_t *opc_rule_of(opc_rule_id_t rule);
/* True for the rules NAME.… and for the rule NAME. */
bool opc_rule_is_of(opc_rule_id_t rule, const char *name);

/* The kinds of opc_operator_t that a check applies to. */
enum {
  OPC_OF_OPERATOR = 1 << OPC_OPERATOR,
  OPC_OF_CLASS = 1 << OPC_OPERATOR_CLASS,
  OPC_OF_PACKAGE = 1 << OPC_OPERATOR_PACKAGE,
  OPC_OF_LIBRARY = 1 << OPC_OPERATOR_LIBRARY
};

/* When a check runs; catalogue/checks.def says what each stage is for. */
typedef enum opc_stage {
  OPC_STAGE_NO_CALL,
  OPC_STAGE_FIRST,
  OPC_STAGE_CALLS,
  OPC_STAGE_COUNTS,
  OPC_STAGE_LEAVES_GRAPHS
} opc_stage_t;

typedef struct opc_check_info {
  const char *name;
  bool calls; /* calls the operator */
  const char *summary;
  unsigned kinds; /* OPC_OF_… bits */
  opc_stage_t stage;
} opc_check_info_t;

extern const opc_check_info_t opc_check_infos[]; /* in the order in which the checks run */
extern const size_t opc_check_info_count;
int opc_check_info_find(const char *name); /* index; -1: no such check */
bool opc_check_info_is_of(const opc_check_info_t *info, const opc_operator_t *op);
