/* Loads and stores: from an address in one of the spaces to bytes of this process. */
#include <stdio.h>
#include <string.h>

#include "cuda/ptx/ptx_machine.h"

/* ---- where an address is ---- */

typedef struct place {
  opc_ptx_space_t space;
  uint64_t address; /* in the space */
} place_t;

static place_t place_of(opc_ptx_space_t space, uint64_t address) {
  const uint64_t window = address & OPC_PTX_WINDOW_MASK, inside = address & ~OPC_PTX_WINDOW_MASK;
  if (space == OPC_PTX_SPACE_SHARED || space == OPC_PTX_SPACE_LOCAL || space == OPC_PTX_SPACE_PARAM)
    return (place_t){space, (uint32_t)address};
  if (space == OPC_PTX_SPACE_CONST) return (place_t){space, address};
  if (window == OPC_PTX_SHARED_WINDOW) return (place_t){OPC_PTX_SPACE_SHARED, inside};
  if (window == OPC_PTX_LOCAL_WINDOW) return (place_t){OPC_PTX_SPACE_LOCAL, inside};
  if (window == OPC_PTX_PARAM_WINDOW) return (place_t){OPC_PTX_SPACE_PARAM, inside};
  return (place_t){OPC_PTX_SPACE_GLOBAL, address};
}

static bool in_range(const opc_ptx_range_t *range, uint64_t address, uint32_t bytes) {
  return address >= range->begin && address < range->end && bytes <= range->end - address;
}

static bool global_is_there(opc_ptx_launch_state_t *launch, uint64_t address, uint32_t bytes) {
  enum { KEPT = sizeof launch->range / sizeof *launch->range };
  opc_ptx_range_t found;
  for (unsigned i = 0; i < KEPT; i++)
    if (in_range(&launch->range[i], address, bytes)) return true;
  if (!opc_ptx_variable_find(launch->program->module, address, &found)) {
    if (!launch->launch->find) return true;
    if (!launch->launch->find(launch->launch->find_context, address, &found)) return false;
  }
  launch->range[launch->range_next++ % KEPT] = found;
  return in_range(&found, address, bytes);
}

static unsigned char *access_bytes(const opc_ptx_warp_t *warp, unsigned lane, const place_t *place, uint32_t bytes,
                                   opc_ptx_access_t access) {
  opc_ptx_launch_state_t *launch = warp->block->launch;
  const opc_ptx_program_t *program = warp->program;
  const uint64_t at = place->address;
  const struct {
    unsigned char *memory;
    uint64_t size;
  } own[OPC_PTX_SPACES] = {
      [OPC_PTX_SPACE_SHARED] = {warp->block->shared, launch->shared_bytes},
      [OPC_PTX_SPACE_LOCAL] = {warp->frames + (size_t)lane * program->frame_bytes, program->frame_bytes},
      [OPC_PTX_SPACE_PARAM] = {(unsigned char *)(uintptr_t)launch->launch->parameters,
                               program->function->parameter_bytes}};
  if (place->space == OPC_PTX_SPACE_GLOBAL || place->space == OPC_PTX_SPACE_CONST)
    return global_is_there(launch, at, bytes) ? (unsigned char *)(uintptr_t)at : NULL;
  if (place->space == OPC_PTX_SPACE_PARAM && access != OPC_PTX_READ) return NULL;
  const uint64_t size = own[place->space].size;
  return at < size && bytes <= size - at ? own[place->space].memory + at : NULL;
}

static void access_refused(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane, const place_t *place,
                           const opc_ptx_touch_t *touch, bool aligned) {
  const opc_written_t *written = warp->block->launch->launch->written;
  opc_ptx_finding_kind_t kind = aligned ? OPC_PTX_OUT_OF_BOUNDS : OPC_PTX_MISALIGNED;
  if ((warp->block->launch->astray >> lane & 1) != 0) return;
  uint64_t begin, size;
  const bool freed = aligned && written && place->space == OPC_PTX_SPACE_GLOBAL &&
                     opc_written_was_freed(written, place->address, &begin, &size);
  if (freed) kind = OPC_PTX_USE_AFTER_FREE;
  opc_ptx_finding_t *finding = opc_ptx_finding_add(warp, op, lane, kind);
  opc_ptx_finding_access(warp->block->launch, finding, place->space, place->address, touch->bytes, touch->access);
  if (freed) finding->allocation = (opc_ptx_range_t){begin, begin + size};
}

