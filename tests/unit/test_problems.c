/* Problems: findings with one cause are one problem. */
#include "base/system.h"
#include "base/text.h"
#include "problem_lines.h"
#include "reports/problems/problems.h"

#define UNCHECKED "memory.unchecked_arguments"
#define LOOSE(op, rest, argument, effect) \
  LINE(op, "memory", rest, "fail", "warning", UNCHECKED, "\"searched/alone\"", "\"argument\":\"" argument "\"," effect)
#define EFFECT(seen, rule) "\"seen\":\"" seen "\",\"seen_rule\":\"" rule "\""
#define READS EFFECT("read", "memory.out_of_bounds_read")
#define WRITES EFFECT("write", "memory.out_of_bounds_write")
#define CRASHES EFFECT("crash", "signal.SIGSEGV")
#define HANGS EFFECT("hang", "timeout")

/* The problems as in the JSON report; a new reference. */
static json_t *problems_of(const char *journal) {
  opc_journal_reader_t *reader = journal_of(journal);
  opc_problems_t problems;
  opc_error_t error = {0};
  json_t *list = json_array();
  assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
  for (size_t i = 0; i < problems.count; i++) {
    json_t *one = NULL;
    assert_int_equal(opc_problem_to_json(&problems, &problems.items[i], &one, NULL, &error), OPC_OK);
    assert_int_equal(json_array_append_new(list, one), 0);
  }
  opc_problems_clear(&problems);
  opc_journal_reader_close(reader);
  return list;
}

static const char *text_of(const json_t *list, size_t index, const char *key) {
  return opc_record_text(json_array_get(list, index), key);
}

/* A list in a problem, joined by blanks, in a static buffer. */
static const char *joined(const json_t *list, size_t index, const char *key) {
  static char text[2048];
  size_t i;
  json_t *item;
  text[0] = '\0';
  json_array_foreach(json_object_get(json_array_get(list, index), key), i, item) {
    strncat(text, i ? " " : "", sizeof text - strlen(text) - 1);
    strncat(text, json_string_value(item), sizeof text - strlen(text) - 1);
  }
  return text;
}

static json_int_t count_at(const json_t *list, size_t index) {
  return json_integer_value(json_object_get(json_array_get(list, index), "count"));
}

