/* Loads and stores: from an address in one of the spaces to bytes of this process. */
#include <stdio.h>
#include <string.h>

#include "cuda/ptx/ptx_machine.h"

static const char *const space_names[OPC_PTX_SPACES] = {"generic", "global", "const", "shared", "local", "param"};

/* ---- where an address is ---- */

typedef struct place {
  opc_ptx_space_t space;
  uint64_t address; /* in the space */
} place_t;

static place_t place_of(const opc_ptx_op_t *op, uint64_t address) {
  const opc_ptx_space_t space = op->form.space;
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

unsigned char *opc_ptx_memory_at(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane,
                                 opc_ptx_space_t *out_space, uint32_t bytes, opc_ptx_access_t access) {
  const place_t place = place_of(op, warp->registers[op->base].lane[lane] + op->displacement);
  const bool aligned = (place.address & (bytes - 1)) == 0;
  unsigned char *at = aligned ? access_bytes(warp, lane, &place, bytes, access) : NULL;
  *out_space = place.space;
  if (at) return at;
  opc_ptx_finding_t *finding =
      opc_ptx_finding_add(warp, op, lane, aligned ? OPC_PTX_OUT_OF_BOUNDS : OPC_PTX_MISALIGNED);
  finding->access = access;
  finding->space = space_names[place.space];
  finding->address = place.address;
  finding->bytes = bytes;
  return NULL;
}

/* ---- the instructions ---- */

static uint64_t loaded(const unsigned char *from, uint32_t bytes, bool is_signed) {
  uint64_t out = 0;
  memcpy(&out, from, bytes);
  const unsigned left = 64 - 8 * bytes;
  return is_signed ? (uint64_t)((int64_t)(out << left) >> left) : out;
}

static void ld_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const opc_ptx_says_t type = op->form.type[0];
  const uint32_t bytes = opc_ptx_type_size(type), count = op->form.vector;
  const bool is_signed = type == OPC_PTX_TYPE_S8 || type == OPC_PTX_TYPE_S16 || type == OPC_PTX_TYPE_S32;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((mask >> lane & 1) == 0) continue;
    opc_ptx_space_t space;
    const unsigned char *from = opc_ptx_memory_at(warp, op, lane, &space, bytes * count, OPC_PTX_READ);
    for (uint32_t i = 0; i < count; i++)
      opc_ptx_out(warp, op, i)[lane] = from ? loaded(from + (size_t)i * bytes, bytes, is_signed) : 0;
  }
}

static void st_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const uint32_t bytes = opc_ptx_type_size(op->form.type[0]), count = op->form.vector;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((mask >> lane & 1) == 0) continue;
    opc_ptx_space_t space;
    unsigned char *to = opc_ptx_memory_at(warp, op, lane, &space, bytes * count, OPC_PTX_WRITE);
    for (uint32_t i = 0; to && i < count; i++) memcpy(to + (size_t)i * bytes, &opc_ptx_in(warp, op, i)[lane], bytes);
  }
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
