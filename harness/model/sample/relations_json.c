/* The field "relations" of a sample. */
#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "model/sample/relations.h"

/* ---- writing ---- */

static json_t *place_to_json(const opc_size_place_t *place) {
  json_t *json = json_array();
  opc_json_append(&json, opc_json_text(place->path));
  if (place->dim != OPC_PLACE_INTEGER) opc_json_append(&json, json_integer(place->dim));
  if (place->dim != OPC_PLACE_INTEGER && place->more) opc_json_append(&json, json_integer((json_int_t)place->more));
  return json;
}

static json_t *places_to_json(const opc_relation_t *relation) {
  json_t *json = json_array();
  for (size_t i = 0; i < relation->place_count; i++) opc_json_append(&json, place_to_json(&relation->places[i]));
  return json;
}

static json_t *relation_to_json(const opc_relation_t *relation) {
  json_t *json = json_object();
  const char *bound = relation->inclusive ? "at_most" : "below";
  if (relation->kind == OPC_RELATION_UNKNOWN) {
    opc_json_put(&json, "unknown",
                 relation->values ? opc_json_text(relation->values) : place_to_json(&relation->places[0]));
    return json;
  }
  if (relation->values) opc_json_put(&json, "values", opc_json_text(relation->values));
  switch (relation->kind) {
    case OPC_RELATION_EQUAL:
      opc_json_put(&json, "equal", places_to_json(relation));
      break;
    case OPC_RELATION_BOUND:
      opc_json_put(&json, bound,
                   relation->place_count ? places_to_json(relation) : json_integer((json_int_t)relation->number));
      break;
    case OPC_RELATION_ASCENDING:
      opc_json_put(&json, "ascend", json_true());
      if (relation->movable) opc_json_put(&json, "movable", json_true());
      break;
    case OPC_RELATION_SUM:
      opc_json_put(&json, "sum", place_to_json(&relation->places[0]));
      break;
    case OPC_RELATION_FIXED:
      opc_json_put(&json, "fixed", place_to_json(&relation->places[0]));
      opc_json_put(&json, "size", json_integer((json_int_t)relation->number));
      break;
    case OPC_RELATION_MULTIPLE:
      opc_json_put(&json, "multiple", place_to_json(&relation->places[0]));
      opc_json_put(&json, "of", json_integer((json_int_t)relation->number));
      break;
    case OPC_RELATION_LEAST:
      opc_json_put(&json, "least",
                   relation->values ? json_integer((json_int_t)relation->number) : place_to_json(&relation->places[0]));
      if (!relation->values) opc_json_put(&json, "size", json_integer((json_int_t)relation->number));
      break;
    case OPC_RELATION_UNKNOWN:
      break;
  }
  if (relation->checked) opc_json_put(&json, "checked", json_true());
  return json;
}

json_t *opc_relations_to_json(const opc_relations_t *relations) {
  json_t *json = json_array();
  for (size_t i = 0; i < relations->count; i++) opc_json_append(&json, relation_to_json(&relations->items[i]));
  return json;
}

/* ---- reading ---- */

/* ["x", 0], ["offsets", 0, 1], or an integer argument, ["n"]. */
static opc_status_t read_place(opc_json_reader_t *reader, const json_t *json, opc_relation_t *relation) {
  const char *path = json_string_value(json_array_get(json, 0));
  const size_t count = json_array_size(json);
  int64_t dim = OPC_PLACE_INTEGER, more = 0;
  if (!path || count > 3)
    return opc_json_fail(reader, "expected a place: [\"x\", 0] for dimension 0 of x, or [\"n\"] for an integer");
  for (size_t i = 1; i < count; i++)
    OPC_JSON_ITEM(
        reader, i,
        opc_json_read_integer(reader, json_array_get(json, i), i == 1 ? 0 : INT64_MIN, i == 1 ? &dim : &more));
  if (dim >= OPC_MAX_DIMS) return opc_json_fail(reader, "no tensor has so many dimensions");
  if (more > INT32_MAX || more < -INT32_MAX) return opc_json_fail(reader, "no size is so much larger than another");
  return opc_relation_add_place(relation, path, (int)dim, more, reader->error);
}

