#include "memory/cpu_memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* The most that a kernel's stack arrays need. Usually less is filled, because every call waits for it (2.1 us and 0.13
 * us, measured). */
enum { STACK_BYTES = 64 << 10, STACK_BYTES_USUAL = 16 << 10 };
/* Sizes for which glibc keeps free lists, and the blocks of each size that the shift holds: without glibc's cache, one
 * would do. */
enum {
  LISTED_BLOCKS = 2,
  LISTED_SIZE_STEP = 16,
  LISTED_SIZE_MAX = 1032,
  LISTED_SIZES = LISTED_SIZE_MAX / LISTED_SIZE_STEP
};

static bool stack_is_usual = true;
static unsigned char stack_byte = OPC_SCRATCH_MEMORY_USUAL;

#define STACK_FILL(bytes, byte)                    \
  do {                                             \
    unsigned char room[bytes];                     \
    memset(room, byte, sizeof room);               \
    __asm__ volatile("" : : "r"(room) : "memory"); \
  } while (0)
/* A sanitizer would place the array outside the operator's stack. */
static __attribute__((noinline, no_sanitize_address)) void stack_fill(void) { STACK_FILL(STACK_BYTES, stack_byte); }
static __attribute__((noinline, no_sanitize_address)) void stack_fill_usual(void) {
  STACK_FILL(STACK_BYTES_USUAL, OPC_SCRATCH_MEMORY_USUAL);
}

/* malloc fills with the complement of the value's lowest byte, free with that byte. Only the value 0 turns both off, so
 * a higher bit is always set. */
enum { PERTURB_ON = 0x100 };
static void heap_fill(unsigned char byte) { mallopt(M_PERTURB, PERTURB_ON | (0xff & ~byte)); }

void opc_scratch_memory_fill(unsigned char byte) {
  heap_fill(byte);
  opc_scratch_memory_fill_stack(byte);
}

void opc_scratch_memory_fill_stack(unsigned char byte) {
  stack_is_usual = false;
  stack_byte = byte;
  stack_fill();
}

void opc_scratch_memory_plain(void) {
  heap_fill(OPC_SCRATCH_MEMORY_USUAL);
  stack_is_usual = true;
}

void opc_scratch_memory_before_call(void) {
  if (stack_is_usual) stack_fill_usual();
  else stack_fill();
}

void opc_scratch_memory_shift(bool on) {
  static void *held[LISTED_SIZES][LISTED_BLOCKS];
  for (size_t size = 0; size < LISTED_SIZES; size++) {
    for (int i = 0; i < LISTED_BLOCKS; i++) {
      free(held[size][i]);
      held[size][i] = on ? malloc((size + 1) * LISTED_SIZE_STEP - sizeof(size_t)) : NULL;
    }
  }
}
