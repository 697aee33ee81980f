#include <string.h>

#include "cli/cli.h"

enum { LONGEST = 63 };

static size_t least(size_t a, size_t b, size_t c) {
  size_t smaller = a < b ? a : b;
  return smaller < c ? smaller : c;
}

/* Edit distance; a swap of neighbours is one edit (optimal string alignment). */
static size_t distance_of(const char *left, const char *right) {
  size_t rows[3][LONGEST + 1];
  size_t left_length = strnlen(left, LONGEST + 1), right_length = strnlen(right, LONGEST + 1);
  if (left_length > LONGEST || right_length > LONGEST) return SIZE_MAX;
  for (size_t j = 0; j <= right_length; j++) rows[0][j] = j;
  for (size_t i = 1; i <= left_length; i++) {
    size_t *now = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= right_length; j++) {
      size_t changed = above[j - 1] + (left[i - 1] != right[j - 1]);
      now[j] = least(above[j] + 1, now[j - 1] + 1, changed);
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] && two_above[j - 2] + 1 < now[j])
        now[j] = two_above[j - 2] + 1;
    }
  }
  return rows[left_length % 3][right_length];
}

void opc_nearest_try(opc_nearest_t *nearest, const char *candidate) {
  size_t length = strlen(nearest->word);
  size_t limit = length <= 3 ? 1 : length <= 8 ? 2 : length / 3;
  size_t distance = distance_of(nearest->word, candidate);
  /* Half a name is a good hint too, its end the best: "undeclared" for "mutation.undeclared". */
  const char *part = length >= 3 && distance > limit ? strstr(candidate, nearest->word) : NULL;
  if (part) distance = part[length] == '\0' ? limit - 1 : limit;
  if (distance > limit || (nearest->best && distance >= nearest->distance)) return;
  nearest->best = candidate;
  nearest->distance = distance;
}
