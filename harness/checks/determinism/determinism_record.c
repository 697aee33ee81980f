#include "checks/determinism/determinism.h"

#include <stdlib.h>
#include <string.h>

/* Followed by the message, then each item followed by its bytes. */
typedef struct head {
  opc_record_key_t key;
  opc_call_outcome_t outcome;
  size_t message_length, item_count;
} head_t;

static bool record_put(void *room, size_t size, size_t *used, const void *bytes, size_t count) {
  if (count > size - *used) return false;
  if (count) memcpy((char *)room + *used, bytes, count);
  *used += count;
  return true;
}

static bool record_get(const void *from, size_t size, size_t *used, void *bytes, size_t count) {
  if (count > size - *used) return false;
  if (count) memcpy(bytes, (const char *)from + *used, count);
  *used += count;
  return true;
}

size_t opc_record_write(void *room, size_t size, opc_record_key_t key, const opc_trial_outcome_t *outcome) {
  const char *message = opc_text_c(&outcome->message);
  const opc_result_t *result = &outcome->result;
  head_t head = {
      .key = key, .outcome = outcome->outcome, .message_length = strlen(message), .item_count = result->count};
  size_t used = 0;
  bool fits =
      record_put(room, size, &used, &head, sizeof head) && record_put(room, size, &used, message, head.message_length);
  for (size_t i = 0; fits && i < result->count; i++) {
    const opc_result_item_t *item = &result->items[i];
    fits = record_put(room, size, &used, item, sizeof *item) &&
           (!item->bytes || record_put(room, size, &used, item->bytes, item->size));
  }
  return fits ? used : 0;
}

static bool read_item(const void *bytes, size_t size, size_t *used, opc_result_item_t *out) {
  if (!record_get(bytes, size, used, out, sizeof *out)) {
    *out = (opc_result_item_t){0};
    return false;
  }
  out->borrowed = false;
  if (!out->bytes) return true;
  out->bytes = out->size < size ? malloc(out->size + 1) : NULL;
  return out->bytes && record_get(bytes, size, used, out->bytes, out->size);
}

size_t opc_record_read(const void *bytes, size_t size, opc_record_key_t *out_key, opc_trial_outcome_t *out) {
  head_t head;
  size_t used = 0;
  *out = (opc_trial_outcome_t){0};
  if (!record_get(bytes, size, &used, &head, sizeof head) || head.message_length > size - used) return 0;
  *out_key = head.key;
  out->outcome = head.outcome;
  opc_text_add_bytes(&out->message, (const char *)bytes + used, head.message_length);
  used += head.message_length;
  out->result.items = head.item_count < size ? calloc(head.item_count + 1, sizeof *out->result.items) : NULL;
  bool whole = out->result.items;
  for (size_t i = 0; whole && i < head.item_count; i++) {
    out->result.count = i + 1;
    whole = read_item(bytes, size, &used, &out->result.items[i]);
  }
  if (!whole) opc_trial_outcome_clear(out);
  return whole ? used : 0;
}
