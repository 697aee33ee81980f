/* Sample files: what is read, what is written, and the message for each mistake. */
#include "plan_fixture.h"
#include "temp_folder.h"

#include <unistd.h>

#include "model/sample/sample.h"

static const fixture_argument_t arguments[] = {
    {"x", "Tensor", NULL, false},
    {"m", "Tensor?", "None", false},
    {"n", "int[2]", "1", false},
    {"eps", "float", "1e-05", true},
    {"ts", "Tensor[]", "[]", true},
    {"flag", "bool", "False", true},
    {"alpha", "Scalar", "1", true},
    {"dtype", "ScalarType?", "None", true},
    {"device", "Device?", "None", true},
    {"layout", "Layout?", "None", true},
    {"generator", "Generator?", "None", true},
    {"obj", "__torch__.torch.classes.ns.Name?", "None", true},
    {"stream", "Stream?", "None", true},
    {"mode", "str", "\"mean\"", true},
};
static const fixture_argument_t returns[] = {{"", "Tensor", NULL, false}, {"", "Tensor[]", NULL, false}};

static opc_operator_t op;

static const opc_operator_t *lookup(const char *name, void *context) {
  (void)context;
  return strcmp(name, op.name) == 0 ? &op : NULL;
}

/* The constructor of ns.Name accepts an integer and anything; ns.Bare has none. */
static const opc_class_t *find_class(const char *name, void *context) {
  static struct opc_method methods[] = {
      {"get", "get(__torch__.torch.classes.ns.Name _0) -> int _0"},
      {"__init__", "__init__(__torch__.torch.classes.ns.Name _0, int _1, Any _2=None) -> NoneType _0"},
  };
  static const opc_class_t classes[] = {{"ns.Name", NULL, methods, 2}, {"ns.Bare", NULL, methods, 1}};
  (void)context;
  for (size_t i = 0; i < COUNT(classes); i++)
    if (strcmp(classes[i].name, name) == 0) return &classes[i];
  return NULL;
}

static int set_up(void **state) {
  static const char npy[] =
      "\x93NUMPY\1\0\x39\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} \n\0\0\x80\x3f\0\0\0\x40";
  op =
      fixture_operator("ns::op", "ns::op(Tensor x, …) -> Tensor", arguments, COUNT(arguments), returns, COUNT(returns));
  if (temp_folder_make(state) != 0) return -1;
  temp_write("two.npy", npy, sizeof npy - 1);
  temp_write("bad.npy", "no array", 8);
  return 0;
}

static int tear_down(void **state) {
  opc_operator_clear(&op);
  return temp_folder_remove(state);
}

static opc_status_t read_text(const char *text, opc_sample_set_t *set, opc_error_t *error) {
  temp_write("samples.json", text, strlen(text));
  return opc_sample_set_read(set, temp_path("samples.json"), lookup, find_class, NULL, error);
}

/* The message without the folder, whose name differs each time. */
static void check_message(const char *text, const char *expected) {
  opc_sample_set_t set = {0};
  opc_error_t error = {0};
  opc_status_t status = read_text(text, &set, &error);
  char shown[OPC_ERROR_MESSAGE_SIZE] = "", *out = shown;
  const size_t folder = strlen(temp_folder);
  for (const char *at = error.message; *at; *out = '\0') {
    if (strncmp(at, temp_folder, folder) == 0) at += folder + 1;
    else *out++ = *at++;
  }
  assert_string_equal(shown, expected);
  assert_int_equal(status, OPC_ERR_INPUT);
  opc_sample_set_clear(&set);
}

/* Blocks of two lines in sample_mistakes.txt: a sample, and the message. */
static void test_mistakes_in_a_sample(void **state) {
  (void)state;
  char sample[1024], message[1024], text[2048];
  int count = 0;
  FILE *stream = fopen(OPC_UNIT_FOLDER "/sample_mistakes.txt", "r");
  assert_non_null(stream);
  while (fgets(sample, sizeof sample, stream)) {
    if (sample[0] == '#' || sample[0] == '\n') continue;
    assert_non_null(fgets(message, sizeof message, stream));
    message[strcspn(message, "\n")] = '\0';
    snprintf(text, sizeof text, "{\"format\": \"opcheck-c/samples/1\", \"samples\": [\n%s]}", sample);
    check_message(text, message);
    count++;
  }
  fclose(stream);
  assert_true(count > 100);
}

