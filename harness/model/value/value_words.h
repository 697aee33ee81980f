/* Words of the sample format, for reading and writing it. */
#pragma once

#include <stdint.h>

#define OPC_DOUBLE_NAN_BITS UINT64_C(0x7ff8000000000000)

/* Indexed by opc_fill_kind_t; kinds with a parameter are objects with this key. NULL-terminated. */
extern const char *const opc_fill_words[];
/* Indexed by opc_special_t; the first entry is not a word of the format. NULL-terminated. */
extern const char *const opc_special_words[];
