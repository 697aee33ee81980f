#include "model/case/case.h"

#include <string.h>

#define X(constant, text) text,
static const char *const verdict_names[] = {OPC_VERDICTS(X)};
static const char *const reason_names[] = {OPC_SKIP_REASONS(X)};
#undef X

const char *opc_verdict_name(opc_verdict_kind_t verdict) {
  return (unsigned)verdict < OPC_VERDICT_COUNT ? verdict_names[verdict] : "unknown";
}

const char *opc_skip_reason_name(opc_skip_reason_t reason) {
  return (unsigned)reason < OPC_SKIP_COUNT ? reason_names[reason] : "unknown";
}

const char *opc_severity_name(opc_severity_t severity) {
  return severity == OPC_SEVERITY_WARNING ? "warning" : "error";
}

int opc_verdict_find(const char *name) {
  for (int i = 0; name && i < OPC_VERDICT_COUNT; i++)
    if (strcmp(verdict_names[i], name) == 0) return i;
  return -1;
}

opc_skip_reason_t opc_skip_reason_find(const char *name) {
  for (int i = OPC_SKIP_NONE + 1; name && i < OPC_SKIP_COUNT; i++)
    if (strcmp(reason_names[i], name) == 0) return (opc_skip_reason_t)i;
  return OPC_SKIP_NONE;
}

static const char *const sources[] = {
#define X(constant, text) text,
    OPC_SOURCES(X)
#undef X
};

static const char *const changes[] = {
#define X(constant, text) text,
    OPC_INPUT_CHANGES(X)
#undef X
};

void opc_provenance_format(const opc_provenance_t *provenance, char out[OPC_PROVENANCE_SIZE]) {
  out[0] = '\0';
  if (provenance->source == OPC_SOURCE_NONE) return;
  snprintf(out, OPC_PROVENANCE_SIZE, "%s/%s", sources[provenance->source], changes[provenance->change]);
}

bool opc_provenance_parse(const char *text, opc_provenance_t *out) {
  char known[OPC_PROVENANCE_SIZE];
  for (int source = OPC_SOURCE_NONE + 1; text && source < OPC_SOURCE_COUNT; source++) {
    for (int change = 0; change < OPC_INPUT_CHANGE_COUNT; change++) {
      *out = (opc_provenance_t){.source = (opc_source_t)source, .change = (opc_input_change_t)change};
      opc_provenance_format(out, known);
      if (strcmp(known, text) == 0) return true;
    }
  }
  *out = (opc_provenance_t){.source = OPC_SOURCE_NONE};
  return false;
}

bool opc_provenance_is_valid(const opc_provenance_t *provenance) {
  return provenance->source != OPC_SOURCE_NONE && provenance->source != OPC_SOURCE_SEARCHED &&
         provenance->change != OPC_INPUT_ALONE;
}

int opc_provenance_rank(const opc_provenance_t *provenance) {
  if (provenance->source == OPC_SOURCE_NONE) return 0;
  if (provenance->change == OPC_INPUT_ALONE) return OPC_PROVENANCE_RANKS - 1;
  int rank = provenance->change == OPC_INPUT_RELATED ? 2 : provenance->plain ? 0 : 1;
  return provenance->source == OPC_SOURCE_SEARCHED ? rank + 3 : rank;
}

#define CASE_FORM "ns::op.overload/check/device/dtype/SAMPLE/VARIANT, \"-\" for a part that does not apply"

static const char *part_text(const char *part) { return part[0] ? part : "-"; }

void opc_case_id_format(const opc_case_id_t *id, char out[OPC_CASE_ID_SIZE]) {
  _Static_assert(sizeof(opc_case_id_t) + 6 <= OPC_CASE_ID_SIZE, "every id fits");
  snprintf(out, OPC_CASE_ID_SIZE, "%s/%s/%s/%s/%s/%s", part_text(id->operator_name), part_text(id->check),
           part_text(id->device), part_text(id->dtype), part_text(id->sample), part_text(id->variant));
}