static void test_mistakes_around_the_samples(void **state) {
  (void)state;
#define HEAD "{\"format\": \"opcheck-c/samples/1\", \"samples\": ["
#define SAMPLE(more) "{\"operator\": \"ns::op\", \"args\": [{\"tensor\": {\"shape\": [2]}}]" more "}"
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"", "samples.json:1:1: '[' or '{' expected near end of file"},
      {"[]", "samples.json:1:1: expected an object with format and samples"},
      {"{\n  \"format\": \"x\",\n  \"samples\": [},\n}", "samples.json:3:15: unexpected token near '}'"},
      {"{\"samples\": []}",
       "samples.json:1:1: format: expected \"opcheck-c/samples/1\", the format that this program reads"},
      {"{\"samples\": [],\n \"format\": \"opcheck-c/samples/2\"}",
       "samples.json:2:2: format: expected \"opcheck-c/samples/1\", the format that this program reads"},
      {"{\"format\": \"opcheck-c/samples/1\", \"sample\": []}",
       "samples.json:1:35: sample: no such field, did you mean \"samples\"? (known here: format, samples, comment)"},
      {"{\"format\": \"opcheck-c/samples/1\"}", "samples.json:1:1: samples: expected the list of samples"},
      {HEAD SAMPLE(", \"args\": []") "]}", "samples.json:1:113: duplicate object key near '\"args\"'"},
      {HEAD SAMPLE(", \"name\": \"a\"") ",\n" SAMPLE(", \"name\": \"a\", \"kwargs\": {\"eps\": 2}") "]}",
       "samples.json:2:62: samples[1].name: another sample of ns::op is called \"a\" (samples.json:1)"},
      {HEAD SAMPLE("") ",\n" SAMPLE("") "]}",
       "samples.json:2:1: samples[1]: another sample of ns::op has the same arguments: s-5f3ce37f (samples.json:1)"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) check_message(rows[i].text, rows[i].message);
}

static void test_unreadable(void **state) {
  (void)state;
  opc_sample_set_t set = {0};
  opc_error_t error = {0};
  assert_int_equal(opc_sample_set_read(&set, temp_path("missing.json"), lookup, NULL, NULL, &error), OPC_ERR_IO);
  assert_int_equal(opc_sample_set_read(&set, temp_folder, lookup, NULL, NULL, &error), OPC_ERR_IO);
  assert_int_equal(opc_sample_set_write(&set, "/nonexistent/folder/x.json", lookup, NULL, &error), OPC_ERR_IO);
  assert_string_equal(error.message,
                      "cannot write the sample file /nonexistent/folder/x.json: No such file or directory");
}

static void test_read_and_write(void **state) {
  (void)state;
  opc_sample_set_t set = {0}, again = {0};
  opc_error_t error = {0};
  char file[1024];
  snprintf(file, sizeof file, "%s", temp_path("written.json"));
  assert_ok(read_text(HEAD "\n" SAMPLE(", \"name\": \"a\"") ",\n" SAMPLE(
                          ", \"kwargs\": {\"eps\": 2}") ",\n"
                                                        "{\"operator\": \"ns::op\", \"args\": [{\"tensor\": "
                                                        "{\"shape\": [2], \"fill\": "
                                                        "{\"file\": \"two.npy\"}}}]}]}",
                      &set, &error),
            error);
  assert_int_equal(set.count, 3);
  assert_string_equal(set.samples[1].origin + strlen(set.samples[1].origin) - 7, ".json:3");
  assert_int_equal(set.samples[0].source, OPC_SAMPLE_FILE);
  const opc_tensor_spec_t *spec = set.samples[2].arguments[0].tensor;
  float values[2];
  assert_int_equal(spec->fill.file[0], '/');
  assert_ok(opc_fill_logical(spec, "x", 0, values, &error), error);
  assert_true(values[0] == 1.0f && values[1] == 2.0f);
  assert_string_equal(set.samples[2].name, "s-b30cc525"); /* ignores the folder, which differs each time */

  assert_ok(opc_sample_set_write(&set, file, lookup, NULL, &error), error);
  assert_ok(opc_sample_set_read(&again, file, lookup, NULL, NULL, &error), error);
  assert_int_equal(again.count, set.count);
  for (size_t i = 0; i < set.count; i++) {
    json_t *left = opc_sample_to_json(&set.samples[i], &op), *right = opc_sample_to_json(&again.samples[i], &op);
    assert_true(json_equal(left, right));
    json_decref(left);
    json_decref(right);
  }
  free(op.name);
  op.name = opc_string_copy("ns::gone"); /* nothing remains of a file that could not be written completely */
  assert_int_equal(opc_sample_set_write(&set, file, lookup, NULL, &error), OPC_ERR_NOT_FOUND);
  free(op.name);
  op.name = opc_string_copy("ns::op");
  opc_sample_set_clear(&again);
  assert_ok(opc_sample_set_read(&again, file, lookup, NULL, NULL, &error), error);
  assert_int_equal(again.count, 3);
  opc_sample_set_clear(&again);
  opc_sample_set_clear(&set);
}

