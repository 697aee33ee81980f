/* Addresses of a dead child as names: which module, which function, which line.
 *
 * The modules are read from /proc/PID/maps of the worker, whose address space its children share. libdw runs in a
 * helper process of its own: it maps hundreds of megabytes for libtorch, and reads debug information that somebody
 * else's compiler wrote. Ownership: opc_symboliser_free. Threads: one. Fork: the helper is forked at the first question
 * and dies with its parent. */
#ifndef OPC_SUPERVISE_SYMBOLS_SYMBOLISE_H
#define OPC_SUPERVISE_SYMBOLS_SYMBOLISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct opc_frame {
  char module[512];   /* path; "" when the address lies in none */
  uint64_t offset;    /* address in the file's own terms, as addr2line takes it */
  char symbol[512];   /* demangled; "" when unknown */
  char function[128]; /* unqualified, the innermost inlined one that is of no library header; "" when there is no debug
                         information */
  char file[512];     /* "" when there is no debug information */
  int line;
} opc_frame_t;

/* Code of these says nothing to whoever wrote an operator: headers of libtorch and of the compiler. */
bool opc_is_library_header(const char *file);

/* The executable mappings of a process, by address. Zeroed it is empty and valid; the caller ends it with
 * opc_maps_clear. maps.c */
typedef struct opc_maps {
  struct opc_mapping {
    uint64_t start, end, offset; /* offset: in the file */
    char *path;
  } * mappings;
  size_t count;
  char *program;      /* the process's own; NULL: unknown */
  uint64_t stack_end; /* of the main thread; 0: unknown */
} opc_maps_t;

/* Replaces the table by that of a living process. */
opc_status_t opc_maps_read(opc_maps_t *maps, pid_t pid, opc_error_t *error) OPC_CHECKED;
const struct opc_mapping *opc_maps_find(const opc_maps_t *maps, uint64_t address); /* NULL: in none */
/* True when the address lies where the main thread's stack would have grown to (the guard below its limit). */
bool opc_maps_below_stack(const opc_maps_t *maps, uint64_t address);
void opc_maps_clear(opc_maps_t *maps);

typedef struct opc_symboliser opc_symboliser_t;

opc_status_t opc_symboliser_new(opc_symboliser_t **out, opc_error_t *error) OPC_CHECKED;
/* Never fails: what cannot be found stays empty. A return address lies behind its call: is_return looks one byte
 * before. maps may be NULL. program_by_name: of the process's own program the symbol alone, without the debug
 * information, whose reading takes 5 ms a file of C++. */
void opc_symboliser_frame(opc_symboliser_t *symboliser, const opc_maps_t *maps, uint64_t address, bool is_return,
                          bool program_by_name, opc_frame_t *out);
void opc_symboliser_free(opc_symboliser_t *symboliser);

/* The helper's loop: answers questions on fd until it ends. symbolise_helper.c */
void opc_symbolise_serve(int fd);

/* What goes over the helper's socket: plain structs, as both ends are one program. */
typedef struct opc_symbolise_question {
  char module[512];
  uint64_t file_offset;
  bool name_only; /* the symbol, no debug information */
} opc_symbolise_question_t;

#endif
