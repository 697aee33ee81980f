/* Materialised calls: make tensors from a sample's descriptions, call the operator, compare inputs with their earlier
 * bytes.
 *
 * Ownership: opc_call_t owns its storages, tensors and objects; opc_call_clear frees them (OPC_SCOPED). Threads: one.
 * Memory: storages come from libtorch's allocator, which in the worker's children uses harness/memory. */
#pragma once

#include "bridge/api/bridge.h"
#include "model/sample/sample.h"

/* One tensor argument, including those in lists and optionals. */
typedef struct opc_tensor_arg {
  char path[96];            /* "x", "tensors[1]" */
  size_t argument;          /* index in the schema */
  const opc_alias_t *alias; /* of its schema argument */
  const opc_tensor_spec_t *spec;
  opc_tensor_t *tensor;
  opc_tensor_meta_t before; /* as made */
  opc_storage_t *storage;   /* keeps the original storage alive, so that after set_ no other storage gets its address;
                               NULL: another tensor argument keeps it */
  void *storage_before;     /* copy of the whole storage's bytes, on request; a shared storage is copied once per tensor
                               argument */
  size_t storage_bytes;
} opc_tensor_arg_t;

typedef struct opc_call {
  opc_value_t *arguments; /* copies of the sample's, with handles */
  const bool *absent;     /* the sample's, or `placed` */
  bool *placed; /* which arguments are given although the sample omits them: the device on which a factory makes its
                   tensors; NULL: none */
  size_t argument_count;
  opc_tensor_arg_t *tensor_args;
  size_t tensor_arg_count;
  opc_value_t *returns;
  size_t return_count;
  opc_call_outcome_t outcome;
  opc_text_t message; /* of a call that did not return */
} opc_call_t;

/* Makes the arguments on the device (cpu, cuda, meta). Padding bytes (bytes of a storage that are not elements of its
 * views) get OPC_PADDING_BYTE. A tensor whose spec names its own device (device_given) keeps it unless the target is
 * meta. An operator without tensor arguments gets the device through its device argument if the sample omits that. */
enum { OPC_PADDING_BYTE = 0x5b, OPC_OTHER_PADDING_BYTE = 0x3c };
opc_status_t opc_call_make(opc_call_t *call, const opc_operator_t *op, const opc_sample_t *sample, opc_device_t device,
                           uint64_t seed, opc_error_t *error) OPC_CHECKED;

/* Writes the logical values of a tensor (contiguous, row-major, in the spec's dtype; conj and neg resolved) in place of
 * its fill. `tensor_arg` is the index in call->tensor_args, depth first. */
typedef opc_status_t opc_tensor_arg_values_t(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec,
                                             void *logical, void *context, opc_error_t *error);
/* Allocates memory for CPU storages. give: `number` counts the storages; NULL: use libtorch's allocator. release:
 * called when the storage's last tensor is gone, perhaps long after the call if the operator keeps one. */
typedef struct opc_call_memory {
  void *(*give)(size_t number, size_t bytes, void *context);
  void (*release)(void *data, void *context);
  void *context;
} opc_call_memory_t;
typedef struct opc_call_options {
  opc_device_t device;
  uint64_t seed;
  opc_tensor_arg_values_t *values; /* may be NULL */
  void *values_context;
  const opc_call_memory_t *memory; /* may be NULL */
  const char *elsewhere;           /* path of one tensor that is made on elsewhere_device; NULL: none */
  opc_device_t elsewhere_device;
  bool other_padding; /* fill padding bytes with OPC_OTHER_PADDING_BYTE */
  bool to_protect; /* for opc_call_protect: memory of arguments that are not declared mutable can be closed and opened
                      without a system call */
} opc_call_options_t;
opc_status_t opc_call_make_with(opc_call_t *call, const opc_operator_t *op, const opc_sample_t *sample,
                                const opc_call_options_t *options, opc_error_t *error) OPC_CHECKED;

/* Copies every argument's storage for opc_tensor_arg_changed. */
opc_status_t opc_call_snapshot(opc_call_t *call, opc_error_t *error) OPC_CHECKED;
/* After a snapshot: restores the bytes, so that the call can be run again on the same arguments. */
opc_status_t opc_call_restore(const opc_call_t *call, opc_error_t *error) OPC_CHECKED;
/* Seeds the generators with `seed`, then runs the operator once. Returns the outcome, which is also in call->outcome.
 * Frees earlier returns. */
