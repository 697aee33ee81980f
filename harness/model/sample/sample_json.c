#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "model/case/case.h"
#include "model/json/json_write.h"
#include "model/sample/relations.h"
#include "model/value/value_read.h"

static const char *const source_words[] = {[OPC_SAMPLE_NONE] = "none",
                                           [OPC_SAMPLE_FILE] = "file",
                                           [OPC_SAMPLE_RECORDED] = "recorded",
                                           [OPC_SAMPLE_SEARCHED] = "searched",
                                           NULL};

/* What the search found out about a sample. */
static const char *const search_words[] = {"by_recipe", "brief", "unchecked", "uninitialised"};
enum { SEARCH_WORDS = sizeof search_words / sizeof *search_words };

static bool *search_flag(opc_sample_t *sample, size_t word) {
  bool *const flags[SEARCH_WORDS] = {&sample->by_recipe, &sample->brief, &sample->unchecked, &sample->uninitialised};
  return flags[word];
}

/* ---- writing ---- */

static json_t *words_to_json(const opc_sample_t *sample, const opc_operator_t *op) {
  json_t *json = json_object();
  for (size_t i = 0; i < sample->argument_count; i++) {
    if (!sample->words[i]) continue;
    json_t *list = json_array();
    for (const char *word = sample->words[i]; *word;) {
      const size_t length = strcspn(word, "|");
      opc_json_append(&list, json_stringn(word, length));
      word += length + (word[length] == '|');
    }
    opc_json_put(&json, op->arguments[i].name, list);
  }
  return json;
}

json_t *opc_sample_to_json(const opc_sample_t *sample, const opc_operator_t *op) {
  json_t *json = json_object(), *args = json_array(), *kwargs = json_object();
  bool positional = true;
  for (size_t i = 0; i < sample->argument_count && i < op->argument_count; i++) {
    if (sample->absent[i] || op->arguments[i].kwarg_only) positional = false;
    if (sample->absent[i]) continue;
    if (positional) opc_json_append(&args, opc_value_to_json(&sample->arguments[i]));
    else opc_json_put(&kwargs, op->arguments[i].name, opc_value_to_json(&sample->arguments[i]));
  }
  json_t *expect = opc_expect_to_json(&sample->expect);
  if (sample->comment) opc_json_put(&json, "comment", opc_json_text(sample->comment));
  opc_json_put(&json, "operator", opc_json_text(op->name));
  if (sample->todo) opc_json_put(&json, "todo", opc_json_text(sample->todo));
  if (sample->name && sample->name[0]) opc_json_put(&json, "name", opc_json_text(sample->name));
  if (sample->source == OPC_SAMPLE_RECORDED || sample->source == OPC_SAMPLE_SEARCHED)
    opc_json_put(&json, "source", json_string(source_words[sample->source]));
  opc_json_put(&json, "args", args);
  if (!kwargs || json_object_size(kwargs)) opc_json_put(&json, "kwargs", kwargs);
  else json_decref(kwargs);
  if (!json_is_null(expect)) opc_json_put(&json, "expect", expect);
  if (sample->relations) opc_json_put(&json, "relations", opc_relations_to_json(sample->relations));
  if (sample->words) opc_json_put(&json, "words", words_to_json(sample, op));
  for (size_t i = 0; sample->source == OPC_SAMPLE_SEARCHED && i < SEARCH_WORDS; i++)
    if (*search_flag((opc_sample_t *)(uintptr_t)sample, i)) opc_json_put(&json, search_words[i], json_true());
  return json;
}

/* ---- the name, made from the written sample ---- */

/* A .npy file counts by its name: a digest that included the folder would differ between checkouts. */
static void shorten_files(json_t *json) {
  const char *key;
  json_t *item;
  size_t index;
  if (json_is_array(json)) {
    json_array_foreach(json, index, item) shorten_files(item);
    return;
  }
  json_t *file = json_object_get(json_object_get(json, "fill"), "file");
  if (!file) file = json_object_get(json_object_get(json, "object"), "pickle");
  const char *slash = json_is_string(file) ? strrchr(json_string_value(file), '/') : NULL;
  if (slash) {
    /* json_string_set frees the string that slash points into. */
    OPC_SCOPED(opc_scope_free) char *name = opc_string_copy(slash + 1);
    if (name) json_string_set(file, name);
  }
  json_object_foreach(json, key, item) shorten_files(item);
}

