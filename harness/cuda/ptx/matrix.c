/* Products of small matrices that a warp holds in its registers (mma.sync), and loading them (ldmatrix). Where an
 * element is, is the same for all types: register r of A has row lane / 4 + 8 * (r % 2), and columns from lane % 4
 * times the elements of a register on, and further for r / 2. Source: PTX ISA, "Matrix Fragments for mma". */
#include <string.h>

#include "cuda/ptx/ptx_machine.h"
#include "cuda/ptx/ptx_numbers.h"

enum { ROWS = 16, COLUMNS = 8, DEPTH_MOST = 32, PARTS = 4 };

/* ---- mma ---- */

typedef struct matrices {
  double a[ROWS][DEPTH_MOST], b[DEPTH_MOST][COLUMNS];
} matrices_t;

static uint32_t mma_depth(opc_ptx_says_t shape) {
  switch (shape) {
    case OPC_PTX_MODE_M16N8K4:
      return 4;
    case OPC_PTX_MODE_M16N8K8:
      return 8;
    case OPC_PTX_MODE_M16N8K16:
      return 16;
    default:
      return 32;
  }
}

static uint32_t element_bits(opc_ptx_says_t type) { return opc_ptx_type_size(type) * 8; }

static double mma_element(uint32_t bits, opc_ptx_says_t type) {
  switch (type) {
    case OPC_PTX_TYPE_S8:
      return (int8_t)bits;
    case OPC_PTX_TYPE_U8:
      return (uint8_t)bits;
    case OPC_PTX_TYPE_TF32: /* the low bits are not looked at */
      return (double)opc_ptx_float_of(bits & UINT32_C(0xffffe000));
    default:
      return opc_ptx_half_value((uint16_t)bits, type, false);
  }
}

static void matrices_read(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t first_a, uint32_t first_b,
                          uint32_t end_b, matrices_t *out) {
  const opc_ptx_says_t type_a = op->form.type[1], type_b = op->form.type[2];
  const uint32_t bits = element_bits(type_a), each = 32 / bits;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    const unsigned row = lane / 4, column = lane % 4 * each;
    for (uint32_t r = 0; r < first_b - first_a; r++)
      for (uint32_t j = 0; j < each; j++)
        out->a[row + 8 * (r & 1)][column + j + 4 * each * (r >> 1)] =
            mma_element((uint32_t)opc_ptx_in(warp, op, first_a + r)[lane] >> bits * j, type_a);
    for (uint32_t r = 0; r < end_b - first_b; r++)
      for (uint32_t j = 0; j < each; j++)
        out->b[column + j + 4 * each * r][row] =
            mma_element((uint32_t)opc_ptx_in(warp, op, first_b + r)[lane] >> bits * j, type_b);
  }
}

/* A product and its sum in double precision, rounded once: at least as near as what PTX asks for. */
static double dot(const matrices_t *matrices, uint32_t depth, unsigned row, unsigned column) {
  double sum = 0;
  for (uint32_t k = 0; k < depth; k++) sum += matrices->a[row][k] * matrices->b[k][column];
  return sum;
}

static uint64_t whole_sum(double sum, uint64_t c, bool saturates) {
  const int64_t exact = (int64_t)sum + (int32_t)c;
  if (!saturates) return (uint32_t)exact;
  return (uint32_t)(exact > INT32_MAX ? INT32_MAX : exact < INT32_MIN ? INT32_MIN : exact);
}

/* The sum of an element, as bits of the result's type. */
static uint64_t element_sum(const opc_ptx_op_t *op, double sum, uint64_t c) {
  const opc_ptx_says_t type = op->form.type[0];
  if (type == OPC_PTX_TYPE_S32) return whole_sum(sum, c, (op->form.flags & OPC_PTX_FLAG_SATFINITE) != 0);
  if (type == OPC_PTX_TYPE_F32) return opc_ptx_float_out((float)(sum + (double)opc_ptx_float_of(c)), 0);
  const opc_ptx_inexact_t exact = {sum + opc_ptx_half_value((uint16_t)c, type, false), 0};
  return opc_ptx_half_round(exact, type, OPC_PTX_ROUND_RN);
}

