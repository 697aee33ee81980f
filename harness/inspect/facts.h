/* Facts from one library's file: how it registers operators, what it was built against, its GPU code, its debug
 * information.
 *
 * Ownership: opc_facts_clear; the strings belong to the ELF file, which outlives the facts. Threads, fork: no shared
 * state. */
#pragma once

#include "inspect/fatbin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the code in a library's file calls CUDA. */

typedef enum opc_gpu_runtime {
  OPC_GPU_RUNTIME_NONE = 0,
  OPC_GPU_RUNTIME_SHARED,
  OPC_GPU_RUNTIME_STATIC
} opc_gpu_runtime_t;

opc_gpu_runtime_t opc_cuda_runtime_of(const opc_elf_file_t *file);
/* Major version of the CUDA runtime that a library needs, or a libtorch by its lib/; 0: none. */
int opc_cuda_major(const opc_elf_file_t *file);
int opc_cuda_major_of_torch(const char *folder);
/* True if the file names CUDA driver functions that launch, copy, allocate or wait: as symbols, or as strings to be
 * looked up at run time. A static runtime does so too. */
bool opc_cuda_driver_works(const opc_elf_file_t *file);

typedef enum opc_string_abi {
  OPC_STRINGS_NONE = 0,
  OPC_STRINGS_NEW,
  OPC_STRINGS_OLD,
  OPC_STRINGS_BOTH
} opc_string_abi_t;

typedef struct opc_facts {
  bool torch_library;      /* TORCH_LIBRARY, TORCH_LIBRARY_FRAGMENT, TORCH_LIBRARY_IMPL */
  bool register_operators; /* torch::RegisterOperators, torch::jit::RegisterOperators */
  bool stable_library;     /* STABLE_TORCH_LIBRARY: libtorch's C interface */
  bool custom_classes;
  const char *python_module;   /* name in its PyInit_ function; NULL: none */
  const char **python_symbols; /* undefined symbols of Python's C API, in file order */
  size_t python_count;
  bool newer_torch; /* uses a registration interface of libtorch 2.12 or later */
  opc_string_abi_t strings;
  const char *old_string_symbol; /* a libtorch symbol with the pre-C++11 std::string; NULL: none */
  bool driver_calls;             /* calls the CUDA driver API */
  opc_gpu_runtime_t gpu_runtime;
  bool rocm; /* has ROCm GPU code */
  opc_gpu_codes_t gpu;
  bool debug, function_names; /* .debug_info; .symtab */
  const char *debug_file;     /* named by .gnu_debuglink; NULL: none */
  const char *compiler;       /* the first string of .comment; NULL: none */
} opc_facts_t;

opc_status_t opc_facts_read(const opc_elf_file_t *file, opc_facts_t *out, opc_error_t *error) OPC_CHECKED;
void opc_facts_clear(opc_facts_t *facts);

/* Of a Python module that registers nothing. */
#define OPC_PYTHON_MODULE_WORDS                                                                                       \
  "it is an extension module of Python (pybind11 or the like), whose functions Python calls directly; operators are " \
  "what TORCH_LIBRARY registers"

/* True if it registers operators or classes with libtorch. */
static inline bool opc_facts_registers(const opc_facts_t *facts) {
  return facts->torch_library || facts->register_operators || facts->stable_library || facts->custom_classes;
}

/* True if the name is one of Python's C API. */
bool opc_symbol_is_python(const char *name);
/* True if the name is one of CUDA, ROCm or SYCL; used if the defining library is not installed. */
bool opc_symbol_is_accelerator(const char *name);
/* A C++ symbol that mentions one of libtorch's namespaces. */
bool opc_symbol_is_torch_cpp(const char *name);
/* A name of libtorch's stable C interface. */
bool opc_symbol_is_stable(const char *name);
/* A registration interface of libtorch 2.12 or later: tags moved to torch::headeronly. */
bool opc_symbol_is_newer_torch(const char *name);
/* A C++ symbol that takes or returns the pre-C++11 std::string (_GLIBCXX_USE_CXX11_ABI=0). */
bool opc_symbol_has_old_string(const char *name);

#ifdef __cplusplus
}
#endif
