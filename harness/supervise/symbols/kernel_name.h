/* The function that a kernel is, read from the demangled name of the code that calls it: a functor's type, or a
 * function that libtorch's headers make of it.
 *
 * Ownership: opc_kernel_name_clear. Threads: pure functions. */
#pragma once

#include <stdbool.h>

#include "base/text.h"

typedef struct opc_kernel_name {
  opc_text_t name; /* "my::kernel<3>", "my::Functor::operator()"; of a lambda the name of its type and "::operator()" */
  opc_text_t arguments; /* "(at::Tensor const&)"; empty: not known */
  bool lambda;
} opc_kernel_name_t;

/* Of a functor's type. False: it names no kernel. */
bool opc_kernel_name_of_functor(const char *type, opc_kernel_name_t *out);
/* Of a function of libtorch's headers that calls the kernel, with the kernel as an argument of its template. False: it
 * is no such function, and so a kernel itself. */
bool opc_kernel_name_of_caller(const char *function, opc_kernel_name_t *out);
void opc_kernel_name_clear(opc_kernel_name_t *name);

/* True if the demangled name of a function is this one. */
bool opc_kernel_name_is(const opc_kernel_name_t *name, const char *function, bool with_arguments);
/* "kernel<3>" for "my::kernel<3>": as debug information names it. The text belongs to the name. */
const char *opc_kernel_name_short(const opc_kernel_name_t *name);
