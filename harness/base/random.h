/* Counter-based random numbers: the n-th number of a stream depends only on (seed, stream, n). So an element's value
 * does not depend on its storage layout, on the order of filling, or on earlier calls. Source: the finalizer of
 * SplitMix64 (Steele, Lea, Flood 2014), applied to a hashed counter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

uint64_t opc_random_u64(uint64_t seed, uint64_t stream, uint64_t counter);
double opc_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter); /* [0, 1) */
double opc_random_normal(uint64_t seed, uint64_t stream, uint64_t counter);  /* mean 0, variance 1 */
/* lo <= result < hi; lo when the range is empty. */
int64_t opc_random_range(uint64_t seed, uint64_t stream, uint64_t counter, int64_t lo, int64_t hi);
/* Stream number for a name, such as an argument's path. */
uint64_t opc_random_stream(const char *name);

/* A sequence of random numbers: depends only on (seed, how many were drawn). */
typedef struct opc_rng {
  uint64_t seed, counter;
  const void *view; /* another source that the owner draws from; not used here */
} opc_rng_t;

int64_t opc_rng_below(opc_rng_t *rng, int64_t limit); /* 0 <= result < limit; 0 when limit < 1 */
bool opc_rng_chance(opc_rng_t *rng, int percent);
