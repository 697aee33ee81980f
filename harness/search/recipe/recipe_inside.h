/* Inside of recipes: what recipe_read.c makes of the file and recipe_draw.c draws from. For harness/search/recipe
 * alone. */
#ifndef OPC_SEARCH_RECIPE_RECIPE_INSIDE_H
#define OPC_SEARCH_RECIPE_RECIPE_INSIDE_H

#include "model/json/json_read.h"
#include "search/recipe/recipe.h"

enum { OPC_RECIPE_SIZES_MAX = 64 };

/* Bounds of a number, both included. An integer's are expressions; a float's are numbers. */
typedef struct opc_bounds {
  char *low, *high; /* NULL: not given */
  double real_low, real_high;
} opc_bounds_t;

typedef enum opc_want_fill_kind {
  OPC_WANT_FILL_ANY = 0, /* as the argument's name suggests */
  OPC_WANT_FILL_PLAIN,   /* one of the sample format */
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
  opc_bounds_t bounds; /* RANGE and SORTED: low, high; OFFSETS, LENGTHS, REACHING: high alone; BETWEEN: real */
  json_t *plain;
} opc_want_fill_t;

/* What is wanted of one value: an argument, an item of a list, or a size. */
typedef struct opc_want {
  opc_type_t *type;      /* without "optional"; borrowed from the operator. NULL: of a size */
  const char *type_text; /* the argument's */
  const char *name;      /* the argument's; of items their list's */
  enum { OPC_GIVEN_EITHER, OPC_GIVEN_ALWAYS, OPC_GIVEN_NEVER } given;
  char *is;             /* an expression; NULL: none */
  opc_value_t *choices; /* one_of, and what "is" says where it is no expression */
  size_t choice_count;
  opc_bounds_t between;
  char **shape; /* rank expressions */
  size_t rank;
  bool has_shape;
  opc_bounds_t ranks, lengths;
  opc_dtype_t *dtypes;
  size_t dtype_count;
  int dtype_of; /* argument whose dtype it has; -1: its own */
  opc_want_fill_t fill;
  struct opc_want *items; /* one each, or where each is set one for all */
  size_t item_count;
  bool each;
} opc_want_t;

/* A number that expressions name: a size, or an int argument. */
typedef struct opc_recipe_size {
  char *name;
  opc_want_t want; /* of a size */
  int argument;    /* whose want it is; -1: of none */
} opc_recipe_size_t;

struct opc_recipe {
  const opc_operator_t *op;
  char *origin;
  opc_want_t *wants; /* one an argument */
  bool *wanted;      /* those that the recipe speaks of */
  opc_recipe_size_t sizes[OPC_RECIPE_SIZES_MAX];
  size_t size_count;
  char **conditions;
  size_t condition_count;
};

opc_status_t opc_recipe_read(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                             opc_recipe_t **out) OPC_CHECKED;
const opc_recipe_size_t *opc_recipe_size_find(const opc_recipe_t *recipe, const char *name);

#endif