static opc_status_t relations_json_read_places(opc_json_reader_t *reader, const json_t *json, size_t least,
                                               opc_relation_t *relation) {
  if (!json_is_array(json) || json_array_size(json) < least)
    return opc_json_fail(reader, "expected a list of %s: [[\"x\", 0], [\"y\", 0]]",
                         least > 1 ? "two places or more" : "places");
  for (size_t i = 0; i < json_array_size(json); i++)
    OPC_JSON_ITEM(reader, i, read_place(reader, json_array_get(json, i), relation));
  return OPC_OK;
}

static const struct {
  const char *field;
  opc_relation_kind_t kind;
  bool inclusive, of_values;
} forms[] = {{"equal", OPC_RELATION_EQUAL, false, false},
             {"below", OPC_RELATION_BOUND, false, true},
             {"at_most", OPC_RELATION_BOUND, true, true},
             {"ascend", OPC_RELATION_ASCENDING, false, true},
             {"sum", OPC_RELATION_SUM, false, true},
             {"fixed", OPC_RELATION_FIXED, false, false},
             {"multiple", OPC_RELATION_MULTIPLE, false, false},
             {"least", OPC_RELATION_LEAST, false, false},
             {"unknown", OPC_RELATION_UNKNOWN, false, false}};
enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

/* The number for "fixed" and "multiple". */
static opc_status_t relations_json_read_number(opc_json_reader_t *reader, const json_t *number, const char *field,
                                               opc_relation_t *relation) {
  if (json_is_integer(number)) relation->number = json_integer_value(number);
  if (!json_is_integer(number) || relation->number < 0)
    return opc_json_fail(reader, "needs \"%s\" beside it, a number", field);
  return OPC_OK;
}

static opc_status_t read_form(opc_json_reader_t *reader, const json_t *json, const json_t *whole,
                              opc_relation_t *relation) {
  bool ascends = false;
  const char *argument;
  switch (relation->kind) {
    case OPC_RELATION_EQUAL:
      return relations_json_read_places(reader, json, 2, relation);
    case OPC_RELATION_BOUND:
      if (json_is_integer(json)) return opc_json_read_integer(reader, json, INT64_MIN, &relation->number);
      return relations_json_read_places(reader, json, 1, relation);
    case OPC_RELATION_ASCENDING:
      OPC_RETURN_IF_ERROR(opc_json_read_boolean(reader, json, &ascends));
      return ascends ? OPC_OK : opc_json_fail(reader, "is true, or left out");
    case OPC_RELATION_SUM:
      return read_place(reader, json, relation);
    case OPC_RELATION_LEAST:
      if (relation->values) return opc_json_read_integer(reader, json, INT64_MIN, &relation->number);
      /* fall through */
    case OPC_RELATION_FIXED:
    case OPC_RELATION_MULTIPLE: {
      const char *field = relation->kind == OPC_RELATION_MULTIPLE ? "of" : "size";
      OPC_RETURN_IF_ERROR(relations_json_read_number(reader, json_object_get(whole, field), field, relation));
      return read_place(reader, json, relation);
    }
    case OPC_RELATION_UNKNOWN:
      if (json_is_array(json)) return read_place(reader, json, relation);
      OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json, &argument));
      return opc_string_copy_to(argument, &relation->values, reader->error);
  }
  return OPC_OK;
}

