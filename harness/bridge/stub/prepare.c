#include "bridge/api/prepare.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/stub/stub_symbols.h"
#include "inspect/library_search.h"

static const char python_soname[] = "libpython";

enum { FILES = 256, STUBS = 64, DEEPEST = 32 };

typedef struct preparation {
  const char *torch_folder;
  bool cuda;
  opc_elf_file_t *files[FILES]; /* the library and what is loaded with it */
  size_t file_count;
  opc_elf_file_t *others[FILES]; /* libraries that the loader finds in the system: they define symbols too */
  size_t other_count;
  const char *seen[2 * FILES]; /* names already handled, owned by the files */
  size_t seen_count;
  opc_stub_source_t stubs[STUBS];
  size_t stub_count;
  opc_prepared_t *out;
} preparation_t;

/* Sonames of the libraries for which a stub library was loaded in this process. */
static char *made[STUBS];
static size_t made_count;

static int note_torch_folder(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  char *folder = context;
  const char *slash = strrchr(info->dlpi_name, '/');
  if (!slash || strcmp(slash + 1, "libtorch_cpu.so") != 0) return 0;
  (void)snprintf(folder, PATH_MAX, "%.*s", (int)(slash - info->dlpi_name), info->dlpi_name);
  return 1;
}

const char *opc_bridge_torch_folder(void) {
  static char folder[PATH_MAX];
  if (*folder == '\0') (void)dl_iterate_phdr(note_torch_folder, folder);
  return *folder != '\0' ? folder : NULL;
}

static bool is_loaded(const char *name) {
  void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle) (void)dlclose(handle);
  return handle;
}

static bool was_made(const char *name) {
  for (size_t i = 0; i < made_count; i++) {
    if (strcmp(made[i], name) == 0) return true;
  }
  return false;
}

/* A file of this name among libtorch's own libraries; false: none. */
static bool prepare_torch_file(const preparation_t *preparation, const char *name, char path[PATH_MAX]) {
  return preparation->torch_folder && snprintf(path, PATH_MAX, "%s/%s", preparation->torch_folder, name) < PATH_MAX &&
         access(path, R_OK) == 0;
}

static opc_status_t add_sibling(opc_prepared_t *out, const char *path, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(out->siblings, out->sibling_count)) return opc_out_of_memory(error);
  out->siblings[out->sibling_count] = opc_string_copy(path);
  if (!out->siblings[out->sibling_count]) return opc_out_of_memory(error);
  out->sibling_count++;
  return OPC_OK;
}

/* real: the path of its file; NULL: there is none. */
static opc_status_t add_stub(preparation_t *preparation, const char *name, const char *real, opc_error_t *error) {
  if (preparation->stub_count == STUBS)
    return opc_error_set(error, OPC_ERR_LIBRARY, "it needs more than %d libraries that are not here", STUBS);
  opc_stub_source_t *stub = &preparation->stubs[preparation->stub_count];
  *stub = (opc_stub_source_t){.soname = opc_string_copy(name),
                              .made = was_made(name),
                              .wanted_real = preparation->cuda || !opc_library_is_heavy(name)};
  if (!stub->soname) return opc_out_of_memory(error);
  preparation->stub_count++;
  if (real && opc_elf_open(real, &stub->real, error) != OPC_OK) stub->real = NULL; /* unreadable: treated as missing */
  return OPC_OK;
}

static opc_status_t prepare_walk(preparation_t *preparation, const char *path, int depth, opc_error_t *error);

/* A library in libtorch's folder, or in the CUDA packages next to it: loaded by its path, because the loader does not
 * search there. */
static opc_status_t open_or_replace(preparation_t *preparation, const char *name, const char *path,
                                    opc_error_t *error) {
  if (dlopen(path, RTLD_NOW | RTLD_GLOBAL)) return OPC_OK;
  const char *why = dlerror();
  if (opc_library_is_accelerator(name) || strcmp(name, "libtorch.so") == 0)
    return add_stub(preparation, name, path, error);
  return opc_error_set(error, OPC_ERR_LIBRARY, "it needs %s, which does not load: %s", name,
                       why ? why : "no reason given");
}

