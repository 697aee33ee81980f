/* What Valgrind says beside its XML: the log of all processes of a run, a line each, most of them with the process's
 * number in front ("==12== text").
 *
 * Ownership: plain structs, the caller's arrays. Threads: one. A log that is cut off or missing says less, and is no
 * error. */
#ifndef OPC_SUPERVISE_TOOLS_MEMCHECK_LOG_H
#define OPC_SUPERVISE_TOOLS_MEMCHECK_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

typedef struct opc_memcheck_count {
  uint64_t key;   /* opc_memcheck_key of the place */
  uint64_t count; /* errors there, since the process began */
} opc_memcheck_count_t;

typedef struct opc_memcheck_counts {
  opc_memcheck_count_t *items; /* the caller frees */
  size_t count;
} opc_memcheck_counts_t;

/* The first list of its errors (opc_valgrind_list_errors) that the process has in the log from *offset on; *offset
 * moves behind it. False: there is none. */
bool opc_memcheck_log_list(const char *path, pid_t pid, int64_t *offset, opc_memcheck_counts_t *out);

/* Valgrind came to an instruction that it does not know, at this address (0: anywhere): its bytes and some behind, as
 * the log has them ("0x62 0xF1 0x7D"). */
bool opc_memcheck_log_unknown_instruction(const char *path, pid_t pid, uint64_t address, opc_text_t *bytes);
/* Valgrind itself broke down while it ran the process: its first line about it. *out_memory: it had no memory. */
bool opc_memcheck_log_failure(const char *path, pid_t pid, opc_text_t *line, bool *out_memory);
/* The last lines of the whole log, for a worker that never came to speak. */
void opc_memcheck_log_tail(const char *path, opc_text_t *out);

#endif