/* *out_form: the relation's field, for messages. */
static opc_status_t read_relation(opc_json_reader_t *reader, const json_t *json, opc_relation_t *relation,
                                  const char **out_form) {
  static const char *const fields[] = {"equal", "values", "below",    "at_most", "ascend",
                                       "sum",   "fixed",  "multiple", "least",   "unknown",
                                       "size",  "of",     "checked",  "movable", NULL};
  const json_t *values = json_object_get(json, "values"), *checked = json_object_get(json, "checked"),
               *movable = json_object_get(json, "movable");
  size_t form = FORM_COUNT, before;
  if (!json_is_object(json)) return opc_json_fail(reader, "expected an object: {\"equal\": [[\"x\", 0], [\"y\", 0]]}");
  OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, json, fields));
  for (size_t i = 0; i < FORM_COUNT; i++) {
    if (!json_object_get(json, forms[i].field)) continue;
    if (form < FORM_COUNT)
      return opc_json_fail(reader, "says \"%s\" and \"%s\": a relation is one of them", forms[form].field,
                           forms[i].field);
    form = i;
  }
  if (form == FORM_COUNT)
    return opc_json_fail(reader, "expected one of equal, below, at_most, ascend, sum, fixed, multiple, least, unknown");
  relation->kind = forms[form].kind;
  relation->inclusive = forms[form].inclusive && forms[form].kind == OPC_RELATION_BOUND;
  *out_form = forms[form].field;
  const bool of_values = forms[form].of_values ||
                         (relation->kind == OPC_RELATION_LEAST && json_is_integer(json_object_get(json, "least")));
  if (of_values != ((bool)values))
    return opc_json_fail(reader, "\"%s\" is said %s", forms[form].field,
                         values ? "of places, not of \"values\"" : "of \"values\", which is missing");
  if (values) {
    const char *path;
    before = opc_json_enter(reader, "values");
    OPC_RETURN_IF_ERROR(opc_json_read_string(reader, values, &path));
    if (!(relation->values = opc_string_copy(path))) return opc_out_of_memory(reader->error);
    opc_json_leave(reader, before);
  }
  OPC_JSON_MEMBER(reader, forms[form].field,
                  read_form(reader, json_object_get(json, forms[form].field), json, relation));
  if (movable) {
    before = opc_json_enter(reader, "movable");
    OPC_RETURN_IF_ERROR(opc_json_read_boolean(reader, movable, &relation->movable));
    if (relation->kind != OPC_RELATION_ASCENDING) return opc_json_fail(reader, "goes only with \"ascend\"");
    opc_json_leave(reader, before);
  }
  if (checked) OPC_JSON_MEMBER(reader, "checked", opc_json_read_boolean(reader, checked, &relation->checked));
  return OPC_OK;
}

/* Checks one relation at a time, so that an error names the right one. */
static opc_status_t relations_json_check(opc_json_reader_t *reader, const opc_relation_t *relation, const char *form,
                                         const opc_operator_t *op, const opc_sample_t *sample) {
  const opc_relations_t one = {.items = (opc_relation_t *)relation, .count = 1};
  char message[400];
  size_t place = 0;
  if (relation->kind == OPC_RELATION_UNKNOWN && relation->values && opc_operator_argument(op, relation->values) < 0) {
    opc_json_enter(reader, form);
    return opc_json_fail(reader, "%s has no argument \"%.60s\"", op->name, relation->values);
  }
  if (opc_relations_hold(&one, sample, op, NULL, &place, message, sizeof message)) return OPC_OK;
  opc_json_enter(reader, form);
  if (relation->kind == OPC_RELATION_EQUAL || (relation->kind == OPC_RELATION_BOUND && relation->place_count))
    opc_json_enter_index(reader, place);
  return opc_json_fail(reader, "%s", message);
}

opc_status_t opc_relations_read(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                opc_sample_t *sample) {
  if (!json_is_array(json)) return opc_json_fail(reader, "expected the list of relations");
  opc_relations_free(sample->relations);
  sample->relations = calloc(1, sizeof *sample->relations);
  if (!sample->relations) return opc_out_of_memory(reader->error);
  for (size_t i = 0; i < json_array_size(json); i++) {
    OPC_SCOPED(opc_relation_clear) opc_relation_t relation = {0};
    const char *form = "";
    size_t before = opc_json_enter_index(reader, i);
    OPC_RETURN_IF_ERROR(read_relation(reader, json_array_get(json, i), &relation, &form));
    OPC_RETURN_IF_ERROR(relations_json_check(reader, &relation, form, op, sample));
    OPC_RETURN_IF_ERROR(opc_relations_add(sample->relations, &relation, reader->error));
    opc_json_leave(reader, before);
  }
  return OPC_OK;
}
