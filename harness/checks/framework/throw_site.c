#include "checks/framework/throw_site.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "base/text.h"
#include "checks/call/own_library.h"

enum { THROW_FRAMES = 64, SITE_FRAMES = 2 };

static bool watching;
static uint64_t frames[THROW_FRAMES];
static size_t frame_count;

/* ---- the throw ---- */

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *unused) {
  (void)unused;
  if (frame_count == THROW_FRAMES) return _URC_END_OF_STACK;
  frames[frame_count++] = _Unwind_GetIP(context);
  return _URC_NO_REASON;
}

/* Precedes libstdc++'s function: a program's own functions come first for every library that it loads. */
_Noreturn void __cxa_throw(void *thrown, void *type, void (*destroy)(void *));
_Noreturn void __cxa_throw(void *thrown, void *type, void (*destroy)(void *)) {
  static void (*original)(void *, void *, void (*)(void *));
  if (!original) {
    void *found = dlsym(RTLD_NEXT, "__cxa_throw");
    memcpy(&original, &found, sizeof original);
    if (!original) abort();
  }
  if (watching) {
    frame_count = 0;
    _Unwind_Backtrace(note_frame, NULL);
  }
  original(thrown, type, destroy);
  abort(); /* it does not return */
}

void opc_throw_watch(bool on) {
  watching = on;
  if (on) frame_count = 0;
}

/* ---- the file that contains an address ---- */

typedef struct module_search {
  const char *name; /* wanted: a path or a base name; NULL: the file that contains `address` */
  uint64_t address;
  bool found;
  char base_name[64];
  uint64_t base, end;
} module_search_t;

static int look_at_module(struct dl_phdr_info *info, size_t size, void *context) {
  module_search_t *search = context;
  uint64_t end = 0;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type == PT_LOAD && segment->p_vaddr + segment->p_memsz > end)
      end = segment->p_vaddr + segment->p_memsz;
  }
  const char *path = info->dlpi_name ? info->dlpi_name : "";
  bool fits = search->name ? strcmp(opc_base_name(path), opc_base_name(search->name)) == 0
                           : search->address >= info->dlpi_addr && search->address < info->dlpi_addr + end;
  if (!fits) return 0;
  search->found = true;
  search->base = info->dlpi_addr;
  search->end = info->dlpi_addr + end;
  snprintf(search->base_name, sizeof search->base_name, "%s", opc_base_name(path));
  return 1;
}

void opc_address_place(uint64_t address, char *out, size_t size) {
  module_search_t search = {.address = address};
  dl_iterate_phdr(look_at_module, &search);
  if (search.found) snprintf(out, size, "%s+%llx", search.base_name, (unsigned long long)(address - search.base));
  else out[0] = '\0';
}

/* The operator's library; libtorch if that is not loaded under its name. */
static module_search_t thrower_find(const char *library) {
  module_search_t search = {.name = library};
  dl_iterate_phdr(look_at_module, &search);
  if (search.found) return search;
  search.name = "libtorch_cpu.so";
  dl_iterate_phdr(look_at_module, &search);
  return search;
}

/* A child tries one operator after the other, each thousands of times. */
static const module_search_t *throwing_library(const char *library) {
  static module_search_t last;
  static char last_name[PATH_MAX];
  if (last.found && strcmp(last_name, library) == 0) return &last;
  last = thrower_find(library);
  snprintf(last_name, sizeof last_name, "%s", library);
  return &last;
}

void opc_throw_site(const char *library, char *out, size_t size) {
  int written = 0, used = 0;
  out[0] = '\0';
  if (frame_count == 0) return;
  const module_search_t search = *throwing_library(library ? library : "");
  for (size_t i = 0; search.found && i < frame_count && used < SITE_FRAMES; i++) {
    if (frames[i] < search.base || frames[i] >= search.end) continue;
    int added = snprintf(out + written, size - (size_t)written, "%s%llx", used ? "." : "",
                         (unsigned long long)(frames[i] - search.base));
    if (added < 0 || (size_t)added >= size - (size_t)written) break;
    written += added;
    used++;
  }
}

bool opc_throw_is_own(void) {
  static const char *const helpers[] = {"libopcheck-worker", "opcheck-worker", "libstdc++", "libc10."};
  for (size_t i = 0; i < frame_count; i++) {
    Dl_info info;
    bool helps = false;
    if (!dladdr((void *)(uintptr_t)frames[i], &info) || !info.dli_fname) return false;
    const char *name = opc_base_name(info.dli_fname);
    for (size_t k = 0; k < sizeof helpers / sizeof *helpers; k++)
      helps = helps || strncmp(name, helpers[k], strlen(helpers[k])) == 0;
    if (!helps) return opc_library_is_own(info.dli_fname);
  }
  return false;
}
