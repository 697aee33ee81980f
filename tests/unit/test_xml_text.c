#include "report_journal.h"
#include "reports/text/screen.h"

typedef void add_t(opc_text_t *out, const char *bytes, size_t length);

static void expect(add_t *add, const char *bytes, size_t length, const char *wanted) {
  opc_text_t text = {0};
  add(&text, bytes, length);
  assert_string_equal(opc_text_c(&text), wanted);
  opc_text_clear(&text);
}

static void terminal_sequences_go(void **state) {
  (void)state;
  static const struct {
    const char *given, *wanted;
  } rows[] = {
      {"a\x1b[1;31mred\x1b[0mb", "aredb"},
      {"\x1b]0;title\x07x", "x"},
      {"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
      {"\x1b(Bx\x1b"
       "7y\x1b=z",
       "xyz"},
      {"a\x1b[31", "a"},
      {"a\x1b]never ends\nb", "a\nb"},
      {"\x1b", "\\x1b"},
      {"\x1b\x01", "\\x1b\\x01"},
      {"\xc2\x9b"
       "31m",
       "\\x9b31m"}, /* CSI as one C1 character */
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    expect(opc_xml_text_add, rows[i].given, strlen(rows[i].given), rows[i].wanted);
}

static void only_xml_characters_stay(void **state) {
  (void)state;
  expect(opc_xml_text_add, "a\0b\x7f", 4, "a\\x00b\\x7f");
  static const struct {
    const char *given, *wanted;
  } rows[] = {
      {"tab\tline\r\nnext\rlast\n", "tab\tline\nnext\nlast\n"},
      {"\xff\xfe", "\\xFF\\xFE"},
      {"\xc0\xaf", "\\xC0\\xAF"},                   /* overlong */
      {"\xed\xa0\x80", "\\xED\\xA0\\x80"},          /* surrogate */
      {"\xf4\x90\x80\x80", "\\xF4\\x90\\x80\\x80"}, /* beyond U+10FFFF */
      {"\xe2\x82", "\\xE2\\x82"},                   /* cut */
      {"\xef\xbf\xbe|\xef\xbf\xbf", "\\uFFFE|\\uFFFF"},
      {"<&\"'>\xe2\x82\xac\xf0\x9f\x98\x80", "<&\"'>\xe2\x82\xac\xf0\x9f\x98\x80"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    expect(opc_xml_text_add, rows[i].given, strlen(rows[i].given), rows[i].wanted);
}

static void a_message_is_one_short_line(void **state) {
  (void)state;
  expect(opc_xml_text_message, "  two\n\twords \n", 14, "two words");
  char longer[2048] = {0};
  for (size_t i = 0; i + 1 < sizeof longer; i += 2)
    memcpy(longer + i, "\xc3\xa4", 2); /* 1023 characters of two bytes */
  longer[2046] = '\0';
  opc_text_t text = {0};
  opc_xml_text_message(&text, longer, 2046);
  size_t characters = 0;
  for (size_t i = 0; i < text.length; i++) characters += ((unsigned char)text.data[i] & 0xc0) != 0x80;
  assert_int_equal(characters, OPC_XML_MESSAGE_LIMIT);
  assert_string_equal(text.data + text.length - 3, "…");
  opc_text_clear(&text);
}

static void a_stream_keeps_head_and_tail(void **state) {
  (void)state;
  const size_t limit = OPC_XML_HEAD + OPC_XML_TAIL;
  char *bytes = malloc(limit + 100);
  memset(bytes, 'x', limit + 100);
  opc_text_t text = {0};
  opc_xml_text_stream(&text, bytes, limit);
  assert_int_equal(text.length, limit);
  assert_lacks(text.data, "left out");
  opc_text_reset(&text);
  bytes[0] = 'A';
  bytes[limit + 99] = 'Z';
  opc_xml_text_stream(&text, bytes, limit + 100);
  assert_contains(text.data, "\n[… 100 bytes left out …]\n");
  assert_int_equal(text.data[0], 'A');
  assert_int_equal(text.data[text.length - 1], 'Z');
  /* Neither cut splits a character. */
  opc_text_reset(&text);
  for (size_t i = 0; i + 2 < limit + 100; i += 3) memcpy(bytes + i, "\xe2\x82\xac", 3);
  opc_xml_text_stream(&text, bytes, (limit + 100) / 3 * 3);
  opc_text_t again = {0};
  opc_xml_text_add(&again, text.data, text.length);
  assert_string_equal(again.data, text.data);
  opc_text_clear(&again);
  opc_text_clear(&text);
  free(bytes);
}

/* Text that is not UTF-8 is cut somewhere, and not left out. */
static void a_cut_is_between_characters(void **state) {
  static const size_t kept[][7] = {{0, 1, 1, 3, 3, 3, 6}, {0, 0, 0, 0, 1, 2, 6}};
  (void)state;
  for (size_t limit = 0; limit < 7; limit++) {
    assert_int_equal(opc_xml_text_cut("a\xc3\xa9\xe2\x82\xac", 6, limit), kept[0][limit]);
    assert_int_equal(opc_xml_text_cut("\x80\x80\x80\x80\x80\x80", 6, limit), kept[1][limit]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(terminal_sequences_go),       cmocka_unit_test(only_xml_characters_stay),
      cmocka_unit_test(a_message_is_one_short_line), cmocka_unit_test(a_stream_keeps_head_and_tail),
      cmocka_unit_test(a_cut_is_between_characters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
