#include "checks/call/call.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memory/heap_pages.h"

/* Addresses that no process uses by itself, so that a cache keyed by addresses knows none of them. Check memory reports
 * accesses slightly out of bounds: they must not end the process here. The step is no power of two, so that a hash of
 * the address tells two places apart. */
enum { CACHE_LINE = 64, PLACES = 64, SLACK = 64 << 10 };
static const uintptr_t places_first = (uintptr_t)1 << 44, places_step = ((uintptr_t)1 << 32) + (37 << 12);

struct opc_places {
  unsigned char *memory;
  size_t bytes; /* of `memory`, with slack at both ends */
  size_t left;  /* of `memory`, below all places */
  struct place {
    unsigned char *data;
    size_t bytes;
    bool used;
  } places[PLACES];
  size_t count;
  bool kept;
};

static size_t place_step(size_t bytes) { return (bytes / CACHE_LINE + 2) * CACHE_LINE; }

opc_places_t *opc_places_new(const opc_sample_t *sample) {
  static uintptr_t next = places_first;
  const opc_tensor_spec_t *spec;
  opc_places_t *places = calloc(1, sizeof *places);
  if (!places) return NULL;
  places->left = SLACK;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++)
    places->left += place_step((size_t)spec->storage_size * opc_dtype_size(spec->dtype));
  places->bytes = places->left + SLACK;
  void *memory =
      mmap((void *)next, places->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  next += (places->bytes / places_step + 1) * places_step;
  if (memory == MAP_FAILED) {
    free(places);
    return NULL;
  }
  places->memory = memory;
  return places;
}

void opc_places_free(opc_places_t *places) {
  for (size_t i = 0; places && i < places->count; i++)
    if (places->places[i].used) return;
  if (places) munmap(places->memory, places->bytes);
  free(places);
}

bool opc_places_kept(const opc_places_t *places) { return places->kept; }

bool opc_places_have(const opc_places_t *places, const void *data) {
  const unsigned char *at = data;
  return at >= places->memory && at < places->memory + places->bytes;
}

static void *place_give(size_t number, size_t bytes, void *context) {
  opc_places_t *places = context;
  size_t step = place_step(bytes);
  if (number == places->count && number < PLACES && step + SLACK <= places->left) {
    places->left -= step;
    places->places[places->count++] = (struct place){.data = places->memory + places->left, .bytes = bytes};
    opc_pages_give(places->memory + places->left, step);
    memset(places->memory + places->left, OPC_PATTERN_FIRST, step);
  }
  struct place *place = &places->places[number < places->count ? number : 0];
  if (number >= places->count || place->bytes != bytes || place->used) {
    places->kept |= number < places->count && place->used;
    return NULL;
  }
  place->used = true;
  return place->data;
}

static void place_release(void *data, void *context) {
  opc_places_t *places = context;
  for (size_t i = 0; i < places->count; i++)
    if (places->places[i].data == data) places->places[i].used = false;
}

opc_call_memory_t opc_places_memory(opc_places_t *places) {
  return (opc_call_memory_t){.give = place_give, .release = place_release, .context = places};
}
