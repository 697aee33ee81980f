/* Which inputs are differentiated by: all together, or else those that the sample marks, or those that the operator
 * takes. */
#include "checks/autograd/autograd.h"

typedef enum answer { ANSWER_TAKEN, ANSWER_REFUSED, ANSWER_THROWN } answer_t;

/* One backward, to see. What throws is no refusal unless its message says so. */
static opc_status_t answer_of(opc_autograd_point_t *point, answer_t *out, opc_text_t *message, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t first = {0};
  OPC_RETURN_IF_ERROR(
      opc_autograd_both(point, &opc_autograd_forward_plain, &opc_autograd_backward_plain, &first, error));
  *out = first.outcome == OPC_CALL_RETURNED || first.outcome == OPC_CALL_UNCONVERTIBLE ? ANSWER_TAKEN
         : opc_autograd_is_refusal(&first)                                             ? ANSWER_REFUSED
                                                                                       : ANSWER_THROWN;
  if (*out != ANSWER_TAKEN) opc_text_addf(message, "%.*s", opc_autograd_line(&first), opc_text_c(&first.message));
  return OPC_OK;
}

/* In double precision if the operator accepts it; otherwise in its own. *out_usable false: the call itself is refused.
 */
static opc_status_t try_wanted(opc_autograd_point_t *point, opc_case_context_t *context, uint64_t wanted,
                               bool *out_usable, answer_t *out, opc_text_t *message, opc_error_t *error) {
  for (int wide = 1; wide >= 0; wide--) {
    opc_autograd_point_clear(point);
    opc_text_reset(message);
    *out = ANSWER_REFUSED;
    OPC_RETURN_IF_ERROR(opc_autograd_point_make(point, context, wanted, wide == 1, out_usable, message, error));
    if (*out_usable) OPC_RETURN_IF_ERROR(answer_of(point, out, message, error));
    if (*out == ANSWER_TAKEN) return OPC_OK;
  }
  return OPC_OK;
}

/* The bits of the inputs that the operator takes where only one of them requires grad. */
static opc_status_t taken_alone(opc_case_context_t *context, const opc_autograd_parts_t *inputs, uint64_t *out,
                                opc_error_t *error) {
  *out = 0;
  for (size_t i = 0; inputs->count > 1 && i < inputs->count; i++) {
    OPC_SCOPED(opc_autograd_point_clear) opc_autograd_point_t alone = {0};
    OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
    const uint64_t bit = opc_autograd_bit(inputs->items[i].tensor_arg);
    bool usable = false;
    answer_t answer;
    OPC_RETURN_IF_ERROR(try_wanted(&alone, context, bit, &usable, &answer, &message, error));
    if (usable && answer == ANSWER_TAKEN) *out |= bit;
  }
  return OPC_OK;
}

static uint64_t wanted_bits(const opc_autograd_parts_t *inputs) {
  uint64_t bits = 0;
  for (size_t i = 0; i < inputs->count; i++) bits |= opc_autograd_bit(inputs->items[i].tensor_arg);
  return bits;
}

/* A defect whatever the sample marks. */
static bool is_certain(const opc_text_t *message) {
  return opc_torch_says(OPC_TORCH_GRADIENT_SHAPE, opc_text_c(message)) ||
         opc_autograd_saved_was_written(opc_text_c(message));
}

opc_status_t opc_autograd_choose(opc_autograd_point_t *point, opc_case_context_t *context, uint64_t marked,
                                 opc_autograd_choice_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  answer_t answer, all;
  OPC_RETURN_IF_ERROR(try_wanted(point, context, OPC_AUTOGRAD_ALL, &out->usable, &all, &out->message, error));
  uint64_t wanted = marked & wanted_bits(&point->inputs);
  if (all == ANSWER_TAKEN || is_certain(&out->message) || wanted == wanted_bits(&point->inputs)) return OPC_OK;
  if (!wanted && all == ANSWER_REFUSED) OPC_RETURN_IF_ERROR(taken_alone(context, &point->inputs, &wanted, error));
  if (!wanted) return OPC_OK;
  OPC_RETURN_IF_ERROR(try_wanted(point, context, wanted, &out->usable, &answer, &message, error));
  if (answer != ANSWER_TAKEN && !marked) /* together they are refused: the first of them, then */
    OPC_RETURN_IF_ERROR(try_wanted(point, context, wanted & (~wanted + 1), &out->usable, &answer, &message, error));
  out->others_refused = all == ANSWER_REFUSED;
  out->others_throw = all == ANSWER_THROWN;
  if (!out->usable) opc_text_reset(&out->message);
  if (!out->usable) opc_text_add(&out->message, opc_text_c(&message));
  return OPC_OK;
}

void opc_autograd_choice_clear(opc_autograd_choice_t *choice) {
  opc_text_clear(&choice->message);
  *choice = (opc_autograd_choice_t){0};
}
