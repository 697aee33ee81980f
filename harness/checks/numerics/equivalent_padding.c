#include "checks/numerics/equivalent.h"

#include <stdlib.h>
#include <string.h>

#include "checks/compare/compare.h"

static const char length_words[] = "len lens length lengths seqlen seqlens";

/* A batch of rows, and what lies past the end of one of them. */
typedef struct padding {
  const opc_again_t *again;
  const opc_call_t *call;
  size_t lengths, batch; /* tensor arguments */
  bool integers;         /* of the batch */
  bool at_front;         /* the row's elements are its last ones, and the padding comes first */
  int row_dim, length_dim;
  int64_t row, length;
  opc_error_t *error;
} padding_t;

static const opc_tensor_meta_t *batch_of(const padding_t *p) { return &p->call->tensor_args[p->batch].before; }

static bool is_lengths(const opc_tensor_arg_t *arg) {
  const opc_tensor_meta_t *meta = &arg->before;
  return (meta->dtype == OPC_DTYPE_INT32 || meta->dtype == OPC_DTYPE_INT64) && meta->ndim == 1 && meta->numel > 0 &&
         opc_argument_is_named(arg->path, length_words);
}

/* Lengths that sum to a size split a row, and so do ends that ascend: they leave nothing out. */
static bool split_a_row(const opc_relations_t *relations, const char *lengths) {
  if (opc_argument_is_named(lengths, "cu cum cumulative")) return true;
  for (size_t i = 0; i < relations->count; i++) {
    const opc_relation_t *relation = &relations->items[i];
    if ((relation->kind == OPC_RELATION_SUM || relation->kind == OPC_RELATION_ASCENDING) &&
        strcmp(relation->values, lengths) == 0)
      return true;
  }
  return false;
}

static bool relation_has_place(const opc_relation_t *relation, const char *path, int dim) {
  for (size_t i = 0; i < relation->place_count; i++)
    if (relation->places[i].dim == dim && relation->places[i].more == 0 && strcmp(relation->places[i].path, path) == 0)
      return true;
  return false;
}

/* The operator wants a length for each row, or reads no more. */
static bool has_length_each(const opc_relations_t *relations, const char *lengths, const char *batch, int row_dim) {
  for (size_t i = 0; i < relations->count; i++)
    if (relations->items[i].kind == OPC_RELATION_EQUAL && relation_has_place(&relations->items[i], lengths, 0) &&
        relation_has_place(&relations->items[i], batch, row_dim))
      return true;
  return false;
}

/* The batch, and its dimension that bounds the lengths: the first or the second, with the rows in the other one. */
static bool find_batch(padding_t *p, const opc_relations_t *relations, const opc_relation_t *relation) {
  const opc_tensor_arg_t *lengths = &p->call->tensor_args[p->lengths];
  if (relation->kind != OPC_RELATION_BOUND || !relation->inclusive || strcmp(relation->values, lengths->path) != 0)
    return false;
  for (size_t i = 0; i < relation->place_count; i++) {
    const opc_size_place_t *place = &relation->places[i];
    if (place->dim < 0 || place->dim > 1) continue;
    for (size_t k = 0; k < p->call->tensor_arg_count; k++) {
      const opc_tensor_arg_t *arg = &p->call->tensor_args[k];
      if (strcmp(arg->path, place->path) != 0 || arg->before.ndim < 2 || arg->before.ndim > OPC_MAX_DIMS ||
          opc_tensor_arg_is_mutable(arg) || opc_dtype_is_inexact(arg->before.dtype) == p->integers ||
          !has_length_each(relations, lengths->path, arg->path, 1 - place->dim))
        continue;
      p->batch = k;
      p->length_dim = place->dim;
      p->row_dim = 1 - place->dim;
      return p->again->replay->tensor_args[k].bytes;
    }
  }
  return false;
}

static void index_of_element(const opc_tensor_meta_t *meta, int64_t element, int64_t *index) {
  for (int dim = meta->ndim; dim-- > 0;) {
    index[dim] = element % meta->sizes[dim];
    element /= meta->sizes[dim];
  }
}

static bool is_padding_at(const padding_t *p, int64_t row, int64_t place) {
  const int64_t most = batch_of(p)->sizes[p->length_dim];
  return row == p->row && (p->at_front ? place < most - p->length : place >= p->length);
}

