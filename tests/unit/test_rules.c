/* The tables of checks and rules: complete, unique, and found by name. */
#include "catalogue/rules.h"

#include <signal.h>
#include <string.h>

#include "unit.h"

static void test_every_row_has_its_texts(void **state) {
  (void)state;
  for (size_t i = 1; i < opc_rule_count; i++) {
    const opc_rule_t *rule = &opc_rules[i];
    const char *texts[] = {rule->title, rule->seen, rule->why, rule->limits, rule->fix, rule->source};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) assert_true(texts[t] && texts[t][0]);
    assert_true(rule->title[strlen(rule->title) - 1] != '.');
    assert_string_equal(opc_rule_name((opc_rule_id_t)i), rule->name);
    assert_int_equal(opc_rule_id(rule->name), i); /* the first of its name: names are unique */
    assert_ptr_equal(opc_rule_of((opc_rule_id_t)i), rule);
  }
}

static void test_every_check_has_a_rule(void **state) {
  (void)state;
  for (size_t c = 0; c < opc_check_info_count; c++) {
    size_t length = strlen(opc_check_infos[c].name), rules = 0;
    for (size_t i = 1; i < opc_rule_count; i++)
      rules += strncmp(opc_rules[i].name, opc_check_infos[c].name, length) == 0 && opc_rules[i].name[length] == '.';
    assert_true(rules > 0);
    if (c > 0) assert_true(opc_check_infos[c].stage >= opc_check_infos[c - 1].stage);
    assert_int_equal(opc_check_info_find(opc_check_infos[c].name), c);
  }
  assert_int_equal(opc_check_info_find("strides"), -1);
  assert_int_equal(opc_check_info_find(NULL), -1);
}

static void test_one_row_stands_for_all_signals(void **state) {
  (void)state;
  const opc_rule_id_t fault = opc_rule_of_signal(SIGSEGV);
  assert_string_equal(opc_rule_name(fault), "signal.SIGSEGV");
  assert_int_equal(opc_rule_id("signal.SIGSEGV"), fault);
  assert_int_not_equal(fault, opc_rule_of_signal(SIGABRT));
  assert_ptr_equal(opc_rule_of(fault), &opc_rules[OPC_RULE_signal]);
  assert_string_equal(opc_rule_name(opc_rule_of_signal(SIGRTMIN)), "signal.SIG?");
  assert_int_equal(opc_rule_id("signal.SIG?"), opc_rule_of_signal(SIGRTMIN));
  static const char *const none[] = {"signals", "signal.SIGNO", "meta.nothing", NULL};
  for (size_t i = 0; i < COUNT(none); i++) assert_int_equal(opc_rule_id(none[i]), OPC_RULE_NONE);
}

static void test_rules_have_families(void **state) {
  (void)state;
  assert_true(opc_rule_is_of(OPC_RULE_memory_out_of_bounds_read, "memory"));
  assert_true(opc_rule_is_of(OPC_RULE_memory, "memory"));
  assert_true(opc_rule_is_of(opc_rule_of_signal(SIGILL), "signal"));
  assert_true(opc_rule_is_of(OPC_RULE_launch_asynchronous_error, "launch.asynchronous_error"));
  assert_false(opc_rule_is_of(OPC_RULE_device_memory_leak, "device"));
  assert_false(opc_rule_is_of(OPC_RULE_NONE, "memory"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_row_has_its_texts),
      cmocka_unit_test(test_every_check_has_a_rule),
      cmocka_unit_test(test_one_row_stands_for_all_signals),
      cmocka_unit_test(test_rules_have_families),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
