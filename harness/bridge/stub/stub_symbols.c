#include "bridge/stub/stub_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"
#include "base/text.h"
#include "inspect/facts.h"
#include "inspect/library_search.h"
#include "inspect/symbol_search.h"

/* ---- the kind of a symbol, by its name ---- */

/* Bytes of a Python variable; 0: a function. A library's undefined symbol does not show which it is. */
static uint64_t python_size(const char *name) {
  enum { OBJECT = 1024, RUNTIME = 1 << 20 }; /* a type object has about 400 bytes; _PyRuntime about 300 KiB */
  if (strcmp(name, "_PyRuntime") == 0) return RUNTIME;
  if (strcmp(name, "PyObject_Type") == 0) return 0;
  const bool data =
      opc_string_begins(name, "PyExc_") || opc_string_ends(name, "_Type") || opc_string_ends(name, "Struct") ||
      opc_string_ends(name, "Flag") || opc_string_ends(name, "Type_Type") || opc_string_begins(name, "_PyWeakref_") ||
      opc_string_ends(name, "Hook") || opc_string_ends(name, "_UnnamedField") || strcmp(name, "_Py_RefTotal") == 0 ||
      strcmp(name, "_Py_EllipsisObject") == 0 || strcmp(name, "_Py_ctype_table") == 0 ||
      strcmp(name, "_Py_ctype_tolower") == 0 || strcmp(name, "Py_hexdigits") == 0 || strcmp(name, "Py_Version") == 0;
  return data ? OBJECT : 0;
}

/* C++ virtual tables, type information and guards are data, whatever their names. */
static uint64_t other_size(const char *name) {
  enum { TABLE = 4096 };
  return opc_string_begins(name, "_ZTV") || opc_string_begins(name, "_ZTI") || opc_string_begins(name, "_ZTS") ||
                 opc_string_begins(name, "_ZTT") || opc_string_begins(name, "_ZGV")
             ? TABLE
             : 0;
}

/* ---- the lists ---- */

typedef struct filling {
  opc_symbol_set_t *set;
  opc_wanted_symbols_t *out;
  size_t index;       /* in the list */
  const char *soname; /* of the current file: a symbol with another library's version does not match; NULL: all match */
} filling_t;

static void stub_symbols_put(filling_t *filling, opc_wanted_symbol_t *wanted, uint64_t size) {
  size_t *count = &filling->out->counts[filling->index];
  filling->out->lists[filling->index][(*count)++] =
      (opc_stub_symbol_t){.name = wanted->name, .version = wanted->version, .size = size};
  opc_symbol_set_settle(filling->set, wanted);
}

static bool put_defined(const opc_elf_symbol_t *symbol, void *context) {
  filling_t *filling = context;
  opc_wanted_symbol_t *wanted =
      symbol->defined && symbol->type != STT_TLS ? opc_symbol_set_find(filling->set, symbol->name) : NULL;
  const bool data = symbol->type == STT_OBJECT || symbol->type == STT_COMMON;
  const bool other = wanted && wanted->library && filling->soname && strcmp(wanted->library, filling->soname) != 0;
  if (wanted && !wanted->settled && !other)
    stub_symbols_put(filling, wanted, !data ? 0 : symbol->size > 0 ? symbol->size : sizeof(void *));
  return true;
}

/* For a library without a file here, naming conventions show which symbols are its own; a longer name precedes its
 * prefixes. */
static const struct {
  const char *symbol, *library;
} habits[] = {{"_ZN3c104cuda", "libc10_cuda."},
              {"_ZN", "libtorch_cuda."},
              {"aoti_torch_", "libtorch_cuda."},
              {"torch_", "libtorch_cuda."},
              {"cublasLt", "libcublasLt."},
              {"cublas", "libcublas."},
              {"cudnn", "libcudnn"},
              {"cufft", "libcufft."},
              {"curand", "libcurand."},
              {"cusolver", "libcusolver."},
              {"cusparseLt", "libcusparseLt."},
              {"cusparse", "libcusparse."},
              {"cupti", "libcupti."},
              {"nvrtc", "libnvrtc."},
              {"nvml", "libnvidia-ml."},
              {"nvJitLink", "libnvJitLink."},
              {"nccl", "libnccl."},
              {"__cuda", "libcudart."},
              {"cuda", "libcudart."},
              {"cu", "libcuda."},
              {"__hip", "libamdhip"},
              {"hip", "libamdhip"}};

/* The prefix for the library's symbols; "": unknown. */
static const char *library_by_habit(const char *symbol) {
  for (size_t i = 0; i < sizeof habits / sizeof *habits; i++) {
    if (opc_string_begins(symbol, habits[i].symbol)) return habits[i].library;
  }
  return "";
}

/* The missing library to which the symbol belongs, by the most certain evidence first. `count`: to none, which is an
 * error to report, not to hide. */
static size_t owner_of(const opc_wanted_symbol_t *wanted, const opc_stub_source_t *stubs, size_t count) {
  const char *library = library_by_habit(wanted->name);
  size_t first = count, named = count;
  if (wanted->type == STT_TLS) return count;
  for (size_t i = count; i-- > 0;) {
    if (wanted->library && strcmp(wanted->library, stubs[i].soname) == 0) return i;
    if (stubs[i].real) continue;
    first = i;
    if (*library != '\0' && opc_string_begins(stubs[i].soname, library)) named = i;
  }
  if (wanted->library || !opc_symbol_is_accelerator(wanted->name)) return count;
  return named < count ? named : first;
}

