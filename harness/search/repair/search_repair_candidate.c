/* What the families do with a message's tuple: begin and end candidates, ask about its slots. */
#include "search/repair/search_repair.h"

#include <string.h>

bool opc_repair_begin(opc_repair_t *r) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  if (r->limit == 0) return false;
  opc_sample_t *sample = opc_candidates_add(r->out, r->sample, r->family);
  if (!sample) return false;
  opc_slots_of(sample, slots);
  for (size_t i = 0; i < r->count; i++) r->copy[i] = slots[r->order[i]];
  return true;
}

opc_sample_t *opc_repair_sample(opc_repair_t *r) { return &r->out->items[r->out->count - 1].sample; }

void opc_repair_end(opc_repair_t *r, bool changed) {
  if (!changed) opc_candidates_drop_last(r->out);
  else r->limit--;
}

bool opc_repair_is_tensor(const opc_repair_t *r, size_t slot) { return r->slots[slot].value->kind == OPC_VALUE_TENSOR; }
const opc_tensor_spec_t *opc_repair_spec(const opc_repair_t *r, size_t slot) { return r->slots[slot].value->tensor; }
bool opc_repair_is_integer(const opc_repair_t *r, size_t slot) { return r->slots[slot].value->kind == OPC_VALUE_INT; }

bool opc_repair_is_number(const opc_repair_t *r, size_t slot) {
  return opc_repair_is_integer(r, slot) || r->slots[slot].value->kind == OPC_VALUE_FLOAT;
}

void opc_repair_set_number(opc_repair_t *r, size_t slot, int64_t number) {
  if (opc_repair_begin(r)) opc_repair_end(r, opc_edit_number(r->copy[slot].value, number));
}

bool opc_repair_is_meant(const opc_repair_t *r, size_t slot) {
  return r->certainty == 0 || r->named[slot] == r->certainty;
}

const char *opc_repair_name(const opc_repair_t *r, size_t slot) {
  return r->op->arguments[r->slots[slot].argument].name;
}

void opc_repair_refill(const opc_repair_t *r, size_t slot) {
  opc_tensor_spec_t *spec = r->copy[slot].value->tensor;
  bool boxes = opc_seed_synonyms(opc_repair_name(r, slot), "boxes");
  if (!boxes && r->named[slot] == r->certainty && opc_clue_has(r->clue, "boxes|rois|bbox")) boxes = spec->ndim == 2;
  if (boxes) opc_seed_fill("boxes", spec);
}

void opc_refusal_words(const char *message, opc_refusal_word_t *use, void *context) {
  static const char *const marks[] = {"either ", "one of ", "must be "};
  static const char separators[] = " ,.;:'\"()[]";
  enum { QUOTED_MAX = 64, WORDS_MAX = 6, WORD_LEAST = 3, WORD_MAX = 32 };
  for (const char *c = message; *c; c++) {
    const size_t length = strcspn(c + 1, "'\"`");
    if (strchr("'\"`", *c) && length > 0 && length < QUOTED_MAX && c[1 + length] != '\0') use(c + 1, length, context);
  }
  for (size_t m = 0; m < sizeof marks / sizeof marks[0]; m++) {
    const char *c = strstr(message, marks[m]);
    c = c ? c + strlen(marks[m]) : "";
    for (int words = 0; words < WORDS_MAX && *c; words++) {
      const size_t length = strcspn(c, separators);
      if (length >= WORD_LEAST && length < WORD_MAX) use(c, length, context);
      c += length;
      c += strspn(c, separators);
    }
  }
}
