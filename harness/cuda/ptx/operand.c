/* Operands of an instruction: registers, numbers, variables, addresses in [ ], vectors in { }, lists in ( ). */
#include <string.h>

#include "cuda/ptx/ptx_text.h"

static bool operand_name(opc_ptx_parser_t *parser, opc_ptx_operand_t *out) {
  const opc_ptx_span_t name = parser->lexer.span;
  uint32_t index = 0;
  const opc_ptx_name_t *found = opc_ptx_names_find(parser->module->names, name, &index);
  opc_ptx_lexer_next(&parser->lexer);
  if (opc_ptx_span_is(name, "_")) {
    out->kind = OPC_PTX_OPERAND_SINK;
  } else if (found && found->kind == OPC_PTX_NAME_REGISTER) {
    out->kind = found->predicate ? OPC_PTX_OPERAND_PREDICATE : OPC_PTX_OPERAND_REGISTER;
    out->index = found->first + index;
  } else if (found) {
    out->kind = OPC_PTX_OPERAND_SYMBOL;
    out->symbol = found->symbol;
  } else if (opc_ptx_special_find(name, &out->index)) {
    out->kind = OPC_PTX_OPERAND_SPECIAL;
  } else if (name.at[0] == '%') {
    return opc_ptx_fail(parser, "%.*s is not declared, and no special register that is known", (int)name.length,
                        name.at);
  } else {
    out->kind = OPC_PTX_OPERAND_NAME;
    out->name = name;
    out->scope = parser->scope;
  }
  return true;
}

static bool operand_number(opc_ptx_parser_t *parser, bool negative, opc_ptx_operand_t *out) {
  const opc_ptx_number_t kind = opc_ptx_number_read(parser->lexer.span, &out->bits);
  if (parser->lexer.token != OPC_PTX_NUMBER || kind == OPC_PTX_NUMBER_BAD)
    return opc_ptx_fail(parser, "\"%.*s\" is no number", (int)parser->lexer.span.length, parser->lexer.span.at);
  out->kind = kind == OPC_PTX_NUMBER_INTEGER ? OPC_PTX_OPERAND_INTEGER
              : kind == OPC_PTX_NUMBER_FLOAT ? OPC_PTX_OPERAND_FLOAT
                                             : OPC_PTX_OPERAND_DOUBLE;
  if (negative && kind == OPC_PTX_NUMBER_INTEGER) out->bits = 0 - out->bits;
  if (negative && kind == OPC_PTX_NUMBER_FLOAT) out->bits ^= UINT64_C(1) << 31;
  if (negative && kind == OPC_PTX_NUMBER_DOUBLE) out->bits ^= UINT64_C(1) << 63;
  opc_ptx_lexer_next(&parser->lexer);
  return true;
}

bool opc_ptx_parse_integer(opc_ptx_parser_t *parser, uint64_t *out) {
  opc_ptx_operand_t operand = {0};
  const bool negative = opc_ptx_lexer_accept(&parser->lexer, '-');
  if (!operand_number(parser, negative, &operand)) return false;
  if (operand.kind != OPC_PTX_OPERAND_INTEGER) return opc_ptx_fail(parser, "a whole number is expected here");
  *out = operand.bits;
  return true;
}

/* + 8, +-8, - 8, or nothing */
static bool displacement(opc_ptx_parser_t *parser, uint64_t *bits) {
  uint64_t value = 0;
  const bool plus = opc_ptx_lexer_accept(&parser->lexer, '+');
  const bool minus = !plus && opc_ptx_lexer_accept(&parser->lexer, '-');
  if (!plus && !minus) return true;
  if (!opc_ptx_parse_integer(parser, &value)) return false;
  *bits += minus ? 0 - value : value;
  return true;
}

static bool scalar(opc_ptx_parser_t *parser, opc_ptx_operand_t *out) {
  if (opc_ptx_lexer_accept(&parser->lexer, '-')) return operand_number(parser, true, out);
  if (parser->lexer.token == OPC_PTX_NUMBER) return operand_number(parser, false, out);
  if (opc_ptx_lexer_accept(&parser->lexer, '!')) out->negated = true;
  if (parser->lexer.token == OPC_PTX_END) return opc_ptx_fail(parser, "the text ends where an operand is expected");
  if (parser->lexer.token != OPC_PTX_WORD)
    return opc_ptx_fail(parser, "an operand is expected, not \"%.*s\"", (int)parser->lexer.span.length,
                        parser->lexer.span.at);
  if (!operand_name(parser, out)) return false;
  if (out->negated && out->kind != OPC_PTX_OPERAND_PREDICATE)
    return opc_ptx_fail(parser, "only a predicate can be negated with !");
  return out->kind != OPC_PTX_OPERAND_SYMBOL || displacement(parser, &out->bits);
}

static bool operand_part_add(opc_ptx_parser_t *parser, const opc_ptx_operand_t *part) {
  opc_ptx_operand_t *out =
      opc_ptx_list_add(&parser->module->arena, &parser->function->parts, sizeof(opc_ptx_operand_t));
  if (!out) return opc_ptx_fail(parser, "out of memory");
  *out = *part;
  return true;
}

static bool operand_parts(opc_ptx_parser_t *parser, opc_ptx_operand_kind_t kind, char end, opc_ptx_operand_t *out) {
  out->kind = kind;
  out->index = parser->function->parts.count;
  if (opc_ptx_lexer_accept(&parser->lexer, end)) return true;
  do {
    opc_ptx_operand_t part = {0};
    if (!scalar(parser, &part) || !operand_part_add(parser, &part)) return false;
    out->count++;
  } while (opc_ptx_lexer_accept(&parser->lexer, ','));
  return opc_ptx_expect(parser, end);
}

static bool address(opc_ptx_parser_t *parser, opc_ptx_operand_t *out) {
  opc_ptx_operand_t base = {0};
  if (!scalar(parser, &base)) return false;
  out->kind = OPC_PTX_OPERAND_ADDRESS;
  out->index = parser->function->parts.count;
  out->count = 1;
  if (base.kind == OPC_PTX_OPERAND_REGISTER && !displacement(parser, &out->bits)) return false;
  if (opc_ptx_lexer_at(&parser->lexer, ','))
    return opc_ptx_fail(parser,
                        "an address with several parts belongs to a texture or a tensor map, which are not run");
  return operand_part_add(parser, &base) && opc_ptx_expect(parser, ']');
}

bool opc_ptx_parse_operand(opc_ptx_parser_t *parser, opc_ptx_operand_t *out) {
  *out = (opc_ptx_operand_t){0};
  if (opc_ptx_lexer_accept(&parser->lexer, '[')) return address(parser, out);
  if (opc_ptx_lexer_accept(&parser->lexer, '{')) return operand_parts(parser, OPC_PTX_OPERAND_VECTOR, '}', out);
  if (opc_ptx_lexer_accept(&parser->lexer, '(')) return operand_parts(parser, OPC_PTX_OPERAND_LIST, ')', out);
  if (!scalar(parser, out)) return false;
  if (!opc_ptx_lexer_accept(&parser->lexer, '|')) return true;
  opc_ptx_operand_t second = {0};
  const opc_ptx_operand_t first = *out;
  if (!scalar(parser, &second)) return false;
  *out = (opc_ptx_operand_t){.kind = OPC_PTX_OPERAND_PAIR, .index = parser->function->parts.count, .count = 2};
  return operand_part_add(parser, &first) && operand_part_add(parser, &second);
}
