/* Which worker a library gets. CMakeLists.txt says what the files are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervise/process/worker_find.h"

enum { LIBRARIES = 3 };

typedef struct choice {
  const char *libraries[LIBRARIES];
  const char *version;          /* of the worker that is chosen */
  const char *wrong[LIBRARIES]; /* words of the library's error; NULL: none */
  const char *why;              /* words that say why the first library gets it; NULL: any */
  const char *torch;            /* lib/ of its libtorch; NULL: any */
} choice_t;

/* torches: what is installed. */
static void check(const char *place, const opc_torches_t *torches, const choice_t *choice) {
  char paths[LIBRARIES][256];
  const char *list[LIBRARIES];
  size_t count = 0;
  opc_workers_t workers;
  opc_worker_choice_t made;
  opc_library_error_t errors[LIBRARIES];
  opc_error_t error;
  for (; count < LIBRARIES && choice->libraries[count] != NULL; count++) {
    const char *folder = strcmp(choice->libraries[count], "both_in_wheel") == 0    ? "site-packages/mine"
                         : strcmp(choice->libraries[count], "both_needs_9.1") == 0 ? "wheel/mine"
                                                                                   : "libraries";
    snprintf(paths[count], sizeof paths[count], CHOICE_FOLDER "/%s/%s.so", folder, choice->libraries[count]);
    list[count] = paths[count];
  }
  if (opc_workers_find(place, &workers, &error) != OPC_OK) fail_msg("%s", error.message);
  if (opc_worker_choose(&workers, torches, list, count, &made, errors, &error) != OPC_OK) fail_msg("%s", error.message);
  assert_string_equal(workers.items[made.index].version, choice->version);
  if (choice->torch != NULL) assert_string_equal(workers.items[made.index].torch_folder, choice->torch);
  if (choice->why != NULL && strstr(made.why, choice->why) == NULL) fail_msg("%s: %s", list[0], made.why);
  for (size_t i = 0; i < count; i++) {
    assert_string_equal(errors[i].kind, choice->wrong[i] != NULL ? "abi" : "");
    if (choice->wrong[i] != NULL && strstr(errors[i].message, choice->wrong[i]) == NULL)
      fail_msg("%s: %s", list[i], errors[i].message);
  }
  opc_workers_clear(&workers);
}

static void check_all(const char *place, const choice_t *choices, size_t count) {
  static const opc_torches_t none;
  for (size_t i = 0; i < count; i++) check(place, &none, &choices[i]);
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
      {{"old"}, "9.1", {NULL}, .why = "symbols are those of libtorch 9.1"},
      {{"new"}, "9.2", {NULL}, .why = "symbols are those of libtorch 9.2"},
      {{"both"}, "9.1", {NULL}, .why = "nothing in the library says"}, /* the first */
      {{"own"}, "9.1", .wrong = {NULL}},                               /* what no libtorch has says nothing */
      {{"old_and_base"},
       "9.1",
       .wrong = {NULL}},                  /* nor does what is needed of another library, though 9.2 has the like */
      {{"gone"}, "9.1", .wrong = {NULL}}, /* no such file: the loader says so */
      {{"both_at_9.1"}, "9.1", .wrong = {NULL}},
      {{"both_at_9.2"}, "9.2", {NULL}, .why = "belongs to libtorch 9.2 (" CHOICE_FOLDER "/torch-9.2)"},
      {{"both_in_wheel"}, "9.2", {NULL}, .why = "belongs to libtorch 9.2"},
      {{"old_at_9.2"}, "9.2", .wrong = {NULL}}, /* as its user would load it: the loader says what is missing */
      {{"both_at_9.3"},
       "9.1",
       .wrong = {"needs libtorch 9.3 (" CHOICE_FOLDER "/torch-9.3), but there are workers for 9.1, 9.2"}},
      {{"shim_at_9.2"}, "9.2", {NULL}, .why = "belongs to libtorch 9.2"},
      {{"shim_at_9.3"}, "9.1", .wrong = {NULL}}, /* the C shim is compatible */
      {{"neither"}, "9.1", .wrong = {"another libtorch than 9.1, 9.2 (9.1 has no symbol _ZN5torch3newEv)"}},
  };
  (void)state;
  check_all(CHOICE_FOLDER "/several", choices, sizeof choices / sizeof *choices);
}

