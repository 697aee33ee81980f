#include "model/case/call_kind.h"

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
