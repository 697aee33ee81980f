#include "model/case/case.h"

#include <stdio.h>
#include <string.h>

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
