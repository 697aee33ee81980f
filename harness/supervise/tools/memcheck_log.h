/* Valgrind's output other than XML: one log for all processes of a run, mostly lines with the process's number in front
 * ("==12== text").
 *
 * Ownership: plain structs, the caller's arrays. Threads: one. A truncated or missing log gives less information, but
 * no error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

typedef struct opc_memcheck_count {
  uint64_t key;   /* opc_memcheck_key of the location */
  uint64_t count; /* errors there since the process started */
} opc_memcheck_count_t;

typedef struct opc_memcheck_counts {
  opc_memcheck_count_t *items; /* the caller frees */
  size_t count;
} opc_memcheck_counts_t;

/* The process's first list of errors (opc_valgrind_list_errors) in the log from *offset on; moves *offset past it.
 * False: none. */
bool opc_memcheck_log_list(const char *path, pid_t pid, int64_t *offset, opc_memcheck_counts_t *out);

/* True if Valgrind met an instruction that it does not know, at this address (0: anywhere); appends the bytes from
 * there on, as in the log ("0x62 0xF1 0x7D"). */
bool opc_memcheck_log_unknown_instruction(const char *path, pid_t pid, uint64_t address, opc_text_t *bytes);
/* True if Valgrind itself failed while running the process; appends its first line about it. *out_memory: it was out of
 * memory. */
bool opc_memcheck_log_failure(const char *path, pid_t pid, opc_text_t *line, bool *out_memory);
/* The last lines of the whole log, for a worker that never sent a message. */
void opc_memcheck_log_tail(const char *path, opc_text_t *out);
