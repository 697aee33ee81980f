/* Symbols of a library.
 *
 * Threads: one. */
#pragma once

#include <gelf.h>

/* The name of the symbol whose bytes contain the address. If several start together, the most widely bound one. NULL:
 * there is none. dwfl_module_addrname knows more but reads every name's text: 25 ms with libtorch's half a million
 * local symbols. */
const char *opc_symbol_covering(Elf *elf, GElf_Addr address);

/* The name of a symbol as it is written in C++. Of a part of a function that the compiler made a function of its own
 * ("_Z6kernelv._omp_fn.0"), the whole function's. The caller frees; NULL: out of memory. */
char *opc_demangle_part(const char *name);
