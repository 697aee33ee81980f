#include "supervise/process/cuda_plan.h"

#include <string.h>

#include "inspect/facts.h"
#include "inspect/simulated_architectures.h"

/* Adds one for each architecture that the library contains code for. */
static void count_served(const char *path, size_t served[OPC_SIMULATED_ARCHITECTURES]) {
  opc_elf_file_t *file = NULL;
  opc_facts_t facts = {0};
  if (opc_elf_open(path, &file, NULL) != OPC_OK) return;
  if (opc_facts_read(file, &facts, NULL) == OPC_OK && !facts.gpu.damaged) {
    for (size_t i = 0; i < OPC_SIMULATED_ARCHITECTURES; i++)
      served[i] += opc_gpu_codes_serve(&facts.gpu, opc_simulated_architectures[i].number);
  }
  opc_facts_clear(&facts);
  opc_elf_close(file);
}

const char *opc_architecture_choose(const char *const *libraries, size_t count) {
  size_t served[OPC_SIMULATED_ARCHITECTURES] = {0}, usual = 0, best = 0;
  for (size_t i = 0; i < count; i++) count_served(libraries[i], served);
  for (size_t i = 0; i < OPC_SIMULATED_ARCHITECTURES; i++) {
    if (strcmp(opc_simulated_architectures[i].name, OPC_CUDA_ARCHITECTURE_USUAL) == 0) usual = i;
    if (served[i] > served[best]) best = i;
  }
  return served[best] > served[usual] ? opc_simulated_architectures[best].name : NULL;
}
