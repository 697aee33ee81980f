/* Operators that are C functions, for tests of the search: they reject with the texts of real ones, crash, or return.
 *
 * Ownership: the caller frees what fake_search returns. */
#ifndef OPC_TESTS_UNIT_FAKE_OPERATOR_H
#define OPC_TESTS_UNIT_FAKE_OPERATOR_H

#include "plan_fixture.h"

#include <stdio.h>

#include "base/text.h"
#include "search/engine/search.h"

typedef struct fake {
  const char *name;
  fixture_argument_t arguments[8];
  /* Sets the outcome; message has 256 bytes. */
  void (*run)(const opc_sample_t *sample, opc_tried_t *tried, char *message);
  opc_search_state_t wanted;
} fake_t;

enum { BUDGET = 300 };

static inline const opc_tensor_spec_t *tensor(const opc_sample_t *sample, size_t index) {
  return sample->arguments[index].tensor;
}
static inline int64_t integer(const opc_sample_t *sample, size_t index) { return sample->arguments[index].integer; }

static inline void returned(opc_tried_t *tried, int64_t numel) {
  *tried = (opc_tried_t){.outcome = OPC_TRY_RETURNED,
                         .steady = true,
                         .effect = numel > 0,
                         .depends_on_values = numel > 0,
                         .output_numel = numel};
}

#define REJECT(...)                      \
  do {                                   \
    snprintf(message, 256, __VA_ARGS__); \
    tried->outcome = OPC_TRY_REJECTED;   \
    return;                              \
  } while (0)

opc_operator_t fake_operator(const fake_t *fake);
/* Runs a search to its end. trace (may be NULL) gets the names of the tries, to compare them. */
opc_search_t *fake_search(const fake_t *fake, const opc_operator_t *op, uint64_t seed, int *out_tries,
                          opc_text_t *trace);

#endif