opc_status_t opc_sample_name(opc_sample_t *sample, const opc_operator_t *op, opc_error_t *error) {
  if (sample->name && sample->name[0]) return OPC_OK;
  json_auto_t *whole = opc_sample_to_json(sample, op), *arguments = json_object();
  OPC_SCOPED(opc_scope_free) char *text = NULL;
  opc_json_put(&arguments, "args", whole ? json_incref(json_object_get(whole, "args")) : NULL);
  if (json_object_get(whole, "kwargs"))
    opc_json_put(&arguments, "kwargs", json_incref(json_object_get(whole, "kwargs")));
  shorten_files(arguments);
  if (arguments) text = json_dumps(arguments, JSON_COMPACT | JSON_SORT_KEYS);
  if (text) {
    free(sample->name);
    sample->name = opc_string_format("s-%08x", (unsigned)(XXH3_64bits(text, strlen(text)) & 0xffffffffu));
  }
  bool named = text && sample->name;
  return named ? OPC_OK : opc_out_of_memory(error);
}

/* ---- reading ---- */

static const char *schema_text(const opc_operator_t *op) { return op->schema ? op->schema : op->name; }

static size_t positional_count(const opc_operator_t *op) {
  size_t count = 0;
  while (count < op->argument_count && !op->arguments[count].kwarg_only) count++;
  return count;
}

static opc_status_t sample_json_read_argument(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                              size_t index, opc_sample_t *sample) {
  sample->absent[index] = false;
  return opc_value_read(reader, json, &op->arguments[index].type, op->arguments[index].type_text,
                        &sample->arguments[index]);
}

/* "args[1]" gives the place in the file; people know the argument by its name. */
static void add_argument_name(opc_error_t *error, const char *name) {
  if (!error) return;
  opc_error_t cause = *error;
  opc_error_set(error, cause.code, "%.900s [argument %.60s]", cause.message, name);
}

static opc_status_t read_positional(opc_json_reader_t *reader, const json_t *args, const opc_operator_t *op,
                                    opc_sample_t *sample, bool *given) {
  const size_t most = positional_count(op);
  if (!json_is_array(args)) return opc_json_fail(reader, "expected the list of the positional arguments");
  for (size_t i = 0; i < json_array_size(args); i++) {
    size_t before = opc_json_enter_index(reader, i);
    if (i >= most && i < op->argument_count)
      return opc_json_fail(reader, "too many positional arguments, \"%s\" has to be given by name in kwargs: %s",
                           op->arguments[i].name, schema_text(op));
    if (i >= most) return opc_json_fail(reader, "too many arguments, there are %zu: %s", most, schema_text(op));
    opc_status_t status = sample_json_read_argument(reader, json_array_get(args, i), op, i, sample);
    if (status == OPC_ERR_INPUT) add_argument_name(reader->error, op->arguments[i].name);
    if (status != OPC_OK) return status;
    given[i] = true;
    opc_json_leave(reader, before);
  }
  return OPC_OK;
}

static opc_status_t read_named(opc_json_reader_t *reader, const json_t *kwargs, const opc_operator_t *op,
                               opc_sample_t *sample, bool *given) {
  if (!json_is_object(kwargs)) return opc_json_fail(reader, "expected an object: the arguments by name");
  for (void *at = json_object_iter((json_t *)(uintptr_t)kwargs); at;
       at = json_object_iter_next((json_t *)(uintptr_t)kwargs, at)) {
    const char *name = json_object_iter_key(at);
    int index = opc_operator_argument(op, name);
    size_t before = opc_json_enter(reader, name);
    if (index < 0) {
      OPC_SCOPED(opc_scope_free) const char **known = calloc(op->argument_count + 1, sizeof *known);
      for (size_t i = 0; known && i < op->argument_count; i++) known[i] = op->arguments[i].name;
      const char *nearest = known ? opc_json_nearest(name, known) : NULL;
      return opc_json_fail(reader, "no such argument%s%s%s: %s", nearest ? ", did you mean \"" : "",
                           nearest ? nearest : "", nearest ? "\"?" : "", schema_text(op));
    }
    if (given[index]) return opc_json_fail(reader, "this argument is given already as args[%d]", index);
    OPC_RETURN_IF_ERROR(sample_json_read_argument(reader, json_object_iter_value(at), op, (size_t)index, sample));
    given[index] = true;
    opc_json_leave(reader, before);
  }
  return OPC_OK;
}