opc_status_t opc_case_id_parse(const char *text, opc_case_id_t *out, opc_error_t *error) {
  *out = (opc_case_id_t){0};
  const struct {
    const char *name;
    char *buffer;
    size_t size;
  } parts[] = {
      {"operator", out->operator_name, sizeof out->operator_name},
      {"check", out->check, sizeof out->check},
      {"device", out->device, sizeof out->device},
      {"dtype", out->dtype, sizeof out->dtype},
      {"sample", out->sample, sizeof out->sample},
      {"variant", out->variant, sizeof out->variant},
  };
  const size_t count = sizeof parts / sizeof parts[0];
  if (!text) return opc_error_set(error, OPC_ERR_USAGE, "no case id; it looks like " CASE_FORM);

  size_t slashes = 0;
  for (const char *at = text; *at; at++) slashes += *at == '/';
  if (slashes + 1 < count)
    return opc_error_set(error, OPC_ERR_USAGE, "case id \"%s\" has %zu parts, not %zu; it looks like " CASE_FORM, text,
                         slashes + 1, count);

  for (size_t i = 0; i < count; i++) {
    size_t length = strcspn(text, "/");
    /* Only the first part can contain slashes: a hand-written schema may have any name. */
    for (; i == 0 && slashes + 1 > count; slashes--) length += 1 + strcspn(text + length + 1, "/");
    if (length == 0)
      return opc_error_set(error, OPC_ERR_USAGE, "the %s of the case id is empty; it looks like " CASE_FORM,
                           parts[i].name);
    if (length >= parts[i].size)
      return opc_error_set(error, OPC_ERR_USAGE, "the %s of the case id has %zu characters, more than the %zu that fit",
                           parts[i].name, length, parts[i].size - 1);
    if (!(length == 1 && text[0] == '-')) memcpy(parts[i].buffer, text, length);
    text += length + 1;
  }
  if (!strstr(out->operator_name, "::"))
    return opc_error_set(error, OPC_ERR_USAGE, "\"%s\" is not an operator's name; a case id looks like " CASE_FORM,
                         part_text(out->operator_name));
  return OPC_OK;
}

int opc_case_id_complexity(const opc_case_id_t *id) {
  int steps = 0;
  if (*id->variant && strcmp(id->variant, "plain") != 0) {
    steps = 1;
    for (const char *at = id->variant; *at; at++) steps += *at == '+';
  }
  return steps * 2 + (*id->dtype != '\0');
}

size_t opc_case_changed_argument(const char *variant) {
  const size_t length = strcspn(variant, ".[");
  const bool all = strncmp(variant, "all.", 4) == 0, method = strcmp(variant + length, ".called") == 0;
  return variant[length] == '\0' || all || method ? 0 : length;
}

static const struct {
  opc_call_whose_t whose;
  const char *before, *after;
} kinds[OPC_CALL_KIND_COUNT] = {
#define OPC_CALL_KIND(name, whose, before, after) {OPC_CALL_WHOSE_##whose, before, after},
#include "model/case/call_kind.def"
#undef OPC_CALL_KIND
};

opc_call_kind_t opc_call_kind_from(uint32_t number) {
  return number < OPC_CALL_KIND_COUNT ? (opc_call_kind_t)number : OPC_CALL_KIND_NONE;
}

opc_call_whose_t opc_call_kind_whose(opc_call_kind_t kind) { return kinds[kind].whose; }

void opc_call_kind_describe(opc_call_kind_t kind, const char *detail, opc_text_t *out) {
  const char *before = kinds[kind].before, *after = kinds[kind].after;
  const size_t start = out->length;
  opc_text_add(out, before);
  if (detail[0] != '\0') opc_text_addf(out, !after ? " (%s)" : before[0] ? " %s" : "%s", detail);
  if (after && after[0]) opc_text_addf(out, " %s", after);
  if (out->length > start) opc_words_out(out->data + start);
}
