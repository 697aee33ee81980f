/* The tables of checks and rules: names, severities, and the texts of `opcheck-c explain`. No libtorch.
 *
 * A rule is `check.what`. Some families belong to no check, because any case can end with them: `sample.…` (a file's
 * sample was refused or accepted, contrary to its expectation), `search.…` (what the search for arguments saw), the
 * ends of a child process: `signal.SIG…`, `exit`, `timeout`, `memory`, `foreign_exception`, `memcheck.…` (--tool
 * memcheck), and `sanitize.…`
 * (--sanitize).
 * Threads, fork: constant tables. */
#pragma once

#include "plan/cases/case_rule.h"

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
  unsigned claims;    /* OPC_CLAIM_…, below */
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

/* Which findings may be errors: the severity depends on the rule and on the provenance of its case. Checks do not
 * decide it. The severity of a rule's entry in the tables is the one on valid input; its claims say when it is
 * another one. No libtorch.
 *
 * Ownership: nothing is kept. */

/* What a rule claims, and so which input it needs to be an error: the column of OPC_RULE in the tables of the checks.
 *
 * On input that somebody vouches for (opc_provenance_is_valid) all rules have the severity of their table, except those
 * of ASKED_DTYPE. On other input, a rule has one of the claims up to CHANGED, and any of the others in addition. "The
 * same values in another layout" is input of its own kind: where the plain layout was clean, in the same conditions, an
 * access, crash or hang is the layout's, and so an error on any input (result/case_result.h, control_held). It is not
 * the layout's if it shows only after another case, nor on a GPU, where the plain layout may have left its tensors
 * unseen.
 */
enum {
  OPC_CLAIM_ALWAYS = 0, /* a contradiction that holds on every input that the operator accepts */
  /* The operator may rightly expect its caller to pass something else: the finding is part of
   * memory.unchecked_arguments, of the argument that was varied. The last word is what happened. */
  OPC_CLAIM_UNCHECKED_WRITE = 1 << 0,
  OPC_CLAIM_UNCHECKED_CRASH = 1 << 1,
  OPC_CLAIM_UNCHECKED_READ = 1 << 2,
  OPC_CLAIM_UNCHECKED_HANG = 1 << 3,
  OPC_CLAIM_UNCHECKED_MEMORY = 1 << 4,
  OPC_CLAIM_UNCHECKED_CONVERSION = 1 << 5,
  /* The result may be what such input gives: the rule stays, as a warning. */
  OPC_CLAIM_UNSURE = 1 << 6,
  /* The same, but only of several tensors, or numbers, which may not fit together (evidence "fits": they seem to). */
  OPC_CLAIM_SEVERAL = 1 << 7,
  /* The same, but only where one argument was changed against the others, or was given another number of dimensions. */
  OPC_CLAIM_ALONE = 1 << 8,
  /* The same, unless the reference stays in bounds with the arguments and gives the same result again. */
  OPC_CLAIM_UNVOUCHED = 1 << 9,
  /* The same, but only where sizes or values were changed: it may be a library below that complains about what it is
   * given. */
  OPC_CLAIM_CHANGED = 1 << 10,
  /* A warning on a GPU, where lists that go together have different lengths, and where another layout of the sample
   * shows that an index is too large: the result may be what lies past the end of the tensors, of a list or in the next
   * row, because nothing sees a read out of bounds there. */
  OPC_CLAIM_IN_BOUNDS = 1 << 11,
  /* A warning if it shows only after another case in the same process: the rule compares results of this call, and that
   * case left something behind that matters more. */
  OPC_CLAIM_ONE_CALL = 1 << 12,
  /* A warning if the operator's name says that it packs: the bytes of a packed weight mean nothing by position, and its
   * padding is not written. */
  OPC_CLAIM_BY_POSITION = 1 << 13,
  /* On any input: a warning if the sample's dtype is another one and the check says that the operator may not be meant
   * for this one (evidence "unasked_dtype"). */
  OPC_CLAIM_ASKED_DTYPE = 1 << 14,
  OPC_CLAIMS_UNCHECKED = (1 << 6) - 1,
  OPC_CLAIMS_OF_INPUT = (1 << 11) - 1 /* a rule has at most one of these */
};

unsigned opc_rule_claims(opc_rule_id_t rule); /* OPC_RULE_NONE: OPC_CLAIM_ALWAYS */

/* True: the finding (an out-of-bounds access, a crash, a hang) counts only on valid input. */
bool opc_rule_needs_valid_input(opc_rule_id_t rule);

/* True: an access outside of the tensors' memory, which guard pages show. */
bool opc_goes_outside(opc_rule_id_t rule);

/* True: on input that nobody vouches for, the finding is a warning, unless only another layout shows it. */
bool opc_rule_warns_on_searched(opc_rule_id_t rule);

/* Which cases each check wants, and why: tables for the planner (plan/cases/planner.h). No libtorch.
 *
 * Threads, fork: constant tables. */

extern const opc_case_table_t opc_case_tables[]; /* opc_check_info_count tables, in the order of opc_check_infos */
