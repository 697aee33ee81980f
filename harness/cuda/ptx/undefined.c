/* Values that nothing has written: which bytes of registers, predicates and shared memory have no defined value, and
 * where such a value matters. A load alone is no finding, nor is a copy to global memory of what was loaded from there:
 * the copy counts as not written either. A value that was calculated from it, or that comes from shared memory, is
 * reported where it is stored, and any value where it decides a branch or an address.
 *
 * Until a warp has loaded one, all this costs nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_machine.h"

/* A byte of shared memory. From CALCULATED on, its origin is added; a copy has another OPC_PTX_ORIGINS. */
enum { DEFINED = 0, NOT_WRITTEN, COPIED, CALCULATED };
#define NO_ORIGIN UINT32_MAX

static bool values_are_watched(const opc_ptx_warp_t *warp) {
  const opc_ptx_launch_state_t *launch = warp->block->launch;
  return (launch->launch->watch & OPC_PTX_WATCH_VALUES) != 0 || opc_ptx_is_sampled(launch);
}

/* A sampled block: what it does from here on depends on a value that is not known. */
static void block_ends(const opc_ptx_warp_t *warp) { warp->block->launch->stop = true; }

/* ---- where a value was loaded ---- */

static uint32_t origin_add(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch, unsigned lane) {
  opc_ptx_launch_state_t *launch = warp->block->launch;
  for (uint32_t i = 0; i < launch->origin_count; i++)
    if (launch->origins[i].op == op) return i;
  const uint32_t at = launch->origin_count < OPC_PTX_ORIGINS ? launch->origin_count++ : OPC_PTX_ORIGINS - 1;
  const bool shared = (touch->shared >> lane & 1) != 0;
  launch->origins[at] = (opc_ptx_origin_t){.op = op,
                                           .block = warp->block->number,
                                           .thread = warp->number * OPC_PTX_LANES + lane,
                                           .space = shared ? OPC_PTX_SPACE_SHARED : OPC_PTX_SPACE_GLOBAL,
                                           .address = touch->address[lane],
                                           .bytes = touch->bytes};
  return at;
}

/* stored_to: 0: not in global memory */
static void report_use_at(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane, uint32_t origin,
                          uint64_t stored_to, const char *use) {
  opc_ptx_launch_state_t *launch = warp->block->launch;
  if (opc_ptx_is_sampled(launch)) return;
  const opc_ptx_origin_t *from = &launch->origins[origin];
  if (!opc_ptx_finding_is_new(launch, op, from->op, OPC_PTX_UNINITIALISED)) return;
  opc_ptx_finding_t *finding = opc_ptx_finding_add(warp, op, lane, OPC_PTX_UNINITIALISED);
  opc_ptx_finding_access(launch, finding, from->space, from->address, from->bytes, OPC_PTX_READ);
  finding->other = opc_ptx_side_of(launch, from->op, from->block, from->thread);
  finding->stored_to = stored_to;
  (void)snprintf(finding->text, sizeof finding->text, "%s", use);
}

static void report_use(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane, uint32_t origin, const char *use) {
  report_use_at(warp, op, lane, origin, 0, use);
}

/* ---- registers ---- */

static bool shades_make(opc_ptx_warp_t *warp) {
  const opc_ptx_program_t *program = warp->program;
  if (!warp->shades) {
    warp->shades = malloc(program->registers * sizeof *warp->shades);
    warp->predicate_shades = malloc(program->predicates * sizeof *warp->predicate_shades);
  }
  if (!warp->shades || !warp->predicate_shades) return false;
  if (!warp->shaded) {
    memset(warp->shades, 0, program->registers * sizeof *warp->shades);
    memset(warp->predicate_shades, 0, program->predicates * sizeof *warp->predicate_shades);
  }
  warp->shaded = true;
  return true;
}

void opc_ptx_shades_clear(opc_ptx_warp_t *warp) {
  free(warp->shades);
  free(warp->predicate_shades);
}

static void shade_set(opc_ptx_shade_t *shade, unsigned lane, uint8_t bytes, bool calculated, uint32_t origin) {
  const uint32_t bit = UINT32_C(1) << lane;
  shade->bytes[lane] = bytes;
  if (bytes == 0) return;
  shade->calculated = calculated ? shade->calculated | bit : shade->calculated & ~bit;
  shade->origin = origin;
}

