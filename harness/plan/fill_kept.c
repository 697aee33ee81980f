#include "plan/fill_kept.h"

#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

enum { SLOTS = 1024, GUARD_BYTES = 64 << 10 };

typedef struct slot {
  XXH128_hash_t key;
  size_t at, size; /* in `kept`; size 0: empty */
} slot_t;

static slot_t slots[SLOTS];
static char *kept; /* NULL: not asked for yet, or there was no memory */
static size_t used;

/* Only what is computed an element; the other kinds are as quick as a copy, or read a file that may have changed. */
static bool is_worth_it(const opc_tensor_spec_t *spec) {
  opc_fill_kind_t kind = spec->fill.kind;
  return kind == OPC_FILL_NORMAL || kind == OPC_FILL_UNIFORM || kind == OPC_FILL_RANGE;
}

/* Everything that opc_fill_logical looks at, for the kinds above. */
static XXH128_hash_t key_of(const opc_tensor_spec_t *spec, const char *path, uint64_t seed) {
  const opc_fill_t *fill = &spec->fill;
  const char *stream = spec->stream ? spec->stream : path ? path : "";
  struct {
    XXH64_hash_t stream;
    uint64_t seed;
    int64_t lo, hi, ndim, repeated; /* a bit a dimension of stride 0 */
    int64_t kind, special, dtype, rounded_to, filled_as;
    int64_t sizes[OPC_MAX_DIMS];
  } all = {.stream = XXH3_64bits(stream, strlen(stream)),
           .seed = seed,
           .lo = fill->lo,
           .hi = fill->hi,
           .ndim = spec->ndim,
           .kind = fill->kind,
           .special = fill->special,
           .dtype = spec->dtype,
           .rounded_to = fill->rounded_to,
           .filled_as = fill->filled_as};
  for (int i = 0; i < spec->ndim; i++) {
    all.sizes[i] = spec->sizes[i];
    if (spec->strides[i] == 0) all.repeated |= INT64_C(1) << i;
  }
  return XXH3_128bits(&all, sizeof all);
}

static bool room_for(size_t size) {
  if (size > OPC_FILLS_KEPT_BYTES) return false;
  if (!kept) {
    char *memory = mmap(NULL, OPC_FILLS_KEPT_BYTES + 2 * GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    if (mprotect(memory + GUARD_BYTES, OPC_FILLS_KEPT_BYTES, PROT_READ | PROT_WRITE) != 0) {
      munmap(memory, OPC_FILLS_KEPT_BYTES + 2 * GUARD_BYTES);
      return false;
    }
    kept = memory + GUARD_BYTES;
  }
  if (size > OPC_FILLS_KEPT_BYTES - used) {
    memset(slots, 0, sizeof slots);
    used = 0;
  }
  return true;
}

opc_status_t opc_fill_kept(const opc_tensor_spec_t *spec, const char *path, uint64_t seed, void *out, opc_error_t *error) {
  const size_t size = (size_t)opc_tensor_spec_numel(spec) * opc_dtype_size(spec->dtype);
  if (size == 0 || !is_worth_it(spec)) return opc_fill_logical(spec, path, seed, out, error);
  const XXH128_hash_t key = key_of(spec, path, seed);
  slot_t *slot = &slots[key.low64 % SLOTS];
  if (slot->size == size && XXH128_isEqual(slot->key, key)) {
    memcpy(out, kept + slot->at, size);
    return OPC_OK;
  }
  opc_status_t status = opc_fill_logical(spec, path, seed, out, error);
  if (status == OPC_OK && room_for(size)) {
    *slot = (slot_t){key, used, size};
    memcpy(kept + used, out, size);
    used += size;
  }
  return status;
}
