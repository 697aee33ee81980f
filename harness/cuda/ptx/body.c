/* The body of a function: declarations, labels, instructions. */
#include <string.h>

#include "cuda/ptx/ptx_text.h"

/* ---- labels ---- */

static uint32_t label_bucket(opc_ptx_span_t name, uint32_t scope) {
  return (opc_ptx_span_hash(name) + scope * 31) % (sizeof((opc_ptx_parser_t *)0)->label_buckets / sizeof(uint32_t));
}

static bool label_add(opc_ptx_parser_t *parser, opc_ptx_span_t name, opc_ptx_label_t **out) {
  uint32_t *bucket = &parser->label_buckets[label_bucket(name, parser->scope)];
  opc_ptx_label_t *label = opc_ptx_list_add(&parser->module->arena, &parser->labels, sizeof *label);
  if (!label) return opc_ptx_fail(parser, "out of memory");
  *label = (opc_ptx_label_t){
      .name = name, .scope = parser->scope, .statement = parser->function->statements.count, .next = *bucket};
  *bucket = parser->labels.count;
  *out = label;
  return true;
}

static const opc_ptx_label_t *label_find(const opc_ptx_parser_t *parser, opc_ptx_span_t name, uint32_t scope) {
  const opc_ptx_label_t *labels = parser->labels.items;
  const uint32_t *parents = parser->scope_parents.items;
  for (;;) {
    for (uint32_t at = parser->label_buckets[label_bucket(name, scope)]; at != 0; at = labels[at - 1].next)
      if (labels[at - 1].scope == scope && opc_ptx_span_equal(labels[at - 1].name, name)) return &labels[at - 1];
    if (scope == 0) return NULL;
    scope = parents[scope - 1];
  }
}

static void label_resolve(const opc_ptx_parser_t *parser, opc_ptx_operand_t *operand) {
  if (operand->kind != OPC_PTX_OPERAND_NAME) return;
  const opc_ptx_label_t *label = label_find(parser, operand->name, operand->scope);
  if (!label) return;
  operand->kind = label->targets ? OPC_PTX_OPERAND_TARGETS : OPC_PTX_OPERAND_LABEL;
  operand->index = label->targets ? label->first : label->statement;
  operand->count = label->count;
}

/* Names become labels. */
static void labels_resolve(const opc_ptx_parser_t *parser) {
  opc_ptx_function_t *function = parser->function;
  opc_ptx_operand_t *operands = function->operands.items, *parts = function->parts.items;
  for (uint32_t i = 0; i < function->operands.count; i++) label_resolve(parser, &operands[i]);
  for (uint32_t i = 0; i < function->parts.count; i++) label_resolve(parser, &parts[i]);
}

/* ---- declarations ---- */

static bool register_names(opc_ptx_parser_t *parser, bool predicate) {
  opc_ptx_lexer_t *lexer = &parser->lexer;
  opc_ptx_function_t *function = parser->function;
  uint32_t *used = predicate ? &function->predicates : &function->registers;
  do {
    uint64_t count = 1;
    if (lexer->token != OPC_PTX_WORD) return opc_ptx_fail(parser, "a register without a name");
    opc_ptx_name_t *name = opc_ptx_names_add(parser->module->names, &parser->module->arena, lexer->span);
    if (!name) return opc_ptx_fail(parser, "out of memory");
    opc_ptx_lexer_next(lexer);
    name->range = opc_ptx_lexer_accept(lexer, '<');
    if (name->range && (!opc_ptx_parse_integer(parser, &count) || !opc_ptx_expect(parser, '>'))) return false;
    if (count > OPC_PTX_REGISTERS_MOST - *used)
      return opc_ptx_fail(parser, "more than %d registers in one function", OPC_PTX_REGISTERS_MOST);
    name->predicate = predicate;
    name->first = *used;
    name->count = (uint32_t)count;
    *used += (uint32_t)count;
  } while (opc_ptx_lexer_accept(lexer, ','));
  return opc_ptx_expect(parser, ';');
}

/* .reg .b32 %r<10>, x; */
static bool registers(opc_ptx_parser_t *parser) {
  opc_ptx_lexer_next(&parser->lexer);
  const uint32_t bits = opc_ptx_type_bits(parser->lexer.span);
  if (parser->lexer.token != OPC_PTX_WORD || bits == 0)
    return opc_ptx_fail(parser, "registers of the type %.*s are not known", (int)parser->lexer.span.length,
                        parser->lexer.span.at);
  opc_ptx_lexer_next(&parser->lexer);
  return register_names(parser, bits == OPC_PTX_PREDICATE_TYPE);
}

static bool three_integers(opc_ptx_parser_t *parser, uint64_t out[3]) {
  for (unsigned i = 0; i < 3; i++)
    if (!opc_ptx_parse_integer(parser, &out[i])) return false;
  return true;
}

