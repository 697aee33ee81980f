/* Turns a rejection's message into edited arguments. The families stand in the order of their measured worth, with the
 * number of candidates that each may make of one message. A new family is a row and a function. */
#include "search/repair/search_repair.h"

static const struct {
  opc_search_family_t family;
  void (*run)(opc_repair_t *r);
  size_t limit; /* candidates per message */
} repairs[] = {
    {OPC_FAMILY_RANK_FROM_TO, opc_repair_rank_from_to, 8},
    {OPC_FAMILY_SHAPE_PAIR, opc_repair_shape_pair, 6},
    {OPC_FAMILY_VIEW, opc_repair_view, 8},
    {OPC_FAMILY_GOT_EXPECTED, opc_repair_got_expected, 8},
    {OPC_FAMILY_SCALAR_TYPE, opc_repair_scalar_type, 8},
    {OPC_FAMILY_FLOAT8, opc_repair_float8, 6},
    {OPC_FAMILY_NOT_IMPLEMENTED, opc_repair_not_implemented, 9},
    {OPC_FAMILY_DTYPE_UNSAID, opc_repair_dtype_unsaid, 8},
    {OPC_FAMILY_SHAPE_LITERAL, opc_repair_shape_literal, 6},
    {OPC_FAMILY_EXPRESSION, opc_repair_expression, 6},
    {OPC_FAMILY_SQUARE, opc_repair_square, 4},
    {OPC_FAMILY_RANK, opc_repair_rank_wanted, 10},
    {OPC_FAMILY_DIVISIBLE, opc_repair_divisible, 6},
    {OPC_FAMILY_NUMBER_RANGE, opc_repair_number_range, 6},
    {OPC_FAMILY_LIST_LENGTH, opc_repair_list_length, 5},
    {OPC_FAMILY_DTYPE_ARGUMENT, opc_repair_dtype_argument, 6},
    {OPC_FAMILY_SAME_DTYPE, opc_repair_same_dtype, 4},
    {OPC_FAMILY_NUMBER_SWAP, opc_repair_number_swap, 6},
    {OPC_FAMILY_SAME_SHAPE, opc_repair_same_shape, 12},
    {OPC_FAMILY_INDEX_RANGE, opc_repair_index_range, 4},
    {OPC_FAMILY_INT_VALUES, opc_repair_int_values, 10},
    {OPC_FAMILY_STRING_WORD, opc_repair_string_word, 8},
    {OPC_FAMILY_OPTIONAL, opc_repair_optional, 4},
    {OPC_FAMILY_REQUIRES_GRAD, opc_repair_requires_grad, 1},
    {OPC_FAMILY_NUMBER_SET, opc_repair_number_set, 6},
    {OPC_FAMILY_NAMED, opc_repair_named, 6},
};

void opc_repair_message(const opc_operator_t *op, const opc_sample_t *sample, const char *message, opc_rng_t *rng,
                        opc_candidates_t *out) {
  opc_clue_t clue;
  opc_slot_t slots[OPC_SLOTS_MAX];
  opc_repair_t r = {.op = op, .sample = sample, .clue = &clue, .rng = rng, .out = out};
  opc_clue_read(&clue, message);
  size_t count = opc_slots_of(sample, slots);
  for (int level = 2; level >= 0; level--) {
    for (size_t i = 0; i < count; i++) {
      int named = opc_clue_names(&clue, op->arguments[slots[i].argument].name);
      if (named != level) continue;
      r.slots[r.count] = slots[i];
      r.order[r.count] = i;
      r.named[r.count++] = named;
      if (named > r.certainty) r.certainty = named;
    }
  }
  for (size_t i = 0; i < sizeof repairs / sizeof repairs[0]; i++) {
    r.family = repairs[i].family;
    r.limit = repairs[i].limit;
    repairs[i].run(&r);
  }
}