static bool is_wanted_of(const opc_symbol_set_t *set, const char *soname) {
  for (size_t i = 0; i < set->count; i++) {
    const char *library = set->items[i].settled ? "" : library_by_habit(set->items[i].name);
    if (*library != '\0' && opc_string_begins(soname, library)) return true;
  }
  return false;
}

/* libtorch_cuda loads cuBLAS and others, and some libraries use them without naming them: symbols that its replacement
 * does not load are stubs as well. */
static void put_brought(const opc_stub_source_t *stub, const char *torch_folder, filling_t *filling) {
  for (size_t i = 0; stub->real && i < stub->real->needed_count; i++) {
    const char *name = stub->real->needed[i];
    opc_library_place_t place;
    opc_elf_file_t *file = NULL;
    opc_error_t ignored;
    if (!opc_library_is_accelerator(name) || opc_library_is_torch(name) || !is_wanted_of(filling->set, name)) continue;
    opc_library_find(stub->real, name, torch_folder, &place);
    if (place.how == OPC_FOUND_NOWHERE || opc_elf_open(place.path, &file, &ignored) != OPC_OK) continue;
    filling->soname = name;
    opc_elf_each_symbol(file, put_defined, filling);
    filling->soname = NULL;
    opc_elf_close(file);
  }
}

/* A CUDA runtime of another version does not fit. */
static bool is_in_process(const opc_wanted_symbol_t *wanted) {
  return (wanted->version ? dlvsym(RTLD_DEFAULT, wanted->name, wanted->version) : dlsym(RTLD_DEFAULT, wanted->name));
}

static void fill_lists(opc_symbol_set_t *set, const opc_stub_source_t *stubs, size_t count, const char *torch_folder,
                       opc_wanted_symbols_t *out) {
  filling_t filling = {.set = set, .out = out, .index = count};
  for (size_t i = 0; i < set->count; i++) {
    opc_wanted_symbol_t *wanted = &set->items[i];
    if (!wanted->settled && is_in_process(wanted)) opc_symbol_set_settle(set, wanted);
    if (!wanted->settled && wanted->type != STT_TLS && opc_symbol_is_python(wanted->name))
      stub_symbols_put(&filling, wanted, wanted->called ? 0 : python_size(wanted->name));
  }
  /* Facts from files come first, for all libraries, before anything is guessed for one of them. */
  for (filling.index = 0; filling.index < count; filling.index++) {
    if (stubs[filling.index].real) opc_elf_each_symbol(stubs[filling.index].real, put_defined, &filling);
  }
  for (filling.index = 0; filling.index < count; filling.index++)
    put_brought(&stubs[filling.index], torch_folder, &filling);
  for (size_t i = 0; i < set->count; i++) {
    opc_wanted_symbol_t *wanted = &set->items[i];
    filling.index = wanted->settled ? count : owner_of(wanted, stubs, count);
    if (filling.index < count) stub_symbols_put(&filling, wanted, wanted->called ? 0 : other_size(wanted->name));
  }
}

static opc_status_t make_lists(const opc_symbol_set_t *set, size_t count, opc_wanted_symbols_t *out,
                               opc_error_t *error) {
  *out =
      (opc_wanted_symbols_t){.lists = calloc(count, sizeof *out->lists), .counts = calloc(count, sizeof *out->counts)};
  if (!out->lists || !out->counts) return opc_out_of_memory(error);
  for (size_t i = 0; i < count; i++) {
    out->lists[i] = calloc(set->count + 1, sizeof **out->lists);
    if (!out->lists[i]) return opc_out_of_memory(error);
  }
  return OPC_OK;
}

opc_status_t opc_stub_symbols(opc_elf_file_t *const *files, size_t file_count, opc_elf_file_t *const *others,
                              size_t other_count, const opc_stub_source_t *stubs, size_t stub_count,
                              const char *torch_folder, opc_wanted_symbols_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_symbol_set_clear) opc_symbol_set_t set = {0};
  *out = (opc_wanted_symbols_t){0};
  for (size_t i = 0; i < file_count; i++) opc_symbol_set_add(&set, files[i]);
  OPC_RETURN_IF_ERROR(opc_symbol_set_close(&set, error));
  const opc_status_t status = make_lists(&set, stub_count + 1, out, error);
  if (status != OPC_OK) {
    opc_wanted_symbols_clear(out, stub_count);
    return status;
  }
  for (size_t i = 0; i < file_count; i++) opc_symbol_set_settle_by(&set, files[i]);
  for (size_t i = 0; i < other_count; i++) opc_symbol_set_settle_by(&set, others[i]);
  fill_lists(&set, stubs, stub_count, torch_folder, out);
  return OPC_OK;
}

void opc_wanted_symbols_clear(opc_wanted_symbols_t *wanted, size_t stub_count) {
  for (size_t i = 0; wanted->lists && i <= stub_count; i++) free(wanted->lists[i]);
  free(wanted->lists);
  free(wanted->counts);
  *wanted = (opc_wanted_symbols_t){0};
}
