#include "inspect/symbol_search.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect/facts.h"

enum { FILES_MAX = 512 }; /* a process with more libraries has other problems */

typedef struct running {
  opc_symbol_search_t *out;
  const char *torch_folder;
  opc_error_t *error;
} running_t;

static opc_status_t keep_file(running_t *running, opc_elf_file_t *file) {
  opc_symbol_search_t *out = running->out;
  if (!OPC_ARRAY_GROW(out->files, out->file_count)) return opc_out_of_memory(running->error);
  out->files[out->file_count++] = file;
  return OPC_OK;
}

/* An unreadable file defines nothing; the loader would report why. */
static opc_status_t symbol_search_open_file(running_t *running, const char *path, opc_elf_file_t **out_file) {
  opc_error_t ignored;
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  *out_file = NULL;
  if (running->out->file_count == FILES_MAX || opc_elf_open(path, &file, &ignored) != OPC_OK) return OPC_OK;
  OPC_RETURN_IF_ERROR(keep_file(running, file));
  OPC_MOVE(out_file, file);
  return OPC_OK;
}

static bool symbol_search_torch_file(const running_t *running, const char *name, char path[PATH_MAX]) {
  return running->torch_folder && snprintf(path, PATH_MAX, "%s/%s", running->torch_folder, name) < PATH_MAX &&
         access(path, R_OK) == 0;
}

static const opc_need_t *find_need(const opc_symbol_search_t *search, const char *name) {
  for (size_t i = 0; i < search->need_count; i++) {
    if (strcmp(search->needs[i].name, name) == 0) return &search->needs[i];
  }
  return NULL;
}

static opc_status_t add_need(running_t *running, const opc_elf_file_t *by, const char *name, opc_need_t **out_need) {
  opc_symbol_search_t *out = running->out;
  *out_need = NULL;
  if (find_need(out, name)) return OPC_OK;
  if (!OPC_ARRAY_GROW(out->needs, out->need_count)) return opc_out_of_memory(running->error);
  opc_need_t *need = &out->needs[out->need_count++];
  *need = (opc_need_t){.name = name, .by = by};
  if (opc_library_is_torch(name) && symbol_search_torch_file(running, name, need->place.path))
    need->place.how = OPC_FOUND_TORCH;
  else opc_library_find(by, name, running->torch_folder, &need->place);
  need->replaced = opc_library_is_python(name) || opc_library_is_heavy(name) ||
                   (need->place.how == OPC_FOUND_NOWHERE && opc_library_is_accelerator(name));
  *out_need = need;
  return OPC_OK;
}

static bool is_part(const opc_need_t *need) {
  const bool own = need->place.how == OPC_FOUND_BESIDE || need->place.how == OPC_FOUND_PACKAGE ||
                   (opc_found_by_loader(need->place.how) && need->place.how != OPC_FOUND_SYSTEM);
  return own && !need->replaced && !opc_library_is_accelerator(need->name) && !opc_library_is_torch(need->name);
}

/* The library and its parts, each after the file that needs it; the list grows during the loop. */
static opc_status_t collect_parts(running_t *running) {
  opc_symbol_search_t *out = running->out;
  for (size_t f = 0; f < out->file_count; f++) {
    const opc_elf_file_t *file = out->files[f];
    for (size_t i = 0; i < file->needed_count; i++) {
      opc_need_t *need = NULL;
      opc_elf_file_t *part = NULL;
      OPC_RETURN_IF_ERROR(add_need(running, file, file->needed[i], &need));
      if (need && is_part(need)) OPC_RETURN_IF_ERROR(symbol_search_open_file(running, need->place.path, &part));
    }
  }
  out->part_count = out->file_count;
  return OPC_OK;
}

static opc_status_t settle_by_path(running_t *running, const char *path, opc_elf_file_t **out_file) {
  OPC_RETURN_IF_ERROR(symbol_search_open_file(running, path, out_file));
  if (*out_file) opc_symbol_set_settle_by(&running->out->symbols, *out_file);
  return OPC_OK;
}

/* Symbols of libtorch, even if not listed as needed: it is in the process. */
static opc_status_t settle_by_torch(running_t *running) {
  static const char *const names[] = {"libc10.so", "libtorch_cpu.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[PATH_MAX];
    opc_elf_file_t *file = NULL;
    if (symbol_search_torch_file(running, names[i], path)) OPC_RETURN_IF_ERROR(settle_by_path(running, path, &file));
  }
  return OPC_OK;
}

/* Symbols of stub libraries: those of the replaced file, or, if there is no file, those that look like an
 * accelerator's. */
