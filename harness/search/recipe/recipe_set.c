/* Recipe files, and the recipes of a run. */
#include <stdlib.h>
#include <string.h>

#include "search/draft/search_inside.h"
#include "search/recipe/recipe_inside.h"

static const char format_name[] = "opcheck-c/recipes/1";

static void bounds_clear(opc_bounds_t *bounds) {
  free(bounds->low);
  free(bounds->high);
}

static void want_clear(opc_want_t *want) {
  free(want->is);
  for (size_t i = 0; i < want->choice_count; i++) opc_value_clear(&want->choices[i]);
  free(want->choices);
  for (size_t i = 0; i < want->rank; i++) free(want->shape[i]);
  free(want->shape);
  free(want->dtypes);
  for (size_t i = 0; i < want->item_count; i++) want_clear(&want->items[i]);
  free(want->items);
  bounds_clear(&want->between);
  bounds_clear(&want->ranks);
  bounds_clear(&want->lengths);
  bounds_clear(&want->fill.bounds);
  json_decref(want->fill.plain);
}

static void recipe_free(opc_recipe_t *recipe) {
  if (!recipe) return;
  for (size_t i = 0; recipe->wants && i < recipe->op->argument_count; i++) want_clear(&recipe->wants[i]);
  for (size_t i = 0; i < recipe->size_count; i++) {
    free(recipe->sizes[i].name);
    want_clear(&recipe->sizes[i].want);
  }
  for (size_t i = 0; i < recipe->condition_count; i++) free(recipe->conditions[i]);
  free(recipe->conditions);
  free(recipe->wants);
  free(recipe->wanted);
  free(recipe->origin);
  free(recipe);
}

void opc_recipe_set_clear(opc_recipe_set_t *set) {
  for (size_t i = 0; i < set->count; i++) recipe_free(set->recipes[i]);
  free(set->recipes);
  *set = (opc_recipe_set_t){0};
}

const opc_recipe_t *opc_recipe_find(const opc_recipe_set_t *set, const char *operator_name) {
  for (size_t i = 0; i < set->count; i++)
    if (strcmp(set->recipes[i]->op->name, operator_name) == 0) return set->recipes[i];
  return NULL;
}

const char *opc_recipe_origin(const opc_recipe_t *recipe) { return recipe->origin; }

/* Reports an unsatisfiable recipe now, not after a search. */
static opc_status_t try_out(const opc_recipe_t *recipe, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  char why[256] = "";
  opc_rng_t rng = {0};
  OPC_RETURN_IF_ERROR(opc_sample_init(&sample, recipe->op, error));
  if (opc_recipe_draw(recipe, &rng, &sample, why, sizeof why)) return OPC_OK;
  return opc_error_set(error, OPC_ERR_INPUT, "no arguments satisfy the recipe, in 200 draws; the last: %s", why);
}

static opc_status_t recipe_set_keep(opc_recipe_set_t *set, opc_recipe_t *recipe, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(set->recipes, set->count)) return opc_out_of_memory(error);
  set->recipes[set->count++] = recipe;
  return OPC_OK;
}

/* The recipe stays the caller's on an error. Takes origin. */
static opc_status_t keep_tried(opc_recipe_set_t *set, opc_recipe_t *recipe, char *origin, opc_error_t *error) {
  recipe->origin = origin;
  if (!origin) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(try_out(recipe, error));
  return recipe_set_keep(set, recipe, error);
}

static opc_status_t read_recipe(opc_json_file_t *file, const json_t *json, size_t index, opc_operator_lookup_t *lookup,
                                void *context, opc_recipe_set_t *set) {
  char what[512];
  opc_error_t trouble = {0};
  opc_json_reader_t reader = {.folder = file->folder, .error = &trouble};
  opc_recipe_t *recipe = NULL;
  const char *name = json_string_value(json_object_get(json, "operator"));
  if (!json_is_object(json))
    return opc_json_file_item_mistake(file, "recipes", index, "", "expected an object with operator and arguments");
  if (!name)
    return opc_json_file_item_mistake(file, "recipes", index, "operator", "expected the operator's name, \"ns::op\"");
  const opc_operator_t *op = lookup(name, context);
  const opc_recipe_t *other = opc_recipe_find(set, name);
  if (!op || other) {
    if (op) snprintf(what, sizeof what, "there is another recipe of %.200s (%.200s)", name, other->origin);
    else snprintf(what, sizeof what, "no loaded library has an operator %.200s", name);
    return opc_json_file_item_mistake(file, "recipes", index, "operator", what);
  }
  opc_status_t status = opc_recipe_read(&reader, json, op, &recipe);
  if (status != OPC_OK || (status = keep_tried(set, recipe, opc_json_file_place(file, "recipes", index), &trouble)))
    recipe_free(recipe);
  else return OPC_OK;
  if (status == OPC_ERR_INPUT) return opc_json_file_item_mistake(file, "recipes", index, reader.path, trouble.message);
  return opc_error_set(file->error, status, "%s: %.900s", file->name, trouble.message);
}

opc_status_t opc_recipe_set_read(opc_recipe_set_t *set, const char *file, opc_operator_lookup_t *lookup, void *context,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_json_file_close) opc_json_file_t from = {0};
  const json_t *recipes = NULL;
  OPC_RETURN_IF_ERROR(opc_json_file_open(&from, file, "recipe file", error));
  OPC_RETURN_IF_ERROR(opc_json_file_items(&from, format_name, "recipes", &recipes));
  for (size_t i = 0; i < json_array_size(recipes); i++)
    OPC_RETURN_IF_ERROR(read_recipe(&from, json_array_get(recipes, i), i, lookup, context, set));
  return OPC_OK;
}
