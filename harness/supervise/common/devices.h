/* Which CUDA devices this machine has. Queried in a temporary process: initialising the driver starts threads and maps
 * memory, which opcheck-c must not have, and a broken driver may kill its caller.
 *
 * Ownership: plain structs. Threads: one. The call forks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPC_CUDA_DEVICES_MAX = 16 };

typedef struct opc_cuda_devices {
  int count;          /* 0: none; `detail` says why */
  int driver_version; /* 13000 is 13.0; 0: unknown */
  struct opc_cuda_device {
    char name[64];
    int major, minor;              /* compute capability */
    uint64_t memory;               /* bytes */
  } devices[OPC_CUDA_DEVICES_MAX]; /* the first ones */
  char detail[256];                /* as text: "no CUDA driver (libcuda.so.1: …)" */
} opc_cuda_devices_t;

/* Never fails: an error gives a count of 0 and a detail. Takes at most 30 s. */
void opc_cuda_devices_probe(opc_cuda_devices_t *out);

/* The GPUs that CTest assigned to this test (ctest(1), "Resource Allocation"). The resource file comes from opcheck-c
 * (`devices --format ctest-resources`), so ids count the devices that CUDA_VISIBLE_DEVICES allowed when it was made.
 *
 * Threads: one, before any other. */

/* assigned: CTEST_RESOURCE_GROUP_0_GPUS, "id:0,slots:1;id:2,slots:1". visible: CUDA_VISIBLE_DEVICES; NULL: all are
 * visible. *out receives the new value. False: `assigned` names no device, or one that is not visible. */
bool opc_visible_devices_of(const char *assigned, const char *visible, char *out, size_t size);
/* If CTest assigned any, sets CUDA_VISIBLE_DEVICES to those, for this process and its children. */
void opc_visible_devices_take(void);
