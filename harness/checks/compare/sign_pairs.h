/* Bases whose vectors have no sign of their own: singular vectors, the factors of a QR decomposition. Which sign a
 * library gives them is its choice, and another one in another dtype.
 *
 * Ownership: nothing is kept. Threads: one. */
#ifndef OPC_CHECKS_COMPARE_SIGN_PAIRS_H
#define OPC_CHECKS_COMPARE_SIGN_PAIRS_H

#include "checks/compare/tolerance.h"

/* The results differ in two items alone, in each by the sign of whole vectors, rows or columns of its matrices; the
 * vectors are the same in both, batch for batch and number for number, so that the products of the two are equal; and
 * the vectors of one of the two items are orthonormal in the reference. */
opc_status_t opc_signs_differ_only(const opc_bound_t *bound, bool *out, opc_error_t *error) OPC_CHECKED;

#endif
