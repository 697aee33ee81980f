/* The GPUs that CTest has given to this test (ctest(1), "Resource Allocation"): its resource file is opcheck-c's own
 * (`devices --format ctest-resources`), so that an id counts the devices that CUDA_VISIBLE_DEVICES leaves to whoever
 * made it.
 *
 * Threads: one, before any other. */
#ifndef OPC_SUPERVISE_COMMON_VISIBLE_DEVICES_H
#define OPC_SUPERVISE_COMMON_VISIBLE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

/* assigned: CTEST_RESOURCE_GROUP_0_GPUS, "id:0,slots:1;id:2,slots:1". visible: CUDA_VISIBLE_DEVICES; NULL: all are.
 * *out gets the new one. False: `assigned` names no device, or one that is not visible. */
bool opc_visible_devices_of(const char *assigned, const char *visible, char *out, size_t size);
/* Where CTest has given any, CUDA_VISIBLE_DEVICES becomes those, for this process and all that it starts. */
void opc_visible_devices_take(void);

#endif
