/* A PTX module: its header, its variables, its functions. */
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_text.h"

enum { VERSION_KNOWN = 9, PARAMETERS_MOST = 32764 };

/* ---- functions ---- */

static void parameters_place(opc_ptx_function_t *function) {
  uint32_t offset = 0;
  for (uint32_t i = 0; i < function->parameters.count; i++) {
    opc_ptx_symbol_t *symbol = ((opc_ptx_symbol_t **)function->parameters.items)[i];
    symbol->of_call = !function->kernel;
    if (!function->kernel) continue;
    offset = (offset + symbol->align - 1) / symbol->align * symbol->align;
    symbol->offset = offset;
    offset += (uint32_t)symbol->size;
  }
  for (uint32_t i = 0; i < function->returns.count; i++)
    ((opc_ptx_symbol_t **)function->returns.items)[i]->of_call = true;
  function->parameter_bytes = offset;
}

/* After the (. */
static bool module_parameters(opc_ptx_parser_t *parser, opc_ptx_list_t *out) {
  uint64_t total = 0;
  if (opc_ptx_lexer_accept(&parser->lexer, ')')) return true;
  do {
    opc_ptx_symbol_t *symbol = NULL;
    if (parser->lexer.token != OPC_PTX_WORD || !opc_ptx_span_is(parser->lexer.span, ".param"))
      return opc_ptx_fail(parser, "only parameters in .param are known, not \"%.*s\"", (int)parser->lexer.span.length,
                          parser->lexer.span.at);
    if (!opc_ptx_parse_variable(parser, false, true, &symbol)) return false;
    total += symbol->size + symbol->align;
    if (total > PARAMETERS_MOST) return opc_ptx_fail(parser, "more than %d bytes of parameters", PARAMETERS_MOST);
    opc_ptx_symbol_t **place = opc_ptx_list_add(&parser->module->arena, out, sizeof *place);
    if (!place) return opc_ptx_fail(parser, "out of memory");
    *place = symbol;
  } while (opc_ptx_lexer_accept(&parser->lexer, ','));
  return opc_ptx_expect(parser, ')');
}

/* .maxntid 256, 1, 1 and the like, up to the body or the end of a declaration. */
static bool function_limits(opc_ptx_parser_t *parser) {
  while (parser->lexer.token != OPC_PTX_END && !opc_ptx_lexer_at(&parser->lexer, '{') &&
         !opc_ptx_lexer_at(&parser->lexer, ';'))
    opc_ptx_lexer_next(&parser->lexer);
  return parser->lexer.token != OPC_PTX_END || opc_ptx_fail(parser, "the text ends after the name of a function");
}

static bool function_head(opc_ptx_parser_t *parser, opc_ptx_function_t *function) {
  if (!function->kernel && opc_ptx_lexer_accept(&parser->lexer, '(') && !module_parameters(parser, &function->returns))
    return false;
  if (parser->lexer.token != OPC_PTX_WORD) return opc_ptx_fail(parser, "a function without a name");
  function->name = parser->lexer.span;
  function->text_name = opc_ptx_arena_take(&parser->module->arena, (size_t)function->name.length + 1);
  if (!function->text_name) return opc_ptx_fail(parser, "out of memory");
  memcpy(function->text_name, function->name.at, function->name.length);
  opc_ptx_lexer_next(&parser->lexer);
  return (!opc_ptx_lexer_accept(&parser->lexer, '(') || module_parameters(parser, &function->parameters)) &&
         function_limits(parser);
}

