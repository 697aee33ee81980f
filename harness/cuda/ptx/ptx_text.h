/* The front end's own structures: the words of a PTX text, its symbols, functions and statements.
 *
 * Ownership: all memory of a module is in its arena. Strings are spans of the module's copy of the text. */
#pragma once

#include "cuda/ptx/ptx.h"

/* ---- memory that is released as a whole ---- */

typedef struct opc_ptx_block opc_ptx_block_t;
typedef struct opc_ptx_arena {
  opc_ptx_block_t *blocks;
} opc_ptx_arena_t;

/* Zeroed and aligned to 16 bytes; NULL: out of memory. */
void *opc_ptx_arena_take(opc_ptx_arena_t *arena, size_t size);
void opc_ptx_arena_clear(opc_ptx_arena_t *arena);

/* A growing array in the arena. The old memory stays there until the arena is cleared. */
typedef struct opc_ptx_list {
  void *items;
  uint32_t count, capacity;
} opc_ptx_list_t;

/* A new zeroed item at the end; NULL: out of memory. */
void *opc_ptx_list_add(opc_ptx_arena_t *arena, opc_ptx_list_t *list, size_t item_size);

/* ---- words ---- */

typedef struct opc_ptx_span {
  const char *at;
  uint32_t length;
} opc_ptx_span_t;

bool opc_ptx_span_is(opc_ptx_span_t span, const char *text);
bool opc_ptx_span_equal(opc_ptx_span_t a, opc_ptx_span_t b);
bool opc_ptx_span_begins(opc_ptx_span_t span, const char *text);
uint32_t opc_ptx_span_hash(opc_ptx_span_t span);

typedef enum opc_ptx_token {
  OPC_PTX_END = 0,
  OPC_PTX_WORD,     /* a name, an instruction, or a directive with its dot: "ld.global.u32", ".reg", "%tid.x" */
  OPC_PTX_NUMBER,   /* begins with a digit: "0f3F800000", "12U", "1.5e3" */
  OPC_PTX_STRING,   /* the quotes included */
  OPC_PTX_CHARACTER /* anything else */
} opc_ptx_token_t;

typedef struct opc_ptx_lexer {
  const char *at, *end;
  uint32_t line; /* of the current token */
  opc_ptx_token_t token;
  opc_ptx_span_t span; /* its text */
} opc_ptx_lexer_t;

void opc_ptx_lexer_begin(opc_ptx_lexer_t *lexer, const char *text, size_t size);
void opc_ptx_lexer_next(opc_ptx_lexer_t *lexer);
bool opc_ptx_lexer_at(const opc_ptx_lexer_t *lexer, char character);
/* Moves past the character if it is the current token. */
bool opc_ptx_lexer_accept(opc_ptx_lexer_t *lexer, char character);

typedef enum opc_ptx_number {
  OPC_PTX_NUMBER_BAD = 0,
  OPC_PTX_NUMBER_INTEGER,
  OPC_PTX_NUMBER_FLOAT, /* 0f…: the bits of a float */
  OPC_PTX_NUMBER_DOUBLE /* 0d… or decimal: the bits of a double */
} opc_ptx_number_t;

opc_ptx_number_t opc_ptx_number_read(opc_ptx_span_t span, uint64_t *out_bits);

/* ---- names ---- */

typedef enum opc_ptx_space {
  OPC_PTX_SPACE_GENERIC = 0,
  OPC_PTX_SPACE_GLOBAL,
  OPC_PTX_SPACE_CONST,
  OPC_PTX_SPACE_SHARED,
  OPC_PTX_SPACE_LOCAL,
  OPC_PTX_SPACE_PARAM, /* of a kernel; those of functions are local memory */
  OPC_PTX_SPACES
} opc_ptx_space_t;

/* A value in the initial contents of a variable that is an address. */
typedef struct opc_ptx_relocation {
  uint64_t offset, addend;
  const struct opc_ptx_symbol *symbol;
  uint8_t bytes;
} opc_ptx_relocation_t;

typedef struct opc_ptx_symbol {
  opc_ptx_span_t name;
  opc_ptx_space_t space;
  bool external;   /* without a size: dynamic shared memory, or defined elsewhere */
  bool of_call;    /* a parameter of a function or of a call */
  uint64_t size;   /* bytes */
  uint32_t align;  /* a power of two */
  uint32_t offset; /* of a kernel's parameter; of a function's: its number */
  uint32_t number; /* of its kind in the module or function */
  opc_ptx_list_t relocations;
  unsigned char *contents; /* NULL: zeros */
  unsigned char *memory;   /* of a module's variable, once it is made */
} opc_ptx_symbol_t;

