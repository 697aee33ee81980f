/* Internals of recipes: recipe_read.c builds these from the file, recipe_draw.c draws from them. Only for use inside
 * harness/search/recipe. */
#pragma once

#include "search/recipe/recipe.h"

enum { OPC_RECIPE_SIZES_MAX = 64 };

/* Bounds of a number, both inclusive. An integer's are expressions; a float's are numbers. */
typedef struct opc_bounds {
  char *low, *high; /* NULL: not given */
  double real_low, real_high;
} opc_bounds_t;

typedef enum opc_want_fill_kind {
  OPC_WANT_FILL_ANY = 0, /* as the argument's name suggests */
  OPC_WANT_FILL_PLAIN,   /* a fill of the sample format */
  OPC_WANT_FILL_RANGE,
  OPC_WANT_FILL_SORTED,
  OPC_WANT_FILL_OFFSETS,
  OPC_WANT_FILL_LENGTHS,
  OPC_WANT_FILL_REACHING,
  OPC_WANT_FILL_PERMUTATION,
  OPC_WANT_FILL_BETWEEN,
  OPC_WANT_FILL_BOXES
} opc_want_fill_kind_t;

typedef struct opc_want_fill {
  opc_want_fill_kind_t kind;
  opc_bounds_t bounds; /* RANGE and SORTED: low, high; OFFSETS, LENGTHS, REACHING: only high; BETWEEN: real */
  json_t *plain;
} opc_want_fill_t;

/* Requirements for one value: an argument, an item of a list, or a size. */
typedef struct opc_want {
  opc_type_t *type;      /* without "optional"; borrowed from the operator. NULL: for a size */
  const char *type_text; /* the argument's */
  const char *name;      /* the argument's; for items, their list's */
  enum { OPC_GIVEN_EITHER, OPC_GIVEN_ALWAYS, OPC_GIVEN_NEVER } given;
  char *is;             /* an expression; NULL: none */
  opc_value_t *choices; /* one_of, or the value of "is" if it is not an expression */
  size_t choice_count;
  opc_bounds_t between;
  char **shape; /* rank: number of expressions */
  size_t rank;
  bool has_shape;
  opc_bounds_t ranks, lengths;
  opc_dtype_t *dtypes;
  size_t dtype_count;
  int dtype_of; /* argument that determines the dtype; -1: none */
  opc_want_fill_t fill;
  struct opc_want *items; /* one per item; if each is set, one for all */
  size_t item_count;
  bool each;
} opc_want_t;

/* A number that expressions can name: a size, or an int argument. */
typedef struct opc_recipe_size {
  char *name;
  opc_want_t want; /* for a size */
  int argument;    /* index of the argument with that want; -1: none */
} opc_recipe_size_t;

struct opc_recipe {
  const opc_operator_t *op;
  char *origin;
  opc_want_t *wants; /* one per argument */
  bool *wanted;      /* true for those in the recipe */
  opc_recipe_size_t sizes[OPC_RECIPE_SIZES_MAX];
  size_t size_count;
  char **conditions;
  size_t condition_count;
};

opc_status_t opc_recipe_read(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                             opc_recipe_t **out) OPC_CHECKED;
const opc_recipe_size_t *opc_recipe_size_find(const opc_recipe_t *recipe, const char *name);

/* Integer expressions in recipes: "B+1", "(H + 2*pad_h - KH) / stride_h + 1", and conditions such as "C % G == 0".
 *
 * Names, integers, + - * / % (rounded towards minus infinity), min(a, b), max(a, b), parentheses; at top level one
 * comparison (== != < <= > >=), which is 1 or 0. Ownership: borrows everything. Threads: pure functions. */

typedef enum opc_expression_end {
  OPC_EXPRESSION_VALUE = 0,
  OPC_EXPRESSION_SYNTAX,     /* not an expression */
  OPC_EXPRESSION_NAME,       /* a name has no value */
  OPC_EXPRESSION_ARITHMETIC, /* division by 0, or a number of more than 64 bits */
} opc_expression_end_t;

/* The value of a name; false: unknown name. */
typedef bool opc_expression_name_t(const char *name, int64_t *out, void *context);
/* Sets *out only for VALUE. Otherwise why (size bytes) gets the reason; for NAME it gets the name. */
opc_expression_end_t opc_expression_value(const char *text, opc_expression_name_t *value_of, void *context,
                                          int64_t *out, char *why, size_t size);
