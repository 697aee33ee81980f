/* Reads what NVIDIA's compute-sanitizer found in one process, from the file that it saves (--save FILE --xml).
 *
 * Source of the format: the user manual's section on suppressions, which are files of the same form, and such files in
 * public repositories. Records of unknown kinds are kept, with their text. Ownership: opc_sanitize_records_clear.
 * Threads: one. Sizes are bounded whatever the file contains; a file with a document type (entities) is rejected. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

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