static void touch_lane(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, opc_ptx_space_t space, unsigned lane,
                       opc_ptx_touch_t *out) {
  const place_t place = place_of(space, out->address[lane]);
  const uint32_t bit = UINT32_C(1) << lane;
  const bool aligned = (place.address & (out->bytes - 1)) == 0;
  out->at[lane] = aligned ? access_bytes(warp, lane, &place, out->bytes, out->access) : NULL;
  if (!out->at[lane]) {
    access_refused(warp, op, lane, &place, out, aligned);
    return;
  }
  out->address[lane] = place.address;
  if (place.space == OPC_PTX_SPACE_GLOBAL) out->global |= bit;
  else if (place.space == OPC_PTX_SPACE_SHARED) out->shared |= bit;
  else out->other |= bit;
}

/* All lanes in the allocation that was found last, or in shared memory. False: that is not certain. */
static bool touch_all(opc_ptx_warp_t *warp, opc_ptx_space_t space, opc_ptx_touch_t *out) {
  const opc_ptx_launch_state_t *launch = warp->block->launch;
  const bool shared = space == OPC_PTX_SPACE_SHARED;
  if (!shared && space != OPC_PTX_SPACE_GLOBAL && space != OPC_PTX_SPACE_GENERIC) return false;
  for (unsigned l = 0; shared && l < OPC_PTX_LANES; l++) out->address[l] = (uint32_t)out->address[l];
  uint64_t lowest = out->address[0], highest = out->address[OPC_PTX_LANES - 1], any = 0, bent = 0;
  for (unsigned l = 0; l < OPC_PTX_LANES; l++) {
    any |= out->address[l];
    bent |= out->address[l] - (lowest + (uint64_t)l * out->bytes);
  }
  if (bent != 0) { /* they do not lie one behind the other */
    for (unsigned l = 0; l < OPC_PTX_LANES; l++) {
      lowest = out->address[l] < lowest ? out->address[l] : lowest;
      highest = out->address[l] > highest ? out->address[l] : highest;
    }
  }
  if ((any & (out->bytes - 1)) != 0) return false;
  opc_ptx_range_t range = {0, launch->shared_bytes};
  for (unsigned i = 0; !shared && i < sizeof launch->range / sizeof *launch->range; i++) {
    range = launch->range[i];
    if (in_range(&range, lowest, out->bytes)) break;
  }
  if (!in_range(&range, lowest, out->bytes) || !in_range(&range, highest, out->bytes)) return false;
  unsigned char *const memory = shared ? warp->block->shared : NULL;
  for (unsigned l = 0; l < OPC_PTX_LANES; l++) out->at[l] = (unsigned char *)((uintptr_t)memory + out->address[l]);
  if (shared) out->shared = OPC_PTX_ALL_LANES;
  else out->global = OPC_PTX_ALL_LANES;
  return true;
}

void opc_ptx_touch_at(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, opc_ptx_space_t space, uint32_t mask,
                      uint32_t bytes, opc_ptx_access_t access, opc_ptx_touch_t *out) {
  out->global = out->shared = out->other = 0;
  out->unknown = 0;
  out->bytes = bytes;
  out->access = access;
  if (mask != OPC_PTX_ALL_LANES || !touch_all(warp, space, out)) {
    for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++)
      if ((mask >> lane & 1) != 0) touch_lane(warp, op, space, lane, out);
  }
  if (!opc_ptx_is_sampled(warp->block->launch)) return;
  out->unknown = mask & ~(out->shared | out->other);
  out->global = 0;
}

void opc_ptx_touch(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask, uint32_t bytes, opc_ptx_access_t access,
                   opc_ptx_touch_t *out) {
  const uint64_t *const base = warp->registers[op->base].lane;
  for (unsigned l = 0; l < OPC_PTX_LANES; l++) out->address[l] = base[l] + op->displacement;
  opc_ptx_touch_at(warp, op, op->form.space, mask, bytes, access, out);
  if (warp->block->copied_to && out->shared != 0) opc_ptx_watch_copies(warp, op, out);
}

/* ---- the instructions ---- */

/* Loads one part of each lane's bytes. The type is known when it is compiled. */
#define LOADED(type, as)                                                             \
  do {                                                                               \
    for (unsigned l = 0; l < OPC_PTX_LANES; l++) {                                   \
      type value = 0;                                                                \
      if ((mask >> l & 1) == 0) continue;                                            \
      if ((good >> l & 1) != 0) memcpy(&value, touch->at[l] + offset, sizeof value); \
      d[l] = (uint64_t)(as)value;                                                    \
    }                                                                                \
  } while (0)