/* ---- loads and stores ---- */

/* What a lane's access finds. */
typedef struct missing {
  uint32_t bytes;  /* bit i: byte i has no value */
  bool calculated; /* it is not merely a copy from global memory */
  uint32_t origin; /* of what was stored there; NO_ORIGIN: this access is the first that sees it */
} missing_t;

static void missing_byte(unsigned char state, uint32_t byte, missing_t *out) {
  if (state == DEFINED) return;
  out->bytes |= UINT32_C(1) << byte;
  if (state == NOT_WRITTEN || (state >= CALCULATED && state < CALCULATED + OPC_PTX_ORIGINS)) out->calculated = true;
  if (state >= CALCULATED) out->origin = (state - CALCULATED) % (uint32_t)OPC_PTX_ORIGINS;
}

static missing_t missing_at(const opc_ptx_warp_t *warp, const opc_ptx_touch_t *touch, unsigned lane) {
  const opc_written_t *written = warp->block->launch->launch->written;
  missing_t out = {.origin = NO_ORIGIN};
  if ((touch->unknown >> lane & 1) != 0) out.bytes = UINT32_MAX;
  if ((touch->shared >> lane & 1) != 0) {
    const unsigned char *state = warp->block->shared_state + touch->address[lane];
    for (uint32_t i = 0; i < touch->bytes; i++) missing_byte(state[i], i, &out);
  } else if ((touch->global >> lane & 1) != 0 && written) {
    out.bytes = opc_written_missing(written, touch->address[lane], touch->bytes);
  }
  return out;
}

static bool shared_is_defined(const opc_ptx_warp_t *warp, const opc_ptx_touch_t *touch) {
  unsigned any = 0;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((touch->shared >> lane & 1) == 0) continue;
    const unsigned char *state = warp->block->shared_state + touch->address[lane];
    for (uint32_t i = 0; i < touch->bytes; i++) any |= state[i];
  }
  return any == 0;
}

/* The bytes from the lowest address of global memory to the end of the highest. */
static opc_ptx_range_t span_of(const opc_ptx_touch_t *touch) {
  opc_ptx_range_t out = {UINT64_MAX, 0};
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((touch->global >> lane & 1) == 0) continue;
    if (touch->address[lane] < out.begin) out.begin = touch->address[lane];
    if (touch->address[lane] + touch->bytes > out.end) out.end = touch->address[lane] + touch->bytes;
  }
  return out;
}

static bool global_is_defined(const opc_ptx_warp_t *warp, const opc_ptx_touch_t *touch) {
  const opc_written_t *written = warp->block->launch->launch->written;
  if (touch->unknown != 0) return false;
  if (!written || touch->global == 0 || opc_written_everything(written)) return true;
  const opc_ptx_range_t span = span_of(touch);
  return span.end - span.begin <= 4096 && opc_written_count_missing(written, span.begin, span.end - span.begin) == 0;
}

void opc_ptx_watch_load(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch, uint32_t mask,
                        uint32_t part_bytes) {
  const opc_ptx_says_t type = op->form.type[0];
  const bool is_signed = type == OPC_PTX_TYPE_S8 || type == OPC_PTX_TYPE_S16 || type == OPC_PTX_TYPE_S32;
  if (!values_are_watched(warp)) return;
  if (!warp->shaded && shared_is_defined(warp, touch) && global_is_defined(warp, touch)) return;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((mask >> lane & 1) == 0) continue;
    const missing_t missing = missing_at(warp, touch, lane);
    if ((missing.bytes == 0 && !warp->shaded) || !shades_make(warp)) continue;
    uint32_t origin = missing.origin;
    if (missing.bytes != 0 && origin == NO_ORIGIN) origin = origin_add(warp, op, touch, lane);
    for (uint32_t i = 0; i < touch->bytes / part_bytes; i++) {
      uint32_t bytes = missing.bytes >> i * part_bytes & ((1u << part_bytes) - 1);
      if (is_signed && (bytes >> (part_bytes - 1) & 1) != 0) bytes |= 0xffu << part_bytes;
      shade_set(&warp->shades[op->slot[i]], lane, (uint8_t)bytes, missing.calculated, origin);
    }
  }
}

