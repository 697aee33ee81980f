#include "bridge/stand_in.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* An undefined symbol that may have to be made. */
typedef struct wanted {
  const char *name, *library, *version; /* of which library it wants which version; NULL: any */
  bool called, settled;       /* settled: something defines it, or it is in a list */
} wanted_t;

typedef struct wanted_set {
  wanted_t *items;
  size_t count, capacity;
  bool failed; /* out of memory */
} wanted_set_t;

/* ---- what kind of symbol it is, by its name ---- */

static bool begins(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

static bool ends(const char *text, const char *suffix) {
  const size_t length = strlen(text), size = strlen(suffix);
  return length >= size && strcmp(text + length - size, suffix) == 0;
}

bool opc_symbol_is_python(const char *name) {
  if (*name == '_') name++;
  return name[0] == 'P' && name[1] == 'y' && (name[2] == '_' || (name[2] >= 'A' && name[2] <= 'Z'));
}

/* Bytes of a variable of Python; 0: a function. The undefined symbol of a library does not say which it is. */
static uint64_t python_size(const char *name) {
  enum { OBJECT = 1024, RUNTIME = 1 << 20 }; /* a type object has some 400 bytes; _PyRuntime some 300 KiB */
  if (strcmp(name, "_PyRuntime") == 0) return RUNTIME;
  if (strcmp(name, "PyObject_Type") == 0) return 0;
  const bool data = begins(name, "PyExc_") || ends(name, "_Type") || ends(name, "Struct") || ends(name, "Flag") || ends(name, "Type_Type") ||
                    begins(name, "_PyWeakref_") || ends(name, "Hook") || ends(name, "_UnnamedField") || strcmp(name, "_Py_RefTotal") == 0 ||
                    strcmp(name, "_Py_EllipsisObject") == 0 || strcmp(name, "_Py_ctype_table") == 0 || strcmp(name, "_Py_ctype_tolower") == 0 ||
                    strcmp(name, "Py_hexdigits") == 0 || strcmp(name, "Py_Version") == 0;
  return data ? OBJECT : 0;
}

/* Virtual tables, type information and guards of C++ are data, whatever they are called. */
static uint64_t other_size(const char *name) {
  enum { TABLE = 4096 };
  return begins(name, "_ZTV") || begins(name, "_ZTI") || begins(name, "_ZTS") || begins(name, "_ZTT") || begins(name, "_ZGV") ? TABLE : 0;
}

/* For an accelerator's library of which no file is here. */
static bool is_accelerator_name(const char *name) {
  static const char *const prefixes[] = {"cu", "nccl", "nv", "hip", "roc", "rccl", "miopen", "npp"};
  static const char *const parts[] = {"cuda", "CUDA", "Cuda", "hip", "HIP", "nccl", "NCCL", "cublas", "cudnn", "xpu"};
  const bool mangled = begins(name, "_Z");
  for (size_t i = 0; !mangled && i < sizeof prefixes / sizeof *prefixes; i++) {
    if (begins(name, prefixes[i])) return true;
  }
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(name, parts[i]) != NULL) return true;
  }
  return false;
}

/* ---- the set ---- */

static bool add_undefined(const opc_elf_symbol_t *symbol, void *context) {
  wanted_set_t *set = context;
  if (symbol->defined || symbol->binding == STB_WEAK || symbol->type == STT_TLS) return true;
  if (set->count == set->capacity) {
    const size_t capacity = set->capacity > 0 ? set->capacity * 2 : 256;
    wanted_t *grown = realloc(set->items, capacity * sizeof *grown);
    if (grown == NULL) {
      set->failed = true;
      return false;
    }
    set->items = grown;
    set->capacity = capacity;
  }
  set->items[set->count++] = (wanted_t){.name = symbol->name, .library = symbol->library, .version = symbol->version, .called = symbol->called};
  return true;
}

static int compare(const void *a, const void *b) { return strcmp(((const wanted_t *)a)->name, ((const wanted_t *)b)->name); }

/* Sorted, each name once; a function for one of the libraries is a function. */
static void put_in_order(wanted_set_t *set) {
  if (set->count == 0) return;
  qsort(set->items, set->count, sizeof *set->items, compare);
  size_t kept = 0;
  for (size_t i = 1; i < set->count; i++) {
    if (strcmp(set->items[kept].name, set->items[i].name) == 0) set->items[kept].called |= set->items[i].called;
    else set->items[++kept] = set->items[i];
  }
  set->count = kept + 1;
}

static wanted_t *find(const wanted_set_t *set, const char *name) {
  const wanted_t key = {.name = name};
  return set->count > 0 ? bsearch(&key, set->items, set->count, sizeof *set->items, compare) : NULL;
}

