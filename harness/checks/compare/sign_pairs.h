/* Bases whose vectors have an arbitrary sign: singular vectors, the factors of a QR decomposition. The library chooses
 * the sign, and may choose another one for another dtype.
 *
 * Ownership: nothing is kept. Threads: one. */
#ifndef OPC_CHECKS_COMPARE_SIGN_PAIRS_H
#define OPC_CHECKS_COMPARE_SIGN_PAIRS_H

#include "checks/compare/tolerance.h"

/* True in *out: the results differ in exactly two items, and only in the signs of whole rows or columns of their
 * matrices. The same vectors are flipped in both items (same batch, same number), so the product of the two is
 * unchanged. The vectors of one of the two items are orthonormal in the reference. */
opc_status_t opc_signs_differ_only(const opc_bound_t *bound, bool *out, opc_error_t *error) OPC_CHECKED;

#endif