void opc_ptx_watch_gathered(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch, uint32_t slot,
                            unsigned lane, uint32_t missing) {
  if (!values_are_watched(warp) || (missing == 0 && !warp->shaded) || !shades_make(warp)) return;
  const unsigned from = touch->shared != 0 ? (unsigned)__builtin_ctz(touch->shared) : lane;
  const uint32_t origin = missing != 0 ? origin_add(warp, op, touch, from) : 0;
  shade_set(&warp->shades[op->slot[slot]], lane, (uint8_t)missing, true, origin);
}

static void mark_lane(opc_ptx_warp_t *warp, const opc_ptx_touch_t *touch, unsigned lane, const missing_t *missing) {
  opc_written_t *written = warp->block->launch->launch->written;
  if ((touch->shared >> lane & 1) != 0) {
    unsigned char *state = warp->block->shared_state + touch->address[lane];
    const uint32_t first = missing->calculated ? CALCULATED : CALCULATED + OPC_PTX_ORIGINS;
    const unsigned char found = (unsigned char)(missing->origin == NO_ORIGIN ? COPIED : first + missing->origin);
    for (uint32_t i = 0; i < touch->bytes; i++) state[i] = (missing->bytes >> i & 1) == 0 ? DEFINED : found;
  } else if ((touch->global >> lane & 1) != 0 && written) {
    opc_written_store(written, touch->address[lane], touch->bytes, missing->calculated ? 0 : missing->bytes);
  }
}

/* What an instruction stores is all defined. */
static void mark_all(opc_ptx_warp_t *warp, const opc_ptx_touch_t *touch) {
  static const missing_t nothing = {.origin = NO_ORIGIN};
  opc_written_t *written = warp->block->launch->launch->written;
  opc_ptx_touch_t rest = *touch;
  if (!written || opc_written_everything(written)) rest.global = 0;
  if (rest.global == OPC_PTX_ALL_LANES) {
    const opc_ptx_range_t span = span_of(&rest);
    if (span.end - span.begin == (uint64_t)OPC_PTX_LANES * touch->bytes && touch->address[0] == span.begin &&
        touch->address[OPC_PTX_LANES - 1] == span.end - touch->bytes) {
      bool row = true;
      for (unsigned l = 0; l < OPC_PTX_LANES; l++) row &= touch->address[l] == span.begin + (uint64_t)l * touch->bytes;
      if (row) opc_written_by_host(written, span.begin, span.end - span.begin);
      if (row) rest.global = 0;
    }
  }
  const uint32_t lanes = rest.global | rest.shared;
  for (unsigned lane = 0; lanes != 0 && lane < OPC_PTX_LANES; lane++)
    if ((lanes >> lane & 1) != 0) mark_lane(warp, &rest, lane, &nothing);
}

void opc_ptx_watch_store(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch,
                         uint32_t part_bytes) {
  if (!values_are_watched(warp)) return;
  if (!warp->shaded) {
    mark_all(warp, touch);
    return;
  }
  const uint32_t local = opc_ptx_is_sampled(warp->block->launch) ? touch->other : 0;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    missing_t missing = {.origin = NO_ORIGIN};
    if (((touch->global | touch->shared | local) >> lane & 1) == 0) continue;
    for (uint32_t i = 0; i < touch->bytes / part_bytes; i++) {
      const opc_ptx_shade_t *shade = &warp->shades[op->slot[i]];
      const uint32_t bytes = shade->bytes[lane] & ((1u << part_bytes) - 1);
      if (bytes == 0) continue;
      missing.bytes |= bytes << i * part_bytes;
      missing.origin = shade->origin;
      missing.calculated = missing.calculated || (shade->calculated >> lane & 1) != 0;
    }
    mark_lane(warp, touch, lane, &missing);
    if (missing.bytes != 0 && (local >> lane & 1) != 0) block_ends(warp);
    if (missing.calculated && (touch->global >> lane & 1) != 0)
      report_use_at(warp, op, lane, missing.origin, touch->address[lane], "it is stored");
  }
}

