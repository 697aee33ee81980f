#include "inspect/requirement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"
#include "base/system.h"
#include "base/text.h"

const opc_requirement_info_t opc_requirement_infos[OPC_REQUIREMENTS] = {
    [OPC_REQUIRE_STABLE_ABI] = {"stable-abi", "stable-abi=2.9"},
    [OPC_REQUIRE_CUDA] = {"cuda", "cuda=13"},
    [OPC_REQUIRE_GLIBC] = {"glibc", "glibc=2.28"},
    [OPC_REQUIRE_CXX11_ABI] = {"cxx11abi", "cxx11abi"}};

/* ---- what is asked ---- */

static opc_status_t check_torch_version(const char *value, opc_error_t *error) {
  const unsigned version = opc_version_number(value);
  if (version == 0)
    return opc_error_set(error, OPC_ERR_USAGE,
                         "--require stable-abi=%s: give a libtorch as MAJOR.MINOR, such as stable-abi=2.9", value);
  if (version < opc_version_number(opc_stable_oldest()) || version > opc_version_number(opc_stable_newest()))
    return opc_error_set(error, OPC_ERR_USAGE, "--require stable-abi=%s: give a libtorch from %s to %s", value,
                         opc_stable_oldest(), opc_stable_newest());
  return OPC_OK;
}

static opc_status_t check_value(opc_requirement_kind_t kind, const char *value, opc_error_t *error) {
  switch (kind) {
    case OPC_REQUIRE_STABLE_ABI:
      return check_torch_version(value, error);
    case OPC_REQUIRE_CUDA:
      if (strspn(value, "0123456789") != strlen(value) || atoi(value) < 9 || atoi(value) > 99)
        return opc_error_set(error, OPC_ERR_USAGE, "--require cuda=%s: give the major version of CUDA, such as cuda=13",
                             value);
      return OPC_OK;
    case OPC_REQUIRE_GLIBC:
      if (opc_version_number(value) < 2000)
        return opc_error_set(error, OPC_ERR_USAGE,
                             "--require glibc=%s: give a version as MAJOR.MINOR, such as glibc=2.28", value);
      return OPC_OK;
    default:
      return opc_error_set(error, OPC_ERR_USAGE, "--require %s=%s: this requirement has no value",
                           opc_requirement_infos[kind].name, value);
  }
}

opc_status_t opc_requirement_add(opc_requirements_t *requirements, opc_requirement_kind_t kind, const char *value,
                                 opc_error_t *error) {
  const char *name = opc_requirement_infos[kind].name;
  char *own = requirements->value[kind];
  const bool needs_value = kind == OPC_REQUIRE_CUDA || kind == OPC_REQUIRE_GLIBC;
  if (!value && needs_value)
    return opc_error_set(error, OPC_ERR_USAGE, "--require %s: give a version, such as %s", name,
                         opc_requirement_infos[kind].example);
  if (value && strlen(value) >= sizeof requirements->value[kind])
    return opc_error_set(error, OPC_ERR_USAGE, "--require %s=%.20s…: this is no version", name, value);
  if (value) OPC_RETURN_IF_ERROR(check_value(kind, value, error));
  if (value && requirements->given[kind] && *own != '\0' && strcmp(own, value) != 0)
    return opc_error_set(error, OPC_ERR_USAGE, "--require: %s=%s and %s=%s contradict each other: give one of them",
                         name, own, name, value);
  requirements->given[kind] = true;
  if (value) opc_string_put(own, sizeof requirements->value[kind], value);
  return OPC_OK;
}

bool opc_requirements_any(const opc_requirements_t *requirements) {
  bool any = false;
  for (size_t i = 0; i < OPC_REQUIREMENTS; i++) any |= requirements->given[i];
  return any;
}

/* ---- one library ---- */

typedef struct subject {
  const opc_facts_t *facts;
  const opc_symbol_search_t *search;
  const opc_torch_use_t *use;
  const char *value;
  const opc_elf_file_t *file; /* the part that is being read */
  json_t *symbols;            /* those that break the requirement */
  opc_text_t message;
} subject_t;

static void requirement_subject_clear(subject_t *subject) {
  json_decref(subject->symbols);
  opc_text_clear(&subject->message);
}

static json_t *requirement_text_json(const char *text) {
  OPC_SCOPED(opc_text_clear) opc_text_t shown = {0};
  opc_text_add_utf8(&shown, text, strlen(text));
  return json_string(opc_text_c(&shown));
}

