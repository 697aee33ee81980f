/* What NVIDIA's compute-sanitizer found in one process, as it saves it (--save FILE --xml).
 *
 * Source of the layout: the user manual's section on suppressions, which are files of the same form, and files of that
 * kind in public repositories. Records of kinds that this version does not know are kept, with their words. Ownership:
 * opc_sanitize_records_clear. Threads: one. Sizes are bounded whatever the file holds; a file with a document type
 * (entities) is refused. */
#ifndef OPC_SUPERVISE_TOOLS_SANITIZE_XML_H
#define OPC_SUPERVISE_TOOLS_SANITIZE_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { OPC_SANITIZE_FRAMES = 16, OPC_SANITIZE_PLACES = 4, OPC_SANITIZE_RECORDS_MAX = 1000 };

/* A place in GPU or host code; what is not known is "" or 0. */
typedef struct opc_sanitize_frame {
  char function[256], module[256], file[256];
  int line;
} opc_sanitize_frame_t;

typedef struct opc_sanitize_stack {
  opc_sanitize_frame_t frames[OPC_SANITIZE_FRAMES]; /* the innermost first */
  size_t count;
} opc_sanitize_stack_t;

typedef struct opc_sanitize_record {
  char kind[40];  /* "Precise", "Initcheck", "Analysis" */
  char level[16]; /* "Error", "Warning", "Info"; "": not said */
  char text[320]; /* "Invalid __global__ write of size 4 bytes" */
  char address[32];
  opc_sanitize_frame_t where; /* the instruction */
  bool has_thread;
  int thread[3], block[3];
  /* Of a race: who else touches the memory. */
  struct {
    char direction[16]; /* "Write" */
    opc_sanitize_frame_t where;
  } places[OPC_SANITIZE_PLACES];
  size_t place_count;
  opc_sanitize_stack_t device, host; /* how the kernel came there, and who launched it */
} opc_sanitize_record_t;

typedef struct opc_sanitize_records {
  opc_sanitize_record_t *items;
  size_t count;
  size_t dropped; /* beyond OPC_SANITIZE_RECORDS_MAX */
} opc_sanitize_records_t;

/* Replaces *out. OPC_ERR_NOT_FOUND: there is no such file. OPC_ERR_IO: it cannot be read, is no such report, or is cut
 * off; what was complete is in *out. */
opc_status_t opc_sanitize_xml_read(const char *path, opc_sanitize_records_t *out, opc_error_t *error) OPC_CHECKED;
void opc_sanitize_records_clear(opc_sanitize_records_t *records);

#endif
