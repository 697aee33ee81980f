/* Which of Valgrind's errors belong to a case. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "supervise/tools/memcheck_state.h"

/* ---- a process ---- */

opc_memcheck_process_t *opc_memcheck_process(opc_memcheck_t *memcheck, const opc_child_t *child) {
  for (size_t i = memcheck->process_count; i-- > 0;) {
    if (memcheck->processes[i].child == child->id) return &memcheck->processes[i];
  }
  if (!OPC_ARRAY_GROW(memcheck->processes, memcheck->process_count)) return NULL;
  memcheck->processes[memcheck->process_count] = (opc_memcheck_process_t){.child = child->id};
  return &memcheck->processes[memcheck->process_count++];
}

opc_status_t opc_memcheck_read(const opc_memcheck_t *memcheck, const opc_child_t *child,
                               opc_memcheck_process_t *process, opc_error_t *error) {
  char path[PATH_MAX + 32];
  struct stat info;
  opc_memcheck_xml_path(memcheck, child->pid, path);
  if (stat(path, &info) != 0)
    return opc_error_set(error, OPC_ERR_IO, "Valgrind's report %s is missing: %s", path, strerror(errno));
  if (info.st_size == process->xml_size) return OPC_OK;
  process->xml_size = info.st_size;
  return opc_memcheck_xml_read(path, &process->errors, error);
}

/* ---- which errors ---- */

static opc_status_t add_hit(opc_memcheck_hits_t *hits, const opc_memcheck_error_t *error_found, uint64_t count,
                            opc_error_t *error) {
  if (!OPC_ARRAY_GROW(hits->items, hits->count)) return opc_out_of_memory(error);
  hits->items[hits->count++] = (opc_memcheck_hit_t){.error = error_found, .count = count};
  return OPC_OK;
}

static const opc_memcheck_error_t *error_of(const opc_memcheck_process_t *process, uint64_t key) {
  for (size_t i = 0; i < process->errors.count; i++) {
    if (process->errors.items[i].key == key) return &process->errors.items[i];
  }
  return NULL; /* the process inherited it at its fork: it belongs to no case */
}

static uint64_t count_of(const opc_memcheck_counts_t *counts, uint64_t key) {
  for (size_t i = 0; i < counts->count; i++) {
    if (counts->items[i].key == key) return counts->items[i].count;
  }
  return 0;
}

/* The places whose counts have grown since the last list. */
void opc_memcheck_hits_clear(opc_memcheck_hits_t *hits) { free(hits->items); }

static opc_status_t add_hits(const opc_memcheck_process_t *process, const opc_memcheck_counts_t *now,
                             opc_memcheck_hits_t *out, opc_error_t *error) {
  for (size_t i = 0; i < now->count; i++) {
    uint64_t before = count_of(&process->counts, now->items[i].key);
    const opc_memcheck_error_t *found = now->items[i].count > before ? error_of(process, now->items[i].key) : NULL;
    if (found) OPC_RETURN_IF_ERROR(add_hit(out, found, now->items[i].count - before, error));
  }
  return OPC_OK;
}

static opc_status_t hits_of_list(const opc_memcheck_t *memcheck, const opc_child_t *child,
                                 opc_memcheck_process_t *process, opc_memcheck_hits_t *out, opc_error_t *error) {
  opc_memcheck_counts_t now = {0};
  if (!opc_memcheck_log_list(memcheck->log, child->pid, &process->log_offset, &now)) return OPC_OK;
  const opc_status_t status = add_hits(process, &now, out, error);
  free(process->counts.items);
  process->counts = now;
  return status;
}

/* The places that first showed while this case ran. */
opc_status_t opc_memcheck_hits_of_number(const opc_memcheck_process_t *process, uint64_t number,
                                         opc_memcheck_hits_t *out, opc_error_t *error) {
  for (size_t i = 0; i < process->errors.count; i++) {
    if (number != 0 && process->errors.items[i].number == number)
      OPC_RETURN_IF_ERROR(add_hit(out, &process->errors.items[i], 1, error));
  }
  return OPC_OK;
}

opc_memcheck_told_t opc_memcheck_told(const json_t *message) {
  const json_t *told = json_object_get(message, "memcheck");
  return (opc_memcheck_told_t){.errors = (uint64_t)json_integer_value(json_object_get(told, "errors")),
                               .number = (uint64_t)json_integer_value(json_object_get(told, "number")),
                               .listed = json_is_true(json_object_get(told, "listed"))};
}

opc_status_t opc_memcheck_hits_of_message(opc_memcheck_t *memcheck, const opc_child_t *child,
                                          const opc_memcheck_told_t *told, opc_memcheck_hits_t *out,
                                          opc_error_t *error) {
  opc_memcheck_process_t *process = opc_memcheck_process(memcheck, child);
  OPC_RETURN_IF_ERROR(process ? opc_memcheck_read(memcheck, child, process, error) : opc_out_of_memory(error));
  if (told->listed) OPC_RETURN_IF_ERROR(hits_of_list(memcheck, child, process, out, error));
  if (out->count == 0) OPC_RETURN_IF_ERROR(opc_memcheck_hits_of_number(process, told->number, out, error));
  /* The child has Valgrind list its errors only a limited number of times (worker/child/valgrind_case.c). After that a
   * case may have errors only at known places; nobody knows at which. */
  if (out->count == 0 && !told->listed && process->errors.count > 0)
    OPC_RETURN_IF_ERROR(add_hit(out, &process->errors.items[process->errors.count - 1], told->errors, error));
  if (out->count == 0)
    return opc_error_set(
        error, OPC_ERR_IO,
        "Valgrind counted %llu error%s and does not report %s: is %s on a full disk (set TMPDIR to another), "
        "or -q in VALGRIND_OPTS?",
        (unsigned long long)told->errors, told->errors == 1 ? "" : "s", told->errors == 1 ? "it" : "them",
        memcheck->folder);
  return OPC_OK;
}
