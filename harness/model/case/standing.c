#include "model/case/standing.h"

#include <stdio.h>
#include <string.h>

static const char *const vouchers[] = {
#define X(constant, text) text,
    OPC_VOUCHERS(X)
#undef X
};

static const char *const changes[] = {
#define X(constant, text) text,
    OPC_INPUT_CHANGES(X)
#undef X
};

const char *opc_input_change_name(opc_input_change_t change) { return changes[change]; }

void opc_standing_format(const opc_standing_t *standing, char out[OPC_STANDING_SIZE]) {
  out[0] = '\0';
  if (standing->voucher == OPC_VOUCHER_NONE) return;
  snprintf(out, OPC_STANDING_SIZE, "%s/%s", vouchers[standing->voucher], changes[standing->change]);
}

bool opc_standing_parse(const char *text, opc_standing_t *out) {
  char known[OPC_STANDING_SIZE];
  for (int voucher = OPC_VOUCHER_NONE + 1; text && voucher < OPC_VOUCHER_COUNT; voucher++) {
    for (int change = 0; change < OPC_INPUT_CHANGE_COUNT; change++) {
      *out = (opc_standing_t){.voucher = (opc_voucher_t)voucher, .change = (opc_input_change_t)change};
      opc_standing_format(out, known);
      if (strcmp(known, text) == 0) return true;
    }
  }
  *out = (opc_standing_t){.voucher = OPC_VOUCHER_NONE};
  return false;
}

bool opc_standing_is_valid(const opc_standing_t *standing) {
  return standing->voucher != OPC_VOUCHER_NONE && standing->voucher != OPC_VOUCHER_SEARCHED &&
         standing->change != OPC_INPUT_ALONE;
}

int opc_standing_rank(const opc_standing_t *standing) {
  if (standing->voucher == OPC_VOUCHER_NONE) return 0;
  if (standing->change == OPC_INPUT_ALONE) return OPC_STANDING_RANKS - 1;
  int rank = standing->change == OPC_INPUT_RELATED ? 2 : standing->plain ? 0 : 1;
  return standing->voucher == OPC_VOUCHER_SEARCHED ? rank + 3 : rank;
}