opc_call_outcome_t opc_call_run(opc_call_t *call, opc_op_handle_t *handle, uint64_t seed);
/* Calls the constructor of a class, which has no handle, in place of an operator. *out_object is the caller's; NULL:
 * the outcome and call->message say why. */
opc_call_outcome_t opc_call_construct(opc_call_t *call, const opc_operator_t *class_, uint64_t seed,
                                      opc_object_t **out_object);
/* Number of calls in this process so far, and how many of them did not return. */
typedef struct opc_call_count {
  uint64_t made, refused;
} opc_call_count_t;
opc_call_count_t opc_call_count(void);
void opc_call_clear(opc_call_t *call);
/* Frees the arguments; the returns and the outcome stay. */
void opc_call_clear_arguments(opc_call_t *call);

/* Declared mutable: `Tensor(a!)`. */
bool opc_tensor_arg_is_mutable(const opc_tensor_arg_t *tensor_arg);
/* True: it still has the sizes, strides, offset and storage it was made with. */
bool opc_tensor_arg_is_in_place(const opc_tensor_arg_t *tensor_arg);
/* The same number of dimensions, and the same sizes. */
bool opc_tensor_same_sizes(const opc_tensor_meta_t *left, const opc_tensor_meta_t *right);
/* Several elements of the tensor share memory (stride 0, overlapping windows). */
bool opc_spec_overlaps_itself(const opc_tensor_spec_t *spec);

/* True: every element lies in the tensor's storage. Operators can return tensors that extend past their storage; such
 * tensors must not be read. */
bool opc_tensor_lies_inside(const opc_tensor_meta_t *meta);

bool opc_tensor_shares_storage(const opc_tensor_meta_t *left, const opc_tensor_meta_t *right);

/* Marks the bytes of a tensor's elements in `mask` (`size` bytes, one per byte of the storage). */
void opc_elements_mark(const opc_tensor_meta_t *meta, unsigned char *mask, size_t size);

/* The logical, row-major index of the element that contains this byte of the storage; -1: no element. */
int64_t opc_element_at_byte(const opc_tensor_meta_t *meta, size_t byte);

/* Where a tensor argument's storage differs from its snapshot: inside the view's elements, or outside (padding bytes,
 * before, past the end). */
typedef struct opc_change {
  bool inside, outside;
  size_t first_byte;    /* in the storage */
  int64_t inside_count; /* elements */
  size_t outside_bytes;
  int64_t first_element; /* logical, row-major index of the first element that changed; -1: none inside */
  size_t first_outside;  /* byte in the storage; meaningful when outside */
} opc_change_t;
opc_status_t opc_tensor_arg_changed(const opc_tensor_arg_t *tensor_arg, opc_change_t *out,
                                    opc_error_t *error) OPC_CHECKED;

/* Flat list of the tensors in the returns, with paths: "returns[0]", "returns[1][2]". */
typedef struct opc_output {
  char path[96];
  size_t return_index;
  opc_tensor_t *tensor; /* of the call */
  opc_tensor_meta_t meta;
} opc_output_t;
opc_status_t opc_call_outputs(const opc_call_t *call, opc_output_t **out, size_t *out_count,
                              opc_error_t *error) OPC_CHECKED; /* caller frees *out */

/* Poison bytes for new memory (opc_poison_pattern); every case starts with the first. */
enum { OPC_PATTERN_FIRST = 0xa5, OPC_PATTERN_SECOND = 0x5a };

/* Memory for arguments at addresses that we choose, for check determinism and others that test whether a result depends
 * on addresses.
 *
 * Ownership: opc_places_free. Threads: one; the operator may free a tensor in any thread. */

/* Memory for a sample's tensors at addresses not used before, the first tensor at the highest. It stays in place from
 * one call to the next and shares its pages with nothing else. NULL: out of memory. */
typedef struct opc_places opc_places_t;
opc_places_t *opc_places_new(const opc_sample_t *sample);
/* Memory that the operator still holds is never freed. NULL is fine. */
void opc_places_free(opc_places_t *places);
/* For opc_call_options_t.memory. */
opc_call_memory_t opc_places_memory(opc_places_t *places);
/* The address is in a place: not in other memory, which a tensor got because its place was taken. */
bool opc_places_have(const opc_places_t *places, const void *data);
/* True: the operator kept a tensor, so a later call got other memory. */
bool opc_places_kept(const opc_places_t *places);

