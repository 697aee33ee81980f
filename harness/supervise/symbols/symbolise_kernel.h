/* The part of the helper process that finds the function of a kernel. */
#pragma once

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "supervise/symbols/symbolise.h"

/* bias: what is added to the file's own addresses to get the module's. */
void opc_symbolise_kernel(Dwfl_Module *module, Elf *elf, GElf_Addr bias, const opc_symbolise_question_t *question,
                          opc_frame_t *out);