static void breaks(subject_t *subject, const char *name, const opc_elf_file_t *by, const char *why) {
  OPC_SCOPED(opc_scope_free) char *shown = opc_demangle(name);
  const bool own = by == subject->search->files[0];
  json_t *symbol = json_pack("{s:o, s:o, s:s, s:o}", "name", requirement_text_json(name), "shown",
                             requirement_text_json(shown ? shown : name), "why", why, "by",
                             own ? json_null() : requirement_text_json(opc_base_name(by->path)));
  (void)json_array_append_new(subject->symbols, symbol);
}

/* "1 symbol is", "2 symbols are" */
static void requirement_add_count(opc_text_t *text, size_t count, const char *one, const char *many) {
  opc_text_addf(text, "%zu %s", count, count == 1 ? one : many);
}

/* Why a symbol is not in every libtorch from the wanted one on; "": it is. */
static void stable_symbol_refuse(const opc_torch_symbol_t *symbol, unsigned wanted, char *why, size_t size) {
  const char *name = symbol->name;
  *why = '\0';
  if (!opc_symbol_is_stable(name))
    opc_string_put(why, size, opc_string_begins(name, "_Z") ? "libtorch's C++ interface" : "libtorch_python");
  else if (!symbol->known)
    snprintf(why, size, "in no libtorch from %s to %s", opc_stable_oldest(), opc_stable_newest());
  else if (strcmp(symbol->known->last, opc_stable_newest()) != 0)
    snprintf(why, size, "only up to libtorch %s", symbol->known->last);
  else if (wanted != 0 && opc_version_number(symbol->known->first) > wanted)
    snprintf(why, size, "since libtorch %s", symbol->known->first);
}

/* "17 of its 80 symbols" */
static void add_part(opc_text_t *text, size_t part, size_t whole, const char *noun) {
  opc_text_addf(text, "%zu of its %zu %s%s", part, whole, noun, whole == 1 ? "" : "s");
}

static void say_range(const opc_torch_use_t *use, opc_text_t *text) {
  const bool none = use->lowest && use->highest && opc_version_number(use->highest) < opc_version_number(use->lowest);
  if (none) opc_text_add(text, "; no libtorch has all of them");
  else if (use->lowest && use->highest)
    opc_text_addf(text, "; loads into libtorch %s to %s", use->lowest, use->highest);
  else if (use->lowest) opc_text_addf(text, "; loads into libtorch %s and newer", use->lowest);
}

static void say_stable(subject_t *subject, size_t missing) {
  const opc_torch_use_t *use = subject->use;
  opc_text_t *text = &subject->message;
  const bool registers = opc_facts_registers(subject->facts);
  if (use->count == 0) {
    opc_text_add(text,
                 "it uses nothing of libtorch, so that there is nothing to judge: name the library with the "
                 "operators");
    return;
  }
  if (use->other > 0) {
    add_part(text, use->other, use->count, "symbol");
    opc_text_addf(text,
                  " of libtorch %s outside the stable interface, so that it loads only into the libtorch that it "
                  "was built for",
                  use->other == 1 ? "is" : "are");
  }
  if (missing > 0) {
    opc_text_add(text, use->other > 0 ? "; " : "");
    add_part(text, missing, use->stable, "stable symbol");
    opc_text_addf(text, " %s not in libtorch %s%s", missing == 1 ? "is" : "are",
                  *subject->value ? subject->value : opc_stable_newest(), *subject->value ? " and all newer ones" : "");
  }
  if (text->length == 0)
    opc_text_addf(text,
                  use->count == 1 ? "its one symbol of libtorch is of the stable interface"
                                  : "its %zu symbols of libtorch are all of the stable interface",
                  use->count);
  opc_text_add(text, subject->facts->stable_library ? "; it registers through the stable interface"
                     : registers                    ? "; it does not register through the stable interface"
                                                    : "; it registers no operators");
  if (use->other == 0) say_range(use, text);
}

static bool judge_stable(subject_t *subject) {
  const unsigned wanted = opc_version_number(subject->value);
  const opc_torch_use_t *use = subject->use;
  size_t missing = 0;
  for (size_t i = 0; i < use->count; i++) {
    char why[96];
    stable_symbol_refuse(&use->items[i], wanted, why, sizeof why);
    if (*why == '\0') continue;
    breaks(subject, use->items[i].name, use->items[i].by, why);
    missing += opc_symbol_is_stable(use->items[i].name);
  }
  say_stable(subject, missing);
  return use->count > 0 && json_array_size(subject->symbols) == 0;
}

