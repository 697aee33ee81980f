/* The process that uses libdw. Its input can crash it: that question gets no answer, and one more process is started
 * for the next question. */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/system.h"
#include "supervise/symbols/symbol_table.h"
#include "supervise/symbols/symbolise.h"
#include "supervise/symbols/symbolise_kernel.h"

enum { MODULES_MAX = 32 }; /* beyond this, modules are forgotten and read again: a crash needs only a few */

/* If a module names no debug file, only the build id can find one. The standard search would then ask servers. It loads
 * some thirty libraries for that, even if it may ask no server. */
static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file,
                          const char *link, GElf_Word crc, char **out) {
  return (link ? dwfl_standard_find_debuginfo : dwfl_build_id_find_debuginfo)(module, user, name, base, file, link, crc,
                                                                              out);
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = find_debuginfo,
                                         .section_address = dwfl_offline_section_address};

static bool to_virtual(Elf *elf, uint64_t file_offset, uint64_t *out) {
  size_t count = 0;
  if (!elf || elf_getphdrnum(elf, &count) != 0) return false;
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr segment;
    if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD) continue;
    /* Mappings start at pages, so one can start before its segment does. */
    uint64_t start = segment.p_offset & ~(uint64_t)4095;
    if (file_offset >= start && file_offset < segment.p_offset + segment.p_filesz) {
      *out = file_offset - segment.p_offset + segment.p_vaddr;
      return true;
    }
  }
  return false;
}

typedef struct loaded_module {
  char path[512];
  Dwfl *dwfl;
  Dwfl_Module *module;
} loaded_module_t;

static loaded_module_t *symbolise_helper_find(loaded_module_t *modules, size_t *count, const char *path) {
  for (size_t i = 0; i < *count; i++) {
    if (strcmp(modules[i].path, path) == 0) return &modules[i];
  }
  if (*count == MODULES_MAX) {
    for (size_t i = 0; i < *count; i++) dwfl_end(modules[i].dwfl);
    *count = 0;
  }
  loaded_module_t *made = &modules[(*count)++];
  snprintf(made->path, sizeof made->path, "%s", path);
  made->dwfl = dwfl_begin(&callbacks);
  made->module = made->dwfl ? dwfl_report_offline(made->dwfl, path, path, -1) : NULL;
  if (made->dwfl) dwfl_report_end(made->dwfl, NULL, NULL);
  return made;
}

/* File and line of the call that was inlined. */
static void call_site(Dwarf_Die *inlined, opc_frame_t *out) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0, line = 0;
  Dwarf_Files *files = NULL;
  Dwarf_Die unit;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) != 0) return;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0) return;
  if (!dwarf_diecu(inlined, &unit, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, NULL) != 0) return;
  const char *file = dwarf_filesrc(files, number, NULL, NULL);
  if (!file) return;
  snprintf(out->file, sizeof out->file, "%s", file);
  out->line = (int)line;
}

/* It is named by the function that contains it, and so is its frame. */
static bool is_lambda(const char *name) { return strcmp(name, "operator()") == 0; }

/* The line of the function with the address from which the code of scopes[from] was inlined, step by step. */
static void name_outer(Dwarf_Die *scopes, int count, int from, opc_frame_t *out) {
  opc_frame_t place = {0};
  for (int i = from; i < count && dwarf_tag(&scopes[i]) != DW_TAG_subprogram; i++)
    if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine) call_site(&scopes[i], &place);
  out->inlined = true;
  snprintf(out->outer_file, sizeof out->outer_file, "%s", place.file);
  out->outer_line = place.line;
}

/* Names the innermost function at the address, inlined ones included. Functions from libtorch's or the compiler's
 * headers are passed over, unless all are. File and line are already the address's. */
static void name_function(Dwfl_Module *module, Dwarf_Addr address, opc_frame_t *out) {
  Dwarf_Addr bias = 0;
  Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), *innermost = NULL, *scopes = NULL;
  int count = unit ? dwarf_getscopes(unit, address - bias, &innermost) : 0;
  opc_frame_t place = *out;
  /* After an inlined function the first list continues at its definition. The place where it was inlined is needed. */
  count = count > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
  for (int i = 0; i < count; i++) {
    int tag = dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    const char *name = dwarf_diename(&scopes[i]);
    bool own = !opc_is_library_header(place.file);
    if (name && (own || out->function[0] == '\0')) {
      snprintf(out->function, sizeof out->function, "%s", name);
      snprintf(out->file, sizeof out->file, "%s", place.file);
      out->line = place.line;
      out->inlined = false;
      if (tag == DW_TAG_inlined_subroutine && !is_lambda(name)) name_outer(scopes, count, i, out);
    }
    if (own || tag == DW_TAG_subprogram) break;
    call_site(&scopes[i], &place);
  }
  free(innermost);
  free(scopes);
}

static void answer(loaded_module_t *modules, size_t *count, const opc_symbolise_question_t *question,
                   opc_frame_t *out) {
  memset(out, 0, sizeof *out);
  out->offset = question->place;
  loaded_module_t *loaded = symbolise_helper_find(modules, count, question->module);
  GElf_Addr bias = 0;
  Elf *elf = loaded->module ? dwfl_module_getelf(loaded->module, &bias) : NULL;
  if (elf && question->kind == OPC_SYMBOLISE_KERNEL) {
    opc_symbolise_kernel(loaded->module, elf, bias, question, out);
    return;
  }
  if (!to_virtual(elf, question->place, &out->offset)) return;
  const char *name = opc_symbol_covering(elf, out->offset);
  if (!name) name = dwfl_module_addrname(loaded->module, out->offset + bias);
  OPC_SCOPED(opc_scope_free) char *plain = name ? opc_demangle_part(name) : NULL;
  if (plain) opc_string_put(out->symbol, sizeof out->symbol, plain);
  if (question->kind == OPC_SYMBOLISE_NAME) return;
  Dwfl_Line *line = dwfl_module_getsrc(loaded->module, out->offset + bias);
  const char *file = line ? dwfl_lineinfo(line, NULL, &out->line, NULL, NULL, NULL) : NULL;
  if (file) snprintf(out->file, sizeof out->file, "%s", file);
  name_function(loaded->module, out->offset + bias, out);
}

void opc_symbolise_serve(int fd) {
  unsetenv("DEBUGINFOD_URLS"); /* disables questions to the network */
  loaded_module_t modules[MODULES_MAX];
  size_t count = 0;
  opc_symbolise_question_t question;
  while (recv(fd, &question, sizeof question, 0) == (ssize_t)sizeof question) {
    opc_frame_t frame;
    question.module[sizeof question.module - 1] = '\0';
    answer(modules, &count, &question, &frame);
    if (send(fd, &frame, sizeof frame, MSG_NOSIGNAL) != (ssize_t)sizeof frame) break;
  }
}
