/* The point at which an operator is differentiated: a sample's arguments as flat arrays of real numbers, the weighted
 * sum of the outputs, and the gradients that the operator's own backward gives.
 *
 * A complex element is two numbers, so a gradient, a direction and the weights are plain vectors. The sum of their
 * products then follows PyTorch's convention for complex gradients. Ownership: the _clear functions free. Threads:
 * one. */
#pragma once

#include "checks/autograd/autograd_slope.h"
#include "checks/framework/check.h"

/* A tensor whose numbers are a section of a vector. */
typedef struct opc_autograd_part {
  char path[96];
  opc_tensor_meta_t meta;
  size_t first, count; /* numbers: one per real element, two per complex element */
  size_t tensor_arg;   /* of an input: index of its tensor argument in the call */
  bool written;        /* of an input: the schema says that the operator writes it */
  bool symmetric;      /* of an input: the operator reads one triangle of its matrices, and the gradient is that among
                          symmetric matrices (opc_autograd_make_symmetric) */
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
  uint64_t wanted;     /* of the tensor arguments, by bit: what is differentiated by (OPC_AUTOGRAD_ALL: by all) */
  opc_sample_t sample; /* the case's, contiguous, in the dtypes used for differentiation */
  opc_replay_t replay; /* the values, as held in the case's own dtypes */
  opc_autograd_parts_t inputs, outputs;
  double *weights;   /* one per number of the outputs; 0 if the output is not part of the graph, or the element is not
                        finite: the mask of a score, the mean of an empty row */
  size_t not_finite; /* numbers of the outputs that are not */
  bool *still;       /* one per number of the inputs: it is not finite, so no direction moves it */
  double *scale;     /* one per input: its largest absolute value, 1 if it has none */
  double epsilon;    /* of the dtypes used for differentiation */
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

/* Tensor arguments by bit; those from 63 on share the last. */
enum { OPC_AUTOGRAD_BITS = 64 };
#define OPC_AUTOGRAD_ALL UINT64_MAX
static inline uint64_t opc_autograd_bit(size_t tensor_arg) {
  return (uint64_t)1 << (tensor_arg < OPC_AUTOGRAD_BITS ? tensor_arg : OPC_AUTOGRAD_BITS - 1);
}

/* Takes the case's sample in double precision (`wide`) or in its own dtypes, and calls the operator on it once with
 * those of the wanted inputs that can require grad. *out_usable false: the operator refuses; message says why. */
opc_status_t opc_autograd_point_make(opc_autograd_point_t *point, opc_case_context_t *context, uint64_t wanted,
                                     bool wide, bool *out_usable, opc_text_t *message, opc_error_t *error) OPC_CHECKED;
/* Some number of the outputs has a weight. */
bool opc_autograd_has_weights(const opc_autograd_point_t *point);
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

/* Shared by the parts of check autograd: a point, the gradient that the operator gives there, and the finding.
 *
 * Each part checks one promise and sets the finding itself. A part that cannot decide (the operator refuses, the
 * outputs change shape) reports nothing. Ownership: check_autograd.c owns everything. */

typedef struct opc_autograd_case {
  opc_autograd_point_t *point;
  opc_finding_t *finding;
  const char *others_refused; /* why the inputs are not all; NULL: they are */
  opc_autograd_gradient_t
      plain; /* all inputs require grad, everything contiguous, in double precision if the operator accepts it */
  bool deterministic;      /* two equal calls give equal outputs, so slopes can be measured */
  bool grad_twice_refused; /* double backward is refused */
  bool undecided;          /* of some input, because the function jumps on a way as long as the input itself */
  bool bits_vary; /* the derivative says that its bits differ from call to call; they may, as a sum in another order */
} opc_autograd_case_t;

/* Units of epsilon by which the order of summing may change sums of gradients. */
enum { OPC_AUTOGRAD_SUMMED = 1 << 20 };

/* One of check autograd's parts. */
typedef opc_status_t opc_autograd_part_check_t(opc_autograd_case_t *c, opc_error_t *error);

/* autograd_numeric.c */
opc_autograd_part_check_t opc_autograd_check_values;    /* against central differences */
opc_autograd_part_check_t opc_autograd_check_precision; /* the sample's own dtype against double precision */
opc_autograd_part_check_t opc_autograd_check_dtypes;    /* the dtype in which the gradients are computed */
opc_status_t opc_autograd_is_deterministic(opc_autograd_point_t *point, bool *out, opc_error_t *error) OPC_CHECKED;

/* autograd_again.c: the same gradient, computed in another way */
opc_autograd_part_check_t opc_autograd_check_fresh; /* a fresh graph, while new memory holds other bytes */
opc_autograd_part_check_t opc_autograd_check_again; /* the same graph again */
opc_autograd_part_check_t opc_autograd_check_alone; /* one input alone; one output alone */
opc_autograd_part_check_t opc_autograd_check_saved; /* after a tensor was overwritten in place */

/* autograd_layout.c */
opc_autograd_part_check_t opc_autograd_check_weights_layout; /* incoming gradients: zero, strided, expanded */
opc_autograd_part_check_t opc_autograd_check_input_layout;

/* autograd_second.c */
opc_autograd_part_check_t opc_autograd_check_second;

/* autograd_meta.c: on tensors without data, as torch.compile traces it */
opc_autograd_part_check_t opc_autograd_check_meta;

/* Finds where the two gradient vectors differ most. The difference must exceed `parts` units of epsilon of the input's
 * largest gradient, in `right` or in the plain gradient: a derivative that cancels (of a normalisation, for equal
 * weights) leaves only rounding errors. NaN equals NaN. False: they do not differ. */
typedef struct opc_gradient_place {
  char text[256]; /* opc_autograd_place */
  double left, right;
} opc_gradient_place_t;
bool opc_autograd_differ(const opc_autograd_case_t *c, const double *left, const double *right, double parts,
                         opc_gradient_place_t *out);
/* True: libtorch or the operator says that there is no derivative. Any other exception of the backward is a bug in
 * it. */
bool opc_autograd_is_refusal(const opc_autograd_gradient_t *gradient);
/* libtorch says that a tensor that was saved for backward has been written in place since. */
bool opc_autograd_saved_was_written(const char *message);
/* Length of the first line of the backward's exception, at most 400: for "%.*s" in a message. */
int opc_autograd_line(const opc_autograd_gradient_t *gradient);

/* A certain error was found; further findings would only follow from it. */
bool opc_autograd_failed(const opc_autograd_case_t *c);

/* autograd_wanted.c: what is differentiated by: all inputs if the operator takes them together. Otherwise those that
 * the sample marks (by opc_autograd_bit), whether it takes them or not, or else those that it takes alone. */
typedef struct opc_autograd_choice {
  bool usable;         /* the call returned; the point is complete */
  bool others_refused; /* the point has some of the inputs: all together are refused, as `message` says */
  bool others_throw;   /* the same; what `message` says is no refusal */
  opc_text_t message;  /* why all together are not taken, or if not usable, why those are not */
} opc_autograd_choice_t;
opc_status_t opc_autograd_choose(opc_autograd_point_t *point, opc_case_context_t *context, uint64_t marked,
                                 opc_autograd_choice_t *out, opc_error_t *error) OPC_CHECKED;
void opc_autograd_choice_clear(opc_autograd_choice_t *choice);

/* autograd_registered.c: whether operators have a derivative where libtorch looks for one */

/* Whether a call with tensors of the device reaches a registered derivative: first the device's own Autograd key, then
 * the alias keys, as in c10's OperatorEntry::computeDispatchTableEntry. */
bool opc_autograd_is_registered(const opc_operator_t *op, opc_device_t device);

/* Of the library's other operators: those that take and return tensors, without those that compute gradients. */
typedef struct opc_autograd_others {
  size_t count, with; /* with: they have a derivative */
  bool expected; /* this one is such an operator itself, writes no argument, and at least half of the others have one */
} opc_autograd_others_t;
opc_autograd_others_t opc_autograd_others(const opc_operator_t *op, opc_device_t device);

/* autograd_difference.c compares gradients with slopes of the operator's own results
 * (checks/autograd/autograd_slope.h). */

/* The loss of a point along a direction, computed by running the operator; context of an opc_autograd_function_t. */
typedef struct opc_autograd_path {
  opc_autograd_point_t *point;
  const double *direction; /* one value per number of the inputs */
} opc_autograd_path_t;
opc_status_t opc_autograd_path_loss(double step, void *path, double *out, opc_error_t *error) OPC_CHECKED;

/* The verdict on a gradient, for one input. */
typedef struct opc_gradient_verdict {
  opc_agreement_t agreement;
  bool rounds;   /* undecided because the operator rounds */
  size_t number; /* in the input: the number that differs most; SIZE_MAX: along a direction that moves all of them */
  bool spread;   /* the gradient is not finite because elements of the result are not */
  double analytic, numeric, doubt;
} opc_gradient_verdict_t;

/* Checks `gradient`, which has one value per number of the inputs, for one input. `function` computes a path's loss;
 * `context` is the path, whose `direction` is set here. */
typedef struct opc_autograd_slopes {
  opc_autograd_point_t *point;
  opc_autograd_function_t *function;
  void *context;
  double **direction; /* the context's: one value per number of the inputs, zeroed between uses */
} opc_autograd_slopes_t;
/* Sets `symmetric` in the point's input if the operator treats it as symmetric. */
opc_status_t opc_autograd_check_input(const opc_autograd_slopes_t *slopes, size_t input, const double *gradient,
                                      opc_gradient_verdict_t *out, opc_error_t *error) OPC_CHECKED;
/* autograd_overwritten.c: the element along slopes->direction never reaches the result, whatever its value, because
 * other elements have the same index in an index tensor as large as the input. Once these get another index, the result
 * depends on the element as its gradient says. The order of such writes is unspecified, and PyTorch gives all these
 * elements a gradient (scatter, unpooling); that is not a bug. */
opc_status_t opc_autograd_is_overwritten(const opc_autograd_slopes_t *slopes, size_t input, size_t number,
                                         double analytic, bool *out, opc_error_t *error) OPC_CHECKED;
/* A random number of either sign whose absolute value is at least 0.5 and less than 1.5. */
double opc_autograd_random(uint64_t seed, const char *stream, uint64_t index);
/* Makes the matrices in the input's part of a direction symmetric, or Hermitian if they are complex. */
void opc_autograd_make_symmetric(const opc_autograd_part_t *part, double *direction);
