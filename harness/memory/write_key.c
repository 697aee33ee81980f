#include "memory/guard_slot.h"

#include <sys/mman.h>

#include "base/system.h"

enum { NOT_ASKED = -2, NONE = -1, DEFAULT_KEY = 0 };
static int write_key = NOT_ASKED;

bool opc_write_key_present(void) {
  if (write_key == NOT_ASKED) write_key = opc_single_threaded() ? pkey_alloc(0, 0) : NONE;
  return write_key > DEFAULT_KEY;
}

bool opc_write_key_give(void *pages, size_t bytes) {
  return opc_write_key_present() && pkey_mprotect(pages, bytes, PROT_READ | PROT_WRITE, write_key) == 0;
}

bool opc_write_key_take(void *pages, size_t bytes, int protection) {
  return pkey_mprotect(pages, bytes, protection, DEFAULT_KEY) == 0;
}

bool opc_write_key_close(void) {
  return write_key > DEFAULT_KEY && opc_single_threaded() && pkey_set(write_key, PKEY_DISABLE_WRITE) == 0;
}

void opc_write_key_open(void) { (void)pkey_set(write_key, 0); }