static opc_status_t sample_json_read_arguments(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                               opc_sample_t *sample) {
  const json_t *args = json_object_get(json, "args"), *kwargs = json_object_get(json, "kwargs");
  OPC_SCOPED(opc_scope_free) bool *given = calloc(op->argument_count + 1, sizeof *given);
  if (!given) return opc_out_of_memory(reader->error);
  if (args) OPC_JSON_MEMBER(reader, "args", read_positional(reader, args, op, sample, given));
  if (kwargs) OPC_JSON_MEMBER(reader, "kwargs", read_named(reader, kwargs, op, sample, given));
  for (size_t i = 0; i < op->argument_count; i++) {
    if (given[i] || op->arguments[i].has_default) continue;
    opc_json_enter(reader, op->arguments[i].kwarg_only ? "kwargs" : "args");
    return opc_json_fail(reader, "the argument \"%s\" is missing and has no default: %s", op->arguments[i].name,
                         schema_text(op));
  }
  return OPC_OK;
}

static opc_status_t read_name(opc_json_reader_t *reader, const json_t *json, opc_sample_t *sample) {
  const json_t *name = json_object_get(json, "name");
  const char *text;
  const size_t most = sizeof((opc_case_id_t *)NULL)->sample - 1;
  if (!name) return OPC_OK;
  size_t before = opc_json_enter(reader, "name");
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, name, &text));
  if (!text[0] || strcmp(text, "-") == 0) return opc_json_fail(reader, "a name cannot be \"%s\"", text);
  if (strlen(text) > most)
    return opc_json_fail(reader, "a name has at most %zu bytes, this one has %zu", most, strlen(text));
  for (const char *at = text; *at; at++) {
    if (*at == '/') return opc_json_fail(reader, "a name cannot hold '/', which separates the parts of a case id");
    if ((unsigned char)*at < 0x20 || *at == 0x7f) return opc_json_fail(reader, "a name cannot hold control characters");
  }
  opc_json_leave(reader, before);
  return opc_string_copy_to(text, &sample->name, reader->error);
}

static opc_status_t read_source(opc_json_reader_t *reader, const json_t *json, opc_sample_t *sample) {
  const json_t *source = json_object_get(json, "source");
  const char *word;
  sample->source = OPC_SAMPLE_FILE;
  if (!source) return OPC_OK;
  size_t before = opc_json_enter(reader, "source");
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, source, &word));
  int i = OPC_SAMPLE_FILE;
  while (source_words[i] && strcmp(source_words[i], word) != 0) i++;
  if (!source_words[i]) return opc_json_fail(reader, "\"%.40s\" is not one of file, recorded, searched", word);
  sample->source = (opc_sample_source_t)i;
  opc_json_leave(reader, before);
  return OPC_OK;
}

static opc_status_t read_search(opc_json_reader_t *reader, const json_t *json, opc_sample_t *sample) {
  for (size_t i = 0; i < SEARCH_WORDS; i++) {
    const json_t *flag = json_object_get(json, search_words[i]);
    if (!flag) continue;
    size_t before = opc_json_enter(reader, search_words[i]);
    if (!json_is_boolean(flag)) return opc_json_fail(reader, "expected true or false");
    if (sample->source != OPC_SAMPLE_SEARCHED) return opc_json_fail(reader, "only with \"source\": \"searched\"");
    *search_flag(sample, i) = json_is_true(flag);
    opc_json_leave(reader, before);
  }
  return OPC_OK;
}

static opc_status_t read_operator(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op) {
  const json_t *name = json_object_get(json, "operator");
  const char *text;
  size_t before = opc_json_enter(reader, "operator");
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, name, &text));
  if (strcmp(text, op->name) != 0) return opc_json_fail(reader, "expected %s, not %.100s", op->name, text);
  opc_json_leave(reader, before);
  return OPC_OK;
}