void opc_ptx_mark_written(opc_ptx_warp_t *warp, const opc_ptx_touch_t *touch, unsigned lane, uint32_t missing) {
  const missing_t found = {.bytes = missing, .origin = NO_ORIGIN};
  if (values_are_watched(warp)) mark_lane(warp, touch, lane, &found);
}

uint32_t opc_ptx_missing_bytes(const opc_ptx_warp_t *warp, const opc_ptx_touch_t *touch, unsigned lane) {
  return values_are_watched(warp) ? missing_at(warp, touch, lane).bytes : 0;
}

/* ---- everything else ---- */

/* Moves bits, so that it moves as well the bits that say which of them have no value. */
static uint32_t moved_slots(const opc_ptx_op_t *op) {
  static const struct {
    opc_ptx_family_t *family;
    uint32_t slots; /* of values; the others say how they move */
  } movers[] = {{opc_ptx_move, 2},
                {opc_ptx_move_pack, 0xffe},
                {opc_ptx_move_unpack, 0xfff},
                {opc_ptx_compare_selp, 6},
                {opc_ptx_bits_shl, 2},
                {opc_ptx_bits_shr, 2},
                {opc_ptx_bits_prmt, 6},
                {opc_ptx_bits_bfe, 2},
                {opc_ptx_bits_bfi, 6},
                {opc_ptx_bits_shf, 6},
                {opc_ptx_exchange_shfl, 4},
                {opc_ptx_convert_integers, 2},
                {opc_ptx_bits_or, 6},
                {opc_ptx_bits_xor, 6},
                {opc_ptx_bits_and, 6},
                {opc_ptx_move_to_generic, 2},
                {opc_ptx_move_from_generic, 2}};
  for (size_t i = 0; i < sizeof movers / sizeof *movers; i++) {
    if (movers[i].family != op->family) continue;
    uint32_t slots = 0;
    for (uint32_t s = 0; s < op->slots; s++)
      if ((movers[i].slots >> s & 1) != 0 && (op->written >> s & 1) == 0 && op->slot[s] != OPC_PTX_NO_SLOT)
        slots |= 1u << s;
    if ((op->form.flags & OPC_PTX_FLAG_SAT) != 0) return 0;
    return slots;
  }
  return 0;
}

static bool is_register(const opc_ptx_op_t *op, uint32_t slot) {
  return op->slot[slot] != OPC_PTX_NO_SLOT && (op->predicate >> slot & 1) == 0;
}

/* What the values that are read have in common. */
typedef struct reading {
  uint32_t lanes, calculated; /* with a byte or predicate that has no value; those that are no mere copies */
  uint32_t control;           /* of these, lanes where it is not one of the values that move */
  uint32_t origin;
} reading_t;

static uint32_t shaded_lanes(const opc_ptx_shade_t *shade) {
  uint32_t out = 0;
  for (unsigned l = 0; l < OPC_PTX_LANES; l++) out |= (uint32_t)(shade->bytes[l] != 0) << l;
  return out;
}

static reading_t read_shades(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t moved) {
  reading_t out = {0};
  for (uint32_t s = 0; s < op->slots; s++) {
    if ((op->written >> s & 1) != 0 || op->slot[s] == OPC_PTX_NO_SLOT) continue;
    const bool value = is_register(op, s);
    const opc_ptx_shade_t *shade = &warp->shades[op->slot[s]];
    const opc_ptx_predicate_shade_t *predicate = &warp->predicate_shades[op->slot[s]];
    const uint32_t lanes = value ? shaded_lanes(shade) : predicate->lanes;
    if (lanes == 0) continue;
    out.lanes |= lanes;
    out.calculated |= value ? lanes & shade->calculated : lanes;
    if ((moved >> s & 1) == 0) out.control |= lanes;
    out.origin = value ? shade->origin : predicate->origin;
  }
  return out;
}

