/* Which CUDA devices this machine has. Asked in a throw-away process: initialising the driver starts threads and maps
 * memory that must not be in opcheck-c, and a broken driver may kill whoever asks.
 *
 * Ownership: plain structs. Threads: one. The call forks. */
#ifndef OPC_SUPERVISE_COMMON_DEVICES_H
#define OPC_SUPERVISE_COMMON_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

enum { OPC_CUDA_DEVICES_MAX = 16 };

typedef struct opc_cuda_devices {
  int count;          /* 0: none; `detail` says why */
  int driver_version; /* 13000 is 13.0; 0: unknown */
  struct opc_cuda_device {
    char name[64];
    int major, minor;              /* compute capability */
    uint64_t memory;               /* bytes */
  } devices[OPC_CUDA_DEVICES_MAX]; /* the first of them */
  char detail[256];                /* in words: "no CUDA driver (libcuda.so.1: …)" */
} opc_cuda_devices_t;

/* Never fails: what went wrong is a count of 0 and a detail. Takes 30 s at most. */
void opc_cuda_devices_probe(opc_cuda_devices_t *out);

#endif
