/* Declarations of variables and parameters: `.global .align 4 .u32 name[3] = {1, 2, 3};`, `.param .u64 name`. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_text.h"

enum { ELEMENT_BITS_MOST = 128, CONTENTS_MOST = 1 << 28 };

uint32_t opc_ptx_type_bits(opc_ptx_span_t word) {
  char digits[4] = "";
  if (opc_ptx_span_is(word, ".pred")) return OPC_PTX_PREDICATE_TYPE;
  const uint32_t letters = opc_ptx_span_begins(word, ".bf") ? 3 : 2;
  if (word.length <= letters || word.length > 8 || !strchr("busf", word.at[1]) ||
      !isdigit((unsigned char)word.at[letters]))
    return 0;
  for (uint32_t i = 0; i < 3 && letters + i < word.length && isdigit((unsigned char)word.at[letters + i]); i++)
    digits[i] = word.at[letters + i];
  const uint32_t bits = (uint32_t)strtoul(digits, NULL, 10), end = letters + (uint32_t)strlen(digits);
  const bool twice = word.length == end + 2 && memcmp(word.at + end, "x2", 2) == 0;
  if (!twice && word.length != end) return 0;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? bits * (twice ? 2 : 1) : 0;
}

static opc_ptx_space_t space_of(opc_ptx_span_t word) {
  static const struct {
    const char *word;
    opc_ptx_space_t space;
  } spaces[] = {{".global", OPC_PTX_SPACE_GLOBAL}, {".const", OPC_PTX_SPACE_CONST}, {".shared", OPC_PTX_SPACE_SHARED},
                {".local", OPC_PTX_SPACE_LOCAL},   {".param", OPC_PTX_SPACE_PARAM}, {".tex", OPC_PTX_SPACE_GLOBAL}};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
    if (opc_ptx_span_is(word, spaces[i].word)) return spaces[i].space;
  return OPC_PTX_SPACE_GENERIC;
}

/* What is said before the name: the type, .v4, .align 8, .ptr .global .align 4 of a parameter, .attribute(…). */
typedef struct declaration {
  uint32_t bits, vector;
  uint64_t align;
} declaration_t;

static bool declaration_words(opc_ptx_parser_t *parser, declaration_t *out) {
  opc_ptx_lexer_t *lexer = &parser->lexer;
  bool pointer = false;
  *out = (declaration_t){.vector = 1};
  while (lexer->token == OPC_PTX_WORD && lexer->span.at[0] == '.') {
    const opc_ptx_span_t word = lexer->span;
    const uint32_t bits = opc_ptx_type_bits(word);
    opc_ptx_lexer_next(lexer);
    if (bits > OPC_PTX_PREDICATE_TYPE) {
      out->bits = bits;
    } else if (opc_ptx_span_is(word, ".align")) {
      uint64_t align;
      if (!opc_ptx_parse_integer(parser, &align)) return false;
      if (align == 0 || align > 4096 || (align & (align - 1)) != 0)
        return opc_ptx_fail(parser, "the alignment is no power of two up to 4096");
      if (!pointer) out->align = align; /* after .ptr: of what it points to */
    } else if (opc_ptx_span_is(word, ".v2") || opc_ptx_span_is(word, ".v4") || opc_ptx_span_is(word, ".v8")) {
      out->vector = (uint32_t)(word.at[2] - '0');
    } else if (opc_ptx_span_is(word, ".ptr")) {
      pointer = true;
    } else if (opc_ptx_span_is(word, ".attribute")) {
      while (lexer->token != OPC_PTX_END && !opc_ptx_lexer_at(lexer, ')')) opc_ptx_lexer_next(lexer);
      if (!opc_ptx_expect(parser, ')')) return false;
    } else if (opc_ptx_span_is(word, ".texref") || opc_ptx_span_is(word, ".surfref") ||
               opc_ptx_span_is(word, ".samplerref")) {
      out->bits = 64;
    } else if (!(pointer && space_of(word) != OPC_PTX_SPACE_GENERIC)) {
      return opc_ptx_fail(parser, "unknown word %.*s in a declaration", (int)word.length, word.at);
    }
  }
  if (out->bits == 0) return opc_ptx_fail(parser, "a declaration without a type");
  return true;
}