/* What it finds in global memory is unknown, and so is its result. */
static void sampled_atomic(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch) {
  const uint32_t own = touch->shared | touch->other;
  const bool stays_known = touch->other == 0 && shared_is_defined(warp, touch) &&
                           (!warp->shaded || (read_shades(warp, op, 0).lanes & own) == 0);
  if (own != 0 && !stays_known) block_ends(warp);
  for (unsigned lane = 0; (op->written & 1) != 0 && lane < OPC_PTX_LANES; lane++)
    if (((touch->unknown | own) >> lane & 1) != 0 && shades_make(warp))
      shade_set(&warp->shades[op->slot[0]], lane, (touch->unknown >> lane & 1) != 0 ? 0xff : 0, true, 0);
}

/* An operation reads and writes. */
void opc_ptx_watch_atomic(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch) {
  if (!values_are_watched(warp)) return;
  const bool exchange = op->form.operation == OPC_PTX_OPERATION_EXCH;
  if (!warp->shaded && shared_is_defined(warp, touch) && global_is_defined(warp, touch)) return;
  if (opc_ptx_is_sampled(warp->block->launch)) {
    sampled_atomic(warp, op, touch);
    return;
  }
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    static const missing_t nothing = {.origin = NO_ORIGIN};
    if (((touch->global | touch->shared) >> lane & 1) == 0) continue;
    if (!exchange && missing_at(warp, touch, lane).bytes != 0)
      report_use(warp, op, lane, origin_add(warp, op, touch, lane), "an atomic operation reads it");
    mark_lane(warp, touch, lane, &nothing);
  }
}

/* Of instructions with two halves, each half of the result is made of the same half of the values. */
static uint8_t half_bytes(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane) {
  unsigned all = 0;
  for (uint32_t s = 0; s < op->slots; s++)
    if ((op->written >> s & 1) == 0 && is_register(op, s)) all |= warp->shades[op->slot[s]].bytes[lane];
  return (uint8_t)(((all & 3) != 0 ? 3 : 0) | ((all & 12) != 0 ? 12 : 0));
}

static bool has_two_halves(const opc_ptx_op_t *op) {
  return op->form.type[0] == OPC_PTX_TYPE_F16X2 || op->form.type[0] == OPC_PTX_TYPE_BF16X2;
}

static void write_shades(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask, const reading_t *reading) {
  for (uint32_t s = 0; s < op->slots; s++) {
    if ((op->written >> s & 1) == 0 || op->slot[s] == OPC_PTX_NO_SLOT) continue;
    if (!is_register(op, s)) {
      opc_ptx_predicate_shade_t *predicate = &warp->predicate_shades[op->slot[s]];
      predicate->lanes = (predicate->lanes & ~mask) | (reading->lanes & mask);
      if (reading->lanes != 0) predicate->origin = reading->origin;
      continue;
    }
    opc_ptx_shade_t *shade = &warp->shades[op->slot[s]];
    for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
      if ((mask >> lane & 1) == 0) continue;
      const bool found = (reading->lanes >> lane & 1) != 0;
      const uint8_t bytes = !found ? 0
                            : has_two_halves(op) && op->form.types == 1 && op->guard == OPC_PTX_NO_GUARD
                                ? half_bytes(warp, op, lane)
                                : 0xff;
      shade_set(shade, lane, bytes, true, reading->origin);
    }
  }
}

static uint64_t bits_of_bytes(uint8_t bytes) {
  uint64_t out = 0;
  for (unsigned i = 0; i < 8; i++)
    if ((bytes >> i & 1) != 0) out |= UINT64_C(0xff) << 8 * i;
  return out;
}

static uint8_t bytes_of_bits(uint64_t bits) {
  uint8_t out = 0;
  for (unsigned i = 0; i < 8; i++)
    if ((bits >> 8 * i & 0xff) != 0) out |= (uint8_t)(1u << i);
  return out;
}

/* Of `and`: a bit that is 0 in one value is defined, whatever the other one is; of `or` one that is 1. */
static uint64_t undecided(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane, uint64_t bits) {
  uint64_t decided = 0;
  for (uint32_t s = 1; s < 3; s++) {
    const uint64_t value = warp->registers[op->slot[s]].lane[lane];
    const uint64_t known = ~bits_of_bytes(warp->shades[op->slot[s]].bytes[lane]);
    if (op->family == opc_ptx_bits_and) decided |= ~value & known;
    if (op->family == opc_ptx_bits_or) decided |= value & known;
  }
  return bits & ~decided;
}

