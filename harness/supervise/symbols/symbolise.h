/* Converts addresses of a dead child to names: module, function, line.
 *
 * The modules come from /proc/PID/maps of the worker, whose address space its children share. libdw runs in a separate
 * helper process: it maps hundreds of megabytes for libtorch, and reads debug information from untrusted compilers.
 * Ownership: opc_symboliser_free. Threads: one. Fork: the helper is forked at the first question and dies with its
 * parent. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

typedef struct opc_frame {
  char module[512]; /* path; "": the address is in none */
  uint64_t offset;  /* address in the file's own terms, as for addr2line */
  char symbol[512]; /* demangled; "": unknown */
  char
      function[128]; /* unqualified: the innermost inlined function outside library headers; "": no debug information */
  char file[512];    /* "": no debug information */
  int line;
  /* Where `function` is not the one that `symbol` names, but was inlined into it: the line of the call there. */
  char outer_file[512]; /* "": it is that one, or the line is not known */
  int outer_line;
  bool inlined;
} opc_frame_t;

/* Headers of libtorch and of the compiler: their code says nothing to an operator's author. library_header.c */
bool opc_is_library_header(const char *file);

/* The executable mappings of a process, sorted by address. Zeroed it is empty and valid; release with opc_maps_clear.
 * symbolise.c */
typedef struct opc_maps {
  struct opc_mapping {
    uint64_t start, end, offset; /* offset: in the file */
    char *path;
  } * mappings;
  size_t count;
  char *program;      /* the process's executable; NULL: unknown */
  uint64_t stack_end; /* of the main thread; 0: unknown */
} opc_maps_t;

/* Replaces the table by that of a running process. */
opc_status_t opc_maps_read(opc_maps_t *maps, pid_t pid, opc_error_t *error) OPC_CHECKED;
const struct opc_mapping *opc_maps_find(const opc_maps_t *maps, uint64_t address); /* NULL: in no mapping */
/* True if the address is where the main thread's stack would have grown to (the guard below its limit). */
bool opc_maps_below_stack(const opc_maps_t *maps, uint64_t address);
void opc_maps_clear(opc_maps_t *maps);

typedef struct opc_symboliser opc_symboliser_t;

opc_status_t opc_symboliser_new(opc_symboliser_t **out, opc_error_t *error) OPC_CHECKED;
/* Never fails: unknown fields stay empty. A return address points after its call: is_return looks up the byte before.
 * maps may be NULL. program_by_name: for the process's own program looks up only the symbol, as reading debug
 * information takes 5 ms per C++ file. */
void opc_symboliser_frame(opc_symboliser_t *symboliser, const opc_maps_t *maps, uint64_t address, bool is_return,
                          bool program_by_name, opc_frame_t *out);
/* The function that a kernel is, and the line where it is defined, which stays empty without debug information.
 * functor: mangled type of what calls the function at `address`, which names the kernel; NULL: the kernel, or code that
 * only calls it, is at `address`. Never fails: unknown fields stay empty. */
void opc_symboliser_kernel(opc_symboliser_t *symboliser, const char *module, uint64_t address, const char *functor,
                           opc_frame_t *out);
void opc_symboliser_free(opc_symboliser_t *symboliser);

/* The helper's loop: answers questions on fd until it is closed. symbolise_helper.c */
void opc_symbolise_serve(int fd);

/* Messages on the helper's socket: plain structs, as both ends are the same program. */
typedef enum opc_symbolise_kind {
  OPC_SYMBOLISE_FRAME = 0,
  OPC_SYMBOLISE_NAME, /* only the symbol, no debug information */
  OPC_SYMBOLISE_KERNEL
} opc_symbolise_kind_t;

typedef struct opc_symbolise_question {
  char module[512];
  uint64_t place; /* an offset in the file; of a kernel the address in the file's own terms */
  opc_symbolise_kind_t kind;
  char functor[4096]; /* of a kernel; "": none */
} opc_symbolise_question_t;

/* Converts addresses to named frames, for crash reports and findings with an instruction.
 *
 * Ownership: plain structs; the symboliser and the maps are the caller's. */

enum { OPC_FRAMES_SHOWN = 16 };

typedef struct opc_frames {
  opc_frame_t frames[OPC_FRAMES_SHOWN];
  size_t count;
  const opc_frame_t *own; /* the first frame in the library under test, preferably of its own code; otherwise the first
                             known frame; NULL: none is known */
} opc_frames_t;

/* first_is_instruction: the first address is an instruction's; otherwise it is a return address, like all others.
 * library (may be NULL): path that identifies the library's own frames, or the Python module that registered the
 * operator. */
void opc_frames_resolve(opc_symboliser_t *symboliser, const opc_maps_t *maps, const char *library,
                        const uint64_t *addresses, size_t count, bool first_is_instruction, opc_frames_t *out);
/* Appends " in identity_kernel (conv.cpp:34)" or " in memcpy, called from identity_kernel (conv.cpp:34)"; nothing if no
 * frame is known. */
void opc_frames_say(const opc_frames_t *frames, opc_text_t *out);
/* "libops.so+0x1234" */
void opc_frame_place(const opc_frame_t *frame, char *out, size_t size);
/* [{"module", "offset", "symbol", "file", "line"}…], with the known fields of each, up to the call of the operator:
 * neither the harness's frames nor those of libtorch's boxing. A function that was inlined has an object of its own,
 * before that of the function with its code. New reference. */
json_t *opc_frames_json(const opc_frames_t *frames);

/* Resolves the "raw_frames" in a result's evidence.accesses to "frames"; appends the location to the message, followed
 * by the "remark". */
void opc_frames_name_accesses(json_t *result, opc_symboliser_t *symboliser, const opc_maps_t *maps,
                              const char *library);
