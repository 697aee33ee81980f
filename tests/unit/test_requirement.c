/* Requirements on a library's file: this program with names replaced in its bytes is a library that needs them. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system.h"
#include "inspect/package.h"
#include "inspect/requirement.h"
#include "temp_folder.h"

typedef struct replacement {
  const char *old, *new; /* of the same length */
} replacement_t;

/* What the program needs of cmocka. */
static const char function[] = "_cmocka_run_group_tests", library[] = "libcmocka.so.0";

static const char *make_library(const replacement_t *replacements, size_t count) {
  struct stat about;
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  assert_int_equal(fstat(fd, &about), 0);
  const size_t size = (size_t)about.st_size;
  char *bytes = malloc(size);
  assert_non_null(bytes);
  assert_int_equal(read(fd, bytes, size), (ssize_t)size);
  close(fd);
  for (size_t i = 0; i < count; i++) {
    const size_t length = strlen(replacements[i].old);
    assert_int_equal(strlen(replacements[i].new), length);
    char *at = bytes;
    while ((at = memmem(at, size - (size_t)(at - bytes), replacements[i].old, length + 1)) != NULL)
      at = (char *)memcpy(at, replacements[i].new, length) + length;
  }
  FILE *file = fopen(temp_path("library.so"), "we");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  free(bytes);
  return temp_path("library.so");
}

static opc_requirements_t require(opc_requirement_kind_t kind, const char *value) {
  opc_requirements_t requirements = {0};
  opc_error_t error = {0};
  if (opc_requirement_add(&requirements, kind, value, &error) != OPC_OK) fail_msg("%s", error.message);
  return requirements;
}

/* The result for a library with one name replaced; a new reference. */
static json_t *judge(const char *old, const char *new, opc_requirement_kind_t kind, const char *value) {
  const opc_requirements_t requirements = require(kind, value);
  const opc_inspection_place_t place = {.folder = NULL, .version = ""};
  json_t *report = NULL;
  opc_error_t error = {0};
  const replacement_t replacement = {old, new};
  assert_int_equal(opc_inspection_make(make_library(&replacement, 1), "it", &place, &requirements, &report, &error),
                   OPC_OK);
  json_t *result = json_incref(json_array_get(json_object_get(report, "require"), 0));
  json_decref(report);
  assert_non_null(result);
  return result;
}

/* met: no symbol is named. Otherwise exactly one is, for this reason. */
static void check(json_t *result, bool met, const char *shown, const char *why, const char *message) {
  const json_t *symbols = json_object_get(result, "symbols"), *first = json_array_get(symbols, 0);
  assert_int_equal(json_is_true(json_object_get(result, "met")), met);
  assert_int_equal(json_array_size(symbols), met || !shown ? 0 : 1);
  if (!met && shown) {
    assert_string_equal(json_string_value(json_object_get(first, "shown")), shown);
    assert_string_equal(json_string_value(json_object_get(first, "why")), why);
    assert_true(json_is_null(json_object_get(first, "by")));
  }
  if (!strstr(json_string_value(json_object_get(result, "message")), message))
    fail_msg("%s", json_string_value(json_object_get(result, "message")));
  json_decref(result);
}

static void test_stable_abi(void **state) {
  static const opc_requirement_kind_t kind = OPC_REQUIRE_STABLE_ABI;
  (void)state;
  check(judge(function, "aoti_torch_library_impl", kind, NULL), true, NULL, NULL,
        "of the stable interface; it registers through the stable interface; loads into libtorch 2.7 and newer");
  check(judge(function, "aoti_torch_library_impl", kind, "2.7"), true, NULL, NULL, "");
  check(judge(function, "aoti_torch_library_impl", kind, "2.6"), false, "aoti_torch_library_impl", "since libtorch 2.7",
        "1 of its 1 stable symbol is not in libtorch 2.6 and all newer ones");
  check(judge(function, "torch_set_requires_grad", kind, "2.9"), false, "torch_set_requires_grad",
        "since libtorch 2.10", "it registers no operators");
  check(judge(function, "torch_set_requires_grad", kind, "2.10"), true, NULL, NULL, "libtorch 2.10 and newer");
  check(judge(function, "aoti_torch_nobody_has__", kind, NULL), false, "aoti_torch_nobody_has__",
        "in no libtorch from 2.6 to 2.15", "is not in libtorch 2.15");
}

