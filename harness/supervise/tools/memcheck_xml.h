/* Reads one process's errors from Valgrind's XML (--xml=yes, protocol 4), while the process still runs or after it was
 * killed in the middle of a line. Reads complete parts, and omits the rest.
 *
 * Ownership: opc_memcheck_errors_clear. Threads: one. Sizes are bounded whatever the file contains. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { OPC_MEMCHECK_FRAMES = 24, OPC_MEMCHECK_AUX = 3, OPC_MEMCHECK_ERRORS_MAX = 2000 };

typedef struct opc_memcheck_stack {
  uint64_t addresses[OPC_MEMCHECK_FRAMES]; /* the first is the instruction's, the others are inside their calls; a
                                              function and everything inlined there share one */
  size_t count;
  size_t skip;        /* number of leading frames in Valgrind's replacements of C library functions */
  char replaced[128]; /* the name of the first of these: "operator delete(void*)"; "": none */
} opc_memcheck_stack_t;

typedef struct opc_memcheck_error {
  char kind[40];  /* "InvalidRead" */
  char what[320]; /* "Invalid read of size 4" */
  opc_memcheck_stack_t stack;
  struct {
    char text[320]; /* "Address 0x4a430c0 is 0 bytes after a block of size 64 alloc'd" */
    opc_memcheck_stack_t stack;
  } aux[OPC_MEMCHECK_AUX];
  size_t aux_count;
  uint64_t key;    /* opc_memcheck_key of what and stack */
  uint64_t number; /* of the case or try announced last; 0: none */
  /* The argument that contains or adjoins the address; path "": none. As announced for the call that ran. */
  struct {
    char path[96];
    uint64_t data, bytes;
  } tensor;
} opc_memcheck_error_t;

typedef struct opc_memcheck_errors {
  opc_memcheck_error_t *items; /* in order of occurrence */
  size_t count;
  bool finished;   /* the process ended in a way that Valgrind noticed */
  bool new_failed; /* operator new was out of memory: Valgrind cannot throw, and ends the process */
} opc_memcheck_errors_t;

/* Equal for the same error at the same location, in XML and in the log. */
uint64_t opc_memcheck_key(const char *what, const uint64_t *addresses, size_t count);
/* Adds a frame's address while there is room; omits duplicates from inlining. */
void opc_memcheck_stack_add(opc_memcheck_stack_t *stack, uint64_t address);

/* Replaces *out. OPC_ERR_IO: the file is unreadable; a truncated file is not an error. */
opc_status_t opc_memcheck_xml_read(const char *path, opc_memcheck_errors_t *out, opc_error_t *error) OPC_CHECKED;
void opc_memcheck_errors_clear(opc_memcheck_errors_t *errors);
