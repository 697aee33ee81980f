/* The point at which an operator is differentiated: a sample's arguments as flat arrays of real numbers, the weighted
 * sum of the outputs, and the gradients that the operator's own backward gives.
 *
 * A complex element is two numbers, so a gradient, a direction and the weights are plain vectors. The sum of their
 * products then follows PyTorch's convention for complex gradients. Ownership: the _clear functions free. Threads:
 * one. */
#pragma once

#include "checks/framework/case_run.h"

/* A tensor whose numbers are a section of a vector. */
typedef struct opc_autograd_part {
  char path[96];
  opc_tensor_meta_t meta;
  size_t first, count; /* numbers: one per real element, two per complex element */
  size_t tensor_arg;   /* of an input: index of its tensor argument in the call */
  bool written;        /* of an input: the schema says that the operator writes it */
  bool symmetric;      /* of an input: the operator reads one triangle of its matrices, and the gradient is that among
                          symmetric matrices (autograd_difference.h) */
  bool tracked;        /* of an output: it requires grad */
  unsigned graph;      /* of an output: OPC_GRAPH_… bits */
} opc_autograd_part_t;

/* Numbers per element. */
static inline size_t opc_autograd_width(opc_dtype_t dtype) {
  return opc_dtype_class(dtype) == OPC_CLASS_COMPLEX ? 2 : 1;
}

typedef struct opc_autograd_parts {
  opc_autograd_part_t *items;
  size_t count;
  size_t numbers; /* of all together */
} opc_autograd_parts_t;

typedef struct opc_autograd_point {
  opc_case_context_t *context;
  opc_sample_t sample; /* the case's, contiguous, in the dtypes used for differentiation */
  opc_replay_t replay; /* the values, as held in the case's own dtypes */
  opc_autograd_parts_t inputs, outputs;
  double *weights; /* one per number of the outputs; 0 if the output is not part of the graph */
  double *scale;   /* one per input: its largest absolute value, 1 if it has none */
  double epsilon;  /* of the dtypes used for differentiation */
} opc_autograd_point_t;

/* The floating and complex tensors that the operator returned: first the returns that are not arguments themselves,
 * then the arguments that it writes. */
typedef struct opc_autograd_run {
  opc_call_t call;
  opc_tensor_t **leaves;  /* one per input; NULL if no gradient is requested */
  opc_tensor_t **outputs; /* of the call */
  opc_autograd_parts_t parts;
  size_t leaf_count;
} opc_autograd_run_t;

typedef struct opc_autograd_forward {
  const opc_sample_t *sample; /* NULL: the point's; otherwise the same in another layout or dtype */
  opc_replay_t *replay;       /* NULL: the point's */
  const opc_device_t *device; /* NULL: the case's */
  bool track;                 /* the inputs require grad */
  const bool *only;           /* with track: one per input; NULL: all */
  const double *direction;    /* `step` times this is added to the inputs; NULL: they stay */
  double step;
  opc_call_label_t label;
} opc_autograd_forward_t;

typedef enum opc_weights_layout {
  OPC_WEIGHTS_PLAIN = 0,
  OPC_WEIGHTS_STRIDED,
  OPC_WEIGHTS_EXPANDED
} opc_weights_layout_t;

typedef struct opc_autograd_backward {
  const double *weights; /* NULL: the point's */
  opc_weights_layout_t layout;
  const bool *outputs; /* outputs that get a gradient; NULL: all */
  bool retain_graph, create_graph;
  bool track_weights; /* the weights require grad too */
  bool watch;         /* detect whether the backward changes tensors that it must only read */
  opc_call_label_t label;
} opc_autograd_backward_t;

/* What most parts differentiate: all inputs and outputs, once. */
extern const opc_autograd_forward_t opc_autograd_forward_plain;
extern const opc_autograd_backward_t opc_autograd_backward_plain;

/* Seed of the generators for the backward. Real programs draw other numbers between forward and backward, so a backward
 * that draws again gets different numbers. */
static inline uint64_t opc_autograd_backward_seed(uint64_t forward) { return forward * 3 + 1; }