static void test_outside_the_interface(void **state) {
  static const opc_requirement_kind_t kind = OPC_REQUIRE_STABLE_ABI;
  (void)state;
  check(judge(function, "_ZN2at13globalContextEv", kind, NULL), false, "at::globalContext()",
        "libtorch's C++ interface", "outside the stable interface");
  /* Look-alikes: other libraries' names. */
  check(judge(function, "_ZN6attach3atEl5torchE_", kind, NULL), false, NULL, NULL, "uses nothing of libtorch");
  check(judge(function, "_ZN7vec_12at13get_allEv", kind, NULL), false, NULL, NULL, "uses nothing of libtorch");
  check(judge(function, "THPVariableClass_______", kind, NULL), false, "THPVariableClass_______", "libtorch_python",
        "");
  check(judge(function, "my_torch_library_impl__", kind, NULL), false, NULL, NULL,
        "name the library with the operators");
}

static void test_cuda(void **state) {
  (void)state;
  check(judge(library, "libnvrtc.so.12", OPC_REQUIRE_CUDA, "12"), true, NULL, NULL, "needs libnvrtc.so.12");
  check(judge(library, "libnvrtc.so.12", OPC_REQUIRE_CUDA, "13"), false, NULL, NULL, "needs libnvrtc.so.12");
  check(judge(library, "libcudnn.so.12", OPC_REQUIRE_CUDA, "13"), true, NULL, NULL, "needs no CUDA library");
  check(judge(library, library, OPC_REQUIRE_CUDA, "13"), true, NULL, NULL, "needs no CUDA library");
}

static void test_glibc(void **state) {
  (void)state;
  check(judge(library, library, OPC_REQUIRE_GLIBC, "2.99"), true, NULL, NULL, "needs GLIBC_2.");
  json_t *result = judge(library, library, OPC_REQUIRE_GLIBC, "2.1");
  assert_false(json_is_true(json_object_get(result, "met")));
  assert_true(json_array_size(json_object_get(result, "symbols")) > 1);
  const json_t *first = json_array_get(json_object_get(result, "symbols"), 0);
  assert_non_null(strstr(json_string_value(json_object_get(first, "why")), "GLIBC_2."));
  json_decref(result);
  check(judge(library, "libc.musl-x.so", OPC_REQUIRE_GLIBC, "2.99"), false, NULL, NULL, "built for musl");
}

static void test_strings(void **state) {
  (void)state;
  check(judge(function, "_ZN2at10give_tokenERKSs", OPC_REQUIRE_CXX11_ABI, NULL), false,
        "at::give_token(std::string const&)", "the std::string of before C++11", "_GLIBCXX_USE_CXX11_ABI=1");
  check(judge(function, "_ZN2at10give_tokenERKSt", OPC_REQUIRE_CXX11_ABI, NULL), true, NULL, NULL,
        "none of its symbols has a std::string");
  check(judge(function, "_ZNSt7__cxx11__string_E", OPC_REQUIRE_CXX11_ABI, NULL), true, NULL, NULL,
        "its symbols have the std::string of C++11");
  /* libstdc++'s own: of a library that has no other, and what old compilers leave in any. */
  check(judge(function, "_ZNSs6appendEPKcmRKSs__", OPC_REQUIRE_CXX11_ABI, NULL), false, "_ZNSs6appendEPKcmRKSs__",
        "the std::string of before C++11", "");
  check(judge(function, "_ZNSs4_Rep20_S_empty_rE", OPC_REQUIRE_CXX11_ABI, NULL), true, NULL, NULL, "");
}

