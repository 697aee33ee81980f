#include "base/random.h"

#include <math.h>

static uint64_t random_mix(uint64_t x) {
  x ^= x >> 30;
  x *= UINT64_C(0xbf58476d1ce4e5b9);
  x ^= x >> 27;
  x *= UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

uint64_t opc_random_u64(uint64_t seed, uint64_t stream, uint64_t counter) {
  const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
  return random_mix(random_mix(seed * golden + stream) + (counter + 1) * golden);
}

double opc_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter) {
  return (double)(opc_random_u64(seed, stream, counter) >> 11) * 0x1p-53;
}

double opc_random_normal(uint64_t seed, uint64_t stream, uint64_t counter) {
  /* Box-Muller; 1 - u keeps the logarithm finite. */
  double u = 1.0 - opc_random_uniform(seed, stream, 2 * counter);
  double v = opc_random_uniform(seed, stream, 2 * counter + 1);
  return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

int64_t opc_random_range(uint64_t seed, uint64_t stream, uint64_t counter, int64_t lo, int64_t hi) {
  if (hi <= lo) return lo;
  uint64_t width = (uint64_t)hi - (uint64_t)lo;
  return (int64_t)((uint64_t)lo + opc_random_u64(seed, stream, counter) % width);
}

uint64_t opc_random_stream(const char *name) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; name && *name; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
  return random_mix(hash);
}

int64_t opc_rng_below(opc_rng_t *rng, int64_t limit) {
  return opc_random_range(rng->seed, 0, rng->counter++, 0, limit < 1 ? 1 : limit);
}

bool opc_rng_chance(opc_rng_t *rng, int percent) { return opc_rng_below(rng, 100) < percent; }
