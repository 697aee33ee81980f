/* Which worker a library gets. CMakeLists.txt says what the files are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervise/process/worker_choice.h"

enum { LIBRARIES = 3 };

typedef struct choice {
  const char *libraries[LIBRARIES];
  const char *version;          /* of the worker that is chosen */
  const char *wrong[LIBRARIES]; /* words of the library's error; NULL: none */
} choice_t;

static void check(const opc_workers_t *workers, const choice_t *choice) {
  char paths[LIBRARIES][256];
  const char *list[LIBRARIES];
  size_t count = 0, index = SIZE_MAX;
  opc_library_error_t errors[LIBRARIES];
  opc_error_t error;
  for (; count < LIBRARIES && choice->libraries[count] != NULL; count++) {
    const char *folder = strcmp(choice->libraries[count], "both_in_wheel") == 0 ? "site-packages/mine" : "libraries";
    snprintf(paths[count], sizeof paths[count], CHOICE_FOLDER "/%s/%s.so", folder, choice->libraries[count]);
    list[count] = paths[count];
  }
  if (opc_worker_choose(workers, list, count, &index, errors, &error) != OPC_OK) fail_msg("%s", error.message);
  assert_string_equal(workers->items[index].version, choice->version);
  for (size_t i = 0; i < count; i++) {
    assert_string_equal(errors[i].kind, choice->wrong[i] != NULL ? "abi" : "");
    if (choice->wrong[i] != NULL && strstr(errors[i].message, choice->wrong[i]) == NULL)
      fail_msg("%s: %s", list[i], errors[i].message);
  }
}

static void check_all(const char *place, const choice_t *choices, size_t count) {
  opc_workers_t workers;
  opc_error_t error;
  if (opc_workers_find(place, &workers, &error) != OPC_OK) fail_msg("%s", error.message);
  for (size_t i = 0; i < count; i++) check(&workers, &choices[i]);
  opc_workers_clear(&workers);
}

static void workers_of_a_folder(void **state) {
  (void)state;
  opc_workers_t workers;
  opc_error_t error;
  assert_int_equal(opc_workers_find(CHOICE_FOLDER "/several", &workers, &error), OPC_OK);
  assert_int_equal(workers.count, 2); /* opcheck-worker is one of them; the link that leads nowhere is none */
  assert_string_equal(workers.items[0].version, "9.1");
  assert_string_equal(workers.items[1].version, "9.2");
  assert_string_equal(workers.items[1].torch_folder, CHOICE_FOLDER "/torch-9.2/lib");
  opc_workers_clear(&workers);
  assert_int_equal(opc_workers_find("/no/such/folder", &workers, &error), OPC_OK);
  assert_int_equal(workers.count, 0);
}

static void one_library(void **state) {
  static const choice_t choices[] = {
      {{"old"}, "9.1", {NULL}},
      {{"new"}, "9.2", {NULL}},
      {{"both"}, "9.1", {NULL}},         /* nothing tells: the first */
      {{"own"}, "9.1", {NULL}},          /* what no libtorch has says nothing */
      {{"old_and_base"}, "9.1", {NULL}}, /* nor does what is needed of another library, though 9.2 has the like */
      {{"gone"}, "9.1", {NULL}},         /* no such file: the loader says so */
      {{"both_at_9.1"}, "9.1", {NULL}},
      {{"both_at_9.2"}, "9.2", {NULL}},
      {{"both_in_wheel"}, "9.2", {NULL}},
      {{"old_at_9.2"}, "9.2", {NULL}}, /* as its user would load it: the loader says what is missing */
      {{"both_at_9.3"},
       "9.1",
       {"needs libtorch 9.3 (" CHOICE_FOLDER "/torch-9.3), but there are workers for 9.1, 9.2"}},
      {{"shim_at_9.2"}, "9.2", {NULL}},
      {{"shim_at_9.3"}, "9.1", {NULL}}, /* the C shim is compatible */
      {{"neither"}, "9.1", {"another libtorch than 9.1, 9.2 (9.1 has no symbol _ZN5torch3newEv)"}},
  };
  (void)state;
  check_all(CHOICE_FOLDER "/several", choices, sizeof choices / sizeof *choices);
}

static void several_libraries(void **state) {
  static const choice_t choices[] = {
      {{"old", "both"}, "9.1", {NULL}},
      {{"both", "new"}, "9.2", {NULL}},
      {{"both_at_9.1", "both_at_9.2"}, "9.1", {NULL, "built for libtorch 9.2"}},
      {{"old", "new"}, "9.1", {NULL, "built for libtorch 9.2, and the other libraries of this command line for 9.1"}},
      {{"new", "old", "both_at_9.2"}, "9.2", {NULL, "built for libtorch 9.1", NULL}},
      {{"shim_at_9.2", "old"}, "9.1", {NULL}},
      {{"neither", "new"}, "9.2", {"(9.2 has no symbol _ZN5torch3oldEv)", NULL}},
  };
  (void)state;
  check_all(CHOICE_FOLDER "/several", choices, sizeof choices / sizeof *choices);
}

static void one_worker(void **state) {
  static const choice_t choices[] = {
      {{"new"}, "9.1", {NULL}}, /* nothing to compare with: the loader will refuse it */
      {{"both_at_9.1"}, "9.1", {NULL}},
      {{"both_at_9.2"}, "9.1", {"needs libtorch 9.2"}},
      {{"shim_at_9.2"}, "9.1", {NULL}},
  };
  (void)state;
  check_all(CHOICE_FOLDER "/single", choices, sizeof choices / sizeof *choices);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(workers_of_a_folder), cmocka_unit_test(one_library),
                                     cmocka_unit_test(several_libraries), cmocka_unit_test(one_worker)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
