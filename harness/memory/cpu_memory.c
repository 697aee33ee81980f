#include "memory/cpu_memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "memory/poison.h"

static bool guarding;
static opc_guard_policy_t guard_policy = {.alignment = 64};

void *opc_cpu_memory_allocate(size_t bytes, void *context) {
  opc_guard_policy_t policy = guard_policy;
  policy.poison = opc_poison_byte();
  void *data = guarding ? opc_guard_allocate(bytes, &policy) : NULL;
  return data ? data : opc_poison_allocate(bytes, context);
}

void opc_cpu_memory_release(void *data, void *context) {
  if (data && !opc_guard_release(data)) opc_poison_release(data, context);
}

void opc_cpu_memory_guard(opc_guard_side_t side) {
  guarding = true;
  guard_policy.side = side;
}

void opc_cpu_memory_plain(void) { guarding = false; }

size_t opc_cpu_memory_align(size_t alignment) {
  size_t before = guard_policy.alignment;
  guard_policy.alignment = alignment;
  return before;
}

/* ---- memory that is not libtorch's ---- */

/* glibc keeps this many freed blocks of each small size and hands them out as they are: M_PERTURB never sees them. */
enum { CACHED_BLOCKS = 7, CACHED_SIZE_STEP = 16, CACHED_SIZE_MAX = 1032, STACK_BYTES = 64 << 10 };
enum { CACHED_SIZES = CACHED_SIZE_MAX / CACHED_SIZE_STEP };

static void cached_blocks_fill(unsigned char byte) {
  for (size_t size = CACHED_SIZE_STEP; size <= CACHED_SIZE_MAX; size += CACHED_SIZE_STEP) {
    void *volatile blocks[CACHED_BLOCKS]; /* volatile: a compiler may leave out what is freed unread */
    for (int i = 0; i < CACHED_BLOCKS; i++) {
      blocks[i] = malloc(size - sizeof(size_t));
      if (blocks[i]) memset(blocks[i], byte, size - sizeof(size_t));
      __asm__ volatile("" : : "r"(blocks[i]) : "memory");
    }
    for (int i = 0; i < CACHED_BLOCKS; i++) free(blocks[i]);
  }
}

static __attribute__((noinline)) void stack_fill(unsigned char byte) {
  unsigned char room[STACK_BYTES];
  memset(room, byte, sizeof room);
  __asm__ volatile("" : : "r"(room) : "memory");
}

void opc_scratch_memory_fill(unsigned char byte) {
  cached_blocks_fill(byte);
  /* malloc fills with the complement of what free fills with. */
  mallopt(M_PERTURB, (unsigned char)~byte);
  stack_fill(byte);
}

void opc_scratch_memory_plain(void) { mallopt(M_PERTURB, 0); }

void opc_scratch_memory_shift(bool on) {
  static void *held[CACHED_SIZES][CACHED_BLOCKS];
  for (size_t size = 0; size < CACHED_SIZES; size++) {
    for (int i = 0; i < CACHED_BLOCKS; i++) {
      free(held[size][i]);
      held[size][i] = on ? malloc((size + 1) * CACHED_SIZE_STEP - sizeof(size_t)) : NULL;
    }
  }
}
