/* Load errors by their text: the kind, and what to do. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "inspect/library_error.h"

static void kinds_of_messages(void **state) {
  static const struct {
    const char *message, *kind, *words;
  } cases[] = {
      {"x.so: undefined symbol: nowhere", "undefined_symbol", "symbol nowhere in x.so: link"},
      {"x.so: undefined symbol: _ZN5mylib5helpsERKi", "undefined_symbol", "symbol mylib::helps(int const&) in x.so:"},
      {"x.so: undefined symbol: _ZN3c1021throwNullDataPtrErrorERKSs", "abi", "old string ABI"},
      {"x.so: undefined symbol: _ZN3c104WarnC1ESt7variantIJEERKNS_14SourceLocationESs", "abi", "old string ABI"},
      {"x.so: undefined symbol: _ZN5torch7Library4_defERKN5torch10headeronly3FooE", "abi", "2.12 or newer"},
      {"x.so: undefined symbol: "
       "_ZNR5torch7Library4_defEON3c1014FunctionSchemaERKSt6vectorINS_10headeronly3TagESaIS8_EE",
       "abi", "2.12 or newer"},
      {"x.so: undefined symbol: torch_new_function", "abi", "newer libtorch"},
      {"x.so: undefined symbol: _ZNR5torch7Library4_defEON3c1014FunctionSchemaERKSt6vectorIN2at3TagESaIS8_EE", "abi",
       "2.11 or older"},
      {"x.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringE", "undefined_symbol",
       "another version of libtorch"},
      {"x.so: undefined symbol: PyInstanceMethod_Type", "undefined_symbol", "preload libpython"},
      {"libcudart.so.12: cannot open shared object file: No such file or directory", "abi", "another CUDA"},
      {"libx_core5.so: cannot open shared object file: No such file or directory", "missing_dependency",
       "needs libx_core5.so,"},
      {"it needs liby.so, found nowhere (liby.so: cannot open shared object file: No such file)", "missing_dependency",
       "needs liby.so,"},
      {"/lib/libstdc++.so.6: version `GLIBCXX_3.4.99' not found (required by x.so)", "abi", "newer system library"},
      {"x.so: wrong ELF class: ELFCLASS32", "architecture", "another processor"},
      {"x.so: file too short", "truncated", "too early"},
      {"Only a single TORCH_LIBRARY can be used to register the namespace a", "duplicate", "one at a time"},
      {"expected ident but found 'arrow' here:\nf(\n  ~~ <--- HERE", "schema", "cannot be parsed"},
      {"something new", "loader", "something new"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    opc_library_error_t error;
    opc_library_error_from_message(&error, cases[i].message, "2.11.0");
    assert_string_equal(error.kind, cases[i].kind);
    assert_non_null(strstr(error.message, cases[i].words));
  }
}

static void kinds_of_deaths(void **state) {
  opc_library_error_t error;
  (void)state;
  opc_library_error_from_death(&error, 3 << 8, "", "");
  assert_string_equal(error.kind, "initialiser_exited");
  assert_non_null(strstr(error.message, "exit code 3"));
  opc_library_error_from_death(&error, 6, "", "said before");
  assert_string_equal(error.kind, "initialiser_aborted");
  assert_non_null(strstr(error.message, "said before"));
  opc_library_error_from_death(&error, 6, "std::runtime_error: no", "");
  assert_string_equal(error.kind, "initialiser_threw");
  opc_library_error_from_death(
      &error, 6, "Tried to register an operator (a::b) with the same name and overload name multiple times", "");
  assert_string_equal(error.kind, "duplicate");
  opc_library_error_from_death(
      &error, 6, "this operator called PyDict_New: it needs a Python interpreter, and there is none in this process",
      "");
  assert_string_equal(error.kind, "initialiser_threw");
  assert_non_null(strstr(error.message, "a static initialiser called PyDict_New: it needs a Python interpreter"));
  opc_library_error_from_hang(&error, 30);
  assert_string_equal(error.kind, "initialiser_hung");
}

static void probe_of_files(void **state) {
  opc_library_error_t error;
  (void)state;
  assert_false(opc_elf_probe("/no/such/file.so", &error));
  assert_string_equal(error.kind, "not_found");
  assert_false(opc_elf_probe("/proc", &error));
  assert_string_equal(error.kind, "unreadable");
  assert_false(opc_elf_probe("/dev/null", &error));
  assert_string_equal(error.kind, "unreadable");
  assert_false(opc_elf_probe("/proc/self/status", &error));
  assert_string_equal(error.kind, "not_elf");
}

/* Only if the version may be wrong, and differs from the one here. */
static void package_of_the_library(void **state) {
  static const struct {
    const char *symbol, *torch, *added;
  } cases[] = {{"torch_new_function", "==2.14.0", "; package x 1.0 needs torch==2.14.0"},
               {"_ZN3c104newEv", "==2.9.1", "; package x 1.0 needs torch==2.9.1"},
               {"_ZN3c104newEv", "==2.11.1", NULL},
               {"_ZN3c104newEv", ">=2.4", NULL},
               {"_ZN3c104newEv", ">=2.14.0,<2.15.0", "; package x 1.0 needs torch>=2.14.0,<2.15.0"},
               {"_ZN3c104newEv", "", NULL}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    opc_library_error_t error;
    opc_package_hint_t package = {.name = "x", .version = "1.0"};
    char message[128];
    snprintf(package.torch, sizeof package.torch, "%s", cases[i].torch);
    snprintf(message, sizeof message, "x.so: undefined symbol: %s", cases[i].symbol);
    opc_library_error_from_message(&error, message, "2.11.0");
    opc_library_error_add_package(&error, &package, "2.11.0");
    const char *added = strstr(error.message, "; package");
    if (cases[i].added == NULL) assert_null(added);
    else assert_string_equal(added, cases[i].added);
  }
  opc_library_error_t error;
  opc_library_error_set(&error, "not_elf", "a text");
  opc_library_error_add_package(&error, &(opc_package_hint_t){.name = "x", .version = "1.0", .torch = "==2.9.1"},
                                "2.11.0");
  assert_string_equal(error.message, "a text");
}

static void imports(void **state) {
  static const struct {
    const char *text;
    bool explained;
  } cases[] = {
      {"ImportError: /a/_C.so: undefined symbol: _ZN3c104newEv (at /a/__init__.py:3)", true},
      {"OSError: /a/_C.so: undefined symbol: aoti_torch_new", true},
      {"OSError: Could not load this library: /a/_C.so: OSError: /a/_C.so.1: undefined symbol: _ZN2at3new", true},
      {"ImportError: /a/_C.so: undefined symbol: my_function", false},
      {"KeyError: 'undefined symbol: _ZN3c104newEv'", false}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    opc_library_error_t error;
    opc_library_error_from_import(&error, cases[i].text, "2.11.0");
    assert_string_equal(error.kind, "import");
    assert_ptr_equal(strstr(error.message, cases[i].text), error.message);
    assert_int_equal(cases[i].explained,
                     strstr(error.message, "another torch than this Python's, which is 2.11.0") != NULL);
    if (!cases[i].explained) assert_string_equal(error.message, cases[i].text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_of_messages), cmocka_unit_test(kinds_of_deaths),
                                     cmocka_unit_test(probe_of_files), cmocka_unit_test(package_of_the_library),
                                     cmocka_unit_test(imports)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
