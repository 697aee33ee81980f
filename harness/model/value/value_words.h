/* Words of the sample format, for those who read it and those who write it. */
#ifndef OPC_MODEL_VALUE_VALUE_WORDS_H
#define OPC_MODEL_VALUE_VALUE_WORDS_H

#include <stdint.h>

#define OPC_DOUBLE_NAN_BITS UINT64_C(0x7ff8000000000000)

/* By opc_fill_kind_t; the kinds that carry something are objects with this key. Ends with NULL. */
extern const char *const opc_fill_words[];
/* By opc_special_t; the first one is no word. Ends with NULL. */
extern const char *const opc_special_words[];

#endif