/* The CUDA that a library's name is of: those whose number is CUDA's own. 0: another library. */
static int cuda_of_library(const char *name) {
  static const char *const names[] = {"libcudart", "libcublas",    "libcublasLt", "libnvblas",
                                      "libnvrtc",  "libnvJitLink", "libcupti"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const size_t length = strlen(names[i]);
    if (strncmp(name, names[i], length) != 0 || (name[length] != '.' && name[length] != '-')) continue;
    const char *number = strstr(name, ".so."); /* auditwheel writes libcudart-0123abcd.so.12.8.90 */
    return number ? atoi(number + strlen(".so.")) : 0;
  }
  return 0;
}

static bool judge_cuda_symbol(const opc_elf_symbol_t *symbol, void *context) {
  subject_t *subject = context;
  const int cuda = symbol->library && !symbol->defined ? cuda_of_library(symbol->library) : 0;
  char why[96];
  if (cuda == 0 || cuda == atoi(subject->value)) return true;
  snprintf(why, sizeof why, "%.80s", symbol->library);
  breaks(subject, symbol->name, subject->file, why);
  return true;
}

static bool judge_cuda(subject_t *subject) {
  opc_text_t needed = {0}, others = {0};
  for (size_t f = 0; f < subject->search->part_count; f++) {
    const opc_elf_file_t *file = subject->file = subject->search->files[f];
    for (size_t i = 0; i < file->needed_count; i++) {
      const int cuda = cuda_of_library(file->needed[i]);
      opc_text_t *list = cuda == 0 ? NULL : cuda == atoi(subject->value) ? &needed : &others;
      if (list && !strstr(opc_text_c(list), file->needed[i]))
        opc_text_addf(list, "%s%s", list->length > 0 ? ", " : "", file->needed[i]);
    }
    opc_elf_each_symbol(file, judge_cuda_symbol, subject);
  }
  const bool met = others.length == 0;
  if (!met) opc_text_addf(&subject->message, "needs %s", opc_text_c(&others));
  else if (needed.length > 0) opc_text_addf(&subject->message, "needs %s", opc_text_c(&needed));
  else if (subject->facts->gpu_runtime == OPC_GPU_RUNTIME_STATIC)
    opc_text_add(&subject->message,
                 "needs no CUDA library: a CUDA runtime is linked into it, of which version the "
                 "file does not say");
  else opc_text_add(&subject->message, "needs no CUDA library");
  opc_text_clear(&needed);
  opc_text_clear(&others);
  return met;
}

/* The glibc that a version of libc.so.6 and its companions belongs to: "GLIBC_2.34" is 2034. The versions without a
 * number tell an older loader that it cannot load the file. 0: no version of glibc. */
static unsigned glibc_of(const char *version) {
  enum { NEVER = 999999 };
  if (!opc_string_begins(version, "GLIBC_")) return 0;
  if (strcmp(version, "GLIBC_ABI_DT_RELR") == 0) return opc_version_number("2.36");
  if (opc_string_begins(version, "GLIBC_ABI_")) return opc_version_number("2.42");
  char number[16];
  unsigned dots = 0, length = 0;
  for (const char *at = version + strlen("GLIBC_"); *at && length < sizeof number - 1; at++) {
    dots += *at == '.';
    if (dots == 2) break; /* GLIBC_2.2.5 */
    number[length++] = *at;
  }
  number[length] = '\0';
  const unsigned found = opc_version_number(number);
  return found != 0 ? found : NEVER; /* GLIBC_PRIVATE: of no other glibc than its own */
}

static bool note_newest_glibc(const opc_elf_wanted_t *wanted, void *context) {
  const char **newest = context;
  const unsigned glibc = glibc_of(wanted->version);
  if (!wanted->optional && glibc > 0 && (!*newest || glibc > glibc_of(*newest))) *newest = wanted->version;
  return true;
}

static bool judge_glibc_symbol(const opc_elf_symbol_t *symbol, void *context) {
  subject_t *subject = context;
  if (!symbol->defined && symbol->version && glibc_of(symbol->version) > opc_version_number(subject->value))
    breaks(subject, symbol->name, subject->file, symbol->version);
  return true;
}

