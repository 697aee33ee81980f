/* Makes a backward operator's arguments from those that its forward operator accepted. No search finds a gradient with
 * exactly the sizes of a result.
 *
 * "_foo_backward" is the backward operator of "foo" and of "_foo". Arguments with the same name in both are copied. A
 * gradient has the sizes of its result. Other tensors are results that the forward operator left for it. Numbers that
 * the forward operator does not have are sizes of its input. */
#include <stdlib.h>
#include <string.h>

#include "search/draft/search_inside.h"

typedef struct backward {
  const opc_operator_t *op;
  const opc_search_entry_t *forward;
  opc_seed_t seed;
  opc_sample_t *sample;
  bool given[OPC_SLOTS_MAX]; /* arguments that have their value */
  size_t grads, results;     /* forward outputs used as gradients, and used as they are */
  int dims;                  /* how many sizes of its input were used */
} backward_t;

static bool search_backward_has_word(const char *name, const char *word) {
  size_t length = strlen(word);
  for (const char *at = strstr(name, word); at; at = strstr(at + 1, word))
    if ((at == name || at[-1] == '_') && (at[length] == '\0' || at[length] == '_' || at[length] == 's')) return true;
  return false;
}

/* "int" and "SymInt" count as one type, and an optional argument takes a required one. */
static bool is_same_kind(const opc_type_t *left, const opc_type_t *right) {
  left = opc_type_given(left);
  right = opc_type_given(right);
  bool integers = opc_type_is_integer(left) && opc_type_is_integer(right);
  if (left->kind == OPC_TYPE_LIST && right->kind == OPC_TYPE_LIST)
    return left->fixed_length == right->fixed_length && is_same_kind(left->element, right->element);
  return integers || left->kind == right->kind;
}

static void give(backward_t *b, size_t argument) {
  b->given[argument] = true;
  b->sample->absent[argument] = false;
}

static bool give_copy(backward_t *b, size_t argument, const opc_value_t *value) {
  if (opc_value_copy(value, &b->sample->arguments[argument], NULL) != OPC_OK) return false;
  give(b, argument);
  return true;
}

/* Sizes and dtype of an output, with new values. */
static bool give_gradient(backward_t *b, size_t argument) {
  if (b->grads >= b->forward->output_count) return false;
  const opc_tensor_spec_t *output = b->forward->outputs[b->grads++].spec;
  opc_tensor_spec_t *spec = opc_tensor_spec_new(output->dtype, output->ndim, output->sizes);
  if (!spec) return false;
  spec->dtype_given = true;
  b->sample->arguments[argument] = (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = spec};
  give(b, argument);
  return true;
}

/* The forward operator's argument of the same name. */
static bool give_same(backward_t *b, size_t argument) {
  const opc_operator_t *forward = b->forward->op;
  int same = opc_operator_argument(forward, b->op->arguments[argument].name);
  if (same < 0 || !is_same_kind(&forward->arguments[same].type, &b->op->arguments[argument].type)) return false;
  if (!b->forward->sample.absent[same]) return give_copy(b, argument, &b->forward->sample.arguments[same]);
  b->given[argument] = b->op->arguments[argument].has_default; /* absent in both */
  return b->given[argument];
}

/* A result with the same name, or "output" for the first. Then the results after the first: they exist for the backward
 * operator. */
static bool give_result(backward_t *b, size_t argument) {
  const opc_operator_t *forward = b->forward->op;
  const char *name = b->op->arguments[argument].name;
  size_t count = b->forward->output_count, output = count;
  for (size_t i = 0; i < forward->return_count && i < count; i++)
    if (strcmp(forward->returns[i].name, name) == 0) output = i;
  bool first = search_backward_has_word(name, "result") || search_backward_has_word(name, "output") ||
               search_backward_has_word(name, "out");
  if (output == count && first && count > 0) output = 0;
  if (output == count && b->results + 1 < count) output = ++b->results;
  if (output >= count || !opc_search_output_value(&b->forward->outputs[output], &b->sample->arguments[argument]))
    return false;
  give(b, argument);
  return true;
}