/* To the end of a damaged function: the } that closes it, or the next function at the start of a line. */
static void skip_function(opc_ptx_lexer_t *lexer, uint32_t depth) {
  for (; lexer->token != OPC_PTX_END; opc_ptx_lexer_next(lexer)) {
    if (opc_ptx_lexer_at(lexer, '{')) depth++;
    if (lexer->token == OPC_PTX_WORD &&
        (opc_ptx_span_is(lexer->span, ".entry") || opc_ptx_span_is(lexer->span, ".visible") ||
         opc_ptx_span_is(lexer->span, ".func")))
      return;
    if (depth == 0 && opc_ptx_lexer_at(lexer, ';')) break;
    if (opc_ptx_lexer_at(lexer, '}') && (depth == 0 || --depth == 0)) break;
  }
  opc_ptx_lexer_next(lexer);
}

static bool function_add(opc_ptx_parser_t *parser, opc_ptx_function_t *function) {
  opc_ptx_module_t *module = parser->module;
  opc_ptx_function_t **place = opc_ptx_list_add(&module->arena, &module->functions, sizeof *place);
  if (!place) return opc_ptx_fail(parser, "out of memory");
  *place = function;
  if (!function->kernel || !(function->body || function->problem.message[0] != '\0')) return true;
  place = opc_ptx_list_add(&module->arena, &module->kernels, sizeof *place);
  if (!place) return opc_ptx_fail(parser, "out of memory");
  *place = function;
  return true;
}

static uint32_t open_blocks(const opc_ptx_parser_t *parser) {
  return parser->module->names->depth; /* open blocks, that of the function included */
}

static bool function(opc_ptx_parser_t *parser) {
  opc_ptx_module_t *module = parser->module;
  opc_ptx_function_t *function = opc_ptx_arena_take(&module->arena, sizeof *function);
  if (!function || !opc_ptx_names_open(module->names)) return opc_ptx_fail(parser, "out of memory");
  function->kernel = opc_ptx_span_is(parser->lexer.span, ".entry");
  parser->function = function;
  parser->scope = 0;
  parser->scope_parents = parser->labels = (opc_ptx_list_t){0};
  memset(parser->label_buckets, 0, sizeof parser->label_buckets);
  parser->file = parser->source_line = parser->caller_file = parser->caller_line = parser->loc_count = 0;
  opc_ptx_lexer_next(&parser->lexer);
  bool sound = function_head(parser, function), inside = false;
  if (sound) parameters_place(function);
  if (sound && !opc_ptx_lexer_accept(&parser->lexer, ';')) {
    sound = inside = opc_ptx_lexer_accept(&parser->lexer, '{');
    sound = sound && opc_ptx_parse_body(parser);
    function->body = sound;
  }
  if (!sound) skip_function(&parser->lexer, inside ? open_blocks(parser) : 0);
  while (module->names->depth > 0) opc_ptx_names_close(module->names);
  function->problem = parser->problem;
  parser->problem = (opc_ptx_problem_t){0};
  parser->function = NULL;
  if (function->name.length > 0) return function_add(parser, function);
  if (module->problem.message[0] == '\0') module->problem = function->problem;
  return true;
}

const opc_ptx_function_t *opc_ptx_function_find(const opc_ptx_module_t *module, opc_ptx_span_t name) {
  const opc_ptx_function_t *declared = NULL;
  for (uint32_t i = 0; i < module->functions.count; i++) {
    const opc_ptx_function_t *function = ((opc_ptx_function_t **)module->functions.items)[i];
    if (!opc_ptx_span_equal(function->name, name)) continue;
    if (function->body || function->problem.message[0] != '\0') return function;
    declared = function;
  }
  return declared;
}

/* ---- directives outside of functions ---- */

/* .version 9.0: the number is one token */
static bool module_version(opc_ptx_parser_t *parser) {
  opc_ptx_lexer_next(&parser->lexer);
  const opc_ptx_span_t span = parser->lexer.span;
  const char *dot = memchr(span.at, '.', span.length);
  if (parser->lexer.token != OPC_PTX_NUMBER || !dot) return opc_ptx_fail(parser, "a version without a number");
  parser->module->version = (uint32_t)strtoul(span.at, NULL, 10);
  if (parser->module->version > VERSION_KNOWN)
    return opc_ptx_fail(parser, "it is PTX %.*s; up to PTX %d.x is known here", (int)span.length, span.at,
                        VERSION_KNOWN);
  opc_ptx_lexer_next(&parser->lexer);
  return true;
}

