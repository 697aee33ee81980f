/* What kind of call runs: a check announces it, the crash record keeps it, and a crash report takes from it who is to
 * blame and who vouches for the arguments.
 *
 * Threads: any. Ownership: texts are constant. */
#pragma once

#include <stdint.h>

#include "base/text.h"

typedef enum opc_call_kind {
#define OPC_CALL_KIND(name, whose, before, after) OPC_CALL_KIND_##name,
#include "model/case/call_kind.def"
#undef OPC_CALL_KIND
  OPC_CALL_KIND_COUNT
} opc_call_kind_t;

/* Whose arguments a call has (call_kind.def). */
typedef enum opc_call_whose { OPC_CALL_WHOSE_OWN, OPC_CALL_WHOSE_SAME, OPC_CALL_WHOSE_OTHERS } opc_call_whose_t;

/* A call, as a check announces it. */
typedef struct opc_call_label {
  opc_call_kind_t kind;
  const char *detail; /* for people; "" or NULL: none. Of ON_LAYOUT: the layout ("transposed") */
} opc_call_label_t;

#define OPC_CALL_LABEL(name, detail) ((opc_call_label_t){OPC_CALL_KIND_##name, detail})

opc_call_kind_t opc_call_kind_from(uint32_t number); /* NONE if it is no kind */
opc_call_whose_t opc_call_kind_whose(opc_call_kind_t kind);
/* "the operator ran on contiguous copies"; nothing for NONE. */
void opc_call_kind_describe(opc_call_kind_t kind, const char *detail, opc_text_t *out);