/* The outermost call of a function that was inlined at a place. */
static void caller_find(opc_ptx_parser_t *parser, const uint64_t place[3]) {
  parser->caller_file = (uint32_t)place[0];
  parser->caller_line = (uint32_t)place[1];
  for (uint32_t i = 1; i <= OPC_PTX_LOCS && i <= parser->loc_count; i++) {
    const opc_ptx_loc_t *loc = &parser->locs[(parser->loc_count - i) % OPC_PTX_LOCS];
    if (memcmp(loc->place, place, sizeof loc->place) != 0 || loc->caller_line == 0) continue;
    parser->caller_file = loc->caller_file;
    parser->caller_line = loc->caller_line;
    return;
  }
}

/* .loc FILE LINE COLUMN [, function_name LABEL [+ NUMBER], inlined_at FILE LINE COLUMN] */
static bool source_line(opc_ptx_parser_t *parser) {
  opc_ptx_lexer_t *lexer = &parser->lexer;
  uint64_t place[3], other[3];
  opc_ptx_lexer_next(lexer);
  if (!three_integers(parser, place)) return false;
  parser->file = (uint32_t)place[0];
  parser->source_line = (uint32_t)place[1];
  parser->caller_file = parser->caller_line = 0;
  while (opc_ptx_lexer_accept(lexer, ',')) {
    const bool inlined = opc_ptx_span_is(lexer->span, "inlined_at");
    if (!inlined && !opc_ptx_span_is(lexer->span, "function_name"))
      return opc_ptx_fail(parser, "function_name or inlined_at is expected");
    opc_ptx_lexer_next(lexer);
    if (inlined && !three_integers(parser, other)) return false;
    if (inlined) caller_find(parser, other);
    if (!inlined) opc_ptx_lexer_next(lexer);
    if (!inlined && opc_ptx_lexer_accept(lexer, '+') && !opc_ptx_parse_integer(parser, other)) return false;
  }
  opc_ptx_loc_t *loc = &parser->locs[parser->loc_count++ % OPC_PTX_LOCS];
  *loc = (opc_ptx_loc_t){{place[0], place[1], place[2]}, parser->caller_file, parser->caller_line};
  return true;
}

/* The rest of a directive that changes nothing here. */
static bool skip_statement(opc_ptx_parser_t *parser) {
  while (parser->lexer.token != OPC_PTX_END && !opc_ptx_lexer_at(&parser->lexer, ';'))
    opc_ptx_lexer_next(&parser->lexer);
  return opc_ptx_expect(parser, ';');
}

static bool directive(opc_ptx_parser_t *parser) {
  const opc_ptx_span_t word = parser->lexer.span;
  opc_ptx_symbol_t *symbol = NULL;
  if (opc_ptx_span_is(word, ".reg")) return registers(parser);
  if (opc_ptx_span_is(word, ".loc")) return source_line(parser);
  if (opc_ptx_span_is(word, ".param")) {
    if (!opc_ptx_parse_variable(parser, false, false, &symbol)) return false;
    symbol->of_call = true;
    return true;
  }
  if (opc_ptx_span_is(word, ".local") || opc_ptx_span_is(word, ".shared"))
    return opc_ptx_parse_variable(parser, false, false, &symbol);
  if (opc_ptx_span_is(word, ".pragma") || opc_ptx_span_is(word, ".callprototype") ||
      opc_ptx_span_is(word, ".calltargets") || opc_ptx_span_is(word, ".attribute"))
    return skip_statement(parser);
  return opc_ptx_fail(parser, "unknown directive %.*s", (int)word.length, word.at);
}

/* ---- instructions ---- */

static bool guard(opc_ptx_parser_t *parser, opc_ptx_statement_t *out) {
  uint32_t index;
  out->guard = OPC_PTX_NO_GUARD;
  if (!opc_ptx_lexer_accept(&parser->lexer, '@')) return true;
  out->guard_negated = opc_ptx_lexer_accept(&parser->lexer, '!');
  const opc_ptx_name_t *name = parser->lexer.token == OPC_PTX_WORD
                                   ? opc_ptx_names_find(parser->module->names, parser->lexer.span, &index)
                                   : NULL;
  if (!name || name->kind != OPC_PTX_NAME_REGISTER || !name->predicate)
    return opc_ptx_fail(parser, "%.*s is no predicate", (int)parser->lexer.span.length, parser->lexer.span.at);
  out->guard = name->first + index;
  opc_ptx_lexer_next(&parser->lexer);
  return true;
}