/* ---- initial contents ---- */

typedef struct filling {
  opc_ptx_symbol_t *symbol;
  uint32_t element;     /* bytes */
  uint64_t count;       /* of elements so far */
  opc_ptx_list_t bytes; /* of an array without a size */
} filling_t;

static bool filling_put(opc_ptx_parser_t *parser, filling_t *filling, uint64_t bits) {
  const uint64_t offset = filling->count * filling->element;
  opc_ptx_symbol_t *symbol = filling->symbol;
  if (symbol->size == 0) {
    for (uint32_t i = 0; i < filling->element; i++) {
      unsigned char *byte = opc_ptx_list_add(&parser->module->arena, &filling->bytes, 1);
      if (!byte) return opc_ptx_fail(parser, "out of memory");
      *byte = i < 8 ? (unsigned char)(bits >> 8 * i) : 0;
    }
  } else {
    if (offset + filling->element > symbol->size) return opc_ptx_fail(parser, "more initial values than elements");
    for (uint32_t i = 0; i < filling->element && i < 8; i++)
      symbol->contents[offset + i] = (unsigned char)(bits >> 8 * i);
  }
  filling->count++;
  return true;
}

/* name, generic(name), each + number; a number. */
static bool filling_value(opc_ptx_parser_t *parser, filling_t *filling) {
  opc_ptx_lexer_t *lexer = &parser->lexer;
  uint64_t bits = 0;
  uint32_t index;
  if (lexer->token == OPC_PTX_NUMBER || opc_ptx_lexer_at(lexer, '-')) {
    const bool negative = opc_ptx_lexer_accept(lexer, '-');
    const opc_ptx_number_t kind = opc_ptx_number_read(lexer->span, &bits);
    if (lexer->token != OPC_PTX_NUMBER || kind == OPC_PTX_NUMBER_BAD) return opc_ptx_fail(parser, "no number");
    if (negative && kind != OPC_PTX_NUMBER_INTEGER) bits ^= UINT64_C(1) << (kind == OPC_PTX_NUMBER_FLOAT ? 31 : 63);
    else if (negative) bits = 0 - bits;
    opc_ptx_lexer_next(lexer);
    return filling_put(parser, filling, bits);
  }
  const bool generic = lexer->token == OPC_PTX_WORD && opc_ptx_span_is(lexer->span, "generic");
  if (generic) opc_ptx_lexer_next(lexer);
  if (generic && !opc_ptx_expect(parser, '(')) return false;
  const opc_ptx_name_t *name =
      lexer->token == OPC_PTX_WORD ? opc_ptx_names_find(parser->module->names, lexer->span, &index) : NULL;
  if (!name || name->kind != OPC_PTX_NAME_SYMBOL)
    return opc_ptx_fail(parser, "an initial value that is no number and no variable: %.*s", (int)lexer->span.length,
                        lexer->span.at);
  opc_ptx_lexer_next(lexer);
  if (generic && !opc_ptx_expect(parser, ')')) return false;
  if (opc_ptx_lexer_accept(lexer, '+') && !opc_ptx_parse_integer(parser, &bits)) return false;
  opc_ptx_relocation_t *relocation =
      opc_ptx_list_add(&parser->module->arena, &filling->symbol->relocations, sizeof *relocation);
  if (!relocation) return opc_ptx_fail(parser, "out of memory");
  *relocation = (opc_ptx_relocation_t){.offset = filling->count * filling->element,
                                       .addend = bits,
                                       .symbol = name->symbol,
                                       .bytes = (uint8_t)filling->element};
  return filling_put(parser, filling, 0);
}

static bool filling_all(opc_ptx_parser_t *parser, filling_t *filling) {
  uint32_t depth = 0;
  do {
    while (opc_ptx_lexer_accept(&parser->lexer, '{')) depth++;
    if (!opc_ptx_lexer_at(&parser->lexer, '}') && !filling_value(parser, filling)) return false;
    while (depth > 0 && opc_ptx_lexer_accept(&parser->lexer, '}')) depth--;
  } while (depth > 0 && opc_ptx_lexer_accept(&parser->lexer, ','));
  return depth == 0 || opc_ptx_expect(parser, '}');
}