/* .target sm_90a, debug: any may use any instruction here */
static bool module_target(opc_ptx_parser_t *parser) {
  do {
    opc_ptx_lexer_next(&parser->lexer);
    if (parser->lexer.token != OPC_PTX_WORD) return opc_ptx_fail(parser, "a target without a name");
    opc_ptx_lexer_next(&parser->lexer);
  } while (opc_ptx_lexer_at(&parser->lexer, ','));
  return true;
}

/* .file 1 "path" [, time, size] */
static bool module_file(opc_ptx_parser_t *parser) {
  uint64_t number;
  opc_ptx_lexer_next(&parser->lexer);
  if (!opc_ptx_parse_integer(parser, &number)) return false;
  if (parser->lexer.token != OPC_PTX_STRING) return opc_ptx_fail(parser, "a file without a name");
  opc_ptx_file_t *out = opc_ptx_list_add(&parser->module->arena, &parser->module->files, sizeof *out);
  if (!out) return opc_ptx_fail(parser, "out of memory");
  *out = (opc_ptx_file_t){.number = (uint32_t)number, .path = parser->lexer.span};
  opc_ptx_lexer_next(&parser->lexer);
  while (opc_ptx_lexer_accept(&parser->lexer, ',')) opc_ptx_lexer_next(&parser->lexer);
  return true;
}

static bool address_size(opc_ptx_parser_t *parser) {
  uint64_t bits;
  opc_ptx_lexer_next(&parser->lexer);
  if (!opc_ptx_parse_integer(parser, &bits)) return false;
  return bits == 64 || opc_ptx_fail(parser, "addresses of %u bits are not known", (unsigned)bits);
}

/* .section .debug_info { .b8 116 … }, with the name of the compiler. A path that ends in it is no such name. */
static bool module_section(opc_ptx_parser_t *parser) {
  static const char triton[] = "triton";
  uint64_t byte, before = 0;
  size_t read = 0;
  while (parser->lexer.token != OPC_PTX_END && !opc_ptx_lexer_at(&parser->lexer, '}')) {
    if (parser->lexer.token == OPC_PTX_NUMBER &&
        opc_ptx_number_read(parser->lexer.span, &byte) == OPC_PTX_NUMBER_INTEGER) {
      if (byte != (uint64_t)triton[read]) read = 0;
      if (byte == (uint64_t)triton[read] && (read > 0 || before < ' ')) read++;
      if (read == sizeof triton) parser->module->without_threads = true;
      if (read == sizeof triton) read = 0;
      before = byte;
    }
    opc_ptx_lexer_next(&parser->lexer);
  }
  return opc_ptx_expect(parser, '}');
}

static bool skip_to_semicolon(opc_ptx_parser_t *parser) {
  while (parser->lexer.token != OPC_PTX_END && !opc_ptx_lexer_at(&parser->lexer, ';'))
    opc_ptx_lexer_next(&parser->lexer);
  return opc_ptx_expect(parser, ';');
}

