#include "supervise/tools/memcheck_state.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct log_reader {
  FILE *file;
  char *line, *text; /* text: after the process's number, or the whole line */
  size_t size;
  char prefix[24];
  size_t prefix_length;
  bool own; /* the line belongs to the process */
} log_reader_t;

static bool log_open(log_reader_t *reader, const char *path, pid_t pid, int64_t offset) {
  *reader = (log_reader_t){.file = fopen(path, "re")};
  if (!reader->file) return false;
  reader->prefix_length = (size_t)snprintf(reader->prefix, sizeof reader->prefix, "==%d==", (int)pid);
  return fseek(reader->file, (long)offset, SEEK_SET) == 0;
}

static bool log_next(log_reader_t *reader) {
  if (getline(&reader->line, &reader->size, reader->file) <= 0) return false;
  reader->line[strcspn(reader->line, "\n")] = '\0';
  reader->own = strncmp(reader->line, reader->prefix, reader->prefix_length) == 0;
  reader->text = reader->line + (reader->own ? reader->prefix_length : 0);
  if (reader->own && *reader->text == ' ') reader->text++;
  return true;
}

static void log_close(log_reader_t *reader) {
  free(reader->line);
  if (reader->file) fclose(reader->file);
}

/* ---- the list of errors ---- */

static uint64_t number_with_commas(const char *text) {
  uint64_t number = 0;
  for (; isdigit((unsigned char)*text) || *text == ','; text++)
    if (*text != ',') number = number * 10 + (uint64_t)(*text - '0');
  return number;
}

static bool keep_count(opc_memcheck_counts_t *counts, uint64_t key, uint64_t count) {
  if (!OPC_ARRAY_GROW(counts->items, counts->count)) return false;
  counts->items[counts->count++] = (opc_memcheck_count_t){.key = key, .count = count};
  return true;
}

/* Reads one entry: "3 errors in context 1 of 2:", the words, and the stack. It also reads the line after the stack. */
static bool read_entry(log_reader_t *reader, uint64_t count, opc_memcheck_counts_t *out) {
  char what[sizeof((opc_memcheck_error_t *)NULL)->what] = "";
  opc_memcheck_stack_t stack = {0};
  bool more;
  while ((more = log_next(reader))) {
    uint64_t address;
    if (!reader->own) continue;
    if (sscanf(reader->text, " at 0x%" SCNx64, &address) == 1 ||
        sscanf(reader->text, " by 0x%" SCNx64, &address) == 1) {
      opc_memcheck_stack_add(&stack, address);
    } else if (stack.count > 0) {
      break;
    } else {
      snprintf(what, sizeof what, "%s", reader->text);
    }
  }
  return keep_count(out, opc_memcheck_key(what, stack.addresses, stack.count), count) && more;
}

bool opc_memcheck_log_list(const char *path, pid_t pid, int64_t *offset, opc_memcheck_counts_t *out) {
  log_reader_t reader;
  bool listed = false;
  out->count = 0;
  if (log_open(&reader, path, pid, *offset)) {
    for (bool more = log_next(&reader); more;) {
      bool entry = reader.own && isdigit((unsigned char)reader.text[0]) && strstr(reader.text, " in context ");
      /* A summary comes before a list and after it. */
      bool over = listed && reader.own && strncmp(reader.text, "ERROR SUMMARY:", strlen("ERROR SUMMARY:")) == 0;
      listed |= entry;
      more = !over && (entry ? read_entry(&reader, number_with_commas(reader.text), out) : log_next(&reader));
    }
    *offset = ftell(reader.file);
  }
  log_close(&reader);
  return listed;
}

/* ---- what went wrong ---- */

bool opc_memcheck_log_unknown_instruction(const char *path, pid_t pid, uint64_t address, opc_text_t *bytes) {
  static const char unhandled[] = "unhandled instruction",
                    unrecognised[] = "valgrind: Unrecognised instruction at address 0x";
  log_reader_t reader;
  bool found = false;
  if (log_open(&reader, path, pid, 0)) {
    char *last = NULL; /* the bytes come right before, in lines without the process's number */
    while (!found && log_next(&reader)) {
      const char *told = strstr(reader.line, unhandled), *at = reader.own ? strstr(reader.text, unrecognised) : NULL;
      /* "bytes: 0x62 0xF1…"; on a processor whose instructions are words: "0x1e214108" */
      if (told) told = strstr(told, "0x");
      found = at && last && (address == 0 || strtoull(at + sizeof unrecognised - 1, NULL, 16) == address);
      if (found) opc_text_add(bytes, last);
      if (!told && strncmp(reader.line, "==", 2) != 0) continue;
      free(last);
      last = opc_string_copy(told);
    }
    free(last);
  }
  log_close(&reader);
  return found;
}

bool opc_memcheck_log_failure(const char *path, pid_t pid, opc_text_t *line, bool *out_memory) {
  enum { NEAR = 24 };
  static const char out_of_memory[] = "Valgrind's memory management: out of memory";
  static const char *const words[] = {"the 'impossible' happened", out_of_memory,
                                      "INTERNAL ERROR: Valgrind received a signal"};
  log_reader_t reader;
  char *last = NULL;
  int distance = 0;
  bool found = false;
  if (log_open(&reader, path, pid, 0)) {
    while (!found && log_next(&reader)) {
      bool bad = false;
      for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) bad |= (bool)strstr(reader.line, words[i]);
      if (bad) {
        free(last);
        last = opc_string_copy(reader.text);
        distance = 0;
      }
      /* Such a line may lack the process's number; the stack of Valgrind itself after it has the number. */
      found = last && reader.own && distance++ < NEAR;
    }
    if (found) opc_text_add(line, last);
    *out_memory = found && strstr(last, out_of_memory);
  }
  free(last);
  log_close(&reader);
  return found;
}

void opc_memcheck_log_tail(const char *path, opc_text_t *out) {
  enum { SIZE = 600 };
  char tail[SIZE + 1];
  FILE *file = fopen(path, "re");
  if (!file) return;
  (void)fseek(file, 0, SEEK_END);
  long size = ftell(file);
  (void)fseek(file, size > SIZE ? size - SIZE : 0, SEEK_SET);
  size_t got = fread(tail, 1, SIZE, file);
  while (got > 0 && isspace((unsigned char)tail[got - 1])) got--;
  opc_text_add_utf8(out, tail, got);
  fclose(file);
}
