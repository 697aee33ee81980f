/* Which findings may be errors: the severity depends on the rule and on the provenance of its case. Checks do not
 * decide it. The severity of a rule's entry in the tables is the one on valid input; its claims say when it is another
 * one. No libtorch.
 *
 * Threads: any. Ownership: nothing is kept. */
#pragma once

#include "catalogue/rules.h"

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
  /* The result may be what such input gives: the rule stays, as a warning. */
  OPC_CLAIM_UNSURE = 1 << 5,
  /* The same, but only where the operator is given several tensors, or numbers: they may not fit together. */
  OPC_CLAIM_SEVERAL = 1 << 6,
  /* The same, but only where one argument was changed against the others, or was given another number of dimensions. */
  OPC_CLAIM_ALONE = 1 << 7,
  /* The same, unless the reference stays in bounds with the arguments and gives the same result again. */
  OPC_CLAIM_UNVOUCHED = 1 << 8,
  /* The same, but only where sizes or values were changed: it may be a library below that complains about what it is
   * given. */
  OPC_CLAIM_CHANGED = 1 << 9,
  /* A warning on a GPU, where lists that go together have different lengths, and where another layout of the sample
   * shows that an index is too large: the result may be what lies past the end of the tensors, of a list or in the next
   * row, because nothing sees a read out of bounds there. */
  OPC_CLAIM_IN_BOUNDS = 1 << 10,
  /* A warning if it shows only after another case in the same process: the rule compares results of this call, and that
   * case left something behind that matters more. */
  OPC_CLAIM_ONE_CALL = 1 << 11,
  /* A warning if the operator's name says that it packs: the bytes of a packed weight mean nothing by position, and its
   * padding is not written. */
  OPC_CLAIM_BY_POSITION = 1 << 12,
  /* On any input: a warning if the sample's dtype is another one and the check says that the operator may not be meant
   * for this one (evidence "unasked_dtype"). */
  OPC_CLAIM_ASKED_DTYPE = 1 << 13,
  OPC_CLAIMS_UNCHECKED = (1 << 5) - 1,
  OPC_CLAIMS_OF_INPUT = (1 << 10) - 1 /* a rule has at most one of these */
};

unsigned opc_rule_claims(opc_rule_id_t rule); /* OPC_RULE_NONE: OPC_CLAIM_ALWAYS */

/* True: the finding (an out-of-bounds access, a crash, a hang) counts only on valid input. */
bool opc_rule_needs_valid_input(opc_rule_id_t rule);

/* True: an access outside of the tensors' memory, which guard pages show. */
bool opc_goes_outside(opc_rule_id_t rule);

/* True: on input that nobody vouches for, the finding is a warning, unless only another layout shows it. */
bool opc_rule_warns_on_searched(opc_rule_id_t rule);