static bool initial_contents(opc_ptx_parser_t *parser, const declaration_t *declaration, opc_ptx_symbol_t *symbol) {
  filling_t filling = {.symbol = symbol, .element = declaration->bits / 8};
  if (symbol->space != OPC_PTX_SPACE_GLOBAL && symbol->space != OPC_PTX_SPACE_CONST)
    return opc_ptx_fail(parser, "only variables in global and constant memory have initial values");
  if (symbol->size > CONTENTS_MOST) return opc_ptx_fail(parser, "a variable of more than 256 MiB with initial values");
  if (symbol->size > 0) symbol->contents = opc_ptx_arena_take(&parser->module->arena, symbol->size);
  if (symbol->size > 0 && !symbol->contents) return opc_ptx_fail(parser, "out of memory");
  if (!filling_all(parser, &filling)) return false;
  if (symbol->size > 0) return true;
  symbol->size = filling.count * filling.element;
  symbol->contents = filling.bytes.items;
  symbol->external = false;
  return true;
}

/* ---- the declaration ---- */

static bool dimensions(opc_ptx_parser_t *parser, opc_ptx_symbol_t *symbol) {
  while (opc_ptx_lexer_accept(&parser->lexer, '[')) {
    uint64_t count = 0;
    if (!opc_ptx_lexer_at(&parser->lexer, ']') && !opc_ptx_parse_integer(parser, &count)) return false;
    if (count > UINT32_MAX || symbol->size * count > (uint64_t)1 << 40)
      return opc_ptx_fail(parser, "a variable of more than 1 TiB");
    symbol->size *= count;
    if (!opc_ptx_expect(parser, ']')) return false;
  }
  return true;
}

static opc_ptx_symbol_t *symbol_new(opc_ptx_parser_t *parser, opc_ptx_space_t space, const declaration_t *declaration) {
  opc_ptx_arena_t *arena = &parser->module->arena;
  opc_ptx_symbol_t *symbol = opc_ptx_arena_take(arena, sizeof *symbol);
  opc_ptx_name_t *name = opc_ptx_names_add(parser->module->names, arena, parser->lexer.span);
  if (!symbol || !name) return NULL;
  name->kind = OPC_PTX_NAME_SYMBOL;
  name->symbol = symbol;
  symbol->name = parser->lexer.span;
  symbol->space = space;
  symbol->size = (uint64_t)declaration->bits / 8 * declaration->vector;
  symbol->align = declaration->align != 0 ? (uint32_t)declaration->align : (uint32_t)symbol->size;
  return symbol;
}

bool opc_ptx_parse_variable(opc_ptx_parser_t *parser, bool external, bool in_list, opc_ptx_symbol_t **out) {
  const opc_ptx_space_t space = space_of(parser->lexer.span);
  declaration_t declaration;
  opc_ptx_lexer_next(&parser->lexer);
  if (!declaration_words(parser, &declaration)) return false;
  do {
    if (parser->lexer.token != OPC_PTX_WORD) return opc_ptx_fail(parser, "a declaration without a name");
    opc_ptx_symbol_t *symbol = symbol_new(parser, space, &declaration);
    if (!symbol) return opc_ptx_fail(parser, "out of memory");
    if (out) *out = symbol;
    opc_ptx_lexer_next(&parser->lexer);
    if (opc_ptx_lexer_accept(&parser->lexer, '<')) return opc_ptx_fail(parser, "only registers have a count in < >");
    if (!dimensions(parser, symbol)) return false;
    symbol->external = external || symbol->size == 0;
    if (opc_ptx_lexer_accept(&parser->lexer, '=') && !initial_contents(parser, &declaration, symbol)) return false;
    opc_ptx_symbol_t **place = opc_ptx_list_add(&parser->module->arena, &parser->module->symbols, sizeof *place);
    if (!place) return opc_ptx_fail(parser, "out of memory");
    *place = symbol;
    symbol->number = parser->module->symbols.count - 1;
  } while (!in_list && opc_ptx_lexer_accept(&parser->lexer, ','));
  return in_list || opc_ptx_expect(parser, ';');
}
