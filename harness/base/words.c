#include "base/text.h"

#ifdef OPC_SCRAMBLE_WORDS
/* Five letters on: a text that passes twice does not come back. */
static char scramble(char letter, char first) { return (char)(first + (letter - first + 5) % 26); }

void opc_words_out(char *text) {
  for (; text && *text; text++) {
    if (*text >= 'a' && *text <= 'z') *text = scramble(*text, 'a');
    else if (*text >= 'A' && *text <= 'Z') *text = scramble(*text, 'A');
  }
}
#else
void opc_words_out(char *text) { (void)text; }
#endif