static bool top_level(opc_ptx_parser_t *parser, bool *external) {
  static const struct {
    const char *word;
    bool (*parse)(opc_ptx_parser_t *parser);
  } directives[] = {{".version", module_version},  {".target", module_target},   {".address_size", address_size},
                    {".file", module_file},        {".section", module_section}, {".pragma", skip_to_semicolon},
                    {".alias", skip_to_semicolon}, {".entry", function},         {".func", function}};
  static const char *const linking[] = {".visible", ".weak", ".common", ".extern"};
  const opc_ptx_span_t word = parser->lexer.span;
  for (size_t i = 0; i < sizeof linking / sizeof *linking; i++) {
    if (!opc_ptx_span_is(word, linking[i])) continue;
    *external = opc_ptx_span_is(word, ".extern");
    opc_ptx_lexer_next(&parser->lexer);
    return true;
  }
  const bool of_function = opc_ptx_span_is(word, ".entry") || opc_ptx_span_is(word, ".func");
  for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
    if (!opc_ptx_span_is(word, directives[i].word)) continue;
    const bool sound = directives[i].parse(parser);
    *external = false;
    return sound || of_function;
  }
  static const char *const spaces[] = {".global", ".const", ".shared", ".tex"};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    if (!opc_ptx_span_is(word, spaces[i])) continue;
    opc_ptx_symbol_t *symbol;
    const bool sound = opc_ptx_parse_variable(parser, *external, false, &symbol);
    *external = false;
    return sound;
  }
  if (parser->lexer.token == OPC_PTX_CHARACTER && opc_ptx_lexer_accept(&parser->lexer, ';')) return true;
  return opc_ptx_fail(parser, "unknown directive \"%.*s\"", word.length < 64 ? (int)word.length : 64, word.at);
}

static void read_all(opc_ptx_parser_t *parser) {
  opc_ptx_module_t *module = parser->module;
  bool external = false;
  while (parser->lexer.token != OPC_PTX_END) {
    const char *before = parser->lexer.span.at;
    if (module->version == 0 && !opc_ptx_span_is(parser->lexer.span, ".version")) {
      (void)opc_ptx_fail(parser, "it does not begin with .version: this is no PTX");
    } else if (top_level(parser, &external)) {
      if (parser->lexer.span.at != before || parser->lexer.token == OPC_PTX_END) continue;
    }
    if (module->problem.message[0] == '\0') module->problem = parser->problem;
    parser->problem = (opc_ptx_problem_t){0};
    if (module->version == 0 || module->version > VERSION_KNOWN) return;
    external = false;
    if (parser->lexer.span.at == before) opc_ptx_lexer_next(&parser->lexer);
    else skip_function(&parser->lexer, 0);
  }
  if (module->version == 0 && module->problem.message[0] == '\0')
    module->problem = (opc_ptx_problem_t){.message = "the text is empty"};
}

opc_ptx_module_t *opc_ptx_module_read(const char *text, size_t size, opc_ptx_problem_t *problem) {
  opc_ptx_module_t *module = calloc(1, sizeof *module);
  const size_t length = strnlen(text, size);
  *problem = (opc_ptx_problem_t){.message = "out of memory"};
  if (!module) return NULL;
  opc_ptx_parser_t *parser = calloc(1, sizeof *parser);
  char *copy = length < UINT32_MAX ? opc_ptx_arena_take(&module->arena, length + 1) : NULL;
  module->names = opc_ptx_arena_take(&module->arena, sizeof *module->names);
  if (parser && copy && module->names) {
    memcpy(copy, text, length);
    module->text = copy;
    parser->module = module;
    opc_ptx_lexer_begin(&parser->lexer, copy, length);
    read_all(parser);
    *problem = module->problem;
    if (!opc_ptx_variables_make(module))
      *problem = (opc_ptx_problem_t){.message = "its variables need more than 1 GiB, or there is too little memory"};
    else if (module->functions.count > 0 || problem->message[0] == '\0') {
      free(parser);
      return module;
    }
  }
  free(parser);
  opc_ptx_module_free(module);
  return NULL;
}

void opc_ptx_module_free(opc_ptx_module_t *module) {
  if (!module) return;
  opc_ptx_arena_clear(&module->arena);
  free(module);
}

size_t opc_ptx_kernel_count(const opc_ptx_module_t *module) { return module->kernels.count; }

const char *opc_ptx_kernel_name(const opc_ptx_module_t *module, size_t kernel) {
  return ((opc_ptx_function_t **)module->kernels.items)[kernel]->text_name;
}
