/* Recipes: an operator's requirements on its arguments, as data, if the search does not find inputs without help.
 *
 * The search draws fresh arguments from the recipe and edits only what the recipe leaves open. Format
 * "opcheck-c/recipes/1":
 *   {"operator": NAME, "sizes": {NAME: SIZE, …}, "where": [CONDITION, …], "arguments": {ARGUMENT: WANT, …}}
 * SIZE is [low, high] (both inclusive), an integer, an expression ("H - K + 1"), or {"one_of": […]}. The names of int
 * arguments are sizes too. Any other name that is not in "sizes" is a size from 1 to 5.
 * WANT depends on the argument's type:
 *   tensor  {"shape": [EXPRESSION, …] | "rank": N | [low, high], "dtype": NAME | [NAME, …] | the name of an earlier
 *           tensor argument, "fill": FILL}; a plain list is the shape
 *   number  {"between": [low, high]} | {"one_of": […]} | {"is": …}; a plain number or expression is the value
 *   list    {"length": N | EXPRESSION | [low, high], "each": WANT, "fill": FILL (of ints)} | {"items": [WANT, …]}; a
 *           plain list is the items
 *   others  {"one_of": […]} | {"is": …}, with values as in a sample file
 *   all     "given": false omits an argument, true always gives an optional one
 * FILL is a sample's fill, {"range": [low, high]} with expressions (high exclusive), or one of:
 *   {"sorted": [low, high]}, {"offsets": T} (from 0, ascending, the last is T), {"lengths": T} (from 0, sum T),
 *   {"reaching": T} (from 1, the largest is T), "permutation" (of 0, 1, …), {"between": [low, high]} (of floats),
 *   "boxes"
 * These apply to each row, along the last dimension.
 *
 * Ownership: opc_recipe_set_clear frees the recipes; a recipe borrows the operator that the lookup returned. Threads:
 * may be shared for reading. */
#pragma once

#include "model/sample/sample.h"

typedef struct opc_recipe opc_recipe_t;

typedef struct opc_recipe_set {
  opc_recipe_t **recipes;
  size_t count;
} opc_recipe_set_t;

/* Appends the recipes of a file. OPC_ERR_INPUT: "FILE:LINE:COLUMN: FIELD: what is wrong"; also for a recipe that cannot
 * be satisfied. OPC_ERR_IO: unreadable. */
opc_status_t opc_recipe_set_read(opc_recipe_set_t *set, const char *file, opc_operator_lookup_t *lookup, void *context,
                                 opc_error_t *error) OPC_CHECKED;
void opc_recipe_set_clear(opc_recipe_set_t *set);
/* NULL: the operator has none. */
const opc_recipe_t *opc_recipe_find(const opc_recipe_set_t *set, const char *operator_name);
const char *opc_recipe_origin(const opc_recipe_t *recipe); /* "file.json:12" */

struct opc_rng;
/* Draws fresh values for everything that the recipe specifies; the rest of the sample is unchanged. False: this draw
 * does not satisfy the recipe, or out of memory; why (may be NULL) gets the reason. */
bool opc_recipe_draw(const opc_recipe_t *recipe, struct opc_rng *rng, opc_sample_t *sample, char *why, size_t size);
/* Copies back everything that the recipe specifies from `from`, a sample of the same operator. False: out of memory. */
bool opc_recipe_restore(const opc_recipe_t *recipe, const opc_sample_t *from, opc_sample_t *sample);