static void several_libraries(void **state) {
  static const choice_t choices[] = {
      {{"old", "both"}, "9.1", .wrong = {NULL}},
      {{"both", "new"}, "9.2", .wrong = {NULL}},
      {{"both_at_9.1", "both_at_9.2"}, "9.1", .wrong = {NULL, "built for libtorch 9.2"}},
      {{"old", "new"},
       "9.1",
       .wrong = {NULL, "built for libtorch 9.2, and the other libraries of this command line for 9.1"}},
      {{"new", "old", "both_at_9.2"}, "9.2", .wrong = {NULL, "built for libtorch 9.1", NULL}},
      {{"shim_at_9.2", "old"}, "9.1", .wrong = {NULL}},
      {{"neither", "new"}, "9.2", .wrong = {"(9.2 has no symbol _ZN5torch3oldEv)", NULL}},
  };
  (void)state;
  check_all(CHOICE_FOLDER "/several", choices, sizeof choices / sizeof *choices);
}

static void one_worker(void **state) {
  static const choice_t choices[] = {
      {{"new"}, "9.1", .wrong = {NULL}}, /* nothing to compare with: the loader will refuse it */
      {{"both_at_9.1"}, "9.1", .wrong = {NULL}},
      {{"both_at_9.2"}, "9.1", .wrong = {"needs libtorch 9.2"}},
      {{"shim_at_9.2"}, "9.1", .wrong = {NULL}},
  };
  (void)state;
  check_all(CHOICE_FOLDER "/single", choices, sizeof choices / sizeof *choices);
}

/* Workers that were installed: their libtorch is the library's, or one that is installed. */
static void workers_without_torch(void **state) {
  static const opc_torches_t one = {.items = {{CHOICE_FOLDER "/torch-9.2", "9.2", "in VIRTUAL_ENV"}}, .count = 1},
                             two = {.items = {{CHOICE_FOLDER "/torch-9.3", "9.3", "of python3"},
                                              {CHOICE_FOLDER "/torch-9.1", "9.1", "of python3"}},
                                    .count = 2};
  static const opc_torches_t both = {.items = {{CHOICE_FOLDER "/torch-9.2", "9.2", "beside opcheck-c"},
                                               {CHOICE_FOLDER "/torch-9.1", "9.1", "of python3"}},
                                     .count = 2};
  static const choice_t with_both[] = {
      {{"both"}, "9.2", .torch = CHOICE_FOLDER "/torch-9.2/lib"}, /* it was found first */
      {{NULL}, "9.2", .torch = CHOICE_FOLDER "/torch-9.2/lib"},
      {{"old"}, "9.1", .torch = CHOICE_FOLDER "/torch-9.1/lib"}};
  static const choice_t with_one[] = {
      {{"both"}, "9.2", {NULL}, .torch = CHOICE_FOLDER "/torch-9.2/lib"},
      {{NULL}, "9.2", {NULL}, .torch = CHOICE_FOLDER "/torch-9.2/lib"}, /* libtorch's own operators */
      {{"both_at_9.1"}, "9.1", {NULL}, .why = "belongs to libtorch 9.1", .torch = CHOICE_FOLDER "/torch-9.1/lib"},
      {{"both_needs_9.1"},
       "9.2",
       {"needs libtorch 9.1 (mine 1.0 needs torch==9.1.0), which is not installed here; there is libtorch 9.2: install "
        "it"},
       NULL,
       NULL},
  };
  static const choice_t with_two[] = {
      {{"both"}, "9.1", {NULL}, .torch = CHOICE_FOLDER "/torch-9.1/lib"}, /* there is no worker for 9.3 */
      {{"both_needs_9.1"},
       "9.1",
       {NULL},
       .why = "belongs to libtorch 9.1 (mine 1.0 needs torch==9.1.0)",
       .torch = CHOICE_FOLDER "/torch-9.1/lib"},
  };
  static const choice_t with_none[] = {{{"both"}, "9.1", {NULL}, .torch = ""},
                                       {{"both_at_9.2"}, "9.2", {NULL}, .torch = CHOICE_FOLDER "/torch-9.2/lib"}};
  (void)state;
  for (size_t i = 0; i < sizeof with_one / sizeof *with_one; i++) check(CHOICE_FOLDER "/bare", &one, &with_one[i]);
  for (size_t i = 0; i < sizeof with_both / sizeof *with_both; i++) check(CHOICE_FOLDER "/bare", &both, &with_both[i]);
  for (size_t i = 0; i < sizeof with_two / sizeof *with_two; i++) check(CHOICE_FOLDER "/bare", &two, &with_two[i]);
  check_all(CHOICE_FOLDER "/bare", with_none, sizeof with_none / sizeof *with_none);
}