static void test_the_table(void **state) {
  (void)state;
  assert_string_equal(opc_stable_symbol_find("torch_library_impl")->first, "2.10");
  assert_string_equal(opc_stable_symbol_find("aoti_torch_clone")->first, "2.6");
  assert_string_equal(opc_stable_symbol_find("aoti_torch_create_cuda_guard")->last,
                      opc_stable_newest()); /* CUDA half */
  assert_string_equal(opc_stable_symbol_find("aoti_torch_cpu__qconv2d_pointwise_tensor")->last, "2.7");
  assert_null(opc_stable_symbol_find("aoti_torch_nobody"));
  assert_int_equal(opc_version_number("2.9"), 2009);
  assert_true(opc_version_number("2.10") > opc_version_number("2.9"));
  static const char *const wrong[] = {"", "2", "2.", ".9", "2.9.1", "2.x", "-2.9", "2 .9", "x"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_int_equal(opc_version_number(wrong[i]), 0);
}

static void refuse(opc_requirements_t *requirements, opc_requirement_kind_t kind, const char *value, const char *text) {
  opc_error_t error = {0};
  assert_int_equal(opc_requirement_add(requirements, kind, value, &error), OPC_ERR_USAGE);
  if (!strstr(error.message, text)) fail_msg("%s", error.message);
}

static void test_wrong_requirements(void **state) {
  opc_requirements_t none = {0}, some = require(OPC_REQUIRE_CUDA, "13");
  opc_error_t error = {0};
  (void)state;
  refuse(&none, OPC_REQUIRE_STABLE_ABI, "2.5", "give a libtorch from 2.6 to");
  refuse(&none, OPC_REQUIRE_STABLE_ABI, "2.999", "give a libtorch from 2.6 to");
  refuse(&none, OPC_REQUIRE_STABLE_ABI, "two", "MAJOR.MINOR");
  refuse(&none, OPC_REQUIRE_CUDA, NULL, "give a version, such as cuda=13");
  refuse(&none, OPC_REQUIRE_CUDA, "12.8", "the major version");
  refuse(&none, OPC_REQUIRE_GLIBC, NULL, "such as glibc=2.28");
  refuse(&none, OPC_REQUIRE_GLIBC, "228", "MAJOR.MINOR");
  refuse(&none, OPC_REQUIRE_GLIBC, "2.28000000000000000", "no version");
  refuse(&none, OPC_REQUIRE_CXX11_ABI, "1", "has no value");
  assert_false(opc_requirements_any(&none));
  refuse(&some, OPC_REQUIRE_CUDA, "12", "cuda=13 and cuda=12 contradict");
  assert_int_equal(opc_requirement_add(&some, OPC_REQUIRE_CUDA, "13", &error), OPC_OK); /* the same again */
  /* With and without a version: the version is meant. */
  assert_int_equal(opc_requirement_add(&some, OPC_REQUIRE_STABLE_ABI, "2.9", &error), OPC_OK);
  assert_int_equal(opc_requirement_add(&some, OPC_REQUIRE_STABLE_ABI, NULL, &error), OPC_OK);
  assert_string_equal(some.value[OPC_REQUIRE_STABLE_ABI], "2.9");
}

static void test_demangled(void **state) {
  static const char *const names[][2] = {
      {"_ZN2at13globalContextEv", "at::globalContext()"}, {"torch_library_impl", "torch_library_impl"}, {"_ZQ", "_ZQ"}};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *shown = opc_demangle(names[i][0]);
    assert_string_equal(shown, names[i][1]);
    free(shown);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stable_abi), cmocka_unit_test(test_outside_the_interface),
      cmocka_unit_test(test_cuda),       cmocka_unit_test(test_glibc),
      cmocka_unit_test(test_strings),    cmocka_unit_test(test_the_table),
      cmocka_unit_test(test_demangled),  cmocka_unit_test(test_wrong_requirements),
  };
  return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
