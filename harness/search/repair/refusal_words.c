#include "search/repair/search_repair.h"

#include <string.h>

void opc_refusal_words(const char *message, opc_refusal_word_t *use, void *context) {
  static const char *const marks[] = {"either ", "one of ", "must be "};
  static const char separators[] = " ,.;:'\"()[]";
  enum { QUOTED_MAX = 64, WORDS_MAX = 6, WORD_LEAST = 3, WORD_MAX = 32 };
  for (const char *c = message; *c; c++) {
    const size_t length = strcspn(c + 1, "'\"`");
    if (strchr("'\"`", *c) && length > 0 && length < QUOTED_MAX && c[1 + length] != '\0') use(c + 1, length, context);
  }
  for (size_t m = 0; m < sizeof marks / sizeof marks[0]; m++) {
    const char *c = strstr(message, marks[m]);
    c = c ? c + strlen(marks[m]) : "";
    for (int words = 0; words < WORDS_MAX && *c; words++) {
      const size_t length = strcspn(c, separators);
      if (length >= WORD_LEAST && length < WORD_MAX) use(c, length, context);
      c += length;
      c += strspn(c, separators);
    }
  }
}
