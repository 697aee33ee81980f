#include "inspect/simulated_architectures.h"

const opc_simulated_architecture_t opc_simulated_architectures[OPC_SIMULATED_ARCHITECTURES] = {
#define OPC_ARCHITECTURE(name, major, minor, ...) {name, (major)*10 + (minor)},
#include "cuda/image/architectures.def"
};
