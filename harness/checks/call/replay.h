/* The logical values that a call's arguments had, to make other arguments from: in another layout, widened to float64,
 * or moved by one unit in the last place. What is compared then starts from the very same numbers, whatever fill, dtype
 * or conj bit made them.
 *
 * Ownership: opc_replay_clear. Threads: one. */
#ifndef OPC_CHECKS_CALL_REPLAY_H
#define OPC_CHECKS_CALL_REPLAY_H

#include "checks/call/call.h"

enum { OPC_REPLAY_PATTERNS = 4, OPC_REPLAY_BY_TURNS = 2, OPC_REPLAY_FAR = 8 };

typedef struct opc_replay {
  struct opc_replay_tensor_arg {
    opc_dtype_t dtype;
    int64_t numel;
    double largest; /* absolute value of a finite element */
    void *bytes;
    opc_dtype_t converted_to; /* floating and complex values, unmoved, in the dtype that they were given in last; a
                                 slope is taken at hundreds of points */
    void *converted;          /* NULL: none yet */
  } * tensor_args;
  size_t count;
  /* 0: the values as they are. 1 … OPC_REPLAY_PATTERNS: floating and complex ones moved by one unit in the last place
   * of the dtype they were taken in, in random directions; OPC_REPLAY_BY_TURNS moves neighbours apart, up and down by
   * turns; the last pattern moves all away from zero (errors that add up). */
  int pattern;
  bool repeats; /* in a larger tensor the values come again and again, unmoved */
  bool far; /* moves by OPC_REPLAY_FAR units at the tensor's largest value instead: what a sum with that value may lose
             */
  bool fractions; /* some floating value is no integer: then those that are stay as they are, for they may be indices,
                     lengths or marks */
} opc_replay_t;

/* Takes the values of a call that did not run yet. */
opc_status_t opc_replay_take(opc_replay_t *replay, const opc_call_t *call, opc_error_t *error) OPC_CHECKED;
void opc_replay_clear(opc_replay_t *replay);
/* An opc_tensor_arg_values_t; context is the opc_replay_t. Elements are converted where the dtypes differ. */
opc_status_t opc_replay_values(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                               void *context, opc_error_t *error);

/* Makes every tensor of a sample contiguous, at offset 0, in a storage of its own, with conj and neg resolved. The same
 * tensor given twice stays one. */
void opc_sample_make_contiguous(opc_sample_t *sample);
/* Floating tensors become float64, complex ones complex128; float8 tensors stay what they are beside wider ones. */
void opc_sample_widen(opc_sample_t *sample);

#endif
