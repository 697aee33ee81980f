#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/symbol_search.h"
#include "model/json/json_write.h"
#include "supervise/session/since.h"

void opc_since_libraries_clear(opc_since_libraries_t *libraries) {
  free(libraries->changed);
  free(libraries->affected);
  json_decref(libraries->digests);
  *libraries = (opc_since_libraries_t){0};
}

size_t opc_since_library(const opc_since_libraries_t *libraries, const char *path) {
  const opc_loaded_t *loaded = libraries->loaded;
  size_t i = 0;
  while (i < loaded->library_count && strcmp(loaded->libraries[i].path, path) != 0 &&
         (!loaded->libraries[i].real || strcmp(loaded->libraries[i].real, path) != 0))
    i++;
  return i;
}

bool opc_since_library_is(const opc_since_libraries_t *libraries, const char *now, const char *then) {
  const size_t index = opc_since_library(libraries, now);
  const char *digest = opc_json_text_of(libraries->digests, then);
  if (index < libraries->loaded->library_count)
    return !libraries->affected[index] && digest && strcmp(digest, libraries->loaded->libraries[index].digest) == 0;
  return strcmp(now, OPC_LIBTORCH) == 0 && strcmp(then, OPC_LIBTORCH) == 0;
}

bool opc_since_libraries_are_others(const opc_since_libraries_t *libraries) {
  const char *path;
  json_t *digest;
  json_object_foreach(libraries->digests, path, digest) {
    for (size_t i = 0; i < libraries->loaded->library_count; i++)
      if (strcmp(opc_base_name(path), opc_base_name(libraries->loaded->libraries[i].path)) == 0) return false;
  }
  return libraries->loaded->library_count > 0;
}

static bool was_there(const opc_since_libraries_t *libraries, const char *digest) {
  const char *path;
  json_t *then;
  json_object_foreach(libraries->digests, path, then) {
    if (*digest && strcmp(json_string_value(then), digest) == 0) return true;
  }
  return false;
}

static bool is_there(const opc_since_libraries_t *libraries, const char *digest) {
  const opc_loaded_t *loaded = libraries->loaded;
  for (size_t i = 0; digest && i < loaded->library_count; i++)
    if (!libraries->affected[i] && strcmp(loaded->libraries[i].digest, digest) == 0) return true;
  return false;
}

/* ---- what an unchanged library uses ---- */

/* Without its overload: "ns::op". */
static bool add_operator_name(json_t *names, const char *name) {
  const char *colons = strstr(name, "::");
  const size_t length = colons ? (size_t)(colons - name) + strcspn(colons, ".") : strlen(name);
  OPC_SCOPED(opc_scope_free) char *plain = opc_string_format("%.*s", (int)length, name);
  return plain && json_object_set_new(names, plain, json_null()) == 0;
}

static bool has_changed(const opc_since_libraries_t *libraries, const char *path) {
  const size_t index = opc_since_library(libraries, path);
  return index < libraries->loaded->library_count && libraries->affected[index];
}

/* Classes are found by names that begin like this. */
#define CLASS_NAME "__torch__.torch.classes"

static bool has_class(const opc_since_libraries_t *libraries) {
  for (size_t i = 0; i < libraries->loaded->library_count; i++)
    if (libraries->affected[i] && libraries->loaded->libraries[i].classes > 0) return true;
  return false;
}

/* Operators of affected libraries, and of libraries that this run does not have; then: the operators of that run. */
static opc_status_t affected_names(const opc_since_libraries_t *libraries, const json_t *then, json_t **out,
                                   opc_error_t *error) {
  const opc_loaded_t *loaded = libraries->loaded;
  json_auto_t *names = json_object();
  const char *name;
  json_t *item;
  bool added = names;
  for (size_t i = 0; i < loaded->operator_count; i++) {
    const opc_operator_t *op = &loaded->operators[i];
    bool changed = op->library && has_changed(libraries, op->library);
    for (size_t k = 0; k < op->kernel_count; k++)
      changed |= op->kernels[k].library && has_changed(libraries, op->kernels[k].library);
    if (changed) added = added && add_operator_name(names, op->name);
  }
  json_object_foreach((json_t *)then, name, item) {
    const char *library = opc_json_text_of(item, "library");
    const char *digest = library ? opc_json_text_of(libraries->digests, library) : NULL;
    if (library && strcmp(library, OPC_LIBTORCH) != 0 && !is_there(libraries, digest))
      added = added && add_operator_name(names, name);
  }
  if (has_class(libraries)) added = added && json_object_set_new(names, CLASS_NAME, json_null()) == 0;
  if (!added) return opc_out_of_memory(error);
  *out = json_incref(names);
  return OPC_OK;
}

/* A compiler may store a text in pieces of that many bytes: as constants of vectors, or as operands of instructions. */
enum { PIECE_OF_DATA = 16, PIECE_OF_CODE = 8 };

static bool begins_with_one(const unsigned char *bytes, size_t size, size_t piece, const json_t *names) {
  const char *name;
  json_t *ignored;
  json_object_foreach((json_t *)names, name, ignored) {
    const size_t length = strnlen(name, piece);
    if (length <= size && memcmp(bytes, name, length) == 0) return true;
  }
  return false;
}