static bool settle_defined(const opc_elf_symbol_t *symbol, void *context) {
  wanted_t *wanted = symbol->defined ? find(context, symbol->name) : NULL;
  if (wanted != NULL) wanted->settled = true;
  return true;
}

/* ---- the lists ---- */

typedef struct filling {
  wanted_set_t *set;
  opc_wanted_symbols_t *out;
  size_t index; /* of the list */
} filling_t;

static void put(filling_t *filling, wanted_t *wanted, uint64_t size) {
  size_t *count = &filling->out->counts[filling->index];
  filling->out->lists[filling->index][(*count)++] = (opc_inert_symbol_t){.name = wanted->name, .version = wanted->version, .size = size};
  wanted->settled = true;
}

static bool put_defined(const opc_elf_symbol_t *symbol, void *context) {
  filling_t *filling = context;
  wanted_t *wanted = symbol->defined && symbol->type != STT_TLS ? find(filling->set, symbol->name) : NULL;
  const bool data = symbol->type == STT_OBJECT || symbol->type == STT_COMMON;
  if (wanted != NULL && !wanted->settled) put(filling, wanted, !data ? 0 : symbol->size > 0 ? symbol->size : sizeof(void *));
  return true;
}

static bool belongs(const wanted_t *wanted, const opc_stand_in_t *stand_in) {
  if (wanted->library != NULL) return strcmp(wanted->library, stand_in->soname) == 0;
  return stand_in->real == NULL && is_accelerator_name(wanted->name);
}

/* The CUDA runtime of another version does not do. */
static bool is_in_process(const wanted_t *wanted) {
  return (wanted->version != NULL ? dlvsym(RTLD_DEFAULT, wanted->name, wanted->version) : dlsym(RTLD_DEFAULT, wanted->name)) != NULL;
}

static void fill_lists(wanted_set_t *set, const opc_stand_in_t *stand_ins, size_t count, opc_wanted_symbols_t *out) {
  filling_t filling = {.set = set, .out = out, .index = count};
  for (size_t i = 0; i < set->count; i++) {
    wanted_t *wanted = &set->items[i];
    if (!wanted->settled) wanted->settled = is_in_process(wanted);
    if (!wanted->settled && opc_symbol_is_python(wanted->name)) put(&filling, wanted, wanted->called ? 0 : python_size(wanted->name));
  }
  for (filling.index = 0; filling.index < count; filling.index++) {
    const opc_stand_in_t *stand_in = &stand_ins[filling.index];
    if (stand_in->real != NULL) opc_elf_each_symbol(stand_in->real, put_defined, &filling);
    for (size_t i = 0; i < set->count; i++) {
      wanted_t *wanted = &set->items[i];
      if (!wanted->settled && belongs(wanted, stand_in)) put(&filling, wanted, wanted->called ? 0 : other_size(wanted->name));
    }
  }
}

opc_status_t opc_stand_in_symbols(opc_elf_file_t *const *files, size_t file_count, opc_elf_file_t *const *others, size_t other_count,
                                  const opc_stand_in_t *stand_ins, size_t stand_in_count, opc_wanted_symbols_t *out, opc_error_t *error) {
  wanted_set_t set = {0};
  *out = (opc_wanted_symbols_t){.lists = calloc(stand_in_count + 1, sizeof *out->lists), .counts = calloc(stand_in_count + 1, sizeof *out->counts)};
  for (size_t i = 0; i < file_count; i++) opc_elf_each_symbol(files[i], add_undefined, &set);
  bool whole = out->lists != NULL && out->counts != NULL && !set.failed;
  for (size_t i = 0; whole && i <= stand_in_count; i++) {
    out->lists[i] = calloc(set.count + 1, sizeof **out->lists);
    whole = out->lists[i] != NULL;
  }
  if (whole) {
    put_in_order(&set);
    for (size_t i = 0; i < file_count; i++) opc_elf_each_symbol(files[i], settle_defined, &set);
    for (size_t i = 0; i < other_count; i++) opc_elf_each_symbol(others[i], settle_defined, &set);
    fill_lists(&set, stand_ins, stand_in_count, out);
  } else {
    opc_wanted_symbols_clear(out, stand_in_count);
  }
  free(set.items);
  return whole ? OPC_OK : opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
}

void opc_wanted_symbols_clear(opc_wanted_symbols_t *wanted, size_t stand_in_count) {
  for (size_t i = 0; wanted->lists != NULL && i <= stand_in_count; i++) free(wanted->lists[i]);
  free(wanted->lists);
  free(wanted->counts);
  *wanted = (opc_wanted_symbols_t){0};
}
