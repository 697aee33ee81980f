/* The variants of a sample, as a list of names and arguments, for the tests of variants. A test file makes `op`. */
#ifndef OPC_TESTS_VARIANT_LISTING_H
#define OPC_TESTS_VARIANT_LISTING_H

#include <string.h>

#include "plan/variant/variant.h"
#include "plan_fixture.h"

static const fixture_argument_t returns[] = {{"", "Tensor", NULL, false}};
static opc_operator_t op;

static inline int clear_operator(void **state) {
  (void)state;
  opc_operator_clear(&op);
  return 0;
}

/* args: the JSON of the list of arguments, with ' instead of ". */
static inline opc_sample_t sample_of(const char *args) { return fixture_sample(&op, "'args': %s", args); }

static inline char *dump(const opc_sample_t *sample) {
  json_t *json = opc_sample_to_json(sample, &op);
  char *text = json_dumps(json_object_get(json, "args"), JSON_COMPACT);
  json_decref(json);
  assert_non_null(text);
  return text;
}

typedef struct listing {
  opc_sample_t base;
  char names[128][64];
  char *samples[128];
  size_t count, limit;
} listing_t;

static inline bool list_one(const char *name, const opc_sample_t *sample, void *context) {
  listing_t *listing = context;
  assert_true(listing->count < COUNT(listing->names));
  snprintf(listing->names[listing->count], sizeof listing->names[0], "%s", name);
  listing->samples[listing->count++] = dump(sample);
  return listing->limit == 0 || listing->count < listing->limit;
}

static inline listing_t list_variants(const char *args, unsigned families) {
  static listing_t listing;
  opc_error_t error = {0};
  memset(&listing, 0, sizeof listing);
  listing.base = sample_of(args);
  assert_ok(opc_variants_of(&listing.base, &op, families, list_one, &listing, &error), error);
  return listing;
}

static inline void listing_clear(listing_t *listing) {
  for (size_t i = 0; i < listing->count; i++) free(listing->samples[i]);
  opc_sample_clear(&listing->base);
}

static inline bool has(const listing_t *listing, const char *name) {
  for (size_t i = 0; i < listing->count; i++) {
    if (strcmp(listing->names[i], name) == 0) return true;
  }
  return false;
}

#endif
