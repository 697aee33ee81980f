/* What all parts of the parser share. */
#include <stdarg.h>
#include <stdio.h>

#include "cuda/ptx/ptx_text.h"

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
