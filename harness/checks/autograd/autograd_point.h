/* Where an operator is differentiated: a sample's arguments as flat arrays of real numbers, the outputs weighted to one
 * number, and the gradients that the operator's own derivative gives there.
 *
 * Complex elements are two numbers each, so that a gradient, a direction and the weights are plain vectors; the sum of
 * their products is then what PyTorch's convention for complex gradients asks for. Ownership: the _clear functions.
 * Threads: one. */
#ifndef OPC_CHECKS_AUTOGRAD_AUTOGRAD_POINT_H
#define OPC_CHECKS_AUTOGRAD_AUTOGRAD_POINT_H

#include "checks/framework/case_run.h"

/* A tensor whose numbers are part of a vector. */
typedef struct opc_autograd_part {
  char path[96];
  opc_tensor_meta_t meta;
  size_t first, count; /* numbers: one a real element, two a complex one */
  size_t tensor_arg;   /* of an input: which tensor of the call it is */
  bool written;        /* of an input: the schema says that the operator writes it */
  bool symmetric; /* of an input: one triangle of its matrices is read, and its gradient is that among symmetric ones
                     (autograd_difference.h) */
  bool tracked;   /* of an output: it requires grad */
  unsigned graph; /* of an output: OPC_GRAPH_… bits */
} opc_autograd_part_t;

typedef struct opc_autograd_parts {
  opc_autograd_part_t *items;
  size_t count;
  size_t numbers; /* of all together */
} opc_autograd_parts_t;

typedef struct opc_autograd_point {
  opc_case_context_t *context;
  opc_sample_t sample; /* the case's, contiguous, in the dtypes that are differentiated in */
  opc_replay_t replay; /* the values, as the case's own dtypes hold them */
  opc_autograd_parts_t inputs, outputs;
  double *weights; /* one a number of the outputs; 0 where the output is no part of the graph */
  double *scale;   /* one an input: its largest absolute value, 1 where there is none */
  double epsilon;  /* of the dtypes that are differentiated in */
} opc_autograd_point_t;

/* The tensors that the operator gave back, floating and complex ones: returns that are no arguments themselves, and
 * behind them the arguments that it writes. */
typedef struct opc_autograd_run {
  opc_call_t call;
  opc_tensor_t **leaves;  /* one an input; NULL where no gradient is asked for */
  opc_tensor_t **outputs; /* of the call */
  opc_autograd_parts_t parts;
  size_t leaf_count;
} opc_autograd_run_t;

typedef struct opc_autograd_forward {
  const opc_sample_t *sample; /* NULL: the point's; another layout or dtype of it otherwise */
  opc_replay_t *replay;       /* NULL: the point's */
  bool track;                 /* ask for gradients */
  const bool *only;           /* with track: one an input; NULL: all */
  const double *direction;    /* how far the inputs are moved, times `step`; NULL: not at all */
  double step;
  const char *phase;
} opc_autograd_forward_t;

typedef enum opc_weights_layout {
  OPC_WEIGHTS_PLAIN = 0,
  OPC_WEIGHTS_STRIDED,
  OPC_WEIGHTS_EXPANDED
} opc_weights_layout_t;

typedef struct opc_autograd_backward {
  const double *weights; /* NULL: the point's */
  opc_weights_layout_t layout;
  const bool *outputs; /* which get a gradient; NULL: all */
  bool retain_graph, create_graph;
  bool track_weights; /* the weights ask for a gradient too */
  bool watch;         /* look whether the derivative changes what it is only to read */
  const char *phase;
} opc_autograd_backward_t;

/* Of the generators in a derivative. A program draws other numbers between the two, and what is drawn again in a
 * derivative is something else. */
static inline uint64_t opc_autograd_backward_seed(uint64_t forward) { return forward * 3 + 1; }

typedef struct opc_autograd_gradient {
  opc_call_outcome_t outcome;
  opc_text_t message;
  double *values;         /* one a number of the inputs; 0 where undefined */
  bool *undefined;        /* one an input */
  bool unreadable;        /* some gradient has no values to read (sparse) */
  opc_tensor_t **tensors; /* one an input; NULL where undefined */
  opc_tensor_t **weights; /* one an output, as they were given; NULL where none was */
  size_t input_count, output_count;
  char *mutated; /* what the derivative changed that it was only to read; NULL: nothing */
} opc_autograd_gradient_t;

/* Takes the case's sample in double precision, `wide`, or in its own dtypes, and calls the operator once on it with
 * gradients asked for. False in *out_usable: the operator refuses that; message says how. */
opc_status_t opc_autograd_point_make(opc_autograd_point_t *point, opc_case_context_t *context, bool wide,
                                     bool *out_usable, opc_text_t *message, opc_error_t *error) OPC_CHECKED;
/* No tensor of the sample asks for gradients by itself. */
void opc_autograd_forget_grad(opc_sample_t *sample);
void opc_autograd_point_clear(opc_autograd_point_t *point);

/* The outcome is in run->call.outcome. The run is to be cleared in any case. */
opc_status_t opc_autograd_forward_run(opc_autograd_point_t *point, const opc_autograd_forward_t *how,
                                      opc_autograd_run_t *run, opc_error_t *error) OPC_CHECKED;
void opc_autograd_run_clear(opc_autograd_run_t *run);
/* The outputs are those of the point: as many, in the same shapes and dtypes. */
bool opc_autograd_run_fits(const opc_autograd_point_t *point, const opc_autograd_run_t *run);
/* The weighted sum of the outputs; NaN where an output that counts is not finite. */
opc_status_t opc_autograd_run_loss(const opc_autograd_run_t *run, const double *weights, double *out,
                                   opc_error_t *error) OPC_CHECKED;

/* Asks for the gradients of the run. The gradient is to be cleared in any case. */
opc_status_t opc_autograd_backward_run(opc_autograd_point_t *point, opc_autograd_run_t *run,
                                       const opc_autograd_backward_t *how, opc_autograd_gradient_t *gradient,
                                       opc_error_t *error) OPC_CHECKED;
void opc_autograd_gradient_clear(opc_autograd_gradient_t *gradient);

/* Both at once; what the forward run said, where it did not return, is the gradient's outcome. */
opc_status_t opc_autograd_both(opc_autograd_point_t *point, const opc_autograd_forward_t *forward,
                               const opc_autograd_backward_t *backward, opc_autograd_gradient_t *gradient,
                               opc_error_t *error) OPC_CHECKED;

/* A tensor of the part's shape and dtype that holds these numbers; EXPANDED: the first of them everywhere. */
opc_status_t opc_autograd_tensor(const opc_autograd_part_t *part, const double *numbers, opc_weights_layout_t layout,
                                 opc_tensor_t **out, opc_error_t *error) OPC_CHECKED;
/* The numbers of a tensor, conj and neg resolved; false: it has none to read. */
opc_status_t opc_autograd_numbers(const opc_tensor_t *tensor, double *out, size_t count, bool *out_read,
                                  opc_error_t *error) OPC_CHECKED;
/* "x[1, 2]", "the imaginary part of x[1, 2]" for a number of a part. */
void opc_autograd_place(const opc_autograd_part_t *part, size_t number, char *out, size_t size);

#endif
