/* A driver with one device, for tests of what happens before any CUDA call is made: opcheck-c asks which devices there
 * are. */
#include <stddef.h>
#include <stdio.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *out);
int cuDeviceGetCount(int *out);
int cuDeviceGet(int *out, int index);
int cuDeviceGetName(char *out, int size, int device);
int cuDeviceGetAttribute(int *out, int attribute, int device);
int cuDeviceTotalMem_v2(size_t *out, int device);

int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }
int cuDriverGetVersion(int *out) { return *out = 13000, 0; }
int cuDeviceGetCount(int *out) { return *out = 1, 0; }
int cuDeviceGet(int *out, int index) { return *out = index, 0; }
int cuDeviceGetName(char *out, int size, int device) {
  return snprintf(out, (size_t)size, "a stub, device %d", device) > 0 ? 0 : 1;
}
int cuDeviceGetAttribute(int *out, int attribute, int device) { return *out = attribute == 75 ? 9 : 0, device; }
int cuDeviceTotalMem_v2(size_t *out, int device) { return *out = (size_t)1 << 30, device; }