static void settle_replaced(running_t *running, bool unknown_accelerator) {
  opc_symbol_set_t *set = &running->out->symbols;
  for (size_t i = 0; i < set->count; i++) {
    opc_wanted_symbol_t *symbol = &set->items[i];
    const opc_need_t *of = symbol->library ? find_need(running->out, symbol->library) : NULL;
    if (symbol->settled) continue;
    if (opc_symbol_is_python(symbol->name) || (of && of->replaced) ||
        (unknown_accelerator && opc_symbol_is_accelerator(symbol->name))) {
      opc_symbol_set_settle(set, symbol);
    }
  }
}

/* Dependencies of dependencies, in the system, until no more symbols are found. */
static opc_status_t settle_deeper(running_t *running) {
  opc_symbol_search_t *out = running->out;
  for (size_t f = out->part_count; out->symbols.left > 0 && f < out->file_count; f++) {
    const opc_elf_file_t *file = out->files[f];
    for (size_t i = 0; out->symbols.left > 0 && i < file->needed_count; i++) {
      opc_library_place_t place;
      opc_elf_file_t *found = NULL;
      if (find_need(out, file->needed[i])) continue;
      opc_library_find(file, file->needed[i], running->torch_folder, &place);
      bool known = place.how == OPC_FOUND_NOWHERE;
      for (size_t k = 0; !known && k < out->file_count; k++) known = strcmp(out->files[k]->path, place.path) == 0;
      if (!known) OPC_RETURN_IF_ERROR(settle_by_path(running, place.path, &found));
    }
  }
  return OPC_OK;
}

/* Checks the file only: the loader checks versions before it looks up symbols. */
static void check_versions(running_t *running) {
  opc_symbol_search_t *out = running->out;
  for (size_t i = 0; !out->lacking_version && i < out->symbols.count; i++) {
    const opc_wanted_symbol_t *symbol = &out->symbols.items[i];
    const opc_need_t *need = symbol->version && symbol->library ? find_need(out, symbol->library) : NULL;
    if (!need || need->replaced) continue;
    for (size_t f = 0; f < out->file_count; f++) {
      if (strcmp(out->files[f]->path, need->place.path) != 0 || opc_elf_has_version(out->files[f], symbol->version))
        continue;
      out->lacking_version = symbol->version;
      out->lacking_in = need->name;
    }
  }
}

static opc_status_t search(running_t *running, opc_elf_file_t *file) {
  opc_symbol_search_t *out = running->out;
  bool unknown_accelerator = false;
  OPC_RETURN_IF_ERROR(keep_file(running, file));
  OPC_RETURN_IF_ERROR(collect_parts(running));
  for (size_t i = 0; i < out->part_count; i++) opc_symbol_set_add(&out->symbols, out->files[i]);
  OPC_RETURN_IF_ERROR(opc_symbol_set_close(&out->symbols, running->error));
  for (size_t i = 0; i < out->part_count; i++) opc_symbol_set_settle_by(&out->symbols, out->files[i]);
  /* Small ones first: they define most symbols of a library, and libtorch has a hundred thousand. */
  for (size_t i = 0; i < out->need_count; i++) {
    const opc_need_t *need = &out->needs[i];
    opc_elf_file_t *found = NULL;
    unknown_accelerator |= need->replaced && need->place.how == OPC_FOUND_NOWHERE;
    if (need->place.how != OPC_FOUND_NOWHERE && !is_part(need))
      OPC_RETURN_IF_ERROR(settle_by_path(running, need->place.path, &found));
  }
  OPC_RETURN_IF_ERROR(settle_by_torch(running));
  settle_replaced(running, unknown_accelerator);
  OPC_RETURN_IF_ERROR(settle_deeper(running));
  check_versions(running);
  return OPC_OK;
}

opc_status_t opc_symbol_search_run(opc_elf_file_t *file, const char *torch_folder, opc_symbol_search_t *out,
                                   opc_error_t *error) {
  *out = (opc_symbol_search_t){0};
  running_t running = {.out = out, .torch_folder = torch_folder, .error = error};
  const opc_status_t status = search(&running, file);
  if (status != OPC_OK) opc_symbol_search_clear(out);
  return status;
}

const char *opc_symbol_search_example(const opc_symbol_search_t *search) {
  const opc_symbol_set_t *symbols = &search->symbols;
  const char *first = NULL, *best = NULL;
  for (size_t i = 0; i < symbols->count; i++) {
    const char *name = symbols->items[i].name;
    if (symbols->items[i].settled) continue;
    if (opc_symbol_has_old_string(name) || opc_symbol_is_newer_torch(name)) return name;
    if (!first) first = name;
    if (!best && (strstr(name, "c10") || strstr(name, "torch") || strstr(name, "2at"))) best = name;
  }
  return best ? best : first;
}

void opc_symbol_search_clear(opc_symbol_search_t *search) {
  opc_symbol_set_clear(&search->symbols);
  for (size_t i = 1; i < search->file_count; i++) opc_elf_close(search->files[i]); /* the caller owns the first */
  free(search->files);
  free(search->needs);
  *search = (opc_symbol_search_t){0};
}