/* {"mode": ["nearest", "up"]} */
static opc_status_t sample_json_read_words(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                           opc_sample_t *out) {
  const char *name, *word;
  json_t *list;
  if (!json_is_object(json)) return opc_json_fail(reader, "expected an object: {\"mode\": [\"nearest\", \"up\"]}");
  json_object_foreach((json_t *)(uintptr_t)json, name, list) {
    const size_t before = opc_json_enter(reader, name);
    const int argument = opc_operator_argument(op, name);
    if (argument < 0) return opc_json_fail(reader, "the operator has no argument of this name");
    if (!opc_argument_is_string(&op->arguments[argument]))
      return opc_json_fail(reader, "only a str argument has words");
    if (!json_is_array(list)) return opc_json_fail(reader, "expected a list of words");
    for (size_t i = 0; i < json_array_size(list); i++) {
      const size_t at = opc_json_enter_index(reader, i);
      OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json_array_get(list, i), &word));
      if ((strlen(word) > OPC_WORD_MAX || !opc_is_plain_word(word, strlen(word))))
        return opc_json_fail(
            reader, "expected a word of at most %d letters, digits, '_' and '-': it becomes part of a case's name",
            OPC_WORD_MAX);
      OPC_RETURN_IF_ERROR(opc_sample_add_word(out, (size_t)argument, word, strlen(word), reader->error));
      opc_json_leave(reader, at);
    }
    opc_json_leave(reader, before);
  }
  return OPC_OK;
}

opc_status_t opc_sample_from_json(const json_t *json, const opc_operator_t *op, const char *folder, opc_sample_t *out,
                                  char *field, size_t field_size, opc_error_t *error) {
  opc_sample_names_t names = {.folder = folder};
  return opc_sample_read(json, op, &names, out, field, field_size, error);
}

typedef opc_status_t part_reader_t(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                   opc_sample_t *out);

static opc_status_t sample_json_read_part(opc_json_reader_t *reader, const json_t *json, const char *field,
                                          part_reader_t *read, const opc_operator_t *op, opc_sample_t *out) {
  const json_t *part = json_object_get(json, field);
  if (!part) return OPC_OK;
  OPC_JSON_MEMBER(reader, field, read(reader, part, op, out));
  return OPC_OK;
}

static opc_status_t sample_json_read_comment(opc_json_reader_t *reader, const json_t *json, opc_sample_t *out) {
  const json_t *comment = json_object_get(json, "comment");
  const char *text = NULL;
  if (!comment) return OPC_OK;
  OPC_JSON_MEMBER(reader, "comment", opc_json_read_string(reader, comment, &text));
  return opc_string_copy_to(text, &out->comment, reader->error);
}

static opc_status_t read_fields(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                opc_sample_t *out) {
  static const char *const fields[] = {"operator",  "name",      "args",  "kwargs",    "expect",        "source",
                                       "relations", "by_recipe", "brief", "unchecked", "uninitialised", "recorded",
                                       "words",     "comment",   NULL}; /* recorded: notes from
                                                                 `opcheck-c record`, for people */
  char there[64];
  if (!json_is_object(json))
    return opc_json_fail(reader, "expected an object, not %s", opc_json_what(json, there, sizeof there));
  OPC_RETURN_IF_ERROR(opc_sample_init(out, op, reader->error));
  OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, json, fields));
  OPC_RETURN_IF_ERROR(sample_json_read_comment(reader, json, out));
  OPC_RETURN_IF_ERROR(read_operator(reader, json, op));
  OPC_RETURN_IF_ERROR(read_name(reader, json, out));
  OPC_RETURN_IF_ERROR(read_source(reader, json, out));
  OPC_RETURN_IF_ERROR(read_search(reader, json, out));
  OPC_RETURN_IF_ERROR(sample_json_read_arguments(reader, json, op, out));
  OPC_RETURN_IF_ERROR(sample_json_read_part(reader, json, "expect", opc_expect_read, op, out));
  OPC_RETURN_IF_ERROR(sample_json_read_part(reader, json, "relations", opc_relations_read, op, out));
  OPC_RETURN_IF_ERROR(sample_json_read_part(reader, json, "words", sample_json_read_words, op, out));
  return opc_sample_name(out, op, reader->error);
}

opc_status_t opc_sample_read(const json_t *json, const opc_operator_t *op, const opc_sample_names_t *names,
                             opc_sample_t *out, char *field, size_t field_size, opc_error_t *error) {
  opc_json_reader_t reader = {
      .folder = names->folder, .error = error, .find_class = names->find_class, .context = names->context};
  *out = (opc_sample_t){0};
  const opc_status_t status = read_fields(&reader, json, op, out);
  if (field && field_size) snprintf(field, field_size, "%s", status != OPC_OK ? reader.path : "");
  if (status != OPC_OK) opc_sample_clear(out);
  return status;
}