enum { OPC_PTX_PREDICATE_TYPE = 1 };

/* What a name stands for, in the scope in which it was declared. */
typedef struct opc_ptx_name {
  opc_ptx_span_t name;
  struct opc_ptx_name *next;     /* of the same hash */
  struct opc_ptx_name *in_scope; /* declared before it, in the same scope */
  enum { OPC_PTX_NAME_REGISTER, OPC_PTX_NAME_SYMBOL } kind;
  bool predicate;
  bool range;     /* name<count>: the numbers follow the name */
  uint32_t first; /* register: its number */
  uint32_t count;
  opc_ptx_symbol_t *symbol;
} opc_ptx_name_t;

enum { OPC_PTX_NAME_BUCKETS = 1024, OPC_PTX_SCOPES = 64 };

typedef struct opc_ptx_names {
  opc_ptx_name_t *buckets[OPC_PTX_NAME_BUCKETS];
  opc_ptx_name_t *scopes[OPC_PTX_SCOPES]; /* the newest name of each open scope; 0: the module */
  uint32_t depth;
} opc_ptx_names_t;

/* NULL: out of memory. */
opc_ptx_name_t *opc_ptx_names_add(opc_ptx_names_t *names, opc_ptx_arena_t *arena, opc_ptx_span_t name);
/* The innermost declaration; *out_index is the number after the name of a range. NULL: there is none. */
const opc_ptx_name_t *opc_ptx_names_find(const opc_ptx_names_t *names, opc_ptx_span_t name, uint32_t *out_index);
bool opc_ptx_names_open(opc_ptx_names_t *names); /* false: too deep */
void opc_ptx_names_close(opc_ptx_names_t *names);

/* ---- functions ---- */

typedef enum opc_ptx_operand_kind {
  OPC_PTX_OPERAND_NONE = 0,
  OPC_PTX_OPERAND_REGISTER,
  OPC_PTX_OPERAND_PREDICATE,
  OPC_PTX_OPERAND_SPECIAL, /* index: opc_ptx_special_t */
  OPC_PTX_OPERAND_INTEGER,
  OPC_PTX_OPERAND_FLOAT,
  OPC_PTX_OPERAND_DOUBLE,
  OPC_PTX_OPERAND_SYMBOL,  /* + bits */
  OPC_PTX_OPERAND_NAME,    /* a label or a function, known at the end of the function */
  OPC_PTX_OPERAND_LABEL,   /* index: the statement that follows it */
  OPC_PTX_OPERAND_TARGETS, /* index, count: labels of .branchtargets among the parts */
  OPC_PTX_OPERAND_ADDRESS, /* one part, + bits */
  OPC_PTX_OPERAND_VECTOR,  /* {a, b} */
  OPC_PTX_OPERAND_LIST,    /* (a, b) */
  OPC_PTX_OPERAND_PAIR,    /* p|q */
  OPC_PTX_OPERAND_SINK     /* _ */
} opc_ptx_operand_kind_t;

typedef struct opc_ptx_operand {
  opc_ptx_operand_kind_t kind;
  bool negated;
  uint32_t index, count; /* register, or the first of count parts */
  uint32_t scope;        /* of a name */
  uint64_t bits;
  const opc_ptx_symbol_t *symbol;
  opc_ptx_span_t name;
} opc_ptx_operand_t;

enum { OPC_PTX_NO_GUARD = UINT32_MAX };

typedef struct opc_ptx_statement {
  opc_ptx_span_t opcode;
  uint32_t line; /* of the PTX text */
  uint32_t file, source_line;
  uint32_t caller_file, caller_line; /* as in opc_ptx_loc_t */
  uint32_t guard;                    /* a predicate, or OPC_PTX_NO_GUARD */
  bool guard_negated;
  uint32_t first, count; /* operands */
} opc_ptx_statement_t;

typedef struct opc_ptx_label {
  opc_ptx_span_t name;
  uint32_t scope, statement;
  uint32_t next;         /* 1 + the label before it with the same hash; 0: none */
  uint32_t first, count; /* .branchtargets: its labels among the parts */
  bool targets;
} opc_ptx_label_t;

