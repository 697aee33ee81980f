/* Stub libraries: what they define, for a loader and for whoever calls it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "bridge/stub/stub_library.h"
#include "bridge_test.h"

static jmp_buf called_from;
static char called_symbol[64], called_library[64];

static void on_call(const char *symbol, const char *library) {
  (void)snprintf(called_symbol, sizeof called_symbol, "%s", symbol);
  (void)snprintf(called_library, sizeof called_library, "%s", library);
  longjmp(called_from, 1);
}

static void call(void *address) {
  void (*function)(void) = NULL;
  *(void **)&function = address;
  called_symbol[0] = called_library[0] = '\0';
  if (setjmp(called_from) == 0) function();
}

static void test_functions_and_data(void **state) {
  (void)state;
  const opc_stub_symbol_t symbols[] = {{.name = "inert_first"},
                                       {.name = "inert_data", .size = 100},
                                       {.name = "inert_second"},
                                       {.name = "inert_more", .size = 1}};
  opc_stub_on_call(on_call);
  assert_ok(opc_stub_load("libinert_test.so.1", symbols, 4, &error));
  void *handle = dlopen("libinert_test.so.1", RTLD_NOW | RTLD_NOLOAD); /* by its soname, as whoever needs it finds it */
  assert_non_null(handle);
  call(dlsym(handle, "inert_first"));
  assert_string_equal(called_symbol, "inert_first");
  assert_string_equal(called_library, "libinert_test.so.1");
  call(dlsym(RTLD_DEFAULT, "inert_second"));
  assert_string_equal(called_symbol, "inert_second");
  unsigned char *data = dlsym(handle, "inert_data"), *more = dlsym(handle, "inert_more");
  for (size_t i = 0; i < 100; i++) assert_int_equal(data[i], 0);
  memset(data, 0xff, 100);
  assert_int_equal(*more, 0);
  assert_null(dlsym(handle, "inert_absent"));
}

static void test_versions(void **state) {
  (void)state;
  const opc_stub_symbol_t symbols[] = {{.name = "inert_old", .version = "INERT_1"},
                                       {.name = "inert_plain"},
                                       {.name = "inert_new", .version = "INERT_2"}};
  assert_ok(opc_stub_load("libinert_versions.so", symbols, 3, &error));
  assert_non_null(dlvsym(RTLD_DEFAULT, "inert_old", "INERT_1"));
  assert_non_null(dlvsym(RTLD_DEFAULT, "inert_new", "INERT_2"));
  assert_null(dlvsym(RTLD_DEFAULT, "inert_old", "INERT_2"));
  assert_non_null(dlsym(RTLD_DEFAULT, "inert_plain"));
  call(dlvsym(RTLD_DEFAULT, "inert_new", "INERT_2"));
  assert_string_equal(called_symbol, "inert_new");
}

static void test_none_and_many(void **state) {
  (void)state;
  enum { MANY = 20000 };
  char(*names)[32] = calloc(MANY, sizeof *names);
  opc_stub_symbol_t *symbols = calloc(MANY, sizeof *symbols);
  assert_true(names != NULL && symbols != NULL);
  for (size_t i = 0; i < MANY; i++) {
    (void)snprintf(names[i], sizeof names[i], "inert_many_%zu", i);
    symbols[i] = (opc_stub_symbol_t){.name = names[i], .size = i % 3 == 0 ? 8 : 0};
  }
  assert_ok(opc_stub_load("libinert_none.so", NULL, 0, &error));
  assert_ok(opc_stub_load("libinert_many.so", symbols, MANY, &error));
  for (size_t i = 1; i < MANY; i += 999) {
    void *address = dlsym(RTLD_DEFAULT, names[i]);
    assert_non_null(address);
    if (i % 3 == 0) continue;
    call(address);
    assert_string_equal(called_symbol, names[i]);
  }
  free(symbols);
  free(names);
}

/* What is true without an interpreter or a device is answered. */
static void test_answers(void **state) {
  (void)state;
  const opc_stub_symbol_t symbols[] = {
      {.name = "Py_IsInitialized"}, {.name = "hipGetDeviceCount"}, {.name = "__hipRegisterFatBinary"}};
  assert_ok(opc_stub_load("libinert_answers.so", symbols, 3, &error));
  int (*initialised)(void) = NULL, (*devices)(int *) = NULL, count = 7;
  void *(*register_code)(void *) = NULL;
  *(void **)&initialised = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
  *(void **)&devices = dlsym(RTLD_DEFAULT, "hipGetDeviceCount");
  *(void **)&register_code = dlsym(RTLD_DEFAULT, "__hipRegisterFatBinary");
  assert_int_equal(initialised(), 0);
  assert_int_not_equal(devices(&count), 0);
  assert_int_equal(count, 0);
  assert_non_null(register_code(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions_and_data), cmocka_unit_test(test_versions),
                                     cmocka_unit_test(test_none_and_many), cmocka_unit_test(test_answers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
