/* NVIDIA's compute-sanitizer as an external tool (--sanitize TOOL): each process that runs cases on a CUDA device runs
 * under it, and its records become findings.
 *
 * Unlike Valgrind, it reports only at the end of a process, without times. So a process runs the cases of one operator.
 * If its report holds records, the cases are run again and bisected, until only the first one that shows them is left.
 * An operator without records costs one process. Its exit code is unreliable (it hides the worker's): the worker's
 * verdict comes through its channel as usual, and a process without a report is a harness error. Ownership:
 * opc_sanitize_free. Threads: one. */
#pragma once

#include "result/case_result.h"
#include "supervise/common/journal.h"
#include "supervise/process/batch_child.h"

/* Reads what NVIDIA's compute-sanitizer found in one process, from the file that it saves (--save FILE --xml).
 *
 * Source of the format: the user manual's section on suppressions, which are files of the same form, and such files
 * in public repositories. Records of unknown kinds are kept, with their text. Ownership: opc_sanitize_records_clear.
 * Sizes are bounded whatever the file contains; a file with a document type (entities) is rejected. */

enum { OPC_SANITIZE_FRAMES = 16, OPC_SANITIZE_PLACES = 4, OPC_SANITIZE_RECORDS_MAX = 1000 };

/* A location in GPU or host code; unknown fields are "" or 0. */
typedef struct opc_sanitize_frame {
  char function[256], module[256], file[256];
  int line;
} opc_sanitize_frame_t;

typedef struct opc_sanitize_stack {
  opc_sanitize_frame_t frames[OPC_SANITIZE_FRAMES]; /* innermost first */
  size_t count;
} opc_sanitize_stack_t;

typedef struct opc_sanitize_record {
  char kind[40];  /* "Precise", "Initcheck", "Analysis" */
  char level[16]; /* "Error", "Warning", "Info"; "": not given */
  char text[320]; /* "Invalid __global__ write of size 4 bytes" */
  char address[32];
  opc_sanitize_frame_t where; /* the instruction */
  bool has_thread;
  int thread[3], block[3];
  /* In a race: the other accesses to the memory. */
  struct {
    char direction[16]; /* "Write" */
    opc_sanitize_frame_t where;
  } places[OPC_SANITIZE_PLACES];
  size_t place_count;
  opc_sanitize_stack_t device, host; /* device: how the kernel got there; host: who launched it */
} opc_sanitize_record_t;

typedef struct opc_sanitize_records {
  opc_sanitize_record_t *items;
  size_t count;
  size_t dropped; /* beyond OPC_SANITIZE_RECORDS_MAX */
} opc_sanitize_records_t;

/* Replaces *out. OPC_ERR_NOT_FOUND: no such file. OPC_ERR_IO: unreadable, not such a report, or truncated; *out has the
 * complete part. */
opc_status_t opc_sanitize_xml_read(const char *path, opc_sanitize_records_t *out, opc_error_t *error) OPC_CHECKED;
void opc_sanitize_records_clear(opc_sanitize_records_t *records);

/* Converts a compute-sanitizer record to a finding: its rule, a sentence, and the stacks. */

/* The compute-sanitizer tools that --sanitize accepts: "memcheck", …; NULL-terminated. */
extern const char *const opc_sanitize_tools[];

/* "sanitize.invalid_write"; unknown kinds give "sanitize.suspicious". */
opc_rule_id_t opc_sanitize_rule(const char *tool, const opc_sanitize_record_t *record);
/* Adds findings, one per rule, for its first record; errors before warnings. `rest` has "frames", "device_frames", and
 * "sanitizer": {"tool", "kind", "text", "records", "places"}. */
opc_status_t opc_sanitize_findings(const char *tool, const opc_sanitize_records_t *records, opc_also_list_t *out,
                                   opc_error_t *error) OPC_CHECKED;

typedef struct opc_sanitize opc_sanitize_t;

/* Finds compute-sanitizer, creates a folder for its reports, and reads the libraries' kernel names: only these kernels
 * are watched, as libtorch_cuda has 21,504. OPC_ERR_NOT_FOUND says where it searched and what to install. */
opc_status_t opc_sanitize_new(const char *tool, const char *const *libraries, size_t library_count,
                              opc_sanitize_t **out, opc_error_t *error) OPC_CHECKED;
void opc_sanitize_free(opc_sanitize_t *sanitize); /* accepts NULL */

/* For the process of the child with this id; valid until the next call. */
opc_status_t opc_sanitize_launcher(opc_sanitize_t *sanitize, uint64_t child, const opc_launcher_t **out,
                                   opc_error_t *error) OPC_CHECKED;
const char *opc_sanitize_tool(const opc_sanitize_t *sanitize);

/* For a child that died: its wait status is compute-sanitizer's. It becomes the worker's, if the crash record has a
 * signal. */
void opc_sanitize_take_signal(opc_child_t *child);
/* Reads the report of a process that ended. called: some result needs it. *out_lost: why it is unusable (the caller
 * frees); NULL: it can be used, or none is needed. A process that crashed or was killed may lose its report; whatever
 * is left is read anyway. */
opc_status_t opc_sanitize_report(const opc_sanitize_t *sanitize, const opc_child_t *child, bool called,
                                 opc_sanitize_records_t *out, char **out_lost, opc_error_t *error) OPC_CHECKED;

/* For the journal; do nothing for NULL: that all kernels are watched, and how many processes were. */
opc_status_t opc_sanitize_note_begin(const opc_sanitize_t *sanitize, opc_journal_t *journal,
                                     opc_error_t *error) OPC_CHECKED;
opc_status_t opc_sanitize_note_end(const opc_sanitize_t *sanitize, opc_journal_t *journal,
                                   opc_error_t *error) OPC_CHECKED;