/* Runs it on the bits that say what has no value, then on the values. */
static void run_mover(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask, uint32_t moved,
                      const reading_t *reading) {
  opc_ptx_lanes_t kept[OPC_PTX_SLOTS], shades[OPC_PTX_SLOTS];
  const bool logic = op->family == opc_ptx_bits_and || op->family == opc_ptx_bits_or || op->family == opc_ptx_bits_xor;
  for (uint32_t s = 0; s < op->slots; s++)
    if (is_register(op, s)) kept[s] = warp->registers[op->slot[s]];
  for (uint32_t s = 0; s < op->slots; s++)
    for (unsigned lane = 0; (moved >> s & 1) != 0 && lane < OPC_PTX_LANES; lane++)
      warp->registers[op->slot[s]].lane[lane] = bits_of_bytes(warp->shades[op->slot[s]].bytes[lane]);
  if (logic) {
    uint64_t *const d = opc_ptx_out(warp, op, 0);
    const opc_ptx_lanes_t a = *(const opc_ptx_lanes_t *)opc_ptx_in(warp, op, 1);
    const opc_ptx_lanes_t b = *(const opc_ptx_lanes_t *)opc_ptx_in(warp, op, 2);
    OPC_PTX_EACH(mask, { d[l] = a.lane[l] | b.lane[l]; });
  } else {
    op->run(warp, op, mask);
  }
  for (uint32_t s = 0; s < op->slots; s++)
    if ((op->written >> s & 1) != 0 && is_register(op, s)) shades[s] = warp->registers[op->slot[s]];
  for (uint32_t s = op->slots; s-- > 0;)
    if (is_register(op, s)) warp->registers[op->slot[s]] = kept[s];
  for (unsigned lane = 0; logic && lane < OPC_PTX_LANES; lane++)
    shades[0].lane[lane] = undecided(warp, op, lane, shades[0].lane[lane]);
  op->run(warp, op, mask);
  for (uint32_t s = 0; s < op->slots; s++) {
    if ((op->written >> s & 1) == 0 || !is_register(op, s)) continue;
    for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
      if ((mask >> lane & 1) == 0) continue;
      const bool calculated = logic || op->family == opc_ptx_exchange_shfl ? reading->calculated != 0
                                                                           : (reading->calculated >> lane & 1) != 0;
      shade_set(&warp->shades[op->slot[s]], lane, bytes_of_bits(shades[s].lane[lane]), calculated, reading->origin);
    }
  }
}

/* A false predicate decides `and`, a true one `or`. */
static void run_logic(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask, reading_t *reading) {
  for (uint32_t s = 1; s < op->slots; s++) {
    const uint32_t value = opc_ptx_in_mask(warp, op, s), known = ~warp->predicate_shades[op->slot[s]].lanes;
    reading->lanes &= ~(known & (op->family == opc_ptx_predicate_and ? ~value : value));
  }
  op->run(warp, op, mask);
  write_shades(warp, op, mask, reading);
}

static bool joins_lanes(const opc_ptx_op_t *op) {
  return op->family == opc_ptx_exchange_vote || op->family == opc_ptx_exchange_ballot ||
         op->family == opc_ptx_exchange_match_any || op->family == opc_ptx_exchange_match_all ||
         op->family == opc_ptx_exchange_redux;
}

static bool is_product(const opc_ptx_op_t *op) {
  return op->form.mode >= OPC_PTX_MODE_M16N8K4 && op->form.mode <= OPC_PTX_MODE_M16N8K32;
}

/* Of a product of matrices: the lanes whose elements are made of the rows of A and columns of B of those lanes. */
static uint32_t reached_by_product(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op) {
  uint32_t out = 0, first = 0;
  while ((op->written >> first & 1) != 0) first++;
  const uint32_t read = op->slots - first, parts_c = first, both = read - parts_c;
  const uint32_t parts_b = both / 3;
  for (uint32_t s = first; s < op->slots; s++) {
    const uint32_t lanes = shaded_lanes(&warp->shades[op->slot[s]]);
    const bool of_a = s < first + both - parts_b, of_b = !of_a && s < first + both;
    for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
      if ((lanes >> lane & 1) == 0) continue;
      if (of_a) out |= UINT32_C(0xf) << (lane & ~3u);
      else if (of_b) out |= UINT32_C(0x11111111) << lane / 8;
      else out |= UINT32_C(1) << lane;
    }
  }
  return out;
}