static bool is_padding(const padding_t *p, int64_t element) {
  int64_t index[OPC_MAX_DIMS];
  index_of_element(batch_of(p), element, index);
  return is_padding_at(p, index[p->row_dim], index[p->length_dim]);
}

/* The padding of a result of the same rows may be a copy, or computed from padding alone. */
typedef struct result_padding {
  const padding_t *padding;
  const opc_result_t *result;
} result_padding_t;

static bool is_padding_of_result(size_t item, int64_t element, void *context) {
  const result_padding_t *of = context;
  const padding_t *p = of->padding;
  const opc_tensor_meta_t *meta = &of->result->items[item].meta, *batch = batch_of(p);
  int64_t index[OPC_MAX_DIMS];
  if (of->result->items[item].kind != OPC_VALUE_TENSOR || meta->ndim < 2 || meta->ndim > OPC_MAX_DIMS) return false;
  index_of_element(meta, element, index);
  for (int row = 0; row < meta->ndim; row++) {
    for (int length = 0; length < meta->ndim; length++) {
      if (row != length && meta->sizes[row] == batch->sizes[p->row_dim] &&
          meta->sizes[length] == batch->sizes[p->length_dim] && is_padding_at(p, index[row], index[length]))
        return true;
    }
  }
  return false;
}

/* Numbers that the batch has elsewhere, which every operator takes, and then larger ones. */
enum { ELSEWHERE, LARGE, NEGATIVE, CHANGES };

static void change_padding(const padding_t *p, const char *own, int change) {
  const struct opc_replay_tensor_arg *of = &p->again->replay->tensor_args[p->batch];
  const size_t width = opc_dtype_size(of->dtype);
  memcpy(of->bytes, own, (size_t)of->numel * width);
  for (int64_t e = 0; e < of->numel; e++) {
    char *at = (char *)of->bytes + (size_t)e * width;
    const double number = change == LARGE ? 1000 : -1000;
    opc_number_t stored = {.kind = OPC_NUMBER_FLOAT, .f = number};
    if (!is_padding(p, e)) continue;
    if (opc_dtype_class(of->dtype) == OPC_CLASS_COMPLEX)
      stored = (opc_number_t){.kind = OPC_NUMBER_COMPLEX, .c = {.re = number}};
    if (change == ELSEWHERE) memcpy(at, own + (size_t)(of->numel - 1 - e) * width, width);
    else opc_number_store(stored, of->dtype, at);
  }
}

static opc_status_t report_padding(const padding_t *p, const opc_result_t *usual, const opc_result_t *changed,
                                   const opc_difference_t *difference, opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  char place[64];
  bool random = false;
  int64_t first = 0;
  OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(p->again, changed, &random, p->error));
  if (random) return OPC_OK;
  while (!is_padding(p, first)) first++;
  opc_index_text(batch_of(p), first, place, sizeof place);
  opc_difference_text(difference, changed, usual, "with the numbers before the change it", &text);
  return opc_finding_fail(finding, OPC_RULE_equivalent_padding,
                          "%s[%lld] is %lld, so that %s%s lies behind it. Other numbers there change the result: %s",
                          p->call->tensor_args[p->lengths].path, (long long)p->row, (long long)p->length,
                          p->call->tensor_args[p->batch].path, place, opc_text_c(&text));
}

/* Other indices or tokens than those of the batch may be none. */
static int changes_of(const padding_t *p) { return p->integers ? ELSEWHERE + 1 : CHANGES; }

/* The call with changed padding, where the result is not padding itself. *out_returned: false if it was refused. */
static opc_status_t call_changed(const padding_t *p, const char *own, int change, const opc_result_t *usual,
                                 opc_result_t *changed, bool *out_returned, opc_difference_t *out) {
  opc_again_t again = *p->again;
  result_padding_t of = {.padding = p, .result = usual};
  again.label = OPC_CALL_LABEL(WITH_OTHERS, "other numbers past a length");
  change_padding(p, own, change);
  OPC_RETURN_IF_ERROR(opc_again_try(&again, changed, out_returned, p->error));
  if (*out_returned) *out = opc_result_compare(changed, usual, is_padding_of_result, &of);
  return OPC_OK;
}