/* Where the registers of B and C begin; those of D are as many as those of C. */
static void mma_parts(const opc_ptx_form_t *form, uint32_t *out_parts, uint32_t *out_b, uint32_t *out_c) {
  const uint32_t depth = mma_depth(form->mode), each = 32 / element_bits(form->type[1]);
  *out_parts = form->type[0] == OPC_PTX_TYPE_F16 ? 2 : PARTS;
  *out_b = *out_parts + ROWS * depth / OPC_PTX_LANES / each;
  *out_c = *out_b + depth * COLUMNS / OPC_PTX_LANES / each;
}

uint32_t opc_ptx_matrix_registers(const opc_ptx_form_t *form, opc_ptx_family_t *family) {
  uint32_t parts, first_b, first_c;
  if (family == opc_ptx_matrix_load) return form->vector;
  if (family != opc_ptx_matrix_mma) return 0;
  mma_parts(form, &parts, &first_b, &first_c);
  return first_c + parts;
}

static void mma_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const uint32_t depth = mma_depth(op->form.mode);
  const bool halves = op->form.type[0] == OPC_PTX_TYPE_F16;
  uint32_t parts, first_b, first_c;
  mma_parts(&op->form, &parts, &first_b, &first_c);
  matrices_t matrices;
  uint64_t out[OPC_PTX_LANES][PARTS];
  matrices_read(warp, op, parts, first_b, first_c, &matrices);
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    for (uint32_t i = 0; i < PARTS; i++) {
      const uint64_t c = halves ? opc_ptx_in(warp, op, first_c + i / 2)[lane] >> 16 * (i & 1)
                                : opc_ptx_in(warp, op, first_c + i)[lane];
      out[lane][i] = element_sum(op, dot(&matrices, depth, lane / 4 + 8 * (i >> 1), lane % 4 * 2 + (i & 1)), c);
    }
  }
  for (uint32_t i = 0; i < parts; i++) {
    uint64_t *const d = opc_ptx_out(warp, op, i);
    OPC_PTX_EACH(mask, { d[l] = halves ? out[l][2 * i] | out[l][2 * i + 1] << 16 : out[l][i]; });
  }
}

opc_ptx_run_t *opc_ptx_matrix_mma(const opc_ptx_form_t *form) {
  (void)form;
  return mma_run;
}

/* ---- ldmatrix ---- */

/* Lane n of each eight lanes has the address of row n; a lane gets two elements of a row, or of a column. */
static void ldmatrix_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  enum { ROW = 16, ROW_LANES = 8 };
  const bool transposed = (op->form.flags & OPC_PTX_FLAG_TRANS) != 0;
  const uint32_t rows = op->slots * ROW_LANES, wanted = rows == OPC_PTX_LANES ? mask : mask & ((1u << rows) - 1);
  opc_ptx_touch_t touch;
  opc_ptx_touch(warp, op, wanted, ROW, OPC_PTX_READ, &touch);
  opc_ptx_watch_races(warp, op, &touch, NULL, ROW);
  const uint32_t good = touch.global | touch.shared | touch.other;
  for (uint32_t i = 0; i < op->slots; i++) {
    uint64_t *const d = opc_ptx_out(warp, op, i);
    for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
      uint32_t value = 0, missing = 0;
      if ((mask >> lane & 1) == 0) continue;
      for (unsigned k = 0; k < 2; k++) {
        const unsigned row = i * ROW_LANES + (transposed ? lane % 4 * 2 + k : lane / 4);
        const unsigned column = transposed ? lane / 4 : lane % 4 * 2 + k;
        uint16_t half = 0;
        if ((good >> row & 1) == 0) continue;
        memcpy(&half, touch.at[row] + sizeof half * column, sizeof half);
        value |= (uint32_t)half << 16 * k;
        missing |= (opc_ptx_missing_bytes(warp, &touch, row) >> 2 * column & 3) << 2 * k;
      }
      d[lane] = value;
      opc_ptx_watch_gathered(warp, op, &touch, i, lane, missing);
    }
  }
}

opc_ptx_run_t *opc_ptx_matrix_load(const opc_ptx_form_t *form) {
  (void)form;
  return ldmatrix_run;
}