/* The beginning of one of the names is among the bytes: whoever calls an operator through the dispatcher names it. */
static bool bytes_name_one(const unsigned char *bytes, size_t size, size_t piece, const json_t *names) {
  bool first[UCHAR_MAX + 1][UCHAR_MAX + 1] = {{false}};
  const char *name;
  json_t *ignored;
  json_object_foreach((json_t *)names, name, ignored) first[(unsigned char)name[0]][(unsigned char)name[1]] = true;
  for (size_t at = 0; at + 1 < size; at++)
    if (first[bytes[at]][bytes[at + 1]] && begins_with_one(bytes + at, size - at, piece, names)) return true;
  return false;
}

static bool file_names_one(const opc_elf_file_t *file, const json_t *names) {
  static const struct {
    const char *name;
    size_t piece;
  } sections[] = {{".rodata", PIECE_OF_DATA}, {".data", PIECE_OF_DATA}, {".text", PIECE_OF_CODE}};
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
    size_t size;
    const unsigned char *bytes = opc_elf_section(file, sections[i].name, &size);
    if (bytes && bytes_name_one(bytes, size, sections[i].piece, names)) return true;
  }
  return false;
}

typedef struct since_files {
  opc_elf_file_t **items; /* NULL: unreadable, or no file */
  opc_symbol_set_t *wanted;
  size_t count;
} since_files_t;

static void since_files_clear(since_files_t *files) {
  for (size_t i = 0; i < files->count; i++) {
    opc_symbol_set_clear(&files->wanted[i]);
    opc_elf_close(files->items[i]);
  }
  free(files->items);
  free(files->wanted);
}

static opc_status_t since_files_open(const opc_loaded_t *loaded, since_files_t *out, opc_error_t *error) {
  out->items = calloc(loaded->library_count + 1, sizeof(opc_elf_file_t *));
  out->wanted = calloc(loaded->library_count + 1, sizeof *out->wanted);
  if (!out->items || !out->wanted) return opc_out_of_memory(error);
  for (out->count = 0; out->count < loaded->library_count; out->count++) {
    const size_t i = out->count;
    opc_error_t ignored;
    if (!*loaded->libraries[i].digest || opc_elf_open(loaded->libraries[i].real, &out->items[i], &ignored) != OPC_OK)
      continue;
    opc_symbol_set_add(&out->wanted[i], out->items[i]);
    OPC_RETURN_IF_ERROR(opc_symbol_set_close(&out->wanted[i], error));
  }
  return OPC_OK;
}

static bool uses_affected(const opc_since_libraries_t *libraries, const since_files_t *files, size_t index,
                          const json_t *names) {
  if (!files->items[index]) return true;
  for (size_t i = 0; i < files->count; i++)
    if (libraries->affected[i] && files->items[i] && opc_symbol_set_served_by(&files->wanted[index], files->items[i]))
      return true;
  return file_names_one(files->items[index], names);
}

static opc_status_t spread(opc_since_libraries_t *libraries, const json_t *then, opc_error_t *error) {
  OPC_SCOPED(since_files_clear) since_files_t files = {0};
  OPC_RETURN_IF_ERROR(since_files_open(libraries->loaded, &files, error));
  for (bool more = true; more;) {
    json_auto_t *names = NULL;
    more = false;
    OPC_RETURN_IF_ERROR(affected_names(libraries, then, &names, error));
    for (size_t i = 0; i < files.count; i++) {
      if (libraries->affected[i] || !uses_affected(libraries, &files, i, names)) continue;
      libraries->affected[i] = more = true;
    }
  }
  return OPC_OK;
}

opc_status_t opc_since_libraries_compare(const opc_loaded_t *loaded, const json_t *then, const json_t *operators,
                                         opc_since_libraries_t *out, opc_error_t *error) {
  size_t index;
  json_t *library;
  *out = (opc_since_libraries_t){.loaded = loaded,
                                 .changed = calloc(loaded->library_count + 1, sizeof *out->changed),
                                 .affected = calloc(loaded->library_count + 1, sizeof *out->affected),
                                 .digests = json_object()};
  if (!out->changed || !out->affected || !out->digests) return opc_out_of_memory(error);
  json_array_foreach((json_t *)then, index, library) {
    const char *path = opc_json_text_of(library, "path"), *digest = opc_json_text_of(library, "digest");
    if (path && json_object_set_new(out->digests, path, json_string(digest ? digest : "")) != 0)
      return opc_out_of_memory(error);
  }
  for (size_t i = 0; i < loaded->library_count; i++)
    out->changed[i] = out->affected[i] = !was_there(out, loaded->libraries[i].digest);
  return spread(out, operators, error);
}

const char *opc_since_changes_others(const opc_since_libraries_t *libraries, const json_t *operators) {
  const opc_loaded_t *loaded = libraries->loaded;
  const char *name;
  json_t *item;
  for (size_t i = 0; i < loaded->operator_count; i++) {
    const opc_operator_t *op = &loaded->operators[i];
    const size_t index =
        op->library && op->schema && !op->defined_here ? opc_since_library(libraries, op->library) : SIZE_MAX;
    if (index < loaded->library_count && libraries->changed[index]) return loaded->libraries[index].path;
  }
  json_object_foreach((json_t *)operators, name, item) {
    const char *library = opc_json_text_of(item, "library");
    const char *digest = library ? opc_json_text_of(libraries->digests, library) : NULL;
    const bool adds = opc_json_text_of(item, "schema") && json_is_false(json_object_get(item, "defined_here"));
    if (adds && digest && !is_there(libraries, digest)) return library;
  }
  return NULL;
}
