#include "inspect/facts.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
  opc_facts_t *facts;
  bool failed;
} reading_t;

bool opc_symbol_is_python(const char *name) {
  if (*name == '_') name++;
  return name[0] == 'P' && name[1] == 'y' && (name[2] == '_' || (name[2] >= 'A' && name[2] <= 'Z'));
}

/* Matches "cuInit" and "hipMalloc", but not "curl_easy_init". */
static bool begins_word(const char *name, const char *word) {
  const size_t length = strlen(word);
  return strncmp(name, word, length) == 0 && name[length] >= 'A' && name[length] <= 'Z';
}

bool opc_symbol_is_accelerator(const char *name) {
  static const char *const words[] = {"cu", "nv", "hip", "nccl", "miopen", "npp"};
  static const char *const prefixes[] = {"cublas",   "cudnn",  "cufft",    "curand", "cusolver",
                                         "cusparse", "cupti",  "cutensor", "cudss",  "nvrtc",
                                         "nvml",     "nvjpeg", "rocblas",  "rccl",   "__hip"};
  static const char *const parts[] = {"cuda", "CUDA",   "Cuda",  "3hip", "HIP",  "4nccl",
                                      "NCCL", "cublas", "cudnn", "3xpu", "4sycl"};
  const bool mangled = opc_string_begins(name, "_Z");
  for (size_t i = 0; !mangled && i < sizeof words / sizeof *words; i++) {
    if (begins_word(name, words[i])) return true;
  }
  for (size_t i = 0; !mangled && i < sizeof prefixes / sizeof *prefixes; i++) {
    if (opc_string_begins(name, prefixes[i])) return true;
  }
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(name, parts[i])) return true;
  }
  return false;
}

/* With or without a reference qualifier on the function; the namespace may be a substitution. */
bool opc_symbol_is_newer_torch(const char *name) {
  return opc_string_begins(name, "_ZN") && strstr(name, "5torch7Library") && strstr(name, "10headeronly");
}

/* An old string is mangled as the substitution "Ss", a new one as "NSt7__cxx1112basic_string". */
bool opc_symbol_has_old_string(const char *name) {
  if (!opc_string_begins(name, "_Z") || strstr(name, "__cxx11")) return false;
  const size_t length = strlen(name);
  return strstr(name, "RKSs") || strstr(name, "OSs") || (length > 2 && strcmp(name + length - 2, "Ss") == 0);
}

/* A namespace begins a nested name, perhaps after the qualifiers of a member function: "N2at", "NK3c10". Elsewhere the
 * same letters belong to a longer word ("12attach") or to a function ("2at" of std::vector). */
bool opc_symbol_is_torch_cpp(const char *name) {
  static const char *const namespaces[] = {"3c10", "2at", "5torch", "6caffe2"};
  if (!opc_string_begins(name, "_Z")) return false;
  for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++) {
    for (const char *at = strstr(name, namespaces[i]); at; at = strstr(at + 1, namespaces[i])) {
      if (strchr("NKROV", at[-1])) return true;
    }
  }
  return false;
}

bool opc_symbol_is_stable(const char *name) {
  return opc_string_begins(name, "aoti_torch_") || opc_string_begins(name, "torch_");
}

static void see_undefined(reading_t *reading, const opc_elf_symbol_t *symbol) {
  opc_facts_t *facts = reading->facts;
  const char *name = symbol->name;
  facts->torch_library |= opc_string_begins(name, "_ZN5torch7Library") || opc_string_begins(name, "_ZNR5torch7Library");
  facts->register_operators |= opc_string_begins(name, "_ZN3c1017RegisterOperators") ||
                               opc_string_begins(name, "_ZN5torch3jit17RegisterOperators") ||
                               opc_string_begins(name, "_ZN5torch3jit16registerOperator");
  facts->stable_library |= opc_string_begins(name, "aoti_torch_library_") || opc_string_begins(name, "torch_library_");
  facts->custom_classes |= (bool)strstr(name, "registerCustomClass");
  facts->newer_torch |= opc_symbol_is_newer_torch(name);
  facts->driver_calls |= name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
  if (opc_symbol_is_torch_cpp(name) && opc_symbol_has_old_string(name)) {
    facts->strings |= OPC_STRINGS_OLD;
    if (!facts->old_string_symbol) facts->old_string_symbol = name;
  }
  if (strstr(name, "__cxx11")) facts->strings |= OPC_STRINGS_NEW;
  if (!opc_symbol_is_python(name) || symbol->binding == STB_WEAK) return;
  reading->failed |= !OPC_ARRAY_GROW(facts->python_symbols, facts->python_count);
  if (!reading->failed) facts->python_symbols[facts->python_count++] = name;
}

static bool facts_see(const opc_elf_symbol_t *symbol, void *context) {
  reading_t *reading = context;
  if (!symbol->defined) see_undefined(reading, symbol);
  else if (opc_string_begins(symbol->name, "PyInit_")) reading->facts->python_module = symbol->name + strlen("PyInit_");
  return !reading->failed;
}

static const char *section_text(const opc_elf_file_t *file, const char *name) {
  size_t size = 0;
  const unsigned char *bytes = opc_elf_section(file, name, &size);
  const char *text = (const char *)bytes;
  while (size > 0 && *text == '\0') { /* .comment may begin with an empty string */
    text++;
    size--;
  }
  return bytes && size > 0 && memchr(text, '\0', size) ? text : NULL;
}

opc_status_t opc_facts_read(const opc_elf_file_t *file, opc_facts_t *out, opc_error_t *error) {
  *out = (opc_facts_t){0};
  reading_t reading = {.facts = out};
  opc_elf_each_symbol(file, facts_see, &reading);
  if (reading.failed) {
    opc_facts_clear(out);
    return opc_out_of_memory(error);
  }
  size_t size = 0;
  const unsigned char *gpu = opc_elf_section(file, ".nv_fatbin", &size);
  if (gpu) opc_fatbin_read(gpu, size, &out->gpu);
  out->gpu_runtime = opc_cuda_runtime_of(file);
  out->rocm = opc_elf_has_section(file, ".hip_fatbin");
  out->debug = opc_elf_has_section(file, ".debug_info") || opc_elf_has_section(file, ".zdebug_info");
  out->function_names = opc_elf_has_section(file, ".symtab");
  out->debug_file = section_text(file, ".gnu_debuglink");
  out->compiler = section_text(file, ".comment");
  return OPC_OK;
}

void opc_facts_clear(opc_facts_t *facts) {
  free(facts->python_symbols);
  *facts = (opc_facts_t){0};
}
