#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "unit.h"

const char *argp_program_version = "test";

static void the_nearest_word_is_found(void **state) {
  (void)state;
  static const struct {
    const char *word, *wanted;
  } rows[] = {
      {"strid", "stride"},
      {"srtide", "stride"},
      {"stride", "stride"},
      {"mutatoin", "mutation"},
      {"undeclared", "mutation.undeclared"},
      {"zzzzzz", NULL},
      {"", NULL},
      {"xy", NULL},
  };
  static const char *const candidates[] = {"device", "stride", "mutation", "alias.undeclared_input",
                                           "mutation.undeclared"};
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_nearest_t nearest = {.word = rows[i].word};
    for (size_t c = 0; c < COUNT(candidates); c++) opc_nearest_try(&nearest, candidates[c]);
    if (rows[i].wanted && !nearest.best) fail_msg("nothing near %s", rows[i].word);
    if (rows[i].wanted) assert_string_equal(nearest.best, rows[i].wanted);
    else assert_null(nearest.best);
  }
}

static void numbers_are_whole_and_in_range(void **state) {
  (void)state;
  static const char *const wrong[] = {"", "x", "1x", "1.5", "-1", "11", "99999999999999999999"};
  opc_error_t error;
  int64_t number = 0;
  double seconds = 0;
  for (size_t i = 0; i < COUNT(wrong); i++)
    assert_int_equal(opc_value_integer("--n", wrong[i], 0, 10, &number, &error), OPC_ERR_USAGE);
  assert_int_equal(opc_value_integer("--n", "10", 0, 10, &number, &error), OPC_OK);
  assert_int_equal(number, 10);
  static const char *const no_seconds[] = {"", "0", "-1", "nan", "inf", "1s"};
  for (size_t i = 0; i < COUNT(no_seconds); i++)
    assert_int_equal(opc_value_seconds("--t", no_seconds[i], &seconds, &error), OPC_ERR_USAGE);
  assert_int_equal(opc_value_seconds("--t", "0.5", &seconds, &error), OPC_OK);
  assert_true(seconds == 0.5);
}

static void lists_split_at_commas(void **state) {
  (void)state;
  opc_strings_t list = {0};
  opc_error_t error;
  assert_int_equal(opc_strings_split(&list, "a,,bc", &error), OPC_OK);
  assert_int_equal(opc_strings_split(&list, "d", &error), OPC_OK);
  assert_int_equal(list.count, 3);
  assert_string_equal(list.items[1], "bc");
  assert_string_equal(list.items[2], "d");
  opc_strings_clear(&list);
  assert_int_equal(opc_strings_split(&list, "stride,metta", &error), OPC_OK);
  assert_int_equal(opc_check_names_validate(&list, &error), OPC_ERR_USAGE);
  assert_non_null(strstr(error.message, "did you mean meta?"));
  opc_strings_clear(&list);
}

typedef struct input {
  const char *file, *argument;
  bool flag;
} input_t;

static error_t parse(int key, char *value, struct argp_state *state) {
  input_t *input = state->input;
  if (key == 'f') input->file = value;
  else if (key == 'g') input->flag = true;
  else if (key == ARGP_KEY_ARG) input->argument = value;
  else return ARGP_ERR_UNKNOWN;
  return 0;
}

static const struct argp_option options[] = {
    {"file", 'f', "FILE", 0, "", 0}, {"flag", 'g', NULL, 0, "", 0}, {"flood", 'h', NULL, 0, "", 0}, {0}};
static const struct argp argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

static opc_status_t try_parse(input_t *input, opc_error_t *error, char *first, char *second) {
  char name[] = "opcheck-c test";
  char *argv[] = {name, first, second, NULL};
  opc_arguments_t arguments = {.argc = second ? 3 : 2, .argv = argv};
  *input = (input_t){0};
  return opc_arguments_parse(&arguments, &argp, input, error);
}

static void mistakes_in_options_are_named(void **state) {
  (void)state;
  static const struct {
    const char *first, *second, *message;
  } rows[] = {
      {"--fil", "x", NULL},
      {"--file=x", NULL, NULL},
      {"--file", "--flag", NULL},
      {"--", "--nonsense", NULL},
      {"--file", NULL, "--file needs a value"},
      {"--fl", "x", "--fl may mean several options"},
      {"--flaag", "x", "did you mean --flag?"},
      {"--flag=1", "x", "--flag takes no value"},
      {"--junit-flavor", "x", "--junit-flavor is not in this version"},
      {"-x", "y", "unknown option -x"},
      {"--nonsense", "x", "unknown option --nonsense"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    input_t input;
    opc_error_t error = {0};
    char first[32], second[32];
    strcpy(first, rows[i].first);
    if (rows[i].second) strcpy(second, rows[i].second);
    opc_status_t status = try_parse(&input, &error, first, rows[i].second ? second : NULL);
    if (!rows[i].message) {
      if (status != OPC_OK) fail_msg("%s: %s", first, error.message);
      continue;
    }
    assert_int_equal(status, OPC_ERR_USAGE);
    if (!strstr(error.message, rows[i].message)) fail_msg("%s: \"%s\"", first, error.message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_nearest_word_is_found),
      cmocka_unit_test(numbers_are_whole_and_in_range),
      cmocka_unit_test(lists_split_at_commas),
      cmocka_unit_test(mistakes_in_options_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
