#include "model/case/case.h"

#include <stdio.h>
#include <string.h>

static const char *const sources[] = {
#define X(constant, text) text,
    OPC_SOURCES(X)
#undef X
};

static const char *const changes[] = {
#define X(constant, text) text,
    OPC_INPUT_CHANGES(X)
#undef X
};

const char *opc_input_change_name(opc_input_change_t change) { return changes[change]; }

void opc_provenance_format(const opc_provenance_t *provenance, char out[OPC_PROVENANCE_SIZE]) {
  out[0] = '\0';
  if (provenance->source == OPC_SOURCE_NONE) return;
  snprintf(out, OPC_PROVENANCE_SIZE, "%s/%s", sources[provenance->source], changes[provenance->change]);
}

bool opc_provenance_parse(const char *text, opc_provenance_t *out) {
  char known[OPC_PROVENANCE_SIZE];
  for (int source = OPC_SOURCE_NONE + 1; text && source < OPC_SOURCE_COUNT; source++) {
    for (int change = 0; change < OPC_INPUT_CHANGE_COUNT; change++) {
      *out = (opc_provenance_t){.source = (opc_source_t)source, .change = (opc_input_change_t)change};
      opc_provenance_format(out, known);
      if (strcmp(known, text) == 0) return true;
    }
  }
  *out = (opc_provenance_t){.source = OPC_SOURCE_NONE};
  return false;
}

bool opc_provenance_is_valid(const opc_provenance_t *provenance) {
  return provenance->source != OPC_SOURCE_NONE && provenance->source != OPC_SOURCE_SEARCHED &&
         provenance->change != OPC_INPUT_ALONE;
}

int opc_provenance_rank(const opc_provenance_t *provenance) {
  if (provenance->source == OPC_SOURCE_NONE) return 0;
  if (provenance->change == OPC_INPUT_ALONE) return OPC_PROVENANCE_RANKS - 1;
  int rank = provenance->change == OPC_INPUT_RELATED ? 2 : provenance->plain ? 0 : 1;
  return provenance->source == OPC_SOURCE_SEARCHED ? rank + 3 : rank;
}
