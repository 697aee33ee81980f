/* The GPUs that CTest assigned to this test (ctest(1), "Resource Allocation"). The resource file comes from opcheck-c
 * (`devices --format ctest-resources`), so ids count the devices that CUDA_VISIBLE_DEVICES allowed when it was made.
 *
 * Threads: one, before any other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* assigned: CTEST_RESOURCE_GROUP_0_GPUS, "id:0,slots:1;id:2,slots:1". visible: CUDA_VISIBLE_DEVICES; NULL: all are
 * visible. *out receives the new value. False: `assigned` names no device, or one that is not visible. */
bool opc_visible_devices_of(const char *assigned, const char *visible, char *out, size_t size);
/* If CTest assigned any, sets CUDA_VISIBLE_DEVICES to those, for this process and its children. */
void opc_visible_devices_take(void);