static opc_status_t walk_found(preparation_t *preparation, const opc_library_place_t *place, int depth,
                               opc_error_t *error) {
  OPC_RETURN_IF_ERROR(prepare_walk(preparation, place->path, depth + 1, error));
  if (place->how != OPC_FOUND_BESIDE && place->how != OPC_FOUND_PACKAGE) return OPC_OK;
  return add_sibling(preparation->out, place->path, error);
}

static opc_status_t provide_found(preparation_t *preparation, const char *name, const opc_library_place_t *place,
                                  int depth, opc_error_t *error) {
  switch (place->how) {
    case OPC_FOUND_NOWHERE:
      return opc_library_is_accelerator(name) ? add_stub(preparation, name, NULL, error) : OPC_OK;
    case OPC_FOUND_SYSTEM:
      /* Not in the process yet: if its symbols were not read, some of them would be replaced. */
      if (preparation->other_count < FILES &&
          opc_elf_open(place->path, &preparation->others[preparation->other_count], error) == OPC_OK) {
        preparation->other_count++;
      }
      return OPC_OK;
    case OPC_FOUND_TORCH:
    case OPC_FOUND_CUDA:
      return open_or_replace(preparation, name, place->path, error);
    case OPC_FOUND_BESIDE:
    case OPC_FOUND_PACKAGE:
    case OPC_FOUND_RPATH:
    case OPC_FOUND_LIBRARY_PATH:
    case OPC_FOUND_RUNPATH:
      break;
  }
  if (walk_found(preparation, place, depth, error) != OPC_OK)
    return opc_error_prefix(error, "%s, which it needs", name);
  return OPC_OK;
}

static opc_status_t provide(preparation_t *preparation, const opc_elf_file_t *needing, const char *name, int depth,
                            opc_error_t *error) {
  char path[PATH_MAX];
  opc_library_place_t place;
  for (size_t i = 0; i < preparation->seen_count; i++) {
    if (strcmp(preparation->seen[i], name) == 0) return OPC_OK;
  }
  if (preparation->seen_count == sizeof preparation->seen / sizeof *preparation->seen)
    return OPC_OK; /* left to the loader */
  preparation->seen[preparation->seen_count++] = name;
  const bool of_torch = prepare_torch_file(preparation, name, path);
  if (is_loaded(name) && !was_made(name)) return OPC_OK;
  /* A library that was replaced for an earlier library may need more symbols for this one. */
  const bool replaced =
      opc_library_is_python(name) || was_made(name) || (!preparation->cuda && opc_library_is_heavy(name));
  if (replaced) return add_stub(preparation, name, of_torch ? path : NULL, error);
  if (of_torch) return open_or_replace(preparation, name, path, error);
  opc_library_find(needing, name, preparation->torch_folder, &place);
  return provide_found(preparation, name, &place, depth, error);
}

/* A library's own dependencies need libtorch just as the library does. */
static opc_status_t prepare_walk(preparation_t *preparation, const char *path, int depth, opc_error_t *error) {
  opc_elf_file_t *file = NULL;
  if (depth == DEEPEST || preparation->file_count == FILES) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_elf_open(path, &file, error));
  preparation->files[preparation->file_count++] = file;
  for (size_t i = 0; i < file->needed_count; i++)
    OPC_RETURN_IF_ERROR(provide(preparation, file, file->needed[i], depth, error));
  return OPC_OK;
}

/* ---- replaced libraries ---- */

static void note_unloaded(opc_text_t *note, const char *soname, const opc_stub_symbol_t *symbols, size_t count,
                          bool python) {
  enum { NAMED = 3 };
  opc_text_addf(note, "%s%s is not loaded: a call that needs ", note->length > 0 ? "; " : "",
                python ? "Python" : soname);
  if (count > 1) opc_text_addf(note, "one of its %zu symbols (", count);
  else opc_text_add(note, "its symbol (");
  for (size_t i = 0; i < count && i < NAMED; i++) opc_text_addf(note, "%s%s", i > 0 ? ", " : "", symbols[i].name);
  opc_text_addf(note, "%s) ends with an error that says so", count > NAMED ? ", …" : "");
}

