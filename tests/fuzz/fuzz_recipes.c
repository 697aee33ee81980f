/* A recipe file, and arguments drawn from what it asks for. */
#include "fuzz.h"
#include "operators.h"

#include "base/random.h"
#include "search/recipe/recipe.h"

enum { DRAWS = 4 };

static void recipes_draw(const char *name, const opc_recipe_t *recipe) {
  const opc_operator_t *op = fuzz_operator(name, NULL);
  opc_error_t error;
  for (uint64_t seed = 0; recipe && seed < DRAWS; seed++) {
    char why[128] = "";
    opc_sample_t sample = {0};
    opc_rng_t rng = {.seed = seed};
    fuzz_expect(opc_sample_init(&sample, op, &error) == OPC_OK, "out of memory");
    if (!opc_recipe_draw(recipe, &rng, &sample, why, sizeof why)) fuzz_expect(why[0], "a refusal without words");
    opc_sample_clear(&sample);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  opc_recipe_set_t set = {0};
  opc_error_t error = {0};
  if (opc_recipe_set_read(&set, fuzz_file(bytes, size), fuzz_operator, NULL, &error) != OPC_OK)
    fuzz_expect(error.message[0], "an error without words");
  recipes_draw("ns::op", opc_recipe_find(&set, "ns::op"));
  recipes_draw("ns::small", opc_recipe_find(&set, "ns::small"));
  opc_recipe_set_clear(&set);
  return 0;
}