/* LD_LIBRARY_PATH names another version than the worker's. */
static void torch_of_another_version(void **state) {
  opc_workers_t workers;
  opc_error_t error;
  (void)state;
  setenv("LD_LIBRARY_PATH", CHOICE_FOLDER "/torch-9.2/lib", 1);
  assert_int_equal(opc_workers_find(CHOICE_FOLDER "/several", &workers, &error), OPC_OK);
  assert_string_equal(workers.items[0].torch_folder, CHOICE_FOLDER "/torch-9.1/lib");
  assert_true(workers.items[0].torch_offered); /* and goes before it */
  assert_string_equal(workers.items[1].torch_folder, CHOICE_FOLDER "/torch-9.2/lib");
  assert_false(workers.items[1].torch_offered);
  opc_workers_clear(&workers);
  unsetenv("LD_LIBRARY_PATH");
}

static bool has(const opc_torches_t *torches, const char *root, const char *version, const char *how) {
  for (size_t i = 0; i < torches->count; i++)
    if (strcmp(torches->items[i].root, root) == 0)
      return strcmp(torches->items[i].version, version) == 0 && strstr(torches->items[i].how, how) != NULL;
  return false;
}

static void installed_torches(void **state) {
  opc_torches_t torches;
  (void)state;
  unsetenv("VIRTUAL_ENV");
  unsetenv("CONDA_PREFIX");
  setenv("HOME", "/no/such/folder", 1);
  setenv("PATH", "/no/such/folder", 1);
  opc_torches_find(&torches);
  assert_int_equal(torches.count, 0);
  setenv("PATH", "/no/such/folder::" CHOICE_FOLDER "/python/bin", 1);
  opc_torches_find(&torches);
  assert_int_equal(torches.count, 1);
  assert_true(has(&torches, CHOICE_FOLDER "/python/lib/python3.11/site-packages/torch", "9.2",
                  "of " CHOICE_FOLDER "/python/bin/python3"));
  setenv("VIRTUAL_ENV", CHOICE_FOLDER "/python", 1); /* the same one: listed once */
  opc_torches_find(&torches);
  assert_int_equal(torches.count, 1);
  assert_true(has(&torches, CHOICE_FOLDER "/python/lib/python3.11/site-packages/torch", "9.2", "in VIRTUAL_ENV"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(workers_of_a_folder),   cmocka_unit_test(one_library),
      cmocka_unit_test(several_libraries),     cmocka_unit_test(one_worker),
      cmocka_unit_test(workers_without_torch), cmocka_unit_test(torch_of_another_version),
      cmocka_unit_test(installed_torches)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
