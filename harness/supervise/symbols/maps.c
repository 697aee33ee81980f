#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "supervise/symbols/symbolise.h"

enum { STACK_MARGIN = 4 << 20 };

static void empty(opc_maps_t *maps) {
  for (size_t i = 0; i < maps->count; i++) free(maps->mappings[i].path);
  free(maps->program);
  maps->program = NULL;
  maps->count = 0;
  maps->stack_end = 0;
}

static opc_status_t maps_keep(opc_maps_t *maps, const struct opc_mapping *mapping, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(maps->mappings, maps->count)) return opc_out_of_memory(error);
  maps->mappings[maps->count] = *mapping;
  maps->mappings[maps->count].path = opc_string_copy(mapping->path);
  if (!maps->mappings[maps->count].path) return opc_out_of_memory(error);
  maps->count++;
  return OPC_OK;
}

opc_status_t opc_maps_read(opc_maps_t *maps, pid_t pid, opc_error_t *error) {
  char path[64];
  OPC_SCOPED(opc_scope_free) char *line = NULL;
  size_t size = 0;
  empty(maps);
  snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
  maps->program = realpath(path, NULL);
  snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
  OPC_SCOPED(opc_scope_fclose) FILE *file = fopen(path, "re");
  if (!file) return opc_error_set(error, OPC_ERR_SYSTEM, "cannot read %s: %s", path, strerror(errno));
  while (getline(&line, &size, file) > 0) {
    struct opc_mapping mapping = {0};
    char rights[5];
    int name = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &mapping.start, &mapping.end, rights,
               &mapping.offset, &name) != 4)
      continue;
    line[strcspn(line, "\n")] = '\0';
    mapping.path = line + name;
    if (strcmp(mapping.path, "[stack]") == 0) maps->stack_end = mapping.end;
    if (rights[2] == 'x' && mapping.path[0] == '/') OPC_RETURN_IF_ERROR(maps_keep(maps, &mapping, error));
  }
  return OPC_OK;
}

bool opc_maps_below_stack(const opc_maps_t *maps, uint64_t address) {
  struct rlimit limit;
  if (maps->stack_end == 0 || getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  uint64_t reach = limit.rlim_cur + STACK_MARGIN;
  return address < maps->stack_end && address >= maps->stack_end - reach &&
         address < maps->stack_end - limit.rlim_cur + STACK_MARGIN;
}

const struct opc_mapping *opc_maps_find(const opc_maps_t *maps, uint64_t address) {
  for (size_t i = 0; i < maps->count; i++) {
    if (address >= maps->mappings[i].start && address < maps->mappings[i].end) return &maps->mappings[i];
  }
  return NULL;
}

void opc_maps_clear(opc_maps_t *maps) {
  empty(maps);
  free(maps->mappings);
  memset(maps, 0, sizeof *maps);
}
