#include "memory/cpu_memory.h"
#include "memory/heap_pages.h"

#include <stdlib.h>
#include <string.h>

/* oneDNN and vector code want cache line alignment; libtorch's own allocator has it too. */
enum { POISON_ALIGNMENT = 64 };

static unsigned char poison_byte = 0xa5;

void *opc_poison_allocate(size_t bytes, void *context) {
  (void)context;
  if (!bytes) return NULL;
  void *data = NULL;
  if (posix_memalign(&data, POISON_ALIGNMENT, bytes) != 0) return NULL;
  opc_pages_give(data, bytes);
  memset(data, poison_byte, bytes);
  return data;
}

void opc_poison_release(void *data, void *context) {
  (void)context;
  free(data);
}

void opc_poison_pattern(unsigned char byte) { poison_byte = byte; }

unsigned char opc_poison_byte(void) { return poison_byte; }
