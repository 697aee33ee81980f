/* Moves, vectors in registers, addresses of one space as those of another, predicates. */
#include <string.h>
#include <time.h>

#include "cuda/ptx/ptx_machine.h"

OPC_PTX_UNARY(move_all, uint64_t, uint64_t, x)

opc_ptx_run_t *opc_ptx_move(const opc_ptx_form_t *form) {
  (void)form;
  return move_all;
}

void opc_ptx_nothing_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  (void)warp;
  (void)op;
  (void)mask;
}

opc_ptx_run_t *opc_ptx_nothing(const opc_ptx_form_t *form) {
  (void)form;
  return opc_ptx_nothing_run;
}

/* Instructions that have run stand for the clock, so that it is the same in each run. */
void opc_ptx_clock(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t now = warp->block->launch->outcome->lane_instructions;
  const uint64_t value = op->form.mode == OPC_PTX_SPECIAL_CLOCK_HI ? now >> 32 : now;
  OPC_PTX_EACH(mask, { d[l] = value; });
}

/* ---- vectors ---- */

static void pack_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const unsigned parts = op->slots - 1u, bits = opc_ptx_type_size(op->form.type[0]) * 8 / parts;
  const uint64_t low = (UINT64_C(1) << bits) - 1;
  OPC_PTX_EACH(mask, {
    uint64_t out = 0;
    for (unsigned i = 0; i < parts; i++) out |= (opc_ptx_in(warp, op, i + 1)[l] & low) << bits * i;
    d[l] = out;
  });
}

static void unpack_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const unsigned parts = op->slots - 1u, bits = opc_ptx_type_size(op->form.type[0]) * 8 / parts;
  const uint64_t *const a = opc_ptx_in(warp, op, parts), low = (UINT64_C(1) << bits) - 1;
  OPC_PTX_EACH(mask, {
    const uint64_t x = a[l]; /* it may be one of the parts */
    for (unsigned i = 0; i < parts; i++) opc_ptx_out(warp, op, i)[l] = x >> bits * i & low;
  });
}

opc_ptx_run_t *opc_ptx_move_pack(const opc_ptx_form_t *form) {
  (void)form;
  return pack_run;
}

opc_ptx_run_t *opc_ptx_move_unpack(const opc_ptx_form_t *form) {
  (void)form;
  return unpack_run;
}

/* ---- addresses ---- */

static uint64_t window_of(opc_ptx_space_t space) {
  static const uint64_t windows[OPC_PTX_SPACES] = {[OPC_PTX_SPACE_SHARED] = OPC_PTX_SHARED_WINDOW,
                                                   [OPC_PTX_SPACE_LOCAL] = OPC_PTX_LOCAL_WINDOW,
                                                   [OPC_PTX_SPACE_PARAM] = OPC_PTX_PARAM_WINDOW};
  return windows[space];
}

static void to_generic(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), window = window_of(op->form.space);
  OPC_PTX_EACH(mask, { d[l] = a[l] + window; });
}

static void from_generic(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), window = window_of(op->form.space);
  OPC_PTX_EACH(mask, { d[l] = a[l] - window; });
}

opc_ptx_run_t *opc_ptx_move_to_generic(const opc_ptx_form_t *form) {
  (void)form;
  return to_generic;
}

opc_ptx_run_t *opc_ptx_move_from_generic(const opc_ptx_form_t *form) {
  (void)form;
  return from_generic;
}

static void isspacep_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const uint64_t *const a = opc_ptx_in(warp, op, 1), window = window_of(op->form.space);
  uint32_t out = 0;
  OPC_PTX_EACH(mask, { out |= (uint32_t)((a[l] & OPC_PTX_WINDOW_MASK) == window) << l; });
  opc_ptx_out_mask(warp, op, 0, mask, out);
}

opc_ptx_run_t *opc_ptx_move_isspacep(const opc_ptx_form_t *form) {
  (void)form;
  return isspacep_run;
}

/* ---- predicates ---- */

#define PREDICATE(name, expression)                                                     \
  static void name##_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) { \
    const uint32_t x = opc_ptx_in_mask(warp, op, 1);                                    \
    const uint32_t y = opc_ptx_in_mask(warp, op, op->slots - 1u);                       \
    (void)y;                                                                            \
    opc_ptx_out_mask(warp, op, 0, mask, expression);                                    \
  }                                                                                     \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) {                           \
    (void)form;                                                                         \
    return name##_run;                                                                  \
  }
PREDICATE(predicate_and, x &y)
PREDICATE(predicate_or, x | y)
PREDICATE(predicate_xor, x ^ y)
PREDICATE(predicate_not, ~x)
PREDICATE(predicate_move, x)
