/* Inside the simulated device: what its files share. */
#ifndef OPC_LAUNCH_SIMULATED_H
#define OPC_LAUNCH_SIMULATED_H

#include "launch/cudart_table.h"

size_t opc_simulated_memory(void); /* bytes of a device */
/* Until every host function that was put into a stream has run. */
void opc_host_functions_wait(void);
/* How many blocks of so many threads a multiprocessor has room for. */
uint32_t opc_blocks_resident(opc_kernel_t *kernel, uint64_t threads, uint64_t shared);

#endif