static bool instruction(opc_ptx_parser_t *parser) {
  opc_ptx_function_t *function = parser->function;
  opc_ptx_statement_t statement = {.line = parser->lexer.line,
                                   .file = parser->file,
                                   .source_line = parser->source_line,
                                   .caller_file = parser->caller_file,
                                   .caller_line = parser->caller_line};
  if (!guard(parser, &statement)) return false;
  if (parser->lexer.token != OPC_PTX_WORD || parser->lexer.span.at[0] == '.')
    return opc_ptx_fail(parser, "an instruction is expected, not \"%.*s\"", (int)parser->lexer.span.length,
                        parser->lexer.span.at);
  statement.opcode = parser->lexer.span;
  opc_ptx_lexer_next(&parser->lexer);
  statement.first = function->operands.count;
  if (!opc_ptx_lexer_at(&parser->lexer, ';')) {
    do {
      opc_ptx_operand_t operand;
      if (!opc_ptx_parse_operand(parser, &operand)) return false;
      opc_ptx_operand_t *place = opc_ptx_list_add(&parser->module->arena, &function->operands, sizeof operand);
      if (!place) return opc_ptx_fail(parser, "out of memory");
      *place = operand;
    } while (opc_ptx_lexer_accept(&parser->lexer, ','));
  }
  statement.count = function->operands.count - statement.first;
  if (!opc_ptx_expect(parser, ';')) return false;
  if (function->statements.count == OPC_PTX_STATEMENTS_MOST)
    return opc_ptx_fail(parser, "more than %d instructions in one function", OPC_PTX_STATEMENTS_MOST);
  opc_ptx_statement_t *place = opc_ptx_list_add(&parser->module->arena, &function->statements, sizeof statement);
  if (!place) return opc_ptx_fail(parser, "out of memory");
  *place = statement;
  return true;
}

/* `name:` is a label; `name: .branchtargets a, b;` a list of them. */
static bool labelled(opc_ptx_parser_t *parser, opc_ptx_span_t name) {
  opc_ptx_label_t *label = NULL;
  if (!label_add(parser, name, &label)) return false;
  if (parser->lexer.token != OPC_PTX_WORD || !opc_ptx_span_is(parser->lexer.span, ".branchtargets")) return true;
  label->targets = true;
  label->first = parser->function->parts.count;
  opc_ptx_lexer_next(&parser->lexer);
  do {
    opc_ptx_operand_t *part =
        opc_ptx_list_add(&parser->module->arena, &parser->function->parts, sizeof(opc_ptx_operand_t));
    if (!part) return opc_ptx_fail(parser, "out of memory");
    if (parser->lexer.token != OPC_PTX_WORD) return opc_ptx_fail(parser, "a label is expected");
    *part = (opc_ptx_operand_t){.kind = OPC_PTX_OPERAND_NAME, .name = parser->lexer.span, .scope = parser->scope};
    label->count++;
    opc_ptx_lexer_next(&parser->lexer);
  } while (opc_ptx_lexer_accept(&parser->lexer, ','));
  return opc_ptx_expect(parser, ';');
}

static bool scope_open(opc_ptx_parser_t *parser) {
  uint32_t *parent = opc_ptx_list_add(&parser->module->arena, &parser->scope_parents, sizeof *parent);
  if (!parent) return opc_ptx_fail(parser, "out of memory");
  if (!opc_ptx_names_open(parser->module->names)) return opc_ptx_fail(parser, "blocks in { } that are nested too deep");
  *parent = parser->scope;
  parser->scope = parser->scope_parents.count;
  return true;
}

static bool statement(opc_ptx_parser_t *parser) {
  const opc_ptx_lexer_t before = parser->lexer;
  if (before.token == OPC_PTX_WORD && before.span.at[0] == '.') return directive(parser);
  if (before.token == OPC_PTX_WORD) {
    opc_ptx_lexer_next(&parser->lexer);
    if (opc_ptx_lexer_accept(&parser->lexer, ':')) return labelled(parser, before.span);
    parser->lexer = before;
  }
  return opc_ptx_lexer_accept(&parser->lexer, ';') || instruction(parser);
}

/* After the first {; takes the last }. */
bool opc_ptx_parse_body(opc_ptx_parser_t *parser) {
  while (parser->lexer.token != OPC_PTX_END) {
    if (opc_ptx_lexer_accept(&parser->lexer, '{')) {
      if (!scope_open(parser)) return false;
    } else if (opc_ptx_lexer_at(&parser->lexer, '}')) {
      opc_ptx_lexer_next(&parser->lexer);
      if (parser->scope == 0) {
        labels_resolve(parser);
        return true;
      }
      parser->scope = ((const uint32_t *)parser->scope_parents.items)[parser->scope - 1];
      opc_ptx_names_close(parser->module->names);
    } else if (!statement(parser)) {
      return false;
    }
  }
  return opc_ptx_fail(parser, "the text ends inside a function");
}
