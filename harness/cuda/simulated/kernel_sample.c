/* The blocks of a launch that run if not all of them can: the first and the last, also of each dimension of the grid,
 * and those whose threads, elements or bytes have numbers around 2^31, 3 * 2^30 and 2^32, where numbers of 32 bits
 * become negative or small. */
#include <stdlib.h>
#include <string.h>

#include "cuda/simulated/simulated.h"

static const uint64_t limits[] = {UINT64_C(1) << 31, UINT64_C(3) << 30, UINT64_C(1) << 32};
enum { LIMITS = sizeof limits / sizeof *limits, ELEMENT_MOST = 16 };

static void sampled_add(opc_sampled_blocks_t *out, uint64_t block) {
  if (block >= out->of || out->count == OPC_SAMPLED_MOST) return;
  for (size_t i = 0; i < out->count; i++)
    if (out->blocks[i] == block) return;
  out->blocks[out->count++] = block;
}

/* The block that has item `number` of so many, if they are spread evenly over the blocks, and the next one. Not exact:
 * an allocation is larger than its tensor, and a block near the place shows the same. */
static void block_of_item_add(opc_sampled_blocks_t *out, uint64_t number, uint64_t items) {
  if (number >= items) return;
  const double part = (double)number / (double)items;
  const uint64_t block = (uint64_t)(part * (double)out->of);
  sampled_add(out, block);
  sampled_add(out, block + 1);
}

static void corners_add(opc_sampled_blocks_t *out, const dim3 *grid) {
  for (unsigned corner = 0; corner < 8; corner++) {
    const uint64_t x = (corner & 1) != 0 ? grid->x - 1 : 0, y = (corner & 2) != 0 ? grid->y - 1 : 0,
                   z = (corner & 4) != 0 ? grid->z - 1 : 0;
    sampled_add(out, x + grid->x * (y + grid->y * z));
  }
}

static int by_number(const void *one, const void *other) {
  const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
  return a < b ? -1 : a > b;
}

void opc_sample_blocks(const dim3 *grid, uint64_t threads, const unsigned char *parameters, uint32_t bytes,
                       opc_sampled_blocks_t *out) {
  *out = (opc_sampled_blocks_t){.of = (uint64_t)grid->x * grid->y * grid->z};
  if (out->of == 0) return;
  corners_add(out, grid);
  for (size_t i = 0; i < LIMITS; i++) block_of_item_add(out, limits[i], threads);
  for (uint32_t at = 0; at + 8 <= bytes; at += 8) {
    opc_range_t range;
    uint64_t word;
    memcpy(&word, parameters + at, sizeof word);
    if (!opc_range_find(word, &range) || !range.live) continue;
    for (uint64_t size = 1; size <= ELEMENT_MOST; size *= 2)
      for (size_t i = 0; i < LIMITS; i++)
        block_of_item_add(out, limits[i], (range.part_bytes != 0 ? range.part_bytes : range.bytes) / size);
  }
  qsort(out->blocks, out->count, sizeof *out->blocks, by_number);
}
