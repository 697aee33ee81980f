/* What programs of --emit consist of. tests/python/emit.py runs some. */
#include "supervise/emit/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan_fixture.h"

/* A rule that is new says how a program shows it, or why none can. */
static void every_rule_has_a_row(void **state) {
  (void)state;
  for (opc_rule_id_t rule = OPC_RULE_NONE + 1; rule < OPC_RULE_COUNT; rule++) {
    if (!strcmp(opc_rule_name(rule), "signal")) continue;
    if (!opc_shown_of(rule)) print_error("no row for %s in shown.def\n", opc_rule_name(rule));
    assert_non_null(opc_shown_of(rule));
  }
  assert_non_null(opc_shown_of(opc_rule_of_signal(11)));
}

static void every_row_has_a_rule(void **state) {
  (void)state;
  for (size_t i = 0; i < opc_shown_count; i++) {
    bool used = strcmp(opc_shown[i].rule, "signal.") == 0;
    for (opc_rule_id_t rule = OPC_RULE_NONE + 1; rule < OPC_RULE_COUNT; rule++)
      used |= opc_shown_of(rule) == &opc_shown[i];
    if (!used) print_error("no rule for the row %s of shown.def\n", opc_shown[i].rule);
    assert_true(used);
  }
}

static void every_part_exists(void **state) {
  (void)state;
  for (opc_rule_id_t rule = OPC_RULE_NONE + 1; rule < OPC_RULE_COUNT; rule++) {
    const opc_shown_t *shown = opc_shown_of(rule);
    if (!shown || !shown->part) continue;
    const bool possible = opc_program_is_possible(rule, OPC_LANGUAGE_PYTHON, NULL) ||
                          opc_program_is_possible(rule, OPC_LANGUAGE_CPP, NULL);
    if (!possible) print_error("no language has the part show_%s\n", shown->part);
    assert_true(possible);
  }
}

static void a_reason_is_given(void **state) {
  (void)state;
  opc_text_t why = {0};
  assert_false(opc_program_is_possible(OPC_RULE_leak_tensor, OPC_LANGUAGE_PYTHON, &why));
  assert_non_null(strstr(opc_text_c(&why), "leak.tensor: opcheck-c's own allocator"));
  opc_text_clear(&why);
  assert_false(opc_program_check_is_possible("tags", OPC_LANGUAGE_PYTHON, &why));
  assert_non_null(strstr(opc_text_c(&why), "what check tags finds"));
  opc_text_clear(&why);
  assert_true(opc_program_check_is_possible("stride", OPC_LANGUAGE_PYTHON, NULL));
  assert_int_equal(opc_language_find("c++"), OPC_LANGUAGE_NONE);
  assert_int_equal(opc_language_find("cpp"), OPC_LANGUAGE_CPP);
}

static const fixture_argument_t arguments[] = {
    {.name = "x", .type = "Tensor"},
    {.name = "in", .type = "Tensor[]"},
    {.name = "size", .type = "int[2]"},
    {.name = "mode", .type = "str", .default_text = "\"sum\""},
    {.name = "dtype", .type = "ScalarType?", .default_text = "None", .kwarg_only = true},
    {.name = "in_0", .type = "Tensor?", .default_text = "None", .kwarg_only = true},
    {.name = "const", .type = "Tensor?", .default_text = "None", .kwarg_only = true}};
static const fixture_argument_t returns[] = {{.name = "", .type = "Tensor"}};

/* The text of a program about stride.wrong_result; the caller frees. */
static char *program_of(const char *fields, opc_language_t language, opc_status_t expected, opc_error_t *error) {
  opc_operator_t op = fixture_operator("my::op.other", "", arguments, 7, returns, 1);
  opc_sample_t sample = fixture_sample(&op, "%s", fields);
  opc_case_result_t *result = NULL;
  opc_text_t text = {0};
  assert_int_equal(opc_case_result_new("my::op.other/stride/cpu/-/a/plain", OPC_VERDICT_FAIL,
                                       OPC_RULE_stride_wrong_result, "a\nmessage", json_object(), &result, NULL),
                   OPC_OK);
  const opc_program_library_t libraries[] = {{.path = "/a/lib\"my.so"}, {.path = "/a/my_ops.py", .module = true}};
  const opc_program_t program = {.language = language,
                                 .op = &op,
                                 .sample = &sample,
                                 .result = result,
                                 .rule = OPC_RULE_stride_wrong_result,
                                 .libraries = libraries,
                                 .library_count = 2,
                                 .version = "1",
                                 .torch = "2.11.0"};
  assert_int_equal(opc_program_text(&program, &text, error), expected);
  opc_case_result_free(result);
  opc_sample_clear(&sample);
  opc_operator_clear(&op);
  char *taken = opc_text_take(&text);
  return taken;
}

static const char *const fields =
    "'name': 'a', 'args': [{'tensor': {'shape': [2, 2], 'strides': [1, 2], 'fill': {'values': [1, 2, 'nan', 4]}}}, "
    "[{'tensor': {'shape': [3], 'dtype': 'int64', 'fill': 'arange'}}, {'tensor': {'shape': [9], 'fill': 'ones'}}], "
    "[3, 4]], 'kwargs': {'dtype': {'dtype': 'float64'}, 'in_0': {'tensor': {'shape': [3], 'fill': 'arange'}}, "
    "'const': {'tensor': {'shape': [4], 'fill': 'ones'}}}";

