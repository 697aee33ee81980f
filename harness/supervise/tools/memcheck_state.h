/* Shared by the implementation files of memcheck.h. */
#pragma once

#include "supervise/tools/memcheck.h"

enum { OPC_MEMCHECK_WORDS = 16 };

typedef struct opc_memcheck_count {
  uint64_t key;   /* opc_memcheck_key of the location */
  uint64_t count; /* errors there since the process started */
} opc_memcheck_count_t;

typedef struct opc_memcheck_counts {
  opc_memcheck_count_t *items; /* the caller frees */
  size_t count;
} opc_memcheck_counts_t;

/* A child, as far as its files were read. */
typedef struct opc_memcheck_process {
  uint64_t child; /* opc_child_t.id */
  opc_memcheck_errors_t errors;
  int64_t xml_size, log_offset; /* at that time */
  opc_memcheck_counts_t counts; /* one per location, from the last list */
} opc_memcheck_process_t;

struct opc_memcheck {
  char folder[PATH_MAX], log[PATH_MAX + 8];
  char *owned[OPC_MEMCHECK_WORDS];
  const char *words[OPC_MEMCHECK_WORDS + 1];
  size_t word_count;
  char *options;
  opc_launcher_t launcher; /* built from the fields above */
  opc_memcheck_process_t *processes;
  size_t process_count;
  uint64_t errors, cases; /* processed so far */
  opc_error_t lost;       /* why errors of a case could not be read; code OPC_OK: all were read */
};

/* An error of a case: a location, and how often the error occurred there. */
typedef struct opc_memcheck_hit {
  const opc_memcheck_error_t *error; /* the process's */
  uint64_t count;
} opc_memcheck_hit_t;

typedef struct opc_memcheck_hits {
  opc_memcheck_hit_t *items; /* the caller frees */
  size_t count;
} opc_memcheck_hits_t;
void opc_memcheck_hits_clear(opc_memcheck_hits_t *hits);

/* ---- memcheck_log.c: Valgrind's output other than XML, one log for all processes of a run, mostly lines with the
 * process's number in front ("==12== text"). A truncated or missing log gives less information, but no error. ---- */

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

/* ---- memcheck_hits.c and the others ---- */

/* NULL: out of memory. Valid until the next call with another child. */
opc_memcheck_process_t *opc_memcheck_process(opc_memcheck_t *memcheck, const opc_child_t *child);
/* Reads the new part of its XML. OPC_ERR_IO: there is no file. */
opc_status_t opc_memcheck_read(const opc_memcheck_t *memcheck, const opc_child_t *child,
                               opc_memcheck_process_t *process, opc_error_t *error) OPC_CHECKED;
/* Adds the locations whose first error came while the case or try with this number ran. */
opc_status_t opc_memcheck_hits_of_number(const opc_memcheck_process_t *process, uint64_t number,
                                         opc_memcheck_hits_t *out, opc_error_t *error) OPC_CHECKED;
/* What a child's message says in its field "memcheck" (wire/protocol.h): how many errors Valgrind counted in the case
 * or try with this number, and whether it listed them. */
typedef struct opc_memcheck_told {
  uint64_t errors, number;
  bool listed;
} opc_memcheck_told_t;
opc_memcheck_told_t opc_memcheck_told(const json_t *message);
/* Adds these errors. OPC_ERR_IO: they are not in Valgrind's files. */
opc_status_t opc_memcheck_hits_of_message(opc_memcheck_t *memcheck, const opc_child_t *child,
                                          const opc_memcheck_told_t *told, opc_memcheck_hits_t *out,
                                          opc_error_t *error) OPC_CHECKED;

/* Adds findings (opc_memcheck_describe), one per rule, for its first location; errors before warnings. */
opc_status_t opc_memcheck_findings(const opc_memcheck_hits_t *hits, uint64_t number, const opc_memcheck_view_t *view,
                                   opc_also_list_t *out, opc_error_t *error) OPC_CHECKED;

void opc_memcheck_xml_path(const opc_memcheck_t *memcheck, pid_t pid, char out[PATH_MAX + 32]);
