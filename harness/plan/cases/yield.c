/* When a case comes in a plan by yield. */
#include <string.h>

#include "plan/cases/planner.h"

typedef struct yield {
  const char *check, *what;
  int turn;
} yield_t;

static const yield_t yields[] = {
#define OPC_YIELD(check, what, turn) {#check, what, turn},
#include "plan/cases/yield.def"
#undef OPC_YIELD
};

/* The first transformation of "x.sliced+offset"; of another dtype or all samples the words of yield.def. */
static const char *what_of(const opc_planned_case_t *planned) {
  if (!planned->base) return "all samples";
  if (planned->dtype != OPC_DTYPE_OTHER) return "dtype";
  const char *dot = strchr(planned->variant, '.');
  return dot ? dot + 1 : planned->variant;
}

/* The longest name counts: "longer7" is not "long". */
int opc_yield_turn(const char *check, const opc_planned_case_t *planned) {
  const char *what = what_of(planned);
  size_t longest = 0;
  int turn = OPC_YIELD_TURNS;
  for (size_t i = 0; i < sizeof yields / sizeof *yields; i++) {
    const size_t length = strlen(yields[i].what);
    if (length <= longest || strncmp(what, yields[i].what, length) != 0 || strcmp(check, yields[i].check) != 0)
      continue;
    longest = length;
    turn = yields[i].turn;
  }
  return turn;
}
