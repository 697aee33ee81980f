/* The GPU architectures that can be simulated: the entries of cuda/image/architectures.def, with name and number.
 *
 * Threads, fork: constant. */
#pragma once

typedef struct opc_simulated_architecture {
  const char *name; /* "sm_90" */
  unsigned number;  /* 90, as in inspect/fatbin.h */
} opc_simulated_architecture_t;

enum {
  OPC_SIMULATED_ARCHITECTURES = 0
#define OPC_ARCHITECTURE(...) +1
#include "cuda/image/architectures.def"
};
extern const opc_simulated_architecture_t opc_simulated_architectures[OPC_SIMULATED_ARCHITECTURES];
