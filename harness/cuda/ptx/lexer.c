/* Words, numbers and characters of a PTX text. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_text.h"

bool opc_ptx_span_is(opc_ptx_span_t span, const char *text) {
  return span.length == strlen(text) && memcmp(span.at, text, span.length) == 0;
}

bool opc_ptx_span_equal(opc_ptx_span_t a, opc_ptx_span_t b) {
  return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

bool opc_ptx_span_begins(opc_ptx_span_t span, const char *text) {
  const size_t length = strlen(text);
  return span.length >= length && memcmp(span.at, text, length) == 0;
}

/* FNV-1a */
uint32_t opc_ptx_span_hash(opc_ptx_span_t span) {
  uint32_t hash = 2166136261u;
  for (uint32_t i = 0; i < span.length; i++) hash = (hash ^ (unsigned char)span.at[i]) * 16777619u;
  return hash;
}

static bool begins_a_word(char c) { return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.'; }
static bool in_a_word(char c) { return begins_a_word(c) || isdigit((unsigned char)c); }

void opc_ptx_lexer_begin(opc_ptx_lexer_t *lexer, const char *text, size_t size) {
  *lexer = (opc_ptx_lexer_t){.at = text, .end = text + size, .line = 1};
  opc_ptx_lexer_next(lexer);
}

static void lexer_skip_space(opc_ptx_lexer_t *lexer) {
  while (lexer->at < lexer->end) {
    const char c = *lexer->at;
    const bool comment = c == '/' && lexer->end - lexer->at > 1;
    if (c == '\n') lexer->line++;
    if (isspace((unsigned char)c)) {
      lexer->at++;
    } else if (comment && lexer->at[1] == '/') {
      while (lexer->at < lexer->end && *lexer->at != '\n') lexer->at++;
    } else if (comment && lexer->at[1] == '*') {
      lexer->at += 2;
      while (lexer->at < lexer->end && !(lexer->at[0] == '/' && lexer->at[-1] == '*')) {
        if (*lexer->at == '\n') lexer->line++;
        lexer->at++;
      }
      if (lexer->at < lexer->end) lexer->at++;
    } else {
      return;
    }
  }
}

/* "ld.shared::cta.u32" is one word; "1.0e-5" one number. */
static void lexer_run(opc_ptx_lexer_t *lexer, bool number) {
  const char *const begin = lexer->at;
  const bool decimal = number && !(lexer->end - begin > 1 && begin[0] == '0' && isalpha((unsigned char)begin[1]));
  while (lexer->at < lexer->end) {
    const char *at = lexer->at;
    const bool sign = decimal && (*at == '-' || *at == '+') && at > begin && (at[-1] == 'e' || at[-1] == 'E');
    const bool scope = !number && *at == ':' && lexer->end - at > 2 && at[1] == ':' && isalpha((unsigned char)at[2]);
    if (scope) lexer->at++;
    else if (!in_a_word(*at) && !sign) break;
    lexer->at++;
  }
}

void opc_ptx_lexer_next(opc_ptx_lexer_t *lexer) {
  lexer_skip_space(lexer);
  const char *const begin = lexer->at;
  if (begin == lexer->end) {
    lexer->token = OPC_PTX_END;
  } else if (isdigit((unsigned char)*begin)) {
    lexer->token = OPC_PTX_NUMBER;
    lexer_run(lexer, true);
  } else if (begins_a_word(*begin)) {
    lexer->token = OPC_PTX_WORD;
    lexer_run(lexer, false);
  } else if (*begin == '"') {
    lexer->token = OPC_PTX_STRING;
    do lexer->at++;
    while (lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n');
    if (lexer->at < lexer->end && *lexer->at == '"') lexer->at++;
    else lexer->token = OPC_PTX_CHARACTER; /* it has no end */
  } else {
    lexer->token = OPC_PTX_CHARACTER;
    lexer->at++;
  }
  lexer->span = (opc_ptx_span_t){begin, (uint32_t)(lexer->at - begin)};
}

bool opc_ptx_lexer_at(const opc_ptx_lexer_t *lexer, char character) {
  return lexer->token == OPC_PTX_CHARACTER && *lexer->span.at == character;
}

bool opc_ptx_lexer_accept(opc_ptx_lexer_t *lexer, char character) {
  if (!opc_ptx_lexer_at(lexer, character)) return false;
  opc_ptx_lexer_next(lexer);
  return true;
}

/* 0x1F, 0b101, 017, 12, each perhaps with U at the end. */
static opc_ptx_number_t integer_read(const char *text, size_t length, uint64_t *out) {
  int base = 10;
  char *end;
  const bool prefixed = text[0] == '0' && length > 1;
  if (prefixed && (text[1] == 'x' || text[1] == 'X')) base = 16;
  else if (prefixed && (text[1] == 'b' || text[1] == 'B')) base = 2;
  else if (prefixed && isdigit((unsigned char)text[1])) base = 8;
  const char *digits = base == 16 || base == 2 ? text + 2 : text;
  if (!isxdigit((unsigned char)*digits)) return OPC_PTX_NUMBER_BAD;
  errno = 0;
  *out = strtoull(digits, &end, base);
  if (*end == 'U') end++;
  return errno == 0 && *end == '\0' ? OPC_PTX_NUMBER_INTEGER : OPC_PTX_NUMBER_BAD;
}

opc_ptx_number_t opc_ptx_number_read(opc_ptx_span_t span, uint64_t *out_bits) {
  char text[80], *end;
  *out_bits = 0;
  if (span.length == 0 || span.length >= sizeof text) return OPC_PTX_NUMBER_BAD;
  memcpy(text, span.at, span.length);
  text[span.length] = '\0';
  const char kind = text[0] == '0' ? text[1] : '\0';
  const size_t digits = strspn(text + (span.length > 1 ? 2 : 1), "0123456789abcdefABCDEF");
  if ((kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D')) {
    const bool single = kind == 'f' || kind == 'F';
    if (digits != (single ? 8 : 16) || digits + 2 != span.length) return OPC_PTX_NUMBER_BAD;
    *out_bits = strtoull(text + 2, NULL, 16);
    return single ? OPC_PTX_NUMBER_FLOAT : OPC_PTX_NUMBER_DOUBLE;
  }
  const bool hexadecimal = kind == 'x' || kind == 'X';
  if (hexadecimal || !strpbrk(text, ".eE")) return integer_read(text, span.length, out_bits);
  const double value = strtod(text, &end);
  memcpy(out_bits, &value, sizeof value);
  return *end == '\0' ? OPC_PTX_NUMBER_DOUBLE : OPC_PTX_NUMBER_BAD;
}

/* ---- what all parts of the parser share ---- */

bool opc_ptx_fail(opc_ptx_parser_t *parser, const char *format, ...) {
  va_list arguments;
  if (parser->problem.message[0] != '\0') return false;
  parser->problem.line = parser->lexer.line;
  va_start(arguments, format);
  (void)vsnprintf(parser->problem.message, sizeof parser->problem.message, format, arguments);
  va_end(arguments);
  return false;
}

bool opc_ptx_expect(opc_ptx_parser_t *parser, char character) {
  if (opc_ptx_lexer_accept(&parser->lexer, character)) return true;
  if (parser->lexer.token == OPC_PTX_END)
    return opc_ptx_fail(parser, "the text ends where '%c' is expected", character);
  return opc_ptx_fail(parser, "'%c' is expected, not \"%.*s\"", character,
                      parser->lexer.span.length < 64 ? (int)parser->lexer.span.length : 64, parser->lexer.span.at);
}