static void load_part(const opc_ptx_touch_t *touch, opc_ptx_says_t type, size_t offset, uint32_t mask, uint64_t *d) {
  const uint32_t good = touch->global | touch->shared | touch->other;
  switch (type) {
    case OPC_PTX_TYPE_S8:
      LOADED(int8_t, int64_t);
      return;
    case OPC_PTX_TYPE_S16:
      LOADED(int16_t, int64_t);
      return;
    case OPC_PTX_TYPE_S32:
      LOADED(int32_t, int64_t);
      return;
    default:
      break;
  }
  switch (opc_ptx_type_size(type)) {
    case 1:
      LOADED(uint8_t, uint64_t);
      return;
    case 2:
      LOADED(uint16_t, uint64_t);
      return;
    case 4:
      LOADED(uint32_t, uint64_t);
      return;
    default:
      LOADED(uint64_t, uint64_t);
  }
}

static void ld_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const opc_ptx_says_t type = op->form.type[0];
  const uint32_t bytes = opc_ptx_type_size(type), count = op->form.vector;
  opc_ptx_touch_t touch;
  opc_ptx_touch(warp, op, mask, bytes * count, OPC_PTX_READ, &touch);
  opc_ptx_watch_races(warp, op, &touch, NULL, bytes);
  for (uint32_t i = 0; i < count; i++) load_part(&touch, type, (size_t)i * bytes, mask, opc_ptx_out(warp, op, i));
  opc_ptx_watch_load(warp, op, &touch, mask, bytes);
}

static void store_part(const opc_ptx_touch_t *touch, uint32_t bytes, size_t offset, const uint64_t *from) {
  const uint32_t good = touch->global | touch->shared | touch->other;
  if (bytes == 4) {
    OPC_PTX_EACH(good, { memcpy(touch->at[l] + offset, &from[l], 4); });
  } else if (bytes == 8) {
    OPC_PTX_EACH(good, { memcpy(touch->at[l] + offset, &from[l], 8); });
  } else {
    OPC_PTX_EACH(good, { memcpy(touch->at[l] + offset, &from[l], bytes); });
  }
}

static void st_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const uint32_t bytes = opc_ptx_type_size(op->form.type[0]), count = op->form.vector;
  const uint64_t *value[OPC_PTX_SLOTS];
  opc_ptx_touch_t touch;
  for (uint32_t i = 0; i < count; i++) value[i] = opc_ptx_in(warp, op, i);
  opc_ptx_touch(warp, op, mask, bytes * count, OPC_PTX_WRITE, &touch);
  opc_ptx_watch_races(warp, op, &touch, value, bytes);
  opc_ptx_watch_store(warp, op, &touch, bytes);
  for (uint32_t i = 0; i < count; i++) store_part(&touch, bytes, (size_t)i * bytes, value[i]);
}

opc_ptx_run_t *opc_ptx_memory_ld(const opc_ptx_form_t *form) {
  (void)form;
  return ld_run;
}

opc_ptx_run_t *opc_ptx_memory_st(const opc_ptx_form_t *form) {
  (void)form;
  return st_run;
}

/* ---- a failed assertion of device code ---- */

static void text_at(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane, unsigned argument, char *out,
                    size_t size) {
  uint64_t address = 0;
  opc_ptx_range_t range;
  memcpy(&address, warp->frames + (size_t)lane * warp->program->frame_bytes + op->slot[argument], sizeof address);
  out[0] = '\0';
  if (!opc_ptx_variable_find(warp->program->module, address, &range)) return;
  const size_t room = (size_t)(range.end - address);
  (void)snprintf(out, size, "%.*s", (int)(room < size ? room : size), (const char *)(uintptr_t)address);
}

/* Its arguments lie in the frame: the text, the file, the line. */
void opc_ptx_assertion(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const unsigned lane = (unsigned)__builtin_ctz(mask);
  char what[64], file[64];
  uint32_t line;
  text_at(warp, op, lane, 0, what, sizeof what);
  text_at(warp, op, lane, 1, file, sizeof file);
  memcpy(&line, warp->frames + (size_t)lane * warp->program->frame_bytes + op->slot[2], sizeof line);
  opc_ptx_finding_t *finding = opc_ptx_finding_add(warp, op, lane, OPC_PTX_TRAP);
  const char *slash = strrchr(file, '/');
  (void)snprintf(finding->text, sizeof finding->text, "%s (%s:%u)", what, slash ? slash + 1 : file, line);
}