/* The operator ignores what comes before the last elements of the row. */
static opc_status_t comes_first(const padding_t *p, const char *own, const opc_result_t *usual, bool *out) {
  padding_t front = *p;
  front.at_front = *out = true;
  for (int change = 0; *out && change < changes_of(p); change++) {
    OPC_SCOPED(opc_result_clear) opc_result_t changed = {0};
    opc_difference_t difference = {0};
    OPC_RETURN_IF_ERROR(call_changed(&front, own, change, usual, &changed, out, &difference));
    *out = *out && difference.kind == OPC_DIFFERENCE_NONE;
  }
  return OPC_OK;
}

static opc_status_t check_row(const padding_t *p, const char *own, bool *out_tried, opc_finding_t *finding) {
  OPC_SCOPED(opc_result_clear) opc_result_t usual = {0};
  opc_again_t again = *p->again;
  bool accepted = false, first = false;
  again.label = OPC_CALL_LABEL(WITH_OTHERS, "a shorter length");
  OPC_RETURN_IF_ERROR(opc_again_try(&again, &usual, &accepted, p->error));
  for (int change = 0; accepted && !finding->decided && !first && change < changes_of(p); change++) {
    OPC_SCOPED(opc_result_clear) opc_result_t changed = {0};
    opc_difference_t difference = {0};
    bool returned = false;
    OPC_RETURN_IF_ERROR(call_changed(p, own, change, &usual, &changed, &returned, &difference));
    *out_tried = *out_tried || returned;
    if (difference.kind == OPC_DIFFERENCE_NONE) continue;
    OPC_RETURN_IF_ERROR(comes_first(p, own, &usual, &first));
    change_padding(p, own, change);
    if (!first) OPC_RETURN_IF_ERROR(report_padding(p, &usual, &changed, &difference, finding));
  }
  return OPC_OK;
}

/* A row that is full gets a length of one less. */
static opc_status_t check_rows(padding_t *p, size_t *out_rows, opc_finding_t *finding) {
  enum { ROWS = 4 };
  const struct opc_replay_tensor_arg *lengths = &p->again->replay->tensor_args[p->lengths],
                                     *batch = &p->again->replay->tensor_args[p->batch];
  const size_t size = (size_t)batch->numel * opc_dtype_size(batch->dtype);
  const int64_t most = batch_of(p)->sizes[p->length_dim];
  OPC_SCOPED(opc_scope_free) char *own = malloc(size + 1);
  if (!own) return opc_out_of_memory(p->error);
  memcpy(own, batch->bytes, size);
  for (p->row = 0; !finding->decided && p->row < lengths->numel && p->row < ROWS; p->row++) {
    char *at = (char *)lengths->bytes + (size_t)p->row * opc_dtype_size(lengths->dtype);
    const opc_number_t before = opc_number_load(lengths->dtype, at);
    bool tried = false;
    p->length = before.i < most ? before.i : most - 1;
    if (p->length < 1) continue;
    opc_number_store((opc_number_t){.kind = OPC_NUMBER_INT, .i = p->length}, lengths->dtype, at);
    const opc_status_t status = check_row(p, own, &tried, finding);
    opc_number_store(before, lengths->dtype, at);
    memcpy(batch->bytes, own, size);
    OPC_RETURN_IF_ERROR(status);
    *out_rows += tried;
  }
  return OPC_OK;
}

opc_status_t opc_equivalent_padding(const opc_again_t *again, const opc_call_t *call, bool integers, size_t *out_rows,
                                    opc_finding_t *finding, opc_error_t *error) {
  const opc_relations_t *relations = again->context->base->relations;
  for (size_t i = 0; relations && i < call->tensor_arg_count; i++) {
    padding_t p = {.again = again, .call = call, .lengths = i, .integers = integers, .error = error};
    if (!is_lengths(&call->tensor_args[i]) || split_a_row(relations, call->tensor_args[i].path) ||
        !again->replay->tensor_args[i].bytes)
      continue;
    for (size_t k = 0; !finding->decided && k < relations->count; k++)
      if (find_batch(&p, relations, &relations->items[k])) OPC_RETURN_IF_ERROR(check_rows(&p, out_rows, finding));
  }
  return OPC_OK;
}