static bool judge_glibc(subject_t *subject) {
  const char *musl = NULL, *newest = NULL;
  for (size_t f = 0; f < subject->search->part_count; f++) {
    subject->file = subject->search->files[f];
    for (size_t i = 0; i < subject->file->needed_count; i++)
      if (opc_string_begins(subject->file->needed[i], "libc.musl-")) musl = subject->file->needed[i];
    opc_elf_each_wanted(subject->file, note_newest_glibc, &newest);
    opc_elf_each_symbol(subject->file, judge_glibc_symbol, subject);
  }
  if (musl) opc_text_addf(&subject->message, "needs %s: it is built for musl, another C library", musl);
  else opc_text_addf(&subject->message, "needs %s", newest ? newest : "no version of glibc");
  return !musl && (!newest || glibc_of(newest) <= opc_version_number(subject->value));
}

static bool has_new_string(const opc_elf_symbol_t *symbol, void *context) {
  bool *found = context;
  *found = strstr(symbol->name, "__cxx11");
  return !*found;
}

typedef struct strings_read {
  subject_t *subject;
  bool new; /* the file has symbols with the std::string of C++11 */
} strings_read_t;

/* libstdc++ has both. What compilers of old systems link into a library of C++11 uses a few of the old ones, so that
 * they mean something only where there is nothing else. */
static bool judge_string(const opc_elf_symbol_t *symbol, void *context) {
  static const char *const own[] = {"_ZNSs", "_ZNKSs", "_ZNSt", "_ZNKSt", "_ZSt"};
  const strings_read_t *read = context;
  bool of_library = false;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) of_library |= opc_string_begins(symbol->name, own[i]);
  const bool old = opc_symbol_has_old_string(symbol->name) || opc_string_begins(symbol->name, "_ZNSs") ||
                   opc_string_begins(symbol->name, "_ZNKSs");
  const bool shared = strstr(symbol->name, "4_Rep20_S_empty");
  if (!symbol->defined && old && !(of_library && (read->new || shared)))
    breaks(read->subject, symbol->name, read->subject->file, "the std::string of before C++11");
  return true;
}

static bool judge_strings(subject_t *subject) {
  for (size_t f = 0; f < subject->search->part_count; f++) {
    subject->file = subject->search->files[f];
    strings_read_t read = {.subject = subject};
    opc_elf_each_symbol(subject->file, has_new_string, &read.new);
    opc_elf_each_symbol(subject->file, judge_string, &read);
  }
  const size_t count = json_array_size(subject->symbols);
  if (count > 0) {
    requirement_add_count(&subject->message, count, "symbol has", "symbols have");
    opc_text_add(&subject->message, " the std::string of before C++11: build it with -D_GLIBCXX_USE_CXX11_ABI=1");
  } else {
    opc_text_add(&subject->message, subject->facts->strings == OPC_STRINGS_NEW
                                        ? "its symbols have the std::string of C++11"
                                        : "none of its symbols has a std::string");
  }
  return count == 0;
}

typedef bool judge_requirement_t(subject_t *subject);

opc_status_t opc_requirements_judge(const opc_requirements_t *requirements, const opc_facts_t *facts,
                                    const opc_symbol_search_t *search, const opc_torch_use_t *use, json_t **out,
                                    opc_error_t *error) {
  static judge_requirement_t *const judges[OPC_REQUIREMENTS] = {[OPC_REQUIRE_STABLE_ABI] = judge_stable,
                                                                [OPC_REQUIRE_CUDA] = judge_cuda,
                                                                [OPC_REQUIRE_GLIBC] = judge_glibc,
                                                                [OPC_REQUIRE_CXX11_ABI] = judge_strings};
  json_auto_t *results = json_array();
  *out = NULL;
  for (size_t i = 0; i < OPC_REQUIREMENTS; i++) {
    if (!requirements->given[i]) continue;
    const char *value = requirements->value[i];
    OPC_SCOPED(requirement_subject_clear)
    subject_t subject = {.facts = facts, .search = search, .use = use, .value = value, .symbols = json_array()};
    const bool met = judges[i](&subject);
    json_t *result =
        json_pack("{s:o, s:b, s:o, s:O}", "requirement",
                  json_sprintf("%s%s%s", opc_requirement_infos[i].name, *value ? "=" : "", value), "met", met,
                  "message", requirement_text_json(opc_text_c(&subject.message)), "symbols", subject.symbols);
    if (json_array_append_new(results, result) != 0) return opc_out_of_memory(error);
  }
  if (!results) return opc_out_of_memory(error);
  *out = json_incref(results);
  return OPC_OK;
}
