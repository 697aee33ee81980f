/* Which operators belong together, judged by their names. */
#include <string.h>
#include <strings.h>

#include "search/draft/search_inside.h"

/* "decode_png" of "image::decode_png.overload". */
static const char *base_name(const char *name, size_t *out_length) {
  const char *base = strstr(name, "::");
  base = base ? base + 2 : name;
  *out_length = strcspn(base, ".");
  return base;
}

static bool search_alike_has_word(const char *name, size_t length, const char *word, size_t word_length) {
  for (size_t i = 0; i + word_length <= length; i++) {
    bool whole = (i == 0 || name[i - 1] == '_') && (i + word_length == length || name[i + word_length] == '_');
    if (whole && strncasecmp(name + i, word, word_length) == 0) return true;
  }
  return false;
}

int opc_search_shared_words(const char *left, const char *right) {
  size_t left_length, right_length;
  int shared = 0;
  left = base_name(left, &left_length);
  right = base_name(right, &right_length);
  for (size_t i = 0; i < left_length;) {
    size_t length = 0;
    while (i + length < left_length && left[i + length] != '_') length++;
    shared += length > 1 && search_alike_has_word(right, right_length, left + i, length);
    i += length + 1;
  }
  return shared;
}

/* "deform_conv2d_backward" of "torchvision::_deform_conv2d_backward.out". */
static const char *stem_of(const char *name, size_t *out_length) {
  const char *base = base_name(name, out_length);
  size_t underscores = strspn(base, "_");
  *out_length -= underscores;
  return base + underscores;
}

bool opc_search_is_backward_of(const opc_operator_t *op, const opc_operator_t *forward) {
  static const char suffix[] = "_backward";
  size_t length, forward_length, space = strcspn(op->name, ":");
  const char *stem = stem_of(op->name, &length), *forward_stem = stem_of(forward->name, &forward_length);
  bool same_space = strncmp(op->name, forward->name, space) == 0 && forward->name[space] == ':';
  return same_space && length > forward_length && strncmp(stem, forward_stem, forward_length) == 0 &&
         strncmp(stem + forward_length, suffix, strlen(suffix)) == 0;
}