/* The forward operator's first tensor; NULL: it has none. */
static const opc_tensor_spec_t *first_input(const backward_t *b) {
  const opc_sample_t *sample = &b->forward->sample;
  for (size_t i = 0; i < sample->argument_count; i++)
    if (!sample->absent[i] && sample->arguments[i].kind == OPC_VALUE_TENSOR) return sample->arguments[i].tensor;
  return NULL;
}

static bool give_sizes(backward_t *b, size_t argument) {
  const opc_tensor_spec_t *input = first_input(b);
  const opc_type_t *type = opc_type_given(&b->op->arguments[argument].type);
  opc_value_t *value = &b->sample->arguments[argument];
  bool single = type->kind == OPC_TYPE_INT || type->kind == OPC_TYPE_SYMINT;
  bool list =
      type->kind == OPC_TYPE_LIST && (type->element->kind == OPC_TYPE_INT || type->element->kind == OPC_TYPE_SYMINT);
  if (!input || (!single && !list) || (single && b->dims >= input->ndim)) return false;
  if (single) {
    *value = (opc_value_t){.kind = OPC_VALUE_INT, .integer = input->sizes[b->dims++]};
  } else {
    *value = (opc_value_t){.kind = OPC_VALUE_LIST};
    value->list.items = calloc((size_t)input->ndim + 1, sizeof *value->list.items);
    if (!value->list.items) return false;
    for (int i = 0; i < input->ndim; i++)
      value->list.items[value->list.count++] = (opc_value_t){.kind = OPC_VALUE_INT, .integer = input->sizes[i]};
  }
  give(b, argument);
  return true;
}

/* Which gradients are wanted ("output_mask"): all. */
static bool give_mask(backward_t *b, size_t argument) {
  const opc_type_t *type = opc_type_given(&b->op->arguments[argument].type);
  opc_value_t *value = &b->sample->arguments[argument];
  if (type->kind != OPC_TYPE_LIST || type->element->kind != OPC_TYPE_BOOL || type->fixed_length < 1) return false;
  *value = (opc_value_t){.kind = OPC_VALUE_LIST};
  value->list.items = calloc((size_t)type->fixed_length, sizeof *value->list.items);
  if (!value->list.items) return false;
  for (int64_t i = 0; i < type->fixed_length; i++)
    value->list.items[value->list.count++] = (opc_value_t){.kind = OPC_VALUE_BOOL, .boolean = true};
  give(b, argument);
  return true;
}

static bool is_tensor(const backward_t *b, size_t argument) {
  return opc_type_given(&b->op->arguments[argument].type)->kind == OPC_TYPE_TENSOR;
}

/* False: a required argument has no value. */
static bool search_backward_fill(backward_t *b) {
  size_t count = b->op->argument_count;
  for (size_t i = 0; i < count; i++) {
    bool gradient = is_tensor(b, i) && search_backward_has_word(b->op->arguments[i].name, "grad");
    if (gradient && give_gradient(b, i)) continue;
    (void)(!gradient && give_same(b, i));
  }
  for (size_t i = 0; i < count; i++) {
    if (b->given[i] || (is_tensor(b, i) ? give_result(b, i) : give_sizes(b, i) || give_mask(b, i)) ||
        b->op->arguments[i].has_default)
      continue;
    if (!opc_seed_value(&b->seed, &b->op->arguments[i], &b->sample->arguments[i])) return false;
    give(b, i);
  }
  return true;
}

void opc_search_view_backward(const opc_search_view_t *view, const opc_operator_t *op, opc_rng_t *rng,
                              opc_candidates_t *out) {
  if (op->argument_count > OPC_SLOTS_MAX) return;
  for (size_t i = 0; i < view->count; i++) {
    opc_sample_t made;
    backward_t b = {.op = op, .forward = view->entries[i], .sample = &made};
    if (!opc_search_is_backward_of(op, view->entries[i]->op) || opc_sample_init(&made, op, NULL) != OPC_OK) continue;
    made.source = OPC_SAMPLE_SEARCHED;
    opc_seed_begin(&b.seed, rng);
    if (first_input(&b)) opc_seed_follow(&b.seed, first_input(&b));
    if (search_backward_fill(&b)) (void)opc_candidates_add(out, &made, OPC_FAMILY_BACKWARD);
    opc_sample_clear(&made);
  }
}
