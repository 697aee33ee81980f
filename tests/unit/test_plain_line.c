/* Plain lines and their channel: the input comes out unchanged in each direction, and no line from a hostile process
 * does harm. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"
#include "wire/channel.h"

static json_t *parse(const char *text) {
  json_t *json = json_loads(text, JSON_ALLOW_NUL, NULL);
  assert_non_null(json);
  return json;
}

static void assert_comes_back(const char *text) {
  json_t *object = parse(text);
  opc_text_t line = {0};
  assert_true(opc_plain_line_write(&line, object));
  assert_int_equal(line.data[0], OPC_PLAIN_LINE_MARK);
  assert_null(strchr(line.data, '\n'));
  json_t *read = opc_plain_line_read(line.data + 1, line.length - 1);
  assert_true(json_equal(object, read));
  json_decref(read);
  opc_text_clear(&line);
  json_decref(object);
}

static void test_plain_objects_come_back(void **state) {
  (void)state;
  assert_comes_back("{}");
  assert_comes_back("{\"\": \"\"}");
  assert_comes_back(
      "{\"t\": \"result\", \"case\": \"ns::op/check/cpu/-/a/plain\", \"message\": \"größer – 3 \\\"of\\\" 4\", "
      "\"evidence\": {}, \"seconds\": 1.8505999832996167e-5}");
  assert_comes_back("{\"a\": 0.0, \"b\": -0.0, \"c\": 1.7976931348623157e308, \"d\": 4.9e-324, \"e\": -1.5}");
  assert_comes_back("{\"a\": 0, \"b\": -1, \"c\": 9223372036854775807, \"d\": -9223372036854775808}");
  assert_comes_back("{\"a\": true, \"b\": false, \"c\": null, \"d\": [], \"e\": {}, \"f\": [[], [[]], {}]}");
  assert_comes_back(
      "{\"sample\": {\"args\": [{\"tensor\": {\"shape\": [2, 3], \"fill\": \"ones\"}}, 0.5, null, [true]]}}");
}

static void assert_is_not_plain(const char *text) {
  json_t *object = parse(text);
  opc_text_t line = {0};
  assert_false(opc_plain_line_write(&line, object));
  opc_text_clear(&line);
  json_decref(object);
}

static void test_others_are_left_to_json(void **state) {
  (void)state;
  assert_is_not_plain("{\"message\": \"two\\nlines\"}");
  assert_is_not_plain("{\"message\": \"\\u0003\"}");
  assert_is_not_plain("{\"message\": \"a\\u0000b\"}");
  assert_is_not_plain("{\"ke\\u0002y\": \"\"}");
  assert_is_not_plain("{\"list\": [{\"deep\": \"two\\nlines\"}]}");
  json_t *deep = json_array();
  for (int i = 0; i < 100; i++) deep = json_pack("[o]", deep);
  json_t *object = json_pack("{s:o}", "deep", deep);
  opc_text_t line = {0};
  assert_false(opc_plain_line_write(&line, object));
  opc_text_clear(&line);
  json_decref(object);
}

static void assert_is_refused(const char *line, size_t length) {
  char *copy = malloc(length + 1); /* of exactly its size, for memcheck */
  assert_non_null(copy);
  memcpy(copy, line, length);
  assert_null(opc_plain_line_read(copy, length));
  free(copy);
}

#define REFUSED(line) assert_is_refused(line, sizeof(line) - 1)

static void test_hostile_lines_are_refused(void **state) {
  (void)state;
  REFUSED("key");
  REFUSED("key\002");
  REFUSED("key\002tvalue");
  REFUSED("key\003");
  REFUSED("key\003\002tvalue\003");
  REFUSED("key\002\003");
  REFUSED("key\002xvalue\003");
  REFUSED("key\002ofull\003");
  REFUSED("key\002r0g\003");
  REFUSED("key\002r\003");
  REFUSED("key\002r-1\003");
  REFUSED("key\002i 1\003");
  REFUSED("key\002i0x1\003");
  REFUSED("key\002i10000000000000000\003");
  REFUSED("key\002wX\003");
  REFUSED("key\002w\003");
  REFUSED("key\002o\003");
  REFUSED("key\002o");
  REFUSED("key\002oinner\002tvalue\003");
  REFUSED("key\002a");
  REFUSED("key\002ai1\003");
  REFUSED("key\002ai1\003\004\004");
  REFUSED("key\002ainner\002tvalue\003\004");
  REFUSED("\004");
  REFUSED("key\002r7ff0000000000000\003"); /* infinity */
  REFUSED("key\002r7ff8000000000000\003");
  REFUSED("key\002t\xff\xfe\003");
  REFUSED("\xff\002tvalue\003");
  REFUSED("good\002tvalue\003key\002tvalue");
  char deep[1000];
  memcpy(deep, "key\002", 4);
  memset(deep + 4, 'a', sizeof deep - 4);
  assert_is_refused(deep, sizeof deep);
}

