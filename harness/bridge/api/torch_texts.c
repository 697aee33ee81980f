#include "bridge/api/torch_texts.h"

#include <stddef.h>
#include <string.h>

static const struct {
  opc_torch_meaning_t meaning;
  const char *text, *and;
} texts[] = {
#define OPC_TORCH_TEXT(meaning, text, and, where, proof, since) {OPC_TORCH_##meaning, text, and},
#include "bridge/api/torch_texts.def"
#undef OPC_TORCH_TEXT
};

bool opc_torch_says(opc_torch_meaning_t meaning, const char *message) {
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (texts[i].meaning == meaning && strstr(message, texts[i].text) && strstr(message, texts[i].and)) return true;
  return false;
}
