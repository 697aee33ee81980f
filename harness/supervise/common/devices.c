#include "supervise/common/devices.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROBE_MILLISECONDS = 30000 };

/* The few functions of the CUDA driver API that opcheck-c needs. It is built without CUDA's headers. */
typedef int cu_init_t(unsigned);
typedef int cu_count_t(int *);
typedef int cu_device_get_t(int *, int);
typedef int cu_name_t(char *, int, int);
typedef int cu_attribute_t(int *, int, int);
typedef int cu_memory_t(size_t *, int);

enum { ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76, ERROR_NO_DEVICE = 100 };

static void devices_ask(opc_cuda_devices_t *out) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) {
    snprintf(out->detail, sizeof out->detail, "no CUDA driver (%s)", dlerror());
    return;
  }
  /* POSIX allows dlsym's pointer to become a function pointer. The union avoids a cast that -Wpedantic refuses. */
  union {
    void *object;
    cu_init_t *init;
    cu_count_t *count;
    cu_device_get_t *get;
    cu_name_t *name;
    cu_attribute_t *attribute;
    cu_memory_t *memory;
  } init = {dlsym(driver, "cuInit")}, count = {dlsym(driver, "cuDeviceGetCount")}, get = {dlsym(driver, "cuDeviceGet")},
    name = {dlsym(driver, "cuDeviceGetName")}, attribute = {dlsym(driver, "cuDeviceGetAttribute")},
    memory = {dlsym(driver, "cuDeviceTotalMem_v2")}, version = {dlsym(driver, "cuDriverGetVersion")};
  if (!init.object || !count.object || !get.object || !name.object || !attribute.object || !memory.object ||
      !version.object) {
    snprintf(out->detail, sizeof out->detail, "libcuda.so.1 lacks functions of the driver");
    return;
  }
  (void)version.count(&out->driver_version);
  int code = init.init(0), devices = 0;
  if (code == 0) code = count.count(&devices);
  if (code == ERROR_NO_DEVICE || (code == 0 && devices == 0)) {
    snprintf(out->detail, sizeof out->detail, "a CUDA driver, but no device");
    return;
  }
  if (code != 0) {
    snprintf(out->detail, sizeof out->detail, "the CUDA driver fails with error %d", code);
    return;
  }
  out->count = devices;
  for (int i = 0; i < devices && i < OPC_CUDA_DEVICES_MAX; i++) {
    int device = 0;
    size_t bytes = 0;
    struct opc_cuda_device *at = &out->devices[i];
    if (get.get(&device, i) != 0) continue;
    (void)name.name(at->name, (int)sizeof at->name - 1, device);
    (void)attribute.attribute(&at->major, ATTRIBUTE_MAJOR, device);
    (void)attribute.attribute(&at->minor, ATTRIBUTE_MINOR, device);
    if (memory.memory(&bytes, device) == 0) at->memory = bytes;
  }
}

void opc_cuda_devices_probe(opc_cuda_devices_t *out) {
  memset(out, 0, sizeof *out);
  int ends[2];
  if (pipe(ends) != 0) {
    snprintf(out->detail, sizeof out->detail, "cannot ask: %s", strerror(errno));
    return;
  }
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    devices_ask(out);
    _exit(write(ends[1], out, sizeof *out) == (ssize_t)sizeof *out ? 0 : 1);
  }
  close(ends[1]);
  opc_cuda_devices_t answer;
  size_t got = 0;
  while (child > 0 && got < sizeof answer) {
    struct pollfd waiting = {.fd = ends[0], .events = POLLIN};
    int ready = poll(&waiting, 1, PROBE_MILLISECONDS);
    if (ready < 0 && errno == EINTR) continue;
    ssize_t part = ready > 0 ? read(ends[0], (char *)&answer + got, sizeof answer - got) : 0;
    if (part <= 0) break;
    got += (size_t)part;
  }
  close(ends[0]);
  if (child > 0) {
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
  }
  if (got == sizeof answer) *out = answer;
  else snprintf(out->detail, sizeof out->detail, "the CUDA driver crashes or hangs the process that asks it");
}

/* The entry number `index` of a comma-separated list; false: the list is shorter. */
static bool entry_of(const char *list, long index, const char **out, size_t *out_length) {
  for (; index > 0; index--) {
    list += strcspn(list, ",");
    if (*list == '\0') return false;
    list++;
  }
  *out = list;
  *out_length = strcspn(list, ",");
  return *out_length > 0;
}

bool opc_visible_devices_of(const char *assigned, const char *visible, char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (const char *at = assigned; (at = strstr(at, "id:"));) {
    char *end, number[24];
    at += strlen("id:");
    long index = strtol(at, &end, 10);
    if (end == at || index < 0 || (*end != ',' && *end != ';' && *end != '\0')) return false;
    snprintf(number, sizeof number, "%ld", index);
    const char *entry = number;
    size_t length = strlen(number);
    if (visible && !entry_of(visible, index, &entry, &length)) return false;
    int written = snprintf(out + used, size - used, "%s%.*s", used > 0 ? "," : "", (int)length, entry);
    if (written < 0 || (size_t)written >= size - used) return false;
    used += (size_t)written;
  }
  return used > 0;
}

void opc_visible_devices_take(void) {
  const char *assigned = getenv("CTEST_RESOURCE_GROUP_0_GPUS");
  char devices[1024];
  if (!assigned || !opc_visible_devices_of(assigned, getenv("CUDA_VISIBLE_DEVICES"), devices, sizeof devices)) return;
  setenv("CUDA_VISIBLE_DEVICES", devices, 1);
  unsetenv("CTEST_RESOURCE_GROUP_0_GPUS"); /* an opcheck-c started by this one would otherwise apply it twice */
}