static void test_a_channel_carries_both(void **state) {
  (void)state;
  static const char *const objects[] = {"{\"t\": \"result\", \"evidence\": {}, \"seconds\": 0.25}",
                                        "{\"t\": \"done\", \"planned\": 3}", "{\"message\": \"two\\nlines\"}"};
  opc_channel_t here = OPC_CHANNEL_INIT, there = OPC_CHANNEL_INIT;
  opc_error_t error;
  assert_int_equal(opc_channel_open(&here, &there.fd, &error), OPC_OK);
  for (size_t i = 0; i < COUNT(objects); i++) {
    json_t *object = parse(objects[i]);
    assert_int_equal(opc_channel_send(&there, object, NULL, 0, &error), OPC_OK);
    json_decref(object);
  }
  static const char hostile[] = "\001key\n[]\n";
  assert_int_equal(write(there.fd, hostile, sizeof hostile - 1), sizeof hostile - 1);
  json_t *read = NULL;
  for (size_t i = 0; i < COUNT(objects); i++) {
    json_t *object = parse(objects[i]);
    assert_int_equal(opc_channel_next(&here, &read), OPC_CHANNEL_LINE);
    assert_true(json_equal(object, read));
    json_decref(read);
    json_decref(object);
  }
  assert_int_equal(opc_channel_next(&here, &read), OPC_CHANNEL_GARBAGE);
  assert_int_equal(opc_channel_next(&here, &read), OPC_CHANNEL_GARBAGE);
  assert_int_equal(opc_channel_next(&here, &read), OPC_CHANNEL_NOTHING);
  opc_channel_close(&there);
  assert_int_equal(opc_channel_next(&here, &read), OPC_CHANNEL_END);
  opc_channel_close(&here);
}

/* The end of the first object comes together with the second and its descriptors. */
static void test_descriptors_stay_with_their_object(void **state) {
  (void)state;
  enum { LONG = 24 << 10 };
  char text[LONG];
  memset(text, 'x', LONG);
  json_t *objects[2] = {json_pack("{s:s#}", "text", text, LONG), json_pack("{s:i}", "number", 1)};
  opc_channel_t here = OPC_CHANNEL_INIT, there = OPC_CHANNEL_INIT;
  opc_error_t error;
  assert_int_equal(opc_channel_open(&here, &there.fd, &error), OPC_OK);
  const int fds[OPC_CHANNEL_FDS] = {0, 1, 2, there.fd};
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(opc_channel_send(&there, objects[i], fds, OPC_CHANNEL_FDS, &error), OPC_OK);
  for (size_t i = 0; i < 2; i++) {
    json_t *read = NULL;
    assert_int_equal(opc_channel_next(&here, &read), OPC_CHANNEL_LINE);
    assert_true(json_equal(objects[i], read));
    json_decref(read);
    json_decref(objects[i]);
    for (size_t k = 0; k < OPC_CHANNEL_FDS; k++) assert_int_equal(close(opc_channel_take_fd(&here)), 0);
  }
  assert_int_equal(opc_channel_take_fd(&here), -1);
  opc_channel_close(&there);
  opc_channel_close(&here);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain_objects_come_back),
      cmocka_unit_test(test_others_are_left_to_json),
      cmocka_unit_test(test_hostile_lines_are_refused),
      cmocka_unit_test(test_a_channel_carries_both),
      cmocka_unit_test(test_descriptors_stay_with_their_object),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