/* The logical values of a call's arguments, for making other arguments: in another layout, widened to float64, or moved
 * by one unit in the last place. Compared calls then start from exactly the same numbers, whatever fill, dtype or conj
 * bit produced them.
 *
 * Ownership: opc_replay_clear. */

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

/* The results of a call, as values that outlive it: every return, and every argument that the schema declares mutable.
 *
 * Ownership: opc_result_clear. */

typedef struct opc_result_item {
  char path[96];          /* "returns[0]", "x" for a mutable argument */
  bool argument;          /* a mutable argument */
  opc_value_kind_t kind;  /* TENSOR, or the return's kind */
  opc_tensor_meta_t meta; /* of a TENSOR; for a FLOAT or COMPLEX, as of a tensor with this one element */
  void *bytes; /* logical values of a TENSOR, NULL if they cannot be read (sparse, Meta, outside of the storage);
                  otherwise the value's own bytes */
  size_t size;
  bool borrowed;           /* the bytes are the tensor's */
  unsigned char addresses; /* of at most 8 words in all: bit i is set if word i was the address of mapped memory when
                              the result was taken. The object there may be gone since, and its page with it */
  char text[128];          /* if not a TENSOR */
} opc_result_item_t;

typedef struct opc_result {
  opc_result_item_t *items;
  size_t count;
} opc_result_t;

enum {
  OPC_RESULT_ARGUMENTS = 1, /* mutable arguments too */
  OPC_RESULT_META = 2,      /* no values of tensors */
  OPC_RESULT_BORROW = 4     /* contiguous values in host memory are not copied; clear the result before the call */
};
opc_status_t opc_result_take(opc_result_t *result, const opc_call_t *call, unsigned flags,
                             opc_error_t *error) OPC_CHECKED;
void opc_result_clear(opc_result_t *result);
/* Number of tensor elements whose values are known, plus values that are not tensors. 0: a comparison would prove
 * nothing. */
int64_t opc_result_numel(const opc_result_t *result);

typedef enum opc_difference_kind {
  OPC_DIFFERENCE_NONE = 0,
  OPC_DIFFERENCE_COUNT, /* different number of returns or list items, or a tensor on one side only */
  OPC_DIFFERENCE_SHAPE,
  OPC_DIFFERENCE_DTYPE,
  OPC_DIFFERENCE_VALUE
} opc_difference_kind_t;

typedef struct opc_difference {
  opc_difference_kind_t kind;
  size_t item;
  int64_t first, count; /* of VALUE in a tensor: elements */
} opc_difference_t;

/* True: the element counts as equal although its bits differ. */
typedef bool opc_element_equal_t(size_t item, int64_t element, void *context);

/* The first item that differs. Compares bits, unless `equal` (may be NULL) accepts an element. Does not compare strides
 * and devices. */
opc_difference_t opc_result_compare(const opc_result_t *left, const opc_result_t *right, opc_element_equal_t *equal,
                                    void *context);
/* Number of elements, and values that are not tensors, that were compared in this process so far. */
uint64_t opc_result_compared(void);
/* One item alone, bit for bit. */
bool opc_result_item_differs(const opc_result_t *left, const opc_result_t *right, size_t item);
/* "returns[0][1, 2] is 1.5 (bits 0x3fc00000), NAME has 2.5 (bits 0x40200000); 3 of 6 elements differ" */
void opc_difference_text(const opc_difference_t *difference, const opc_result_t *left, const opc_result_t *right,
                         const char *right_name, opc_text_t *out);

/* "[1, 2]" for an element's logical index; "" for a tensor without dimensions. */
void opc_index_text(const opc_tensor_meta_t *meta, int64_t element, char *out, size_t size);
/* "1.5 (bits 0x3fc00000)" */
void opc_element_text(opc_dtype_t dtype, const void *element, char *out, size_t size);
/* "float32"; c10's name for a dtype that the harness has no name for. */
const char *opc_meta_dtype_text(const opc_tensor_meta_t *meta);
/* "[2, 3]" */
void opc_sizes_text(int ndim, const int64_t *sizes, char *out, size_t size);
