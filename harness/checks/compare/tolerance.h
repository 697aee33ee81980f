/* How far two results may be apart, measured and not assumed: the operator runs again on inputs moved by one unit in
 * the last place, and what its outputs do then is the scale. An operator that only moves data has no tolerance at all.
 *
 * Ownership: opc_tolerance_clear. Threads: one. */
#ifndef OPC_CHECKS_COMPARE_TOLERANCE_H
#define OPC_CHECKS_COMPARE_TOLERANCE_H

#include "checks/framework/case_run.h"

enum {
  OPC_TOLERANCE_FACTOR = 8, /* times the largest change measured */
  OPC_TOLERANCE_ULPS = 4,   /* besides, units in the last place of the value itself */
  /* Of float8, where 4 would be as much as the value: it is computed in a wider dtype, and rounded to float8 once at
     the end, perhaps once before. */
  OPC_TOLERANCE_FLOAT8_ULPS = 2
};

typedef struct opc_tolerance {
  double
      *change; /* one an item of the reference: the largest |change| of an element; infinite where the shape changed */
  bool *changed; /* one an item: any bit of it changed */
  size_t count;
  int patterns; /* that returned; 0: nothing was measured */
  double **far; /* (optional) one an item and an element: |change| under OPC_REPLAY_FAR units at the arguments' largest
                   values */
} opc_tolerance_t;

/* Measures around `reference`, which is what `again` gave with replay->pattern 0. */
opc_status_t opc_tolerance_measure(opc_tolerance_t *tolerance, const opc_again_t *again, const opc_result_t *reference,
                                   opc_error_t *error) OPC_CHECKED;
/* Besides, what one more call changes. */
opc_status_t opc_tolerance_add(opc_tolerance_t *tolerance, const opc_again_t *again, const opc_result_t *reference,
                               opc_error_t *error) OPC_CHECKED;
/* Besides, for results that jump (a rounded coordinate, a floor): what each element does when the arguments move as far
 * as the factor says. */
opc_status_t opc_tolerance_measure_far(opc_tolerance_t *tolerance, const opc_again_t *again,
                                       const opc_result_t *reference, opc_error_t *error) OPC_CHECKED;
void opc_tolerance_clear(opc_tolerance_t *tolerance);

/* The result changes for reasons that are no layout's and no dtype's: random numbers, hidden state, time, memory that
 * was never written. Runs the call again with other bytes in new memory, with its tensors elsewhere, and with another
 * seed. */
opc_status_t opc_result_is_nondeterministic(const opc_again_t *again, const opc_result_t *result, bool *out,
                                            opc_error_t *error) OPC_CHECKED;
#define OPC_NONDETERMINISTIC_TEXT                                                                                 \
  "the result differs from call to call, or follows random numbers or memory that was never written: nothing to " \
  "compare"

/* Floating or complex numbers that are known: a distance can be measured. */
bool opc_result_is_measurable(const opc_result_item_t *item);
double opc_result_largest(
    const opc_result_item_t *item); /* |value| of a finite element; 0 where nothing is measurable */

/* Whether |got - reference| is allowed: factor * change, or the element's own far change, + ulps of ulp_dtype at the
 * reference. NaN equals NaN, an infinity its own sign; what overflows ulp_dtype may be infinite or NaN. For complex
 * numbers the distance in the plane. */
typedef struct opc_bound {
  const opc_result_t *got, *reference;
  const opc_tolerance_t *tolerance; /* NULL: nothing was measured yet */
  int ulps;                         /* allowed in any case, of float8 fewer; 0: none */
  opc_dtype_t narrow;     /* the dtype whose units count where the item's own are finer; OTHER: the item's own */
  const double *relative; /* expect.tolerance by dtype, relative to the largest |reference|; NULL: none given */
  const bool *exact;      /* one an item: bits alone count; NULL: none */
  const double *at_least; /* one an item: no bound is less than this; NULL: none */
} opc_bound_t;
bool opc_bound_holds(size_t item, int64_t element, void *bound); /* an opc_element_equal_t */
/* Units in the last place that are allowed in any case, of that item; the bound of an element: for the evidence. */
int opc_bound_ulps(const opc_bound_t *bound, size_t item);
double opc_bound_value(const opc_bound_t *bound, size_t item, int64_t element);

/* Every element of the item is one of the arguments' elements, bit for bit, or 0, and not all are 0: data was moved,
 * nothing was computed.
 */
bool opc_result_moves_data(const opc_result_item_t *item, const opc_replay_t *replay);

#endif