static void a_rule_of_the_plain_sample_takes_in_its_variants(void **state) {
  (void)state;
  json_t *list =
      problems_of(HEAD FOUND("n::a", "memory", "cpu/-/s/x.sliced", "memory.out_of_bounds_read", "")
                      FOUND("n::a", "dtype", "cpu/float16/s/plain", "memory.out_of_bounds_read", "")
                          FOUND("n::a", "memory", "cpu/-/s/x.empty0", "memory.out_of_bounds_read", "")
                              FOUND("n::a", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 1);
  assert_string_equal(joined(list, 0, "cases"),
                      "n::a/memory/cpu/-/s/plain n::a/dtype/cpu/float16/s/plain n::a/memory/cpu/-/s/x.sliced "
                      "n::a/memory/cpu/-/s/x.empty0");
  assert_string_equal(text_of(list, 0, "message"), "at cpu/-/s/plain");
  assert_string_equal(text_of(list, 0, "repro"), "run cpu/-/s/plain");
  assert_int_equal(count_at(list, 0), 4);
  assert_true(json_is_null(json_object_get(json_array_get(list, 0), "argument"))); /* no argument was changed */
  json_decref(list);
}

static void one_line_of_code_is_one_problem(void **state) {
  (void)state;
  json_t *list =
      problems_of(HEAD FOUND("n::a", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read",
                             FRAMES("void (anonymous namespace)::sum<float>(int)", "a.cpp", "5"))
                      FOUND("n::a", "mutation", "cpu/-/s/plain", "mutation.undeclared", FRAMES("sum", "a.cpp", "5"))
                          FOUND("n::a", "alias", "cpu/-/s/plain", "alias.input_returned", "")
                              FOUND("n::a", "memory", "cpu/-/s/all.larger", "memory.out_of_bounds_write",
                                    FRAMES("sum", "a.cpp", "5")) END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  assert_string_equal(joined(list, 0, "symptoms"),
                      "memory.out_of_bounds_write memory.out_of_bounds_read mutation.undeclared");
  assert_string_equal(text_of(list, 0, "location"), "sum (a.cpp:5)");
  assert_string_equal(text_of(list, 1, "rule"), "alias.input_returned");
  json_decref(list);
}

static void what_only_layouts_show_is_one_problem(void **state) {
  (void)state;
  json_t *list = problems_of(
      HEAD FOUND("n::a", "stride", "cpu/-/s/y.transposed", "stride.wrong_result", "")
          FOUND("n::a", "memory", "cpu/-/s/x[1].sliced", "memory.out_of_bounds_read", "")
              LINE("n::a", "stride", "cpu/-/s/all.sliced", "error", "error", "signal.SIGSEGV", "null", "")
                  LINE("n::a", "stride", "cpu/-/s/x.neg", "error", "error", "timeout", "null", "")
                      FOUND("n::a", "initialisation", "cpu/-/s/x.padded", "initialisation.output", "")
                          FOUND("n::a", "mutation", "cpu/-/s/x.padded", "mutation.outside_view", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 1);
  assert_string_equal(joined(list, 0, "symptoms"),
                      "memory.out_of_bounds_read signal.SIGSEGV timeout stride.wrong_result "
                      "mutation.outside_view initialisation.output");
  assert_string_equal(joined(list, 0, "arguments"), "y x");
  assert_true(json_is_null(json_object_get(json_array_get(list, 0), "argument")));
  assert_string_equal(text_of(list, 0, "message"), "depends on the layout of `y`, `x`: at cpu/-/s/x[1].sliced");
  assert_string_equal(text_of(list, 0, "change"), "layout");
  json_decref(list);
}

/* The provenance of a stride-0 variant says that its values had to change. */
static void a_layout_with_other_values_is_no_layout(void **state) {
  (void)state;
  json_t *list =
      problems_of(HEAD LINE("n::a", "stride", "cpu/-/s/x.expanded0", "error", "error", "timeout", "\"searched/alone\"",
                            "") FOUND("n::a", "stride", "cpu/-/s/x.sliced", "stride.wrong_result", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  json_decref(list);
}

static void the_rest_goes_by_kind_of_change(void **state) {
  (void)state;
  json_t *list =
      problems_of(HEAD LINE("n::a", "memory", "cpu/-/s/x.empty0", "error", "error", "signal.SIGFPE", "null", "")
                      FOUND("n::a", "empty", "cpu/-/s/y.empty0", "empty.shape", "")
                          FOUND("n::a", "dtype", "cpu/float16/s/plain", "dtype.wrong_result", "")
                              FOUND("n::a", "autograd", "cpu/-/s/plain", "autograd.wrong_gradient", "")
                                  FOUND("n::a", "autograd", "cpu/-/s/all.empty0", "autograd.empty", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 3);
  assert_string_equal(joined(list, 0, "symptoms"), "signal.SIGFPE empty.shape");
  assert_string_equal(joined(list, 1, "symptoms"), "dtype.wrong_result");
  assert_string_equal(joined(list, 2, "symptoms"), "autograd.wrong_gradient autograd.empty");
  json_decref(list);
}

static void a_wrong_meta_kernel_is_not_the_kernels_empty_shape(void **state) {
  (void)state;
  json_t *list = problems_of(HEAD FOUND("n::a", "empty", "cpu/-/s/x.empty0", "empty.shape", "")
                                 FOUND("n::a", "meta", "cpu/-/s/x.empty0", "meta.shape", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 1);
  assert_string_equal(joined(list, 0, "symptoms"), "meta.shape empty.shape");
  json_decref(list);
}

/* Work that nobody waits for gives other values each time; on the CPU there is no such cause. */
static void what_a_defect_leads_to_on_a_gpu_is_no_problem_of_its_own(void **state) {
  (void)state;
  json_t *list = problems_of(
      HEAD OPERATOR_LINE("n::c", "d/libops.so")
          FOUND("n::a", "initialisation", "cuda/-/s/plain", "initialisation.scratch", "")
              FOUND("n::a", "determinism", "cuda/-/s/plain", "determinism.run_to_run", "")
                  FOUND("n::a", "stream", "cuda/-/s/plain", "stream.other", "")
                      FOUND("n::a", "leak", "cuda/-/s/plain", "leak.memory", "")
                          FOUND("n::b", "initialisation", "cpu/-/s/plain", "initialisation.scratch", "")
                              FOUND("n::b", "stream", "cuda/-/s/plain", "stream.other", "")
                                  FOUND("n::b", "leak", "cuda/-/s/plain", "leak.memory", "")
                                      FOUND("n::b", "device_memory", "cuda/-/s/plain", "device_memory.tensor", "")
                                          END_LINE(1));
  const char *const expected[][2] = {{"n::b", "initialisation.scratch"},
                                     {"n::a", "leak.memory"},
                                     {"n::b", "stream.other"},
                                     {"n::a", "stream.other initialisation.scratch determinism.run_to_run"},
                                     {"n::b", "device_memory.tensor leak.memory"}};
  const size_t count = sizeof expected / sizeof *expected;
  assert_int_equal(json_array_size(list), count);
  for (size_t i = 0; i < count; i++) {
    bool found = false;
    for (size_t k = 0; k < count && !found; k++)
      found = strcmp(joined(list, k, "operators"), expected[i][0]) == 0 &&
              strcmp(joined(list, k, "symptoms"), expected[i][1]) == 0;
    if (!found) fail_msg("no problem of %s with %s", expected[i][0], expected[i][1]);
  }
  json_decref(list);
}

/* One line of code has both causes, and the other one names the problem. */
static void what_a_second_cause_leads_to_is_no_problem_of_its_own(void **state) {
  (void)state;
  json_t *list = problems_of(
      HEAD FOUND("n::a", "leak", "cuda/-/s/plain", "leak.memory", "")
          FOUND("n::a", "launch", "cuda/-/s/plain", "launch.failure_leaks", FRAMES("launch", "k.cu", "63"))
              FOUND("n::a", "device_memory", "cuda/-/s/plain", "device_memory.event", FRAMES("launch", "k.cu", "63"))
                  END_LINE(1));
  assert_int_equal(json_array_size(list), 1);
  assert_string_equal(joined(list, 0, "symptoms"), "launch.failure_leaks device_memory.event leak.memory");
  json_decref(list);
  list = problems_of(HEAD FOUND("n::a", "memory", "cuda/-/s/x.sliced", "launch.asynchronous_error", "")
                         FOUND("n::a", "memory", "cuda/-/s/plain", "sanitize.invalid_read", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 1);
  assert_string_equal(joined(list, 0, "symptoms"), "sanitize.invalid_read launch.asynchronous_error");
  json_decref(list);
}

/* What nothing writes holds what was there before. A kernel that faults on the sample faults on other input too. */
static void a_kernels_own_defect_names_the_problem_on_a_gpu(void **state) {
  (void)state;
  json_t *list = problems_of(HEAD FOUND("n::a", "device", "cuda/-/s/plain", "device.other_values", "")
                                 FOUND("n::a", "stride", "cuda/-/s/x.neg", "stride.wrong_result", "")
                                     FOUND("n::a", "initialisation", "cuda/-/s/plain", "initialisation.output", "")
                                         FOUND("n::b", "memory", "cuda/-/s/plain", "launch.asynchronous_error", "")
                                             LOOSE("n::b", "cuda/-/s/x.empty0", "x", CRASHES) END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  for (size_t i = 0; i < 2; i++) {
    const bool first = strcmp(joined(list, i, "operators"), "n::a") == 0;
    assert_string_equal(text_of(list, i, "rule"), first ? "initialisation.output" : "launch.asynchronous_error");
    assert_string_equal(text_of(list, i, "severity"), "error");
  }
  json_decref(list);
}

/* An argument that is written and then returned is an undeclared out. Of different arguments they are two mistakes. */
static void what_is_written_and_returned_is_one_problem(void **state) {
  (void)state;
  json_t *list =
      problems_of(HEAD FOUND("n::a", "alias", "cpu/-/s/plain", "alias.input_returned", "\"argument\":\"out\"")
                      FOUND("n::a", "mutation", "cpu/-/s/plain", "mutation.undeclared", "\"argument\":\"out\"")
                          FOUND("n::b", "alias", "cpu/-/s/plain", "alias.input_returned", "\"argument\":\"x\"")
                              FOUND("n::b", "mutation", "cpu/-/s/plain", "mutation.undeclared", "\"argument\":\"out\"")
                                  END_LINE(1));
  assert_int_equal(json_array_size(list), 3);
  for (size_t i = 0; i < 3; i++) {
    const bool first = strcmp(joined(list, i, "operators"), "n::a") == 0;
    assert_int_equal(first, strcmp(joined(list, i, "symptoms"), "mutation.undeclared alias.input_returned") == 0);
  }
  json_decref(list);
}

/* The layout of an argument that is returned differs from that of the Meta kernel's new tensor; its shape does not. */
static void what_is_returned_is_no_second_problem_on_meta(void **state) {
  (void)state;
  json_t *list = problems_of(
      HEAD FOUND("n::a", "alias", "cpu/-/s/plain", "alias.input_returned", "\"argument\":\"x\"")
          FOUND("n::a", "meta", "cpu/-/s/plain", "meta.alias", "\"output\":\"returns[0]\"")
              FOUND("n::a", "meta", "cpu/-/s/x.sliced", "meta.stride", "\"output\":\"returns[0]\"") END_LINE(1));
  assert_int_equal(json_array_size(list), 1);
  assert_string_equal(joined(list, 0, "symptoms"), "alias.input_returned meta.alias meta.stride");
  json_decref(list);
  list = problems_of(HEAD FOUND("n::a", "alias", "cpu/-/s/plain", "alias.input_returned", "\"argument\":\"x\"")
                         FOUND("n::a", "meta", "cpu/-/s/plain", "meta.alias", "\"output\":\"returns[0]\"") FOUND(
                             "n::a", "meta", "cpu/-/s/plain", "meta.shape", "\"output\":\"returns[0]\"") END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  json_decref(list);
  /* Memory that an earlier call returned is no argument. */
  list = problems_of(HEAD FOUND("n::a", "alias", "cpu/-/s/plain", "alias.earlier_output", "\"output\":\"returns[0]\"")
                         FOUND("n::a", "meta", "cpu/-/s/plain", "meta.alias", "\"output\":\"returns[0]\"") END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  json_decref(list);
}

/* However many operators have another problem. */
#define SAID(op, check, rest, severity, rule, message, evidence)                                        \
  "{\"t\":\"result\",\"operator\":\"" op "\",\"check\":\"" check "\",\"case\":\"" op "/" check "/" rest \
  "\",\"verdict\":\"fail\",\"severity\":\"" severity "\",\"rule\":\"" rule "\",\"message\":\"" message  \
  "\",\"standing\":null,\"evidence\":{" evidence "},\"repro\":\"run " rest "\",\"seconds\":0}\n"

/* The operator writes what it does not declare: what follows for a compiler is a symptom. */
static void what_an_operator_does_wrong_names_what_follows(void **state) {
  (void)state;
  json_t *list =
      problems_of(HEAD FOUND("n::a", "functionalisation", "cpu/-/s/plain", "functionalisation.fails", "")
                      FOUND("n::a", "mutation", "cpu/-/s/plain", "mutation.undeclared", "\"argument\":\"out\"")
                          FOUND("n::b", "fake", "cpu/-/s/plain", "fake.backward", "")
                              FOUND("n::b", "symbolic", "cpu/-/s/plain", "symbolic.backward", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  assert_string_equal(joined(list, 0, "symptoms"), "mutation.undeclared functionalisation.fails");
  assert_string_equal(text_of(list, 0, "rule"), "mutation.undeclared");
  assert_string_equal(joined(list, 1, "symptoms"), "symbolic.backward fake.backward");
  json_decref(list);
}

static void a_warning_names_no_error(void **state) {
  (void)state;
  json_t *list =
      problems_of(HEAD SAID("n::a", "meta", "cpu/-/s/plain", "warning", "meta.shape", "another shape", "") SAID(
          "n::a", "symbolic", "cpu/-/s/plain", "error", "symbolic.hard_coded", "always 3", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  json_decref(list);
}

static void memory_that_nobody_wrote_is_one_problem(void **state) {
  (void)state;
  json_t *list = problems_of(HEAD FOUND("n::a", "initialisation", "cpu/-/s/plain", "initialisation.output", "")
                                 FOUND("n::a", "initialisation", "cpu/-/t/plain", "initialisation.depends", "")
                                     FOUND("n::a", "empty", "cpu/-/s/x.empty0", "empty.poison", "") FOUND(
                                         "n::a", "stride", "cpu/-/s/plain", "stride.wrong_result", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  assert_string_equal(joined(list, 0, "symptoms"), "empty.poison initialisation.output initialisation.depends");
  json_decref(list);
}

/* Warnings only, with the same words but for names, sizes and positions. */
static void a_habit_is_one_problem(void **state) {
  (void)state;
  json_t *list = problems_of(
      HEAD SAID("n::a", "mutation", "cpu/-/s/plain", "warning", "mutation.version_counter",
                "argument x of a was written, [2, 3]", "\"argument\":\"x\"")
          SAID("n::b", "mutation", "cpu/-/s/plain", "warning", "mutation.version_counter",
               "argument out of b was written, [4]", "\"argument\":\"out\"")
              SAID("n::a", "leak", "cpu/-/s/plain", "warning", "leak.memory", "grows by 3 bytes", "")
                  SAID("n::b", "leak", "cpu/-/s/plain", "warning", "leak.memory", "grows by 4 bytes", "")
                      SAID("n::a", "dtype", "cpu/-/s/plain", "error", "dtype.wrong_result", "is wrong", "") SAID(
                          "n::b", "dtype", "cpu/-/s/plain", "error", "dtype.wrong_result", "is wrong", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 5);
  assert_string_equal(text_of(list, 2, "rule"), "mutation.version_counter");
  assert_string_equal(joined(list, 2, "operators"), "n::a n::b");
  json_decref(list);
}

/* Of a function that checks an argument nowhere, each line may be the first to go wrong. */
static void an_unchecked_argument_of_a_function_is_one_problem(void **state) {
  (void)state;
  json_t *list =
      problems_of(HEAD LOOSE("n::a", "cpu/-/s/i.zero", "i", READS "," FRAMES("gather", "a.cpp", "5"))
                      LOOSE("n::b", "cpu/-/s/i.zero", "i", CRASHES "," FRAMES("gather<int>", "a.cpp", "9"))
                          LOOSE("n::b", "cpu/-/s/k.zero", "k", CRASHES "," FRAMES("gather", "a.cpp", "9")) END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  assert_string_equal(joined(list, 0, "operators"), "n::a n::b");
  assert_string_equal(joined(list, 1, "operators"), "n::b");
  json_decref(list);
}

static void what_ends_the_process_comes_first(void **state) {
  (void)state;
  json_t *list = problems_of(HEAD FOUND("n::a", "registration", "-/-/-/-", "registration.no_kernel", "")
                                 FOUND("n::b", "registration", "-/-/-/-", "registration.no_kernel", "")
                                     FOUND("n::b", "memory", "cpu/-/s/x.sliced", "signal.SIGSEGV", "")
                                         FOUND("n::b", "memory", "cpu/-/s/x.empty0", "memory.out_of_bounds_write", "")
                                             END_LINE(1));
  assert_int_equal(json_array_size(list), 3);
  assert_string_equal(text_of(list, 0, "rule"), "memory.out_of_bounds_write");
  assert_string_equal(text_of(list, 1, "rule"), "signal.SIGSEGV");
  assert_string_equal(joined(list, 2, "operators"), "n::a n::b");
  json_decref(list);
}

static void unchecked_arguments_are_counted_by_input(void **state) {
  (void)state;
  json_t *list = problems_of(
      HEAD LOOSE("n::a", "cpu/-/s/x.empty0", "x", CRASHES) LOOSE("n::a", "cpu/-/s/x.scalar", "x", READS)
          LINE("n::a", "dtype", "cpu/-/s/x.scalar", "fail", "warning", UNCHECKED, "null", "\"argument\":\"x\"," READS)
              LOOSE("n::a", "cpu/-/t/x.scalar", "x", READS) LOOSE("n::a", "cpu/-/s/x.nan", "x", WRITES)
                  LOOSE("n::a", "cpu/-/s/y.empty0", "y", HANGS)
                      FOUND("n::a", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 3);
  assert_string_equal(text_of(list, 0, "rule"), "memory.out_of_bounds_read");
  assert_string_equal(text_of(list, 1, "message"),
                      "does not check `x`: writes out of bounds (1 input), reads out of bounds (2), crashes (1); the "
                      "worst: at cpu/-/s/x.nan");
  assert_string_equal(text_of(list, 1, "argument"), "x");
  assert_string_equal(text_of(list, 1, "rule"), UNCHECKED);
  assert_string_equal(joined(list, 1, "symptoms"),
                      "memory.out_of_bounds_write memory.out_of_bounds_read signal.SIGSEGV");
  assert_string_equal(text_of(list, 1, "repro"), "run cpu/-/s/x.nan");
  assert_string_equal(text_of(list, 1, "standing"), "searched/alone");
  assert_int_equal(count_at(list, 1), 5);
  assert_string_equal(text_of(list, 2, "message"),
                      "does not check `y`: never returns (1 input); the worst: at cpu/-/s/y.empty0");
  json_decref(list);
}

#define ABORT(rest)                                                                \
  LINE("n::a", "memory", rest, "fail", "warning", UNCHECKED, "\"searched/alone\"", \
       "\"argument\":\"x\",\"seen\":\"crash\",\"seen_rule\":\"signal.SIGABRT\"")

static void an_operator_that_ends_the_process_may_have_checked(void **state) {
  (void)state;
  json_t *list = problems_of(HEAD ABORT("cpu/-/s/x.empty0") ABORT("cpu/-/s/x.scalar") END_LINE(1));
  assert_int_equal(json_array_size(list), 1);
  assert_string_equal(text_of(list, 0, "message"),
                      "does not refuse `x`: ends the process (2 inputs); the worst: at cpu/-/s/x.empty0");
  json_decref(list);
  list = problems_of(HEAD ABORT("cpu/-/s/x.empty0") LOOSE("n::a", "cpu/-/s/x.scalar", "x", READS) END_LINE(1));
  assert_string_equal(text_of(list, 0, "message"),
                      "does not check `x`: reads out of bounds (1 input), ends the process (1); the worst: at "
                      "cpu/-/s/x.scalar");
  json_decref(list);
}

/* Any number of them that lead to the same line; in another operator it is the same problem. */
static void unchecked_arguments_are_apart(void **state) {
  (void)state;
#define AT_LINE(op, rest, argument)                              \
  LINE(op, "memory", rest, "fail", "warning", UNCHECKED, "null", \
       "\"argument\":\"" argument "\",\"seen\":\"read\"," FRAMES("row", "h.cpp", "8"))
  json_t *list = problems_of(HEAD AT_LINE("n::a", "cpu/-/s/x.nan", "x") AT_LINE("n::a", "cpu/-/s/y.nan", "y")
                                 AT_LINE("n::b", "cpu/-/s/y.nan", "y") END_LINE(0));
#undef AT_LINE
  assert_int_equal(json_array_size(list), 2);
  assert_string_equal(text_of(list, 0, "argument"), "y");
  assert_string_equal(joined(list, 0, "operators"), "n::a n::b");
  assert_string_equal(text_of(list, 1, "argument"), "x");
  json_decref(list);
}

/* Old journals do not have the argument and the evidence. */
static void unchecked_arguments_of_old_journals(void **state) {
  (void)state;
  json_t *list =
      problems_of(HEAD LINE("n::a", "memory", "cpu/-/s/plain", "fail", "warning", UNCHECKED, "null",
                            "\"accesses\":[{\"access\":\"write\",\"argument\":\"idx\"}]")
                      LINE("n::a", "stride", "cpu/-/s/all.nan", "error", "warning", UNCHECKED, "null", "") END_LINE(0));
  assert_int_equal(json_array_size(list), 2);
  assert_contains(text_of(list, 0, "message"), "does not check `idx`: writes out of bounds (1 input)");
  assert_contains(text_of(list, 1, "message"), "does not check its arguments: reads out of bounds (1 input)");
  json_decref(list);
}

static void one_place_in_several_operators_is_one_problem(void **state) {
  (void)state;
  json_t *list = problems_of(
      HEAD FOUND("n::a", "memory", "cpu/-/s/x.nan", "memory.out_of_bounds_read", FRAMES("row", "h.cpp", "8"))
          FOUND("n::b", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read", FRAMES("row", "h.cpp", "8"))
              FOUND("n::b", "leak", "cpu/-/s/plain", "leak.tensor", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  assert_string_equal(joined(list, 0, "operators"), "n::b n::a"); /* that of the simplest case comes first */
  assert_string_equal(text_of(list, 0, "location"), "row (h.cpp:8)");
  assert_int_equal(count_at(list, 0), 2);
  json_decref(list);
  list = problems_of(
      HEAD FOUND("n::a", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read", FRAMES("row", "h.cpp", "8")) FOUND(
          "n::b", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read", FRAMES("row", "h.cpp", "9")) END_LINE(1));
  assert_int_equal(json_array_size(list), 2); /* another line */
  json_decref(list);
}

#define KERNEL(symbol, rest) \
  "\"kernel\":{\"key\":\"Meta\",\"module\":\"/p/libops.so\",\"offset\":\"0x40\",\"symbol\":\"" symbol "\"" rest "}"

/* Without an access or a crash the place is the kernel's, which is nobody's mistake but the operator's. */
static void a_kernel_is_a_place_but_no_common_cause(void **state) {
  (void)state;
  json_t *list = problems_of(
      HEAD FOUND("n::a", "meta", "cpu/-/s/plain", "meta.shape",
                 KERNEL("my::shape(at::Tensor)", ",\"file\":\"/src/h.cpp\",\"line\":8"))
          FOUND("n::b", "meta", "cpu/-/s/plain", "meta.shape", KERNEL("my::shape(at::Tensor)", "")) END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  assert_string_equal(text_of(list, 0, "location"), "my::shape (h.cpp:8)");
  assert_string_equal(text_of(list, 0, "file"), "/src/h.cpp");
  assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "line")), 8);
  assert_string_equal(text_of(list, 1, "location"), "my::shape (libops.so+0x40)");
  assert_null(json_object_get(json_array_get(list, 1), "file"));
  json_decref(list);
  /* An access says more. */
  list = problems_of(HEAD FOUND("n::a", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read",
                                FRAMES("row", "h.cpp", "8") "," KERNEL("my::sum(at::Tensor)", "")) END_LINE(1));
  assert_string_equal(text_of(list, 0, "location"), "row (h.cpp:8)");
  json_decref(list);
}

static void problems_come_by_weight(void **state) {
  (void)state;
  json_t *list = problems_of(
      HEAD LINE("n::a", "state", "cpu/-/s/plain", "fail", "warning", "state.printed", "\"declared/same_values\"", "")
          LINE("n::a", "leak", "cpu/-/s/plain", "fail", "error", "leak.tensor", "\"searched/same_values\"", "")
              LINE("n::a", "leak", "cpu/-/t/plain", "fail", "warning", "leak.tensor", "\"declared/same_values\"", "")
                  LINE("n::b", "bitwise", "cpu/-/s/plain", "fail", "error", "bitwise.outputs", "\"recipe/related\"", "")
                      LINE("n::b", "bitwise", "cpu/-/s/x.nan", "fail", "error", "bitwise.outputs",
                           "\"recipe/same_values\"", "") END_LINE(1));
  assert_int_equal(json_array_size(list), 3);
  assert_string_equal(text_of(list, 0, "rule"), "bitwise.outputs");
  assert_string_equal(text_of(list, 0, "standing"), "recipe/same_values");
  assert_string_equal(text_of(list, 1, "rule"), "leak.tensor");
  assert_string_equal(text_of(list, 1, "severity"), "error");
  assert_string_equal(text_of(list, 1, "standing"), "searched/same_values"); /* the warning's line does not count */
  assert_string_equal(text_of(list, 2, "rule"), "state.printed");
  json_decref(list);
}

/* An id contains no line, address, sample, seed, path or count. */
static void an_id_stays(void **state) {
  (void)state;
  json_t *one = problems_of(
      HEAD FOUND("n::a", "memory", "cpu/-/s-11111111/x.nan", "memory.out_of_bounds_read", FRAMES("row", "h.cpp", "8"))
          FOUND("n::b", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read", FRAMES("row", "h.cpp", "8")) FOUND(
              "n::a", "leak", "cpu/-/s-11111111/plain", "leak.tensor", "") LOOSE("n::a", "cpu/-/s/x.scalar", "x", READS)
              LOOSE("n::a", "cpu/-/s/y.scalar", "y", READS) END_LINE(1));
  json_t *other =
      problems_of(RUN_LINE LIBRARY_LINE("/elsewhere/libops.so.2") OPERATOR_LINE("n::a", "/elsewhere/libops.so.2")
                      OPERATOR_LINE("n::b", "/elsewhere/libops.so.2") LOOSE("n::a", "cpu/-/t/y.scalar", "y", READS)
                          LOOSE("n::a", "cpu/-/t/x.scalar", "x", READS) LOOSE("n::a", "cpu/-/t/x.nan", "x", READS)
                              FOUND("n::a", "leak", "cpu/-/s-22222222/plain", "leak.tensor", "")
                                  FOUND("n::a", "leak", "cpu/-/u/x.sliced", "leak.tensor", "") END_LINE(1));
  assert_int_equal(json_array_size(one), 4);
  assert_int_equal(json_array_size(other), 3);
  assert_string_equal(text_of(one, 1, "id"), text_of(other, 0, "id"));
  for (size_t i = 2; i < 4; i++)
    for (size_t k = 1; k < 3; k++)
      assert_int_equal(strcmp(text_of(one, i, "argument"), text_of(other, k, "argument")) == 0,
                       strcmp(text_of(one, i, "id"), text_of(other, k, "id")) == 0);
  json_t *moved = problems_of(HEAD FOUND("n::b", "memory", "cpu/-/z/plain", "memory.out_of_bounds_read",
                                         FRAMES("void row<int>(int)", "h.cpp", "80"))
                                  FOUND("n::a", "memory", "cpu/-/z/plain", "memory.out_of_bounds_read",
                                        FRAMES("void row<float>(float)", "h.cpp", "80")) END_LINE(1));
  assert_int_equal(json_array_size(moved), 1);
  assert_string_equal(text_of(one, 0, "id"), text_of(moved, 0, "id"));
  json_decref(one);
  json_decref(other);
  json_decref(moved);
}

/* Two lines of one helper, each reached by two operators. */
static void ids_differ(void **state) {
  (void)state;
  json_t *list = problems_of(
      HEAD OPERATOR_LINE("n::c", "d/libops.so") OPERATOR_LINE("n::d", "d/libops.so")
          FOUND("n::a", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read", FRAMES("row", "h.cpp", "8"))
              FOUND("n::b", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read", FRAMES("row", "h.cpp", "8"))
                  FOUND("n::c", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read", FRAMES("row", "h.cpp", "9"))
                      FOUND("n::d", "memory", "cpu/-/s/plain", "memory.out_of_bounds_read", FRAMES("row", "h.cpp", "9"))
                          END_LINE(1));
  assert_int_equal(json_array_size(list), 2);
  assert_string_not_equal(text_of(list, 0, "id"), text_of(list, 1, "id"));
  json_decref(list);
}

/* Bytes held by problems after `count` findings with one cause. */
static size_t bytes_for(int count) {
  opc_text_t journal = {0};
  opc_text_add(&journal, HEAD);
  for (int i = 0; i < count; i++)
    opc_text_addf(
        &journal,
        "{\"t\":\"result\",\"operator\":\"n::a\",\"check\":\"memory\",\"case\":\"n::a/memory/cpu/-/s%d/x.scalar\","
        "\"verdict\":\"fail\",\"severity\":\"warning\",\"rule\":\"" UNCHECKED
        "\",\"message\":\"m%d\",\"evidence\":"
        "{\"argument\":\"x\",\"seen\":\"read\"}}\n",
        i, i);
  opc_text_add(&journal, END_LINE(0));
  opc_journal_reader_t *reader = journal_of(opc_text_c(&journal));
  opc_text_clear(&journal);
  opc_problems_t problems;
  opc_error_t error = {0};
  size_t before = opc_heap_use().used;
  assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
  size_t held = opc_heap_use().used - before;
  assert_int_equal(problems.count, 1);
  assert_int_equal(problems.items[0].count, count);
  assert_int_equal(problems.items[0].case_count, OPC_PROBLEM_CASES);
  opc_problems_clear(&problems);
  opc_journal_reader_close(reader);
  return held;
}

static void memory_does_not_grow_with_findings(void **state) {
  (void)state;
  bytes_for(20); /* memory that the allocator caches */
  size_t few = bytes_for(20), many = bytes_for(20000);
  if (many > few + 4096) fail_msg("%zu bytes for 20 findings, %zu for 20000", few, many);
}

/* The id in a journal whose only finding has this rule, of a library in that file. */
static void id_of(const char *library, const char *rule, const char *rest, char out[17]) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_text_addf(&text,
                RUN_LINE TOOL_LINE
                "{\"t\":\"library\",\"path\":\"%s\",\"status\":\"loaded\"}\n{\"t\":\"operator\",\"name\":\"n::a\","
                "\"library\":\"%s\"}\n{\"t\":\"result\",\"case\":\"n::a/memory/cpu/%s\",\"verdict\":\"error\","
                "\"severity\":\"error\",\"rule\":\"%s\",\"message\":\"m\",\"evidence\":{}}\n" END_LINE(1),
                library, library, rest, rule);
  json_t *list = problems_of(opc_text_c(&text));
  assert_int_equal(json_array_size(list), 1);
  snprintf(out, 17, "%s", opc_record_text(json_array_get(list, 0), "id"));
  json_decref(list);
}

/* Another folder, Python, version of the file, signal, sample or dtype: the same problem. */
static void ids_stay(void **state) {
  static const char *const same[][3] = {{"/y/_C.so", "signal.SIGSEGV", "-/s/plain"},
                                        {"_C.so.1.2", "signal.SIGSEGV", "-/s/plain"},
                                        {"/x/_C.cpython-311-x86_64-linux-gnu.so", "signal.SIGSEGV", "-/s/plain"},
                                        {"/x/_C.abi3.so", "signal.SIGSEGV", "-/s/plain"},
                                        {"/x/_C.so", "signal.SIGFPE", "-/s/plain"},
                                        {"/x/_C.so", "signal.SIGSEGV", "-/s-17/plain"}};
  static const char *const others[][3] = {{"/x/_D.so", "signal.SIGSEGV", "-/s/plain"},
                                          {"/x/_C.sort.so", "signal.SIGSEGV", "-/s/plain"},
                                          {"/x/_C.so", "exit", "-/s/plain"},
                                          {"/x/_C.so", "signal.SIGSEGV", "-/s/x.empty0"}};
  char first[17], own[17];
  (void)state;
  id_of("/x/_C.so", "signal.SIGSEGV", "-/s/plain", first);
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    id_of(same[i][0], same[i][1], same[i][2], own);
    assert_string_equal(own, first);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    id_of(others[i][0], others[i][1], others[i][2], own);
    assert_string_not_equal(own, first);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_stay),
      cmocka_unit_test(a_rule_of_the_plain_sample_takes_in_its_variants),
      cmocka_unit_test(one_line_of_code_is_one_problem),
      cmocka_unit_test(a_kernel_is_a_place_but_no_common_cause),
      cmocka_unit_test(what_only_layouts_show_is_one_problem),
      cmocka_unit_test(a_layout_with_other_values_is_no_layout),
      cmocka_unit_test(the_rest_goes_by_kind_of_change),
      cmocka_unit_test(a_wrong_meta_kernel_is_not_the_kernels_empty_shape),
      cmocka_unit_test(what_a_defect_leads_to_on_a_gpu_is_no_problem_of_its_own),
      cmocka_unit_test(what_a_second_cause_leads_to_is_no_problem_of_its_own),
      cmocka_unit_test(a_kernels_own_defect_names_the_problem_on_a_gpu),
      cmocka_unit_test(unchecked_arguments_are_counted_by_input),
      cmocka_unit_test(an_operator_that_ends_the_process_may_have_checked),
      cmocka_unit_test(unchecked_arguments_are_apart),
      cmocka_unit_test(unchecked_arguments_of_old_journals),
      cmocka_unit_test(one_place_in_several_operators_is_one_problem),
      cmocka_unit_test(problems_come_by_weight),
      cmocka_unit_test(what_is_written_and_returned_is_one_problem),
      cmocka_unit_test(what_is_returned_is_no_second_problem_on_meta),
      cmocka_unit_test(what_an_operator_does_wrong_names_what_follows),
      cmocka_unit_test(a_warning_names_no_error),
      cmocka_unit_test(memory_that_nobody_wrote_is_one_problem),
      cmocka_unit_test(a_habit_is_one_problem),
      cmocka_unit_test(an_unchecked_argument_of_a_function_is_one_problem),
      cmocka_unit_test(what_ends_the_process_comes_first),
      cmocka_unit_test(an_id_stays),
      cmocka_unit_test(ids_differ),
      cmocka_unit_test(memory_does_not_grow_with_findings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
