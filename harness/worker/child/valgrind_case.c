#include "worker/child/batch.h"

#include "memory/valgrind_requests.h"

static uint64_t errors_before; /* number of errors when the case began */

void opc_valgrind_case_begin(uint64_t number) {
  if (!opc_valgrind_active()) return;
  opc_valgrind_announce_case(number);
  errors_before = opc_valgrind_errors();
}

/* The list contains every place so far, and becomes long. */
void opc_valgrind_case_end(uint64_t number, json_t *message) {
  enum { LISTS_MAX = 50, NO_CASE = 0 };
  static int lists;
  if (!opc_valgrind_active()) return;
  uint64_t errors = opc_valgrind_errors() - errors_before;
  opc_valgrind_announce_case(NO_CASE);
  if (errors == 0) return;
  bool listed = lists++ < LISTS_MAX;
  if (listed) opc_valgrind_list_errors();
  json_object_set_new_nocheck(
      message, "memcheck",
      json_pack("{s:I, s:I, s:b}", "number", (json_int_t)number, "errors", (json_int_t)errors, "listed", listed));
}