static void has_line(const char *text, const char *line) {
  if (!strstr(text, line)) print_error("not there: %s\nin: %s\n", line, text);
  assert_non_null(strstr(text, line));
}

static void arguments_are_written_in_python(void **state) {
  (void)state;
  char *text = program_of(fields, OPC_LANGUAGE_PYTHON, OPC_OK, NULL);
  has_line(text, "# my::op.other: stride.wrong_result\n");
  has_line(text, "# a message\n");
  has_line(text, "torch.ops.load_library(\"/a/lib\\\"my.so\")\n");
  has_line(text, "sys.path.insert(0, \"/a/\")\nimportlib.import_module(\"my_ops\")\n");
  has_line(text, "\nimport importlib\n");
  has_line(text, "op = torch.ops.my.op.other\n");
  has_line(text,
           "x_ = torch.tensor([1.0, float(\"nan\"), 2.0, 4.0], dtype=torch.float32).as_strided((2, 2), (1, 2), 0)\n");
  has_line(text, "in_0_ = torch.arange(3).to(torch.int64)\n");
  has_line(text, "in_1_ = torch.full((9,), 1.0).to(torch.float32)\n");
  has_line(text, "in_0__ = torch.arange(3).to(torch.float32)\n");
  has_line(text, "const_ = torch.full((4,), 1.0).to(torch.float32)\n");
  has_line(text,
           "return [x_, [in_0_, in_1_], [3, 4]], {\"dtype\": torch.float64, \"in_0\": in_0__, \"const\": const_}\n");
  assert_null(strstr(text, "WRITABLE"));
  assert_null(strstr(text, "# part "));
  free(text);
}

static void too_many_numbers_are_refused(void **state) {
  (void)state;
  opc_error_t error = {0};
  char *text = program_of("'name': 'a', 'args': [{'tensor': {'shape': [100, 100]}}, [], [3, 4]]", OPC_LANGUAGE_PYTHON,
                          OPC_ERR_UNSUPPORTED, &error);
  assert_non_null(strstr(error.message, "argument x has 10000 different numbers"));
  free(text);
}

static bool may_replace_file_with(const char *content) {
  char path[] = "/tmp/opcheck-c-unit-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, content, strlen(content)), (ssize_t)strlen(content));
  close(file);
  const bool may = opc_program_may_replace(path);
  unlink(path);
  return may;
}

/* A library whose FILE was forgotten is not overwritten. */
static void only_programs_are_replaced(void **state) {
  (void)state;
  char *python = program_of(fields, OPC_LANGUAGE_PYTHON, OPC_OK, NULL),
       *cpp = program_of(fields, OPC_LANGUAGE_CPP, OPC_OK, NULL);
  assert_true(may_replace_file_with(python));
  assert_true(may_replace_file_with(cpp));
  assert_true(may_replace_file_with(""));
  assert_true(opc_program_may_replace("/nonexistent/a.py"));
  assert_false(may_replace_file_with("import torch\n"));
  assert_false(may_replace_file_with("# what opcheck-c 1 found it with libtorch 2\n"));
  assert_false(opc_program_may_replace("/proc/self/exe"));
  free(python);
  free(cpp);
}

/* A link stays a link, and what could not be written keeps what it was. */
static void programs_are_written_beside(void **state) {
  (void)state;
  char folder[] = "/tmp/opcheck-c-unit-XXXXXX", file[64], link[64], read[16] = "";
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_error_t error = {0};
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/a.py", folder);
  snprintf(link, sizeof link, "%s/link.py", folder);
  opc_text_add(&text, "program");
  assert_int_equal(opc_program_write(file, &text, &error), OPC_OK);
  assert_int_equal(symlink("a.py", link), 0);
  opc_text_add(&text, " 2");
  assert_int_equal(opc_program_write(link, &text, &error), OPC_OK);
  assert_int_equal(readlink(link, read, sizeof read), strlen("a.py"));
  FILE *stream = fopen(file, "r");
  assert_non_null(stream);
  assert_int_equal(fread(read, 1, sizeof read, stream), strlen("program 2"));
  fclose(stream);
  assert_memory_equal(read, "program 2", strlen("program 2"));
  assert_int_equal(opc_program_write("/nonexistent/a.py", &text, &error), OPC_ERR_IO);
  assert_string_equal(error.message, "--emit: cannot write /nonexistent/a.py: No such file or directory");
  unlink(link);
  unlink(file);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_rule_has_a_row),
      cmocka_unit_test(every_row_has_a_rule),
      cmocka_unit_test(every_part_exists),
      cmocka_unit_test(a_reason_is_given),
      cmocka_unit_test(arguments_are_written_in_python),
      cmocka_unit_test(too_many_numbers_are_refused),
      cmocka_unit_test(only_programs_are_replaced),
      cmocka_unit_test(programs_are_written_beside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