/* Owned tensors; NULL where there is none. */
typedef struct opc_autograd_tensors {
  opc_tensor_t **items;
  size_t count;
} opc_autograd_tensors_t;
opc_status_t opc_autograd_tensors_make(opc_autograd_tensors_t *tensors, size_t count, opc_error_t *error) OPC_CHECKED;
void opc_autograd_tensors_clear(opc_autograd_tensors_t *tensors);

typedef struct opc_autograd_gradient {
  opc_call_outcome_t outcome;
  opc_text_t message;
  double *values;                 /* one per number of the inputs; 0 where undefined */
  bool *undefined;                /* one per input */
  bool unreadable;                /* the values of some gradient cannot be read (sparse) */
  opc_autograd_tensors_t tensors; /* one per input; NULL where undefined */
  opc_autograd_tensors_t weights; /* one per output, as passed in; NULL where none was */
  char *mutated;                  /* what the backward changed but must only read; NULL: nothing */
} opc_autograd_gradient_t;

/* Takes the case's sample in double precision (`wide`) or in its own dtypes, and calls the operator on it once with
 * inputs that require grad. *out_usable false: the operator refuses; message says why. */
opc_status_t opc_autograd_point_make(opc_autograd_point_t *point, opc_case_context_t *context, bool wide,
                                     bool *out_usable, opc_text_t *message, opc_error_t *error) OPC_CHECKED;
/* Sets requires_grad to false in all tensors of the sample. */
void opc_autograd_forget_grad(opc_sample_t *sample);
void opc_autograd_point_clear(opc_autograd_point_t *point);
/* Some output has a derivative of the library's own, not only libtorch's. */
bool opc_autograd_has_own_node(const opc_autograd_point_t *point);

/* The outcome is in run->call.outcome. The caller clears the run in any case. */
opc_status_t opc_autograd_forward_run(opc_autograd_point_t *point, const opc_autograd_forward_t *how,
                                      opc_autograd_run_t *run, opc_error_t *error) OPC_CHECKED;
void opc_autograd_run_clear(opc_autograd_run_t *run);
/* True: the run has as many outputs as the point, with the same shapes and dtypes. */
bool opc_autograd_run_fits(const opc_autograd_point_t *point, const opc_autograd_run_t *run);
/* The weighted sum of the outputs. NaN if an output cannot be read; not finite if an element with a weight is not. */
opc_status_t opc_autograd_run_loss(const opc_autograd_run_t *run, const double *weights, double *out,
                                   opc_error_t *error) OPC_CHECKED;

/* Computes the gradients of the run. The caller clears the gradient in any case. */
opc_status_t opc_autograd_backward_run(opc_autograd_point_t *point, opc_autograd_run_t *run,
                                       const opc_autograd_backward_t *how, opc_autograd_gradient_t *gradient,
                                       opc_error_t *error) OPC_CHECKED;
void opc_autograd_gradient_clear(opc_autograd_gradient_t *gradient);

/* Forward, then backward. If the forward call does not return, its outcome and message become the gradient's. */
opc_status_t opc_autograd_both(opc_autograd_point_t *point, const opc_autograd_forward_t *forward,
                               const opc_autograd_backward_t *backward, opc_autograd_gradient_t *gradient,
                               opc_error_t *error) OPC_CHECKED;

/* A tensor of the part's shape and dtype that holds these numbers; EXPANDED: the first of them everywhere. */
opc_status_t opc_autograd_tensor(const opc_autograd_part_t *part, const double *numbers, opc_weights_layout_t layout,
                                 opc_tensor_t **out, opc_error_t *error) OPC_CHECKED;
/* The numbers of a tensor, conj and neg resolved. *out_read false: they cannot be read. */
opc_status_t opc_autograd_numbers(const opc_tensor_t *tensor, double *out, size_t count, bool *out_read,
                                  opc_error_t *error) OPC_CHECKED;
/* "x[1, 2]", "the imaginary part of x[1, 2]" for a number of a part. */
void opc_autograd_place(const opc_autograd_part_t *part, size_t number, char *out, size_t size);
