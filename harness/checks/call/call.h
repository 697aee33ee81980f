/* Materialised calls: tensors made from a sample's descriptions, the operator called, inputs compared with what they
 * were.
 *
 * Ownership: opc_call_t owns its storages, tensors and objects; opc_call_clear ends them (OPC_SCOPED). Threads: one.
 * Memory: storages come from libtorch's allocator, under which the worker's children put harness/memory. */
#ifndef OPC_CHECKS_CALL_CALL_H
#define OPC_CHECKS_CALL_CALL_H

#include "bridge/api/bridge.h"
#include "model/sample/sample.h"

/* One tensor argument, wherever it is (lists and optionals too). */
typedef struct opc_tensor_arg {
  char path[96];            /* "x", "tensors[1]" */
  size_t argument;          /* index in the schema */
  const opc_alias_t *alias; /* of its schema argument */
  const opc_tensor_spec_t *spec;
  opc_tensor_t *tensor;
  opc_tensor_meta_t before; /* as made */
  opc_storage_t *storage;   /* holds the one it was made on, so that after a set_ no other one gets its address; NULL:
                               another leaf does */
  void *storage_before; /* copy of the whole storage's bytes, when asked for; shared storages have one copy each leaf */
  size_t storage_bytes;
} opc_tensor_arg_t;

typedef struct opc_call {
  opc_value_t *arguments; /* copies of the sample's, with handles */
  const bool *absent;     /* the sample's, or placed */
  bool *placed; /* where an argument that the sample leaves out is given: the device that a factory makes its tensors
                   on; NULL: nowhere */
  size_t argument_count;
  opc_tensor_arg_t *tensor_args;
  size_t tensor_arg_count;
  opc_value_t *returns;
  size_t return_count;
  opc_call_outcome_t outcome;
  opc_text_t message; /* of a call that did not return */
} opc_call_t;

/* Makes the arguments on the device (cpu, cuda, meta). Gaps, which are what a storage has beside its views' elements,
 * get OPC_GAP_BYTE. A tensor whose spec names a device of its own (device_given) keeps it unless the target is meta. An
 * operator without tensor arguments is given the device by its argument for that, where the sample leaves it open. */
enum { OPC_GAP_BYTE = 0x5b, OPC_OTHER_GAP_BYTE = 0x3c };
opc_status_t opc_call_make(opc_call_t *call, const opc_operator_t *op, const opc_sample_t *sample, opc_device_t device,
                           uint64_t seed, opc_error_t *error) OPC_CHECKED;

/* Gives the logical values of a tensor (contiguous, row-major, in the spec's dtype; conj and neg resolved) in place of
 * its fill. `leaf` counts the tensors depth first, as call->leaves does. */
typedef opc_status_t opc_tensor_arg_values_t(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec,
                                             void *logical, void *context, opc_error_t *error);
/* Where CPU storages get their memory. give: NULL and libtorch's allocator is asked; `number` counts storages. release:
 * the storage's last tensor is gone, which may be long after the call, where the operator keeps one. */
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
  bool other_gaps; /* OPC_OTHER_GAP_BYTE in the gaps */
  bool to_protect; /* for opc_call_protect: arguments that are not declared mutable are of memory that closes and opens
                      without a system call */
} opc_call_options_t;
opc_status_t opc_call_make_with(opc_call_t *call, const opc_operator_t *op, const opc_sample_t *sample,
                                const opc_call_options_t *options, opc_error_t *error) OPC_CHECKED;

/* Keeps a copy of every argument's storage for opc_tensor_arg_changed. */
opc_status_t opc_call_snapshot(opc_call_t *call, opc_error_t *error) OPC_CHECKED;
/* After it: puts the bytes back, so that the call can be run again on the same arguments. */
opc_status_t opc_call_restore(const opc_call_t *call, opc_error_t *error) OPC_CHECKED;
/* Runs the operator once: seeds the generators with `seed` first. Returns the outcome, which is in call->outcome too.
 * Earlier returns are freed. */
opc_call_outcome_t opc_call_run(opc_call_t *call, opc_op_handle_t *handle, uint64_t seed);
/* Calls of this process so far, and those among them that did not return. */
typedef struct opc_call_count {
  uint64_t made, refused;
} opc_call_count_t;
opc_call_count_t opc_call_count(void);
void opc_call_clear(opc_call_t *call);
/* The arguments end, the returns and the outcome stay. */
void opc_call_clear_arguments(opc_call_t *call);

/* Declared mutable: `Tensor(a!)`. */
bool opc_tensor_arg_is_mutable(const opc_tensor_arg_t *tensor_arg);
/* No call gave it other sizes, strides, or another storage than it was made with. */
bool opc_tensor_arg_is_in_place(const opc_tensor_arg_t *tensor_arg);
/* Several elements of the tensor lie in one place (stride 0, overlapping windows). */
bool opc_spec_overlaps_itself(const opc_tensor_spec_t *spec);

/* Every element lies in the tensor's storage. An operator may give back a tensor of which that is not true, and nobody
 * can read it. */
bool opc_tensor_lies_inside(const opc_tensor_meta_t *meta);

/* Marks the bytes of a tensor's elements in `mask` (one byte a byte of storage, `size` of them). */
void opc_elements_mark(const opc_tensor_meta_t *meta, unsigned char *mask, size_t size);

/* The logical, row-major index of the element that a byte of the storage belongs to; -1: to none. */
int64_t opc_element_at_byte(const opc_tensor_meta_t *meta, size_t byte);

/* Where a leaf's storage differs from its snapshot: inside the view's elements, or outside (gaps, before, behind). */
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

/* New memory is filled with such a byte (opc_poison_pattern); every case starts with the first. */
enum { OPC_PATTERN_FIRST = 0xa5, OPC_PATTERN_SECOND = 0x5a };

#endif
