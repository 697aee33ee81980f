#include "unit.h"

#include "model/json/json_read.h"

static const char text[] =
    "{\n"
    "  \"format\": \"x\",\n"
    "  \"samples\": [\n"
    "    {\"name\": \"a ] } , \\\" b\", \"args\": []},\n"
    "    {\"args\": [1, {\"tensor\":\n"
    "        {\"sh\\u0061pe\": [2, -3], \"fill\": {\"values\": [1,\n"
    "          2]}}}],\n"
    "     \"é\": 0, \"k.w\": {\"in\": true}}\n"
    "  ]\n"
    "}\n";

static void test_locate(void **state) {
  (void)state;
  static const struct {
    const char *field;
    int line, column;
  } rows[] = {
      {"", 1, 1},
      {"format", 2, 3},
      {"samples", 3, 3},
      {"samples[0]", 4, 5},
      {"samples[0].args", 4, 30},
      {"samples[1]", 5, 5},
      {"samples[1].args[0]", 5, 15},
      {"samples[1].args[1].tensor", 5, 19},
      {"samples[1].args[1].tensor.shape", 6, 10},
      {"samples[1].args[1].tensor.shape[1]", 6, 28},
      {"samples[1].args[1].tensor.fill.values[1]", 7, 11},
      {"samples[1][\"k.w\"]", 8, 14}, /* é is one column */
      {"samples[1][\"k.w\"].in", 8, 22},
      {"samples[1].args[1].tensor.strides", 5, 19}, /* missing: the enclosing element */
      {"samples[1].args[7]", 5, 6},
      {"samples[9].args", 3, 3},
      {"format.deeper", 2, 3},
      {"samples[1", 3, 3},
      {"nothing", 1, 1},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    int line, column;
    opc_json_locate(text, rows[i].field, &line, &column);
    if (line != rows[i].line || column != rows[i].column) fail_msg("%s: %d:%d", rows[i].field, line, column);
  }
}

/* In their order, again, back, and where no item is. */
static void test_items(void **state) {
  (void)state;
  static const struct {
    const char *list;
    size_t index;
    int line, column;
  } rows[] = {{"samples", 0, 4, 5}, {"samples", 1, 5, 5}, {"samples", 1, 5, 5}, {"samples", 0, 4, 5},
              {"samples", 1, 5, 5}, {"samples", 7, 9, 3}, {"samples", 1, 5, 5}};
  opc_json_place_t place = {0}, none = {0};
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_json_locate_item(text, rows[i].list, rows[i].index, &place);
    if (place.line != rows[i].line || place.column != rows[i].column)
      fail_msg("%zu: %d:%d", i, place.line, place.column);
  }
  opc_json_locate_item(text, "nothing", 2, &none);
  assert_true(none.line >= 1 && none.column >= 1);
}

/* For any text, the search ends inside it. */
static void test_cut_text(void **state) {
  (void)state;
  for (size_t length = 0; length < sizeof text; length++) {
    char cut[sizeof text];
    int line, column;
    for (size_t i = 0; i < length; i++) cut[i] = text[i];
    cut[length] = '\0';
    opc_json_locate(cut, "samples[1].args[1].tensor.fill.values[1]", &line, &column);
    assert_true(line >= 1 && column >= 1);
    opc_json_place_t place = {0};
    opc_json_locate_item(cut, "samples", 1, &place);
    assert_true(place.line >= 1 && place.column >= 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_locate), cmocka_unit_test(test_items),
                                     cmocka_unit_test(test_cut_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
