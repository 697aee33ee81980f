/* PTX: the declaration of a kernel, `.entry NAME ( .param .u64 NAME_param_0, .param .align 8 .b8 NAME_param_1[56], …
 * )`. Source: PTX ISA, "Kernel Function Parameters". */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/image/kernel_image.h"

typedef struct words {
  const char *at, *end;
} words_t;

static bool part_of_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%'; }

/* The next word or single character; "" at the end. */
static size_t ptx_next(words_t *words, const char **out) {
  while (words->at < words->end && isspace((unsigned char)*words->at)) words->at++;
  *out = words->at;
  if (words->at == words->end) return 0;
  if (!part_of_word(*words->at)) return (size_t)(++words->at - *out);
  while (words->at < words->end && part_of_word(*words->at)) words->at++;
  return (size_t)(words->at - *out);
}

static bool is(const char *word, size_t length, const char *text) {
  return length == strlen(text) && memcmp(word, text, length) == 0;
}

/* Bytes of a type: the number at the end of .u64, .b8, .f16x2 is in bits. */
static uint32_t type_bytes(const char *word, size_t length) {
  if (length < 3 || length > 6 || word[0] != '.' || !strchr("bsuf", word[1]) || !isdigit((unsigned char)word[2]))
    return 0;
  char digits[8] = "";
  memcpy(digits, word + 2, length - 2);
  return (uint32_t)strtoul(digits, NULL, 10) / 8;
}

static uint32_t ptx_number_of(const char *word, size_t length) {
  char digits[16] = "";
  if (length == 0 || length >= sizeof digits) return 0;
  memcpy(digits, word, length);
  return (uint32_t)strtoul(digits, NULL, 0);
}

static bool parameters_read(words_t *words, opc_kernel_image_t *out) {
  uint32_t offset = 0, bytes = 0, align = 0, count = 1;
  const char *word;
  for (size_t length; (length = ptx_next(words, &word)) != 0;) {
    if (is(word, length, ",") || is(word, length, ")")) {
      if (bytes != 0) {
        if (align == 0) align = bytes;
        offset = (offset + align - 1) / align * align;
        if (out->parameter_count == OPC_KERNEL_PARAMETERS) return false;
        out->parameters[out->parameter_count++] = (opc_parameter_t){.offset = offset, .size = bytes * count};
        offset += bytes * count;
      }
      bytes = align = 0;
      count = 1;
      if (word[0] == ')') return true;
    } else if (is(word, length, ".align")) {
      length = ptx_next(words, &word);
      /* .ptr is followed by the alignment of the memory it points to. */
      if (align == 0 && bytes == 0) align = ptx_number_of(word, length);
    } else if (is(word, length, "[")) {
      length = ptx_next(words, &word);
      count = ptx_number_of(word, length);
      if (count == 0) return false;
    } else if (bytes == 0) {
      bytes = type_bytes(word, length);
    }
  }
  return false;
}

bool opc_ptx_read(const char *text, size_t size, const char *kernel, opc_kernel_image_t *out) {
  words_t words = {text, text + strnlen(text, size)};
  const char *word;
  for (size_t length; (length = ptx_next(&words, &word)) != 0;) {
    if (!is(word, length, ".entry")) continue;
    length = ptx_next(&words, &word);
    if (!is(word, length, kernel)) continue;
    memset(out, 0, sizeof *out);
    length = ptx_next(&words, &word);
    out->parameters_known = is(word, length, "{") || is(word, length, ".maxntid") ||
                            (is(word, length, "(") && parameters_read(&words, out));
    return true;
  }
  return false;
}