/* Lanes of an instruction whose guard has no value. */
static uint32_t doubtful(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op) {
  return op->guard == OPC_PTX_NO_GUARD ? 0 : warp->predicate_shades[op->guard].lanes;
}

/* Whether a value that is not known decides what the lanes of a sampled block do. */
static bool goes_astray(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask, uint32_t guard) {
  const bool decides = op->flow == OPC_PTX_FLOW_BRANCH_INDEX || op->flow == OPC_PTX_FLOW_BARRIER;
  return guard != 0 || (decides && (read_shades(warp, op, 0).lanes & mask) != 0);
}

void opc_ptx_undefined_guard(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const uint32_t lanes = doubtful(warp, op) & mask;
  if (opc_ptx_is_sampled(warp->block->launch)) {
    if (goes_astray(warp, op, mask, lanes)) block_ends(warp);
    return;
  }
  if (lanes == 0 || (op->flow == OPC_PTX_FLOW_NEXT && !op->memory)) return;
  report_use(warp, op, (unsigned)__builtin_ctz(lanes), warp->predicate_shades[op->guard].origin,
             op->memory ? "it decides whether memory is accessed" : "it decides a branch");
  warp->predicate_shades[op->guard].lanes = 0;
}

/* An access of a sampled block. At an unknown address only global memory is left alone by it. */
static void sampled_access(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  opc_ptx_launch_state_t *launch = warp->block->launch;
  uint32_t lanes = shaded_lanes(&warp->shades[op->base]) & mask, amounts = 0;
  const bool global = op->form.space == OPC_PTX_SPACE_GLOBAL;
  if (op->copies) {
    amounts = read_shades(warp, op, 0).lanes & mask;
    if (lanes == 0) lanes = shaded_lanes(&warp->shades[op->source]) & mask;
    else amounts |= lanes;
  }
  if (amounts != 0 || (lanes != 0 && !global && !op->copies)) {
    block_ends(warp);
    return;
  }
  launch->astray = lanes;
  op->run(warp, op, mask);
  launch->astray = 0;
}

void opc_ptx_undefined_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  if (op->memory && opc_ptx_is_sampled(warp->block->launch)) {
    sampled_access(warp, op, mask);
    return;
  }
  if (op->memory) {
    const uint32_t lanes = shaded_lanes(&warp->shades[op->base]) & mask;
    if (lanes != 0) {
      report_use(warp, op, (unsigned)__builtin_ctz(lanes), warp->shades[op->base].origin, "it is an address");
      memset(&warp->shades[op->base], 0, sizeof warp->shades[op->base]);
    }
    op->run(warp, op, mask);
    return;
  }
  const uint32_t moved = moved_slots(op), guard = doubtful(warp, op) & mask;
  reading_t reading = read_shades(warp, op, moved);
  if (guard != 0) {
    reading.lanes |= guard;
    reading.origin = warp->predicate_shades[op->guard].origin;
  }
  if (joins_lanes(op) && (reading.lanes & mask) != 0) reading.lanes = OPC_PTX_ALL_LANES;
  if (is_product(op) && reading.lanes != 0) reading.lanes = reached_by_product(warp, op);
  if ((reading.lanes & mask) != 0 && moved != 0 && (reading.control & mask) == 0 && guard == 0) {
    run_mover(warp, op, mask, moved, &reading);
  } else if (op->family == opc_ptx_predicate_and || op->family == opc_ptx_predicate_or) {
    run_logic(warp, op, mask, &reading);
  } else {
    op->run(warp, op, mask);
    write_shades(warp, op, mask, &reading);
  }
}

void opc_ptx_undefined_begin(opc_ptx_block_state_t *block) {
  if (block->shared_state) memset(block->shared_state, NOT_WRITTEN, block->launch->shared_bytes);
}
