/* Why a call is missing from the sample file. */
#pragma once

typedef enum opc_reason {
  OPC_REASON_NONE = 0,
#define OPC_REASON(constant, words) OPC_REASON_##constant,
#include "recording/reasons.def"
#undef OPC_REASON
  OPC_REASON_COUNT
} opc_reason_t;
