/* The logical values of a call's arguments, for making other arguments: in another layout, widened to float64, or moved
 * by one unit in the last place. Compared calls then start from exactly the same numbers, whatever fill, dtype or conj
 * bit produced them.
 *
 * Ownership: opc_replay_clear. Threads: one. */
#pragma once

#include "checks/call/call.h"

enum { OPC_REPLAY_PATTERNS = 4, OPC_REPLAY_BY_TURNS = 2, OPC_REPLAY_FAR = 8 };

typedef struct opc_replay {
  struct opc_replay_tensor_arg {
    opc_dtype_t dtype;
    int64_t numel;
    double largest; /* largest absolute value of a finite element */
    void *bytes;
    opc_dtype_t converted_to; /* dtype of `converted`: the unmoved floating and complex values, kept because a slope is
                                 measured at hundreds of points */
    void *converted;          /* NULL: none yet */
  } * tensor_args;
  size_t count;
  /* 0: unchanged values. 1 … OPC_REPLAY_PATTERNS: floating and complex values are moved by one unit in the last place
   * of the dtype they were taken in, in random directions. OPC_REPLAY_BY_TURNS moves neighbours alternately up and
   * down; the last pattern moves all values away from zero (errors that add up). */
  int pattern;
  bool repeats; /* in a larger tensor the values are repeated, unmoved */
  bool far; /* moves by OPC_REPLAY_FAR units at the tensor's largest value instead: what a sum with that value can lose
             */
  bool fractions; /* some floating value is not an integer: then the integers stay unmoved, as they may be indices,
                     lengths or flags */
} opc_replay_t;

/* Takes the values of a call that has not run yet. */
opc_status_t opc_replay_take(opc_replay_t *replay, const opc_call_t *call, opc_error_t *error) OPC_CHECKED;
void opc_replay_clear(opc_replay_t *replay);
/* An opc_tensor_arg_values_t; context is the opc_replay_t. Converts elements if the dtypes differ. */
opc_status_t opc_replay_values(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                               void *context, opc_error_t *error);

/* Makes every tensor of a sample contiguous, at offset 0, in its own storage, with conj and neg resolved. A tensor that
 * is given twice stays one tensor. */
void opc_sample_make_contiguous(opc_sample_t *sample);
/* Floating tensors become float64, complex tensors complex128. Float8 tensors keep their dtype if there are wider
 * tensors. */
void opc_sample_widen(opc_sample_t *sample);
/* The same with other dtypes. */
void opc_sample_widen_to(opc_sample_t *sample, opc_dtype_t floating, opc_dtype_t complex);
