/* Recipes: what an operator wants of its arguments, as data, for an operator whose inputs the search does not find by
 * itself.
 *
 * The search draws its fresh arguments from the recipe and edits only what the recipe leaves open. Format
 * "opcheck-c/recipes/1":
 *   {"operator": NAME, "sizes": {NAME: SIZE, …}, "where": [CONDITION, …], "arguments": {ARGUMENT: WANT, …}}
 * SIZE is [low, high] (both included), an integer, an expression ("H - K + 1"), or {"one_of": […]}. A name that is in
 * no "sizes" and no int argument is a size from 1 to 5. Every int argument's name is one too. WANT, by the argument's
 * type: tensor  {"shape": [EXPRESSION, …] | "rank": N | [low, high], "dtype": NAME | [NAME, …] | the name of a tensor
 * argument before it, "fill": FILL}; a list alone is the shape number  {"between": [low, high]} | {"one_of": […]} |
 * {"is": …}; a number or expression alone is what it is list    {"length": N | EXPRESSION | [low, high], "each": WANT,
 * "fill": FILL (of ints)} | {"items": [WANT, …]}; a list alone are the items others  {"one_of": […]} | {"is": …}, as a
 * sample file has them all     "given": false leaves an argument out, true always gives an optional one FILL is a
 * sample's fill, {"range": [low, high]} with expressions (high excluded), or: {"sorted": [low, high]}, {"offsets": T}
 * (from 0, ascending, the last T),
 * {"lengths": T} (from 0, their sum T), {"reaching": T} (from 1, the largest T), "permutation" (of 0, 1, …),
 * {"between": [low, high]} (of floats), "boxes"; the last dimension is the row that these speak of.
 *
 * Ownership: opc_recipe_set_clear frees the recipes; a recipe borrows the operator, which the lookup gave. Threads:
 * read-only sharing is fine. */
#ifndef OPC_SEARCH_RECIPE_RECIPE_H
#define OPC_SEARCH_RECIPE_RECIPE_H

#include "model/sample/sample.h"

typedef struct opc_recipe opc_recipe_t;

typedef struct opc_recipe_set {
  opc_recipe_t **recipes;
  size_t count;
} opc_recipe_set_t;

/* Appends the recipes of a file. OPC_ERR_INPUT: "FILE:LINE:COLUMN: FIELD: what is wrong"; a recipe that nothing
 * satisfies is wrong too. OPC_ERR_IO: unreadable. */
opc_status_t opc_recipe_set_read(opc_recipe_set_t *set, const char *file, opc_operator_lookup_t *lookup, void *context,
                                 opc_error_t *error) OPC_CHECKED;
void opc_recipe_set_clear(opc_recipe_set_t *set);
/* NULL: the operator has none. */
const opc_recipe_t *opc_recipe_find(const opc_recipe_set_t *set, const char *operator_name);
const char *opc_recipe_origin(const opc_recipe_t *recipe); /* "file.json:12" */

struct opc_rng;
/* Puts fresh values where the recipe says something; the rest of the sample stays. False: this draw satisfies it not,
 * or memory ran out; why (may be NULL) says what does not fit. */
bool opc_recipe_draw(const opc_recipe_t *recipe, struct opc_rng *rng, opc_sample_t *sample, char *why, size_t size);
/* Puts back what the recipe speaks of, as it is in `from`, a sample of the same operator. False: out of memory. */
bool opc_recipe_restore(const opc_recipe_t *recipe, const opc_sample_t *from, opc_sample_t *sample);

#endif
