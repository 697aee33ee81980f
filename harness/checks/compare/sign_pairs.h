/* Bases whose vectors have an arbitrary sign: singular vectors, eigenvectors, the factors of a QR decomposition. The
 * library chooses the sign, and may choose another one for another dtype or device.
 *
 * Ownership: nothing is kept. Threads: one. */
#pragma once

#include "checks/compare/tolerance.h"

/* True in *out: the results differ only in the signs of whole rows or columns of matrices that are orthonormal in the
 * reference. Either in exactly two items, where the same vectors are flipped in both (same batch, same number), so that
 * the product of the two is unchanged, and one of the two is orthonormal. Or in one, where there are other results, and
 * none of them is a matrix. */
opc_status_t opc_signs_differ_only(const opc_bound_t *bound, bool *out, opc_error_t *error) OPC_CHECKED;