typedef struct opc_ptx_function {
  opc_ptx_span_t name;
  char *text_name; /* the same, terminated by NUL */
  bool kernel, body;
  uint32_t parameter_bytes;
  opc_ptx_list_t parameters; /* opc_ptx_symbol_t * */
  opc_ptx_list_t returns;    /* the same */
  opc_ptx_list_t statements, operands, parts;
  uint32_t registers, predicates;
  opc_ptx_problem_t problem;
} opc_ptx_function_t;

/* The first operand of a statement; never NULL, also if it has none. */
static inline const opc_ptx_operand_t *opc_ptx_operands_of(const opc_ptx_function_t *function,
                                                           const opc_ptx_statement_t *statement) {
  static const opc_ptx_operand_t none;
  const opc_ptx_operand_t *operands = function->operands.items;
  return operands ? operands + statement->first : &none;
}

struct opc_ptx_module {
  opc_ptx_arena_t arena;
  const char *text;
  uint32_t version;         /* the number before the dot; 0: not read yet */
  opc_ptx_list_t functions; /* opc_ptx_function_t * */
  opc_ptx_list_t kernels;   /* the same, only those that can be launched */
  opc_ptx_list_t symbols;   /* opc_ptx_symbol_t *, of the module */
  opc_ptx_list_t files;     /* opc_ptx_file_t */
  opc_ptx_list_t variables; /* opc_ptx_symbol_t *, those of the module that have memory, by address */
  opc_ptx_names_t *names;
  bool without_threads;      /* Triton made it: its source knows blocks, and no threads */
  opc_ptx_problem_t problem; /* the first that belongs to no function */
};

/* Gives the variables of a module their memory and contents. False: out of memory, or too much of it. */
bool opc_ptx_variables_make(opc_ptx_module_t *module);

typedef struct opc_ptx_file {
  uint32_t number;
  opc_ptx_span_t path;
} opc_ptx_file_t;

const opc_ptx_function_t *opc_ptx_function_find(const opc_ptx_module_t *module, opc_ptx_span_t name);

/* ---- parsing ---- */

enum { OPC_PTX_REGISTERS_MOST = 1 << 18, OPC_PTX_STATEMENTS_MOST = 1 << 20 };

/* A place that .loc named, and where the outermost function that was inlined there is called; line 0: none was. */
typedef struct opc_ptx_loc {
  uint64_t place[3]; /* file, line, column */
  uint32_t caller_file, caller_line;
} opc_ptx_loc_t;

enum { OPC_PTX_LOCS = 32 };

typedef struct opc_ptx_parser {
  opc_ptx_module_t *module;
  opc_ptx_lexer_t lexer;
  opc_ptx_function_t *function; /* NULL: outside */
  uint32_t scope, scopes;       /* the current one; those that were opened in this function */
  opc_ptx_list_t scope_parents; /* uint32_t */
  opc_ptx_list_t labels;        /* opc_ptx_label_t */
  uint32_t label_buckets[256];  /* 1 + label */
  uint32_t file, source_line, caller_file, caller_line;
  opc_ptx_loc_t locs[OPC_PTX_LOCS]; /* the last ones, for functions that were inlined into each other */
  uint32_t loc_count;
  opc_ptx_problem_t problem;
} opc_ptx_parser_t;

/* Each returns false with a problem. */
bool opc_ptx_fail(opc_ptx_parser_t *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool opc_ptx_expect(opc_ptx_parser_t *parser, char character);
bool opc_ptx_parse_body(opc_ptx_parser_t *parser);
/* Variables of all spaces, from the space's word on. `in_list`: a parameter, without a semicolon. */
bool opc_ptx_parse_variable(opc_ptx_parser_t *parser, bool external, bool in_list, opc_ptx_symbol_t **out);
bool opc_ptx_parse_operand(opc_ptx_parser_t *parser, opc_ptx_operand_t *out);
bool opc_ptx_parse_integer(opc_ptx_parser_t *parser, uint64_t *out);
/* Bits of a type's word: ".f16x2" has 32; 0: no type. .pred has OPC_PTX_PREDICATE_TYPE. */
uint32_t opc_ptx_type_bits(opc_ptx_span_t word);
/* Whether a name is a special register; *out is its number. */
bool opc_ptx_special_find(opc_ptx_span_t name, uint32_t *out);
