/* Makes a sample simpler, step by step, as long as a case on it still fails: fewer arguments, shorter lists, smaller
 * sizes, plain layouts, simple values. The caller runs the case.
 *
 * Ownership: opc_minimiser_free; the operator outlives the minimiser. Threads: one. */
#pragma once

#include "model/sample/sample.h"

typedef struct opc_minimiser opc_minimiser_t;

/* valid: the finding needs arguments that fit together, so only samples that keep what is known about the given one
 * are offered (opc_variant_change). */
opc_status_t opc_minimiser_new(const opc_operator_t *op, const opc_sample_t *sample, bool valid, opc_minimiser_t **out,
                               opc_error_t *error) OPC_CHECKED;
void opc_minimiser_free(opc_minimiser_t *minimiser); /* accepts NULL */
/* The next sample to try, under the same name; it belongs to the minimiser. *out is NULL: none is simpler. Each must be
 * answered by opc_minimiser_answer. */
opc_status_t opc_minimiser_next(opc_minimiser_t *minimiser, const opc_sample_t **out, opc_error_t *error) OPC_CHECKED;
/* fails: the case still fails with it, and the next steps start there. */
void opc_minimiser_answer(opc_minimiser_t *minimiser, bool fails);
/* The simplest sample so far with which the case fails. */
const opc_sample_t *opc_minimiser_best(const opc_minimiser_t *minimiser);
