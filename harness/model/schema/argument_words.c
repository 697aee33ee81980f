#include "model/schema/schema.h"

#include <string.h>
#include <strings.h>

static const struct {
  const char *names, *words;
} rows[] = {
#define OPC_ARGUMENT_WORDS(names, words) {names, words},
#include "model/schema/argument_words.def"
#undef OPC_ARGUMENT_WORDS
};

/* The word begins here, and a part of the name ends after it. */
static bool begins_with(const char *part, const char *word, size_t size) {
  return strncasecmp(part, word, size) == 0 && (part[size] == '_' || part[size] == '\0');
}

bool opc_argument_is_named(const char *name, const char *words) {
  for (const char *word = words; *word;) {
    const size_t size = strcspn(word, " ");
    for (const char *part = name, *end; part; part = end ? end + 1 : NULL) {
      if (begins_with(part, word, size)) return true;
      end = strchr(part, '_');
    }
    word += size;
    word += strspn(word, " ");
  }
  return false;
}

const char *opc_argument_words(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (opc_argument_is_named(name, rows[i].names)) return rows[i].words;
  return NULL;
}
