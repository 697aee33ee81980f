/* Internals of the journal reader: the lines of a journal's file, each read at its offset.
 *
 * Ownership: whoever fills the struct closes the file and frees path and text. Threads: one. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct opc_journal_lines {
  FILE *file;
  char *path;
  uint64_t position; /* of the file; seeking throws away what stdio has read ahead */
  char *text;        /* the line that was read last */
  size_t capacity;
} opc_journal_lines_t;

/* Reads the line at an offset into lines->text. *out_length excludes the newline; a torn last line counts as the end:
 * *out_length is -1. */
opc_status_t opc_journal_line(opc_journal_lines_t *lines, uint64_t offset, ssize_t *out_length,
                              opc_error_t *error) OPC_CHECKED;
