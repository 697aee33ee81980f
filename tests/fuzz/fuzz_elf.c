/* A library's file, and what is found out about it without loading it. */
#include "fuzz.h"

#include "base/text.h"
#include "inspect/elf_file.h"
#include "inspect/facts.h"
#include "inspect/gpu_kernels.h"

static bool elf_symbol(const opc_elf_symbol_t *symbol, void *context) {
  size_t *length = context;
  *length += strlen(symbol->name) + (symbol->version ? strlen(symbol->version) : 0) +
             (symbol->library ? strlen(symbol->library) : 0);
  return true;
}

static bool elf_wanted(const opc_elf_wanted_t *wanted, void *context) {
  size_t *length = context;
  *length += strlen(wanted->library) + strlen(wanted->version);
  return true;
}

static void elf_facts(const opc_elf_file_t *file) {
  opc_facts_t facts = {0};
  opc_error_t error = {0};
  opc_kernel_names_t names = {0};
  if (opc_facts_read(file, &facts, &error) != OPC_OK) fuzz_expect(error.message[0], "an error without words");
  opc_facts_clear(&facts);
  if (opc_kernel_names_read(file, &names, &error) != OPC_OK) fuzz_expect(error.message[0], "an error without words");
  opc_kernel_names_clear(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  opc_elf_file_t *file = NULL;
  opc_error_t error = {0};
  size_t length = 0;
  if (opc_elf_open(fuzz_file(bytes, size), &file, &error) != OPC_OK) {
    fuzz_expect(error.message[0], "an error without words");
    return 0;
  }
  opc_elf_each_symbol(file, elf_symbol, &length);
  opc_elf_each_wanted(file, elf_wanted, &length);
  for (size_t i = 0; i < file->needed_count; i++) fuzz_expect(opc_elf_needs(file, file->needed[i]), "a need is lost");
  (void)opc_elf_has_version(file, "V_1");
  (void)opc_elf_has_section(file, ".debug");
  (void)opc_cuda_runtime_of(file);
  (void)opc_cuda_major(file);
  (void)opc_cuda_driver_works(file);
  elf_facts(file);
  opc_elf_close(file);
  return 0;
}