static opc_status_t prepare_replace(const char *soname, bool exists, const opc_stub_symbol_t *symbols, size_t count,
                                    opc_error_t *error) {
  if (exists && count == 0) return OPC_OK;
  char name[256];
  /* The loader keeps the first library of a name; more symbols come in one with another name. */
  if (exists) (void)snprintf(name, sizeof name, "%s, continued", soname);
  else (void)snprintf(name, sizeof name, "%s", soname);
  OPC_RETURN_IF_ERROR(opc_stub_load(name, symbols, count, error));
  if (exists || made_count == STUBS) return OPC_OK;
  made[made_count] = opc_string_copy(soname);
  made_count += (bool)made[made_count];
  return OPC_OK;
}

static opc_status_t replace_wanted(preparation_t *preparation, const opc_wanted_symbols_t *wanted, opc_error_t *error) {
  const size_t count = preparation->stub_count;
  for (size_t i = 0; i < count; i++) {
    const opc_stub_source_t *stub = &preparation->stubs[i];
    OPC_RETURN_IF_ERROR(prepare_replace(stub->soname, stub->made, wanted->lists[i], wanted->counts[i], error));
    if (wanted->counts[i] > 0 && stub->wanted_real)
      note_unloaded(&preparation->out->note, stub->soname, wanted->lists[i], wanted->counts[i],
                    opc_library_is_python(stub->soname));
  }
  if (wanted->counts[count] == 0) return OPC_OK;
  note_unloaded(&preparation->out->note, python_soname, wanted->lists[count], wanted->counts[count], true);
  return prepare_replace(python_soname, was_made(python_soname), wanted->lists[count], wanted->counts[count], error);
}

static opc_status_t replace_all(preparation_t *preparation, opc_error_t *error) {
  const size_t count = preparation->stub_count;
  opc_wanted_symbols_t wanted = {0};
  OPC_RETURN_IF_ERROR(opc_stub_symbols(preparation->files, preparation->file_count, preparation->others,
                                       preparation->other_count, preparation->stubs, count, preparation->torch_folder,
                                       &wanted, error));
  const opc_status_t status = replace_wanted(preparation, &wanted, error);
  opc_wanted_symbols_clear(&wanted, count);
  return status;
}

static void preparation_clear(preparation_t *preparation) {
  for (size_t i = 0; i < preparation->stub_count; i++) {
    opc_elf_close(preparation->stubs[i].real);
    free(preparation->stubs[i].soname);
  }
  for (size_t i = 0; i < preparation->file_count; i++) opc_elf_close(preparation->files[i]);
  for (size_t i = 0; i < preparation->other_count; i++) opc_elf_close(preparation->others[i]);
}

static opc_status_t prepare_dependencies(preparation_t *preparation, const char *library_path, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(prepare_walk(preparation, library_path, 0, error));
  return replace_all(preparation, error);
}

opc_status_t opc_bridge_prepare(const char *library_path, bool cuda, opc_prepared_t *out, opc_error_t *error) {
  *out = (opc_prepared_t){0};
  OPC_SCOPED(opc_scope_free) preparation_t *preparation = calloc(1, sizeof *preparation);
  if (!preparation) return opc_out_of_memory(error);
  preparation->torch_folder = opc_bridge_torch_folder();
  preparation->cuda = cuda;
  preparation->out = out;
  const opc_status_t status = prepare_dependencies(preparation, library_path, error);
  preparation_clear(preparation);
  if (status != OPC_OK) opc_prepared_clear(out);
  return status;
}

void opc_prepared_clear(opc_prepared_t *prepared) {
  for (size_t i = 0; i < prepared->sibling_count; i++) free(prepared->siblings[i]);
  free(prepared->siblings);
  opc_text_clear(&prepared->note);
  *prepared = (opc_prepared_t){0};
}
