#include "search/engine/search_state.h"

enum {
  FAR_VALUES = 7,
  FAR_IN_TWO_BYTES = 15013, /* for float64 it is within the guarded bytes beside a tensor */
  FAR_IN_FOUR_BYTES = 1900000003,
  DATA_LARGEST = 100,
  BYTE_LARGEST = 255
};
static const int64_t far_in_eight_bytes = (int64_t)1 << 45; /* for float32 it is no address at all */

/* The smallest of the far values; negative ones are the same with a minus. Nothing is mapped that far away. Megabytes
 * away lies other memory of the process: one run can read it, the next cannot. Values of one byte are not far: an
 * operator may have a table with an entry for each. */
static int64_t far_from(opc_dtype_t dtype) {
  switch (opc_dtype_size(dtype)) {
    case 8:
      return far_in_eight_bytes;
    case 4:
      return FAR_IN_FOUR_BYTES;
    case 2:
      return FAR_IN_TWO_BYTES;
    default:
      return (opc_dtype_class(dtype) == OPC_CLASS_SIGNED ? INT8_MAX : UINT8_MAX) + 1 - FAR_VALUES;
  }
}

static opc_tensor_spec_t *integers_of(const opc_slot_t *slot) {
  return opc_tensor_holds_integers(slot->value) ? slot->value->tensor : NULL;
}
static bool is_signed(const opc_tensor_spec_t *spec) { return opc_dtype_class(spec->dtype) == OPC_CLASS_SIGNED; }
static bool is_far(const opc_tensor_spec_t *spec) {
  return spec->fill.kind == OPC_FILL_RANGE &&
         (spec->fill.lo >= far_from(spec->dtype) || spec->fill.lo <= -far_from(spec->dtype));
}
static bool is_below(const opc_tensor_spec_t *spec) { return spec->fill.lo < 0; }

/* All tensors except those whose values a message or another operator's result asked for. */
static bool may_be_data(const opc_tensor_spec_t *spec) {
  return spec && spec->fill.kind != OPC_FILL_FULL && spec->fill.kind != OPC_FILL_VALUES &&
         spec->fill.kind != OPC_FILL_FILE;
}

static void set_range(opc_tensor_spec_t *spec, int64_t lo, int64_t hi) {
  spec->fill.kind = OPC_FILL_RANGE;
  spec->fill.lo = lo;
  spec->fill.hi = hi;
}

static void set_far(opc_tensor_spec_t *spec, bool below) {
  int64_t from = far_from(spec->dtype), to = from + FAR_VALUES;
  if (below && is_signed(spec)) set_range(spec, 1 - to, 1 - from);
  else set_range(spec, from, to);
}

static void set_data(opc_tensor_spec_t *spec, bool below) {
  int64_t largest = spec->dtype == OPC_DTYPE_UINT8 ? BYTE_LARGEST : DATA_LARGEST;
  set_range(spec, below && is_signed(spec) ? -largest : 0, largest + 1);
}

static bool is_out(const opc_operator_t *op, const opc_slot_t *slot) {
  return op->arguments[slot->argument].kwarg_only && op->arguments[slot->argument].alias.is_write;
}

void opc_option_integers_begin(const opc_operator_t *op, const opc_sample_t *sample, opc_candidates_t *out) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  size_t chosen[OPC_SLOTS_MAX], found = 0;
  const size_t count = opc_slots_of(sample, slots);
  for (size_t i = 0; i < count; i++) {
    if (may_be_data(integers_of(&slots[i])) && !is_out(op, &slots[i])) chosen[found++] = i;
  }
  for (size_t one = 0; found > 0 && one < (found > 1 ? found + 1 : 1); one++) { /* 0: all of them */
    opc_sample_t *copy = opc_candidates_add(out, sample, OPC_FAMILY_OPTION);
    if (!copy) return;
    (void)opc_slots_of(copy, slots);
    for (size_t k = 0; k < found; k++) {
      if (one == 0 || one == k + 1) set_far(slots[chosen[k]].value->tensor, false);
    }
  }
}

typedef struct asked {
  bool far;
  bool below, both; /* negative ones were asked about, and are possible */
} asked_t;

static asked_t asked_with(const opc_sample_t *sample) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  const size_t count = opc_slots_of(sample, slots);
  asked_t asked = {0};
  for (size_t i = 0; i < count; i++) {
    const opc_tensor_spec_t *spec = integers_of(&slots[i]);
    if (!spec || !is_far(spec)) continue;
    asked.far = true;
    asked.below |= is_below(spec);
    asked.both |= is_signed(spec);
  }
  return asked;
}

bool opc_option_integers_are_far(const opc_sample_t *sample) { return asked_with(sample).far; }

void opc_option_integers_go_on(const opc_sample_t *far, bool within, opc_candidates_t *out) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  const asked_t asked = asked_with(far);
  if (!asked.far || (!within && !asked.below)) return;
  opc_sample_t *copy = opc_candidates_add(out, far, OPC_FAMILY_OPTION);
  const size_t count = copy ? opc_slots_of(copy, slots) : 0;
  for (size_t i = 0; i < count; i++) {
    opc_tensor_spec_t *spec = integers_of(&slots[i]);
    if (!spec || !is_far(spec)) continue;
    if (asked.both && !asked.below) set_far(spec, true);
    else set_data(spec, asked.below && within);
  }
}
