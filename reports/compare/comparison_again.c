#include "reports/compare/comparison_again.h"

#include <string.h>

#include "base/text.h"
#include "model/schema/schema.h"

/* The case with any sample that a search found; "" where the sample has a name. */
static void key_without_sample(const opc_case_id_t *id, char out[OPC_CASE_ID_SIZE]) {
  opc_case_id_t any = *id;
  *out = '\0';
  if (!opc_string_begins(id->sample, "s-")) return;
  opc_string_put(any.sample, sizeof any.sample, "*");
  opc_case_id_format(&any, out);
}

static bool again_watch(json_t *again, const char *key) {
  return !*key || json_object_get(again, key) || json_object_set_new(again, key, json_integer(0)) == 0;
}

json_t *opc_compare_again_of(const opc_compare_run_t *before) {
  json_t *again = json_object(), *problem, *name;
  size_t i, k;
  bool kept = again;
  if (!before) return again;
  json_array_foreach(before->problems, i, problem) {
    json_array_foreach(json_object_get(problem, "cases"), k, name) {
      opc_case_id_t id;
      char any[OPC_CASE_ID_SIZE];
      if (opc_case_id_parse(json_string_value(name), &id, NULL) != OPC_OK) continue;
      key_without_sample(&id, any);
      kept = kept && again_watch(again, json_string_value(name)) && again_watch(again, any);
    }
  }
  if (kept) return again;
  json_decref(again);
  return NULL;
}

static bool add_bits(json_t *again, const char *key, unsigned bits) {
  json_t *known = json_object_get(again, key);
  return !known || json_integer_set(known, json_integer_value(known) | (json_int_t)bits) == 0;
}

bool opc_compare_again_note(json_t *again, const opc_case_id_t *id, opc_verdict_kind_t verdict,
                            opc_skip_reason_t reason) {
  char key[OPC_CASE_ID_SIZE];
  if (json_object_size(again) == 0) return true;
  const unsigned bits = verdict == OPC_VERDICT_PASS   ? OPC_AGAIN_PASSED
                        : verdict != OPC_VERDICT_SKIP ? OPC_AGAIN_FOUND
                        : reason == OPC_SKIP_REJECTED ? OPC_AGAIN_REFUSED
                        : reason == OPC_SKIP_XFAIL    ? OPC_AGAIN_EXCUSED
                                                      : OPC_AGAIN_SKIPPED(reason);
  opc_case_id_format(id, key);
  if (!add_bits(again, key, bits)) return false;
  key_without_sample(id, key);
  return !*key || add_bits(again, key, bits);
}

static unsigned bits_at(const json_t *again, const char *key) {
  return (unsigned)json_integer_value(json_object_get(again, key));
}

unsigned opc_compare_again_find(const json_t *again, const json_t *problem) {
  unsigned own = 0, similar = 0;
  size_t i;
  json_t *name;
  json_array_foreach(json_object_get(problem, "cases"), i, name) {
    opc_case_id_t id;
    char any[OPC_CASE_ID_SIZE];
    if (opc_case_id_parse(json_string_value(name), &id, NULL) != OPC_OK) continue;
    key_without_sample(&id, any);
    own |= bits_at(again, json_string_value(name));
    similar |= bits_at(again, any);
  }
  return own ? own : similar;
}

bool opc_compare_again_has_all(const json_t *again, const json_t *problem) {
  size_t i;
  json_t *name;
  const json_t *cases = json_object_get(problem, "cases");
  json_array_foreach(cases, i, name) {
    opc_case_id_t id;
    char any[OPC_CASE_ID_SIZE];
    if (opc_case_id_parse(json_string_value(name), &id, NULL) != OPC_OK) return false;
    key_without_sample(&id, any);
    if (!bits_at(again, json_string_value(name)) && !bits_at(again, any)) return false;
  }
  return json_integer_value(json_object_get(problem, "count")) <= (json_int_t)json_array_size(cases);
}

/* Of the argument that a problem is about; -1: of none, or the schema does not have it. */
static int position_of_argument(const opc_compare_run_t *run, const json_t *problem) {
  const char *name = json_string_value(json_array_get(json_object_get(problem, "operators"), 0));
  const char *argument = opc_record_text(problem, "argument");
  const char *schema = opc_record_text(json_object_get(run->operators, name ? name : ""), "schema");
  OPC_SCOPED(opc_operator_clear) opc_operator_t op = {0};
  if (!*argument || !*schema || opc_schema_arguments(schema, &op, NULL) != OPC_OK) return -1;
  return opc_operator_argument(&op, argument);
}

const json_t *opc_compare_renamed(const opc_compare_run_t *own, const json_t *problem, const opc_compare_run_t *other) {
  const json_t *operators = json_object_get(problem, "operators");
  const int position = position_of_argument(own, problem);
  size_t i;
  json_t *candidate;
  if (position < 0) return NULL;
  json_array_foreach(other->problems, i, candidate) {
    if (json_equal(json_object_get(candidate, "operators"), operators) &&
        json_equal(json_object_get(candidate, "rule"), json_object_get(problem, "rule")) &&
        json_equal(json_object_get(candidate, "change"), json_object_get(problem, "change")) &&
        !json_equal(json_object_get(candidate, "argument"), json_object_get(problem, "argument")) &&
        !json_object_get(own->ids, opc_record_text(candidate, "id")) &&
        position_of_argument(other, candidate) == position)
      return candidate;
  }
  return NULL;
}