static void test_a_link_stays_one(void **state) {
  (void)state;
  opc_sample_set_t set = {0}, again = {0};
  opc_error_t error = {0};
  char file[1024], link[1024], target[1024] = "";
  snprintf(file, sizeof file, "%s", temp_path("behind.json"));
  snprintf(link, sizeof link, "%s", temp_path("link.json"));
  temp_write("behind.json", "old", 3);
  assert_int_equal(symlink("behind.json", link), 0);
  assert_ok(read_text(HEAD SAMPLE("") "]}", &set, &error), error);
  assert_ok(opc_sample_set_write(&set, link, lookup, NULL, &error), error);
  assert_int_equal(readlink(link, target, sizeof target - 1), strlen("behind.json"));
  assert_ok(opc_sample_set_read(&again, file, lookup, NULL, NULL, &error), error);
  assert_int_equal(again.count, 1);
  opc_sample_set_clear(&again);
  opc_sample_set_clear(&set);
}

/* A program calls the operators of many libraries; other facts in a recording are for people. */
static void test_recorded(void **state) {
  static const char text[] =
      "{\"format\": \"opcheck-c/samples/1\", \"samples\": [{\"operator\": \"elsewhere::op\", \"source\": \"recorded\", "
      "\"args\": [1]},"
      " {\"operator\": \"ns::op\", \"source\": \"recorded\", \"args\": [{\"tensor\": {\"shape\": [2]}}], \"recorded\": "
      "{\"tensors\": {}}}]}";
  opc_sample_set_t set = {0};
  opc_error_t error;
  (void)state;
  assert_int_equal(read_text(text, &set, &error), OPC_OK);
  assert_int_equal(set.count, 1);
  assert_string_equal(set.samples[0].operator_name, "ns::op");
  assert_int_equal(set.samples[0].source, OPC_SAMPLE_RECORDED);
  opc_sample_set_clear(&set);
}

static void test_constructors(void **state) {
  (void)state;
  opc_sample_set_t set = {0};
  opc_error_t error = {0};
  assert_ok(
      read_text(HEAD SAMPLE(", \"kwargs\": {\"obj\": {\"object\": {\"class\": \"ns.Name\", \"init\": [3, {\"object\": "
                            "{\"class\": \"ns.Name\", \"init\": [4]}}]}}}") "]}",
                &set, &error),
      error);
  const opc_value_t *object = &set.samples[0].arguments[11];
  assert_int_equal(object->object.init_count, 2);
  assert_int_equal(object->object.init[0].integer, 3);
  assert_int_equal(object->object.init[1].object.init[0].integer, 4);
  opc_sample_set_clear(&set);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mistakes_in_a_sample), cmocka_unit_test(test_mistakes_around_the_samples),
      cmocka_unit_test(test_unreadable),           cmocka_unit_test(test_read_and_write),
      cmocka_unit_test(test_a_link_stays_one),     cmocka_unit_test(test_recorded),
      cmocka_unit_test(test_constructors),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
