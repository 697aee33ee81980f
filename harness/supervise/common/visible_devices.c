#include "supervise/common/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
