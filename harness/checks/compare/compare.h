/* How far two results may differ. This is measured: the operator runs again on inputs moved by one unit in the last
 * place, and the change of its outputs is the scale. An operator that only moves data gets no tolerance.
 *
 * Ownership: opc_tolerance_clear. Threads: one. */
#pragma once

#include "checks/framework/check.h"

enum {
  OPC_TOLERANCE_FACTOR = 8, /* times the largest change measured */
  OPC_TOLERANCE_ULPS = 4,   /* in addition, units in the last place of the value itself */
  /* For float8, where 4 units would be as large as the value: results are computed in a wider dtype and rounded to
   * float8 once at the end, perhaps once before. */
  OPC_TOLERANCE_FLOAT8_ULPS = 2
};

typedef struct opc_tolerance {
  double *change; /* one per item of the reference: the largest |change| of an element; infinite if the shape changed */
  bool *changed;  /* one per item: true if any bit changed */
  size_t count;
  int patterns; /* patterns whose call returned; 0: nothing was measured */
  double **far; /* (optional) one per item and element: |change| after moving by OPC_REPLAY_FAR units at the arguments'
                   largest values */
} opc_tolerance_t;

/* Measures around `reference`, the result of `again` with replay->pattern 0. Where all tensor arguments are integers,
 * the change is one unit in the last place of the item's largest element. The caller clears it, whatever the status. */
opc_status_t opc_tolerance_measure(opc_tolerance_t *tolerance, const opc_again_t *again, const opc_result_t *reference,
                                   opc_error_t *error) OPC_CHECKED;
/* Adds the changes of one more call. */
opc_status_t opc_tolerance_add(opc_tolerance_t *tolerance, const opc_again_t *again, const opc_result_t *reference,
                               opc_error_t *error) OPC_CHECKED;
/* In addition, for results that jump (a rounded coordinate, a floor): the change of each element when the arguments
 * move as far as OPC_TOLERANCE_FACTOR says. */
opc_status_t opc_tolerance_measure_far(opc_tolerance_t *tolerance, const opc_again_t *again,
                                       const opc_result_t *reference, opc_error_t *error) OPC_CHECKED;
void opc_tolerance_clear(opc_tolerance_t *tolerance);

/* True in *out: the result changes for reasons other than layout and dtype: random numbers, hidden state, time,
 * uninitialised memory. Runs the call again with another poison byte, with its tensors at two other places, and with
 * another seed. */
opc_status_t opc_result_is_nondeterministic(const opc_again_t *again, const opc_result_t *result, bool *out,
                                            opc_error_t *error) OPC_CHECKED;
#define OPC_NONDETERMINISTIC_TEXT                                                                           \
  "the result differs from call to call, or depends on random numbers or uninitialised memory: nothing to " \
  "compare"

/* Known floating or complex numbers, so a distance can be measured. */
bool opc_result_is_measurable(const opc_result_item_t *item);
double opc_result_largest(
    const opc_result_item_t *item); /* |value| of a finite element; 0 where nothing is measurable */

/* Whether |got - reference| is allowed: factor * change, or the element's own far change, + ulps at the reference (of
 * `narrow`, if that is coarser). NaN equals NaN, an infinity equals one of the same sign; values that overflow that
 * dtype may be infinite or NaN. For complex numbers: the distance in the complex plane. */
typedef struct opc_bound {
  const opc_result_t *got, *reference;
  const opc_tolerance_t *tolerance; /* NULL: nothing was measured yet */
  int ulps;                         /* always allowed, fewer for float8; 0: none */
  opc_dtype_t narrow;     /* the dtype whose units are used if the item's own are finer; OTHER: the item's own */
  const double *relative; /* expect.tolerance by dtype, relative to the largest |reference|; NULL: none given */
  const bool *exact;      /* one per item: compare bits only; NULL: none */
  bool any_nan;           /* where bits are compared, a NaN equals every NaN */
  const double *at_least; /* one per item: lower limit of the bound; NULL: none */
} opc_bound_t;
bool opc_bound_holds(size_t item, int64_t element, void *bound); /* an opc_element_equal_t */
/* Evidence "tolerance" of an element that differs by more. New reference; NULL: out of memory. */
json_t *opc_bound_evidence(const opc_bound_t *bound, const opc_difference_t *difference);

/* True: PyTorch itself loses the bits of a NaN in this case. It negates or conjugates the argument on the GPU before an
 * operator without kernels for lazily negated tensors sees it. Arithmetic on a CPU keeps these bits, or most of them; a
 * GPU's gives 0x7fffffff for every NaN (opc_number_is_same compares without them). */
bool opc_case_loses_nan_bits(const opc_case_context_t *context);

/* True: every element of the item equals one of the arguments' elements bit for bit, or is 0, and not all are 0. Data
 * was moved, nothing computed. */
bool opc_result_moves_data(const opc_result_item_t *item, const opc_replay_t *replay);

/* Bases whose vectors have an arbitrary sign: singular vectors, eigenvectors, the factors of a QR decomposition. The
 * library chooses the sign, and may choose another one for another dtype or device. */

/* True in *out: the results differ only in the signs of whole rows or columns of matrices that are orthonormal in the
 * reference. Either in exactly two items, where the same vectors are flipped in both (same batch, same number), so that
 * the product of the two is unchanged, and one of the two is orthonormal. Or in one, where there are other results, and
 * none of them is a matrix. */
opc_status_t opc_signs_differ_only(const opc_bound_t *bound, bool *out, opc_error_t *error) OPC_CHECKED;

/* Results that are handles: they contain addresses of objects that the operator made, so they differ from call to call.
 */

/* True: the two differ, and every differing word is an address in this process's memory on both sides, or was when its
 * result was taken. */
bool opc_results_are_handles(const opc_result_t *left, const opc_result_t *right);

/* Operators that address positions in a storage, as at::as_strided does. The layout of their arguments is part of the
 * input: another layout correctly gives another result. */

/* For a call that returned and whose arguments are alive. True in *out: every output has the sizes given by one list
 * argument of integers, and its elements are read from an argument's storage with the strides given by another. The
 * offset is that argument's own or an integer argument. Indexing the argument's elements instead of its storage would
 * give other values. */
opc_status_t opc_call_is_as_strided_like(const opc_call_t *call, bool *out, opc_error_t *error) OPC_CHECKED;

/* Booleans in memory may only be the bytes 0 and 1. */

typedef struct opc_bool_bytes {
  size_t item;          /* of the result */
  int64_t first, count; /* elements; count 0: all bytes are valid */
  unsigned char byte;   /* of the first invalid element */
} opc_bool_bytes_t;

/* The first bool tensor in a result that contains another byte. Skips tensors in an argument's memory, which may hold
 * bytes never meant as booleans, except a mutable argument that was bool before the call, is still in place and shares
 * its memory with no other argument. `result` is the call's, with arguments and not borrowed. */
opc_bool_bytes_t opc_bool_bytes_find(const opc_result_t *result, const opc_call_t *call);

/* Out arguments: by PyTorch's convention, mutable keyword-only arguments (`*, Tensor(a!) out`). Their previous contents
 * are not an input, so the call must write every element. */

/* If the operator has out arguments, calls it twice, with other values in them the second time. Reports
 * initialisation.out_not_written if some elements keep their old values while the others do not depend on these at all.
 * An operator that keeps all elements, or computes with the old values, treats them as inputs: no finding. */
opc_status_t opc_out_arguments_check(opc_case_context_t *context, opc_finding_t *finding,
                                     opc_error_t *error) OPC_CHECKED;
