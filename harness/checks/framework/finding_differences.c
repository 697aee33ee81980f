/* Evidence "differences": a small result, element by element, for reports that draw it. */
#include <string.h>

#include "checks/framework/check.h"
#include "model/json/json_write.h"

enum { ELEMENTS_DRAWN = 64 };

static const char *element_at(const opc_result_item_t *item, int64_t element) {
  return (const char *)item->bytes + (size_t)element * item->meta.itemsize;
}

/* "1.5" */
static json_t *number_json(const opc_result_item_t *item, int64_t element) {
  char number[96];
  opc_number_format(item->meta.dtype, element_at(item, element), number, sizeof number);
  return opc_json_string(number);
}

static bool can_be_drawn(const opc_result_item_t *item) {
  return item->kind == OPC_VALUE_TENSOR && item->bytes && item->meta.dtype_known && item->meta.ndim <= OPC_MAX_DIMS &&
         item->meta.numel > 0 && item->meta.numel <= ELEMENTS_DRAWN &&
         item->size == (size_t)item->meta.numel * item->meta.itemsize;
}

static bool is_same_element(const opc_result_item_t *left, const opc_result_item_t *right, int64_t element) {
  return left->meta.dtype == right->meta.dtype &&
         memcmp(element_at(left, element), element_at(right, element), left->meta.itemsize) == 0;
}

void opc_finding_differences(opc_finding_t *finding, const opc_difference_t *difference, const opc_result_t *got,
                             const opc_result_t *wanted, opc_element_equal_t *equal, void *context) {
  if (difference->kind != OPC_DIFFERENCE_VALUE || json_object_get(finding->evidence, "differences")) return;
  const opc_result_item_t *left = &got->items[difference->item], *right = &wanted->items[difference->item];
  if (!can_be_drawn(left) || !can_be_drawn(right) || !opc_tensor_same_sizes(&left->meta, &right->meta)) return;
  json_t *here = json_array(), *there = json_array(), *wrong = json_array(), *object = json_object();
  for (int64_t i = 0; i < left->meta.numel; i++) {
    opc_json_append(&here, number_json(left, i));
    opc_json_append(&there, number_json(right, i));
    if (!is_same_element(left, right, i) && !(equal && equal(difference->item, i, context)))
      opc_json_append(&wrong, json_integer((json_int_t)i));
  }
  opc_json_put(&object, "output", json_string(left->path));
  opc_json_put(&object, "shape", opc_json_integers(left->meta.sizes, (size_t)left->meta.ndim));
  opc_json_put(&object, "got", here);
  opc_json_put(&object, "wanted", there);
  opc_json_put(&object, "wrong", wrong);
  if (object) opc_finding_evidence(finding, "differences", object);
}
