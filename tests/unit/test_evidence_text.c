/* Evidence in words: what a person reads of it, and nothing of its JSON. */
#include "unit.h"

#include <jansson.h>
#include <string.h>

#include "reports/text/finding_text.h"

static void each_part_is_a_line_in_words(void **state) {
  (void)state;
  static const struct {
    const char *evidence, *text;
  } cases[] = {
      {"{}", ""},
      {"{'kernel':{'key':'CPU'},'confirmed':true,'base':{'case':'c','broken':true},'argument':'x'}", ""},
      {"{'why':'the sample itself'}", "tried because: the sample itself\n"},
      {"{'input':{'x':'float32[2]','y':3}}", "input: x = float32[2], y = ?\n"},
      {"{'input':'x = 1'}", "input: x = 1\n"},
      {"{'accesses':[{'access':'read','offset':64,'bytes':60,'argument':'x','frames':[{'symbol':'sum(int)','file':"
       "'/s/ops.cpp','line':7,'module':'/a/l.so'},{'symbol':'run','module':'/a/libtorch_cpu.so'}]}]}",
       "accesses: reads at byte 64 of x, which has 60 bytes: sum(int) (ops.cpp:7)\n"},
      {"{'accesses':[{'access':'write','offset':-4,'bytes':8}]}",
       "accesses: writes at byte -4 of a block, which has 8 bytes\n"},
      {"{'frames':[{'module':'/a/l.so','offset':'0x10'},{'symbol':'f','module':'/a/l.so'}]}", "stack: l.so+0x10 < f\n"},
      {"{'also':[{'rule':'leak.tensor','message':'keeps one'},{'rule':'a.b','message':'c'}]}",
       "also: keeps one (leak.tensor); c (a.b)\n"},
      {"{'variants':['x.sliced','y.empty0']}", "also with: x.sliced, y.empty0\n"},
      {"{'readings':[{'calls':4,'held':6},{'calls':8,'held':10}]}", "held: 6 after 4 calls, 10 after 8 calls\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    OPC_SCOPED(opc_text_clear) opc_text_t out = {0}, json = {0};
    for (const char *at = cases[i].evidence; *at; at++) opc_text_add_bytes(&json, *at == '\'' ? "\"" : at, 1);
    json_auto_t *evidence = json_loads(opc_text_c(&json), 0, NULL);
    assert_non_null(evidence);
    opc_evidence_text(evidence, &out);
    assert_string_equal(opc_text_c(&out), cases[i].text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_part_is_a_line_in_words)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
