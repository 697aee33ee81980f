/* Everything that needs libtorch, behind a C interface. Only harness/bridge includes torch's headers.
 *
 * No exception crosses this interface. Ownership: handles are freed with their _free function (NULL is fine); the
 * caller owns out values. Threads: one thread at a time unless said otherwise. Fork: a process may fork after loading
 * and listing, before the first call; handles made before a fork must not be used after it. Shapes, strides and offsets
 * are in elements, sizes of memory in bytes. */
#pragma once

#include "base/text.h"
#include "model/schema/schema.h"
#include "model/value/value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- loading and listing (the fork server) ---- */

const char *opc_bridge_torch_version(void); /* of the loaded libtorch: "2.11.0" */
const char *opc_bridge_cuda_version(void);  /* the CUDA version it was built for, "13.0"; "" for a CPU-only build */

/* dlopen(RTLD_NOW | RTLD_GLOBAL). OPC_ERR_LIBRARY with dlerror's text. Call opc_bridge_prepare (bridge/api/prepare.h)
 * first. A static initialiser may throw (std::terminate is then called), exit or hang: the caller must be prepared to
 * lose this process. Everything registered during the call is attributed to for_library: the path itself, or the
 * library whose sibling it is. */
opc_status_t opc_bridge_load(const char *path, const char *for_library, opc_error_t *error) OPC_CHECKED;
/* As above for a library that is only a dependency: what it registers is not listed. */
opc_status_t opc_bridge_preload(const char *path, opc_error_t *error) OPC_CHECKED;

/* Calls visit once for each operator or custom class registered by any load so far (not preloads), in order of
 * registration; `library` names the library. If one library defines an operator and another registers kernels for it,
 * there is one entry, of the defining library. Either visit may be NULL. The struct is valid during the call. */
typedef void opc_operator_visit_t(const opc_operator_t *op, void *context);
typedef void opc_class_visit_t(const opc_class_t *class_, void *context);
opc_status_t opc_bridge_list(opc_operator_visit_t *visit_operator, opc_class_visit_t *visit_class, void *context,
                             opc_error_t *error) OPC_CHECKED;
/* Operators of a namespace that no load registered (of libtorch, "aten", or of a preload), in order of name. Skips
 * operators that have kernels but no schema. `library` of each is NULL. */
opc_status_t opc_bridge_list_namespace(const char *name, opc_operator_visit_t *visit, void *context,
                                       opc_error_t *error) OPC_CHECKED;
/* Describes any operator of the dispatcher by name, listed or not (aten::add.Tensor). The caller clears out. */
opc_status_t opc_bridge_describe(const char *name, opc_operator_t *out, opc_error_t *error) OPC_CHECKED;
/* The overloads of "ns::op", as "ns::op" or "ns::op.overload", in the order in which a call of torch.ops.ns.op tries
 * them. The caller frees each name and the array. OPC_ERR_NOT_FOUND: there is no such operator. */
opc_status_t opc_bridge_overloads(const char *name, char ***out_names, size_t *out_count,
                                  opc_error_t *error) OPC_CHECKED;
/* Text of the exception being handled, for a std::terminate handler; "": none. */
void opc_bridge_current_exception(char *out, size_t size);
/* Installs a std::terminate handler that calls report(text) and then aborts. */
void opc_bridge_on_terminate(void (*report)(const char *text));

/* What runs during the call is attributed to `library`, as in opc_bridge_load: an import of a Python module. */
opc_status_t opc_bridge_attribute(const char *library, opc_status_t (*run)(const char *library, opc_error_t *error),
                                  opc_error_t *error) OPC_CHECKED;
/* The Python interpreter that hosts this process; every function may be called with or without its lock. */
typedef struct opc_interpreter_hooks {
  /* The exception that Python holds for this thread, which a call left behind: its text. False: there is none. */
  bool (*take_exception)(char *text, size_t size);
  /* Where the user's code is at the moment, "ops.py:12". False: it is not running. */
  bool (*place)(char *text, size_t size);
  void (*collect_garbage)(void);
  /* Asks host.py for something. False: `text` is the exception that it raised; otherwise the answer. */
  bool (*ask)(const char *what, const char *word, char *text, size_t size);
} opc_interpreter_hooks_t;

void opc_bridge_set_interpreter(const opc_interpreter_hooks_t *hooks);
bool opc_bridge_has_interpreter(void);
/* In a child of a process whose libtorch may have used its thread pool: libtorch replaces that pool at the first use,
 * and several of its threads that do so at once would end the process. */
void opc_bridge_renew_threads(void);
/* Without an interpreter it does nothing. */
void opc_bridge_collect_garbage(void);
/* Asks host.py (the keys of its ANSWERS). OPC_ERR_TORCH: it raised an exception; OPC_ERR_UNSUPPORTED: there is no
 * interpreter. */
opc_status_t opc_bridge_ask_interpreter(const char *what, const char *word, opc_text_t *answer,
                                        opc_error_t *error) OPC_CHECKED;

/* ---- storage and tensors (children) ---- */

typedef struct opc_storage opc_storage_t; /* a c10::Storage */
typedef struct opc_tensor opc_tensor_t;   /* an at::Tensor */
typedef struct opc_object opc_object_t;   /* a custom class instance */

/* CPU storage over the caller's memory; release(data, context) (may be NULL) runs when the last tensor is gone. */
opc_status_t opc_storage_from_memory(void *data, size_t bytes, void (*release)(void *data, void *context),
                                     void *context, opc_storage_t **out, opc_error_t *error) OPC_CHECKED;
/* Storage on a device; for meta it has no memory. */
opc_status_t opc_storage_new(size_t bytes, opc_device_t device, opc_storage_t **out, opc_error_t *error) OPC_CHECKED;
void opc_storage_free(opc_storage_t *storage);
/* The bytes of a CPU storage, to be filled before others use it; NULL: another device, or no bytes. */
void *opc_storage_data(opc_storage_t *storage);
/* Copies `size` bytes from the host to the start of the storage (cpu, cuda). Synchronises. */
opc_status_t opc_storage_write(opc_storage_t *storage, const void *bytes, size_t size, opc_error_t *error) OPC_CHECKED;

typedef struct opc_tensor_meta {
  bool defined;
  int dtype_known; /* 0: dtype is OTHER and dtype_text says which */
  opc_dtype_t dtype;
  char dtype_text[24]; /* c10's name: "Float", "QUInt8" */
  char layout[16];     /* "strided", "sparse_coo"…; if not strided, only sizes are filled in */
  opc_device_t device;
  int ndim; /* may exceed OPC_MAX_DIMS; the arrays then hold the first OPC_MAX_DIMS */
  int64_t sizes[OPC_MAX_DIMS];
  int64_t strides[OPC_MAX_DIMS];
  int64_t storage_offset;
  int64_t numel;
  size_t itemsize;
  bool conj, neg, requires_grad, has_grad_fn, is_inference, symbolic; /* symbolic: sizes hold hints only */
  int64_t version;                                                    /* -1: no version counter */
  const void *impl;                                                   /* identity of the TensorImpl */
  const void *storage;      /* identity of the StorageImpl; NULL: no storage */
  bool copy_on_write;       /* the storage shares its bytes with another one until either is written (_lazy_clone) */
  const void *storage_data; /* first byte of the storage; NULL on meta; a device address on cuda */
  size_t storage_bytes;
} opc_tensor_meta_t;

/* A tensor over a storage with the spec's dtype, sizes, strides, offset, conj, neg and requires_grad. The caller
 * handles fill and storage ids. */
opc_status_t opc_tensor_new(const opc_tensor_spec_t *spec, opc_storage_t *storage, opc_tensor_t **out,
                            opc_error_t *error) OPC_CHECKED;
void opc_tensor_free(opc_tensor_t *tensor);
opc_tensor_t *opc_tensor_ref(opc_tensor_t *tensor); /* another handle to the same TensorImpl */
void opc_tensor_describe(const opc_tensor_t *tensor, opc_tensor_meta_t *out);
/* Reference counts of the tensor's TensorImpl, including this handle, and of its StorageImpl, including the TensorImpl;
 * 0: there is none. */
void opc_tensor_uses(const opc_tensor_t *tensor, size_t *out_impl, size_t *out_storage);
/* The current bytes of the whole storage, on the host: the storage's own memory for cpu (valid while the tensor lives),
 * a copy in *out_owned (caller frees) for cuda. */
opc_status_t opc_tensor_storage_bytes(const opc_tensor_t *tensor, const void **out_bytes, size_t *out_size,
                                      void **out_owned, opc_error_t *error) OPC_CHECKED;
/* Logical values, contiguous in row-major order, conj and neg bits resolved, numel * itemsize bytes; the caller frees
 * *out. Follows the strides itself: for a cpu tensor no libtorch operator runs. Non-strided layouts:
 * OPC_ERR_UNSUPPORTED. */
opc_status_t opc_tensor_logical_bytes(const opc_tensor_t *tensor, void **out, size_t *out_size,
                                      opc_error_t *error) OPC_CHECKED;

/* ---- calling (children) ---- */

typedef enum opc_call_outcome {
  OPC_CALL_RETURNED = 0,
  OPC_CALL_REJECTED,        /* a std::exception: the operator refuses these arguments */
  OPC_CALL_NO_KERNEL,       /* c10::NotImplementedError: the dispatcher has no kernel for this device (or Meta) */
  OPC_CALL_FAKE_IN_PYTHON,  /* as NO_KERNEL on Meta; the dispatcher says that the fake kernel is in a Python module */
  OPC_CALL_INTERNAL_ASSERT, /* a rejection whose text contains INTERNAL ASSERT, or an exception that no check of
                               arguments throws: std::bad_optional_access, std::bad_function_call, std::bad_cast */
  OPC_CALL_RESULT_REFUSED,  /* torch.library.custom_op refuses what its function returns: an argument, or an alias */
  OPC_CALL_OUT_OF_MEMORY,
  OPC_CALL_FOREIGN_EXCEPTION, /* an exception that is no std::exception */
  OPC_CALL_UNCONVERTIBLE      /* the harness could not make the arguments; no operator ran */
} opc_call_outcome_t;

typedef struct opc_op_handle opc_op_handle_t; /* an operator, looked up only once */
opc_status_t opc_op_find(const char *name, opc_op_handle_t **out, opc_error_t *error) OPC_CHECKED;
void opc_op_free(opc_op_handle_t *op);
/* Calls of this handle go to the kernel at Meta, whatever the arguments say: FakeTensorMode calls it like that where no
 * tensor does. */
void opc_op_at_meta(opc_op_handle_t *op);

/* Calls the operator through the dispatcher, as a user does. arguments: one per schema argument, with the handles of
 * tensors and objects set; for absent[i] (absent may be NULL) the schema's default is used. On RETURNED, *out_returns
 * holds *out_count values whose handles the caller frees (opc_returns_free). Otherwise message holds the exception's
 * text without backtrace. Keeps the current grad mode (see opc_bridge_grad_mode). */
opc_call_outcome_t opc_op_call(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent, size_t count,
                               opc_value_t **out_returns, size_t *out_count, opc_text_t *message);
/* The same under functionalisation, as torch.compile runs it: wraps each tensor argument, calls the operator's
 * Functionalize kernel or the fallback at that key, unwraps the returns. out_replaced (tensor_count values, one per
 * tensor argument, depth first): true if the wrapper's value is no longer the tensor it was made from, because
 * something wrote to it. */
opc_call_outcome_t opc_op_call_functional(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent,
                                          size_t count, bool *out_replaced, size_t tensor_count,
                                          opc_value_t **out_returns, size_t *out_count, opc_text_t *message);
/* The same under torch.vmap. slices[i]: the arguments of the single call i; they differ in the values of tensors only.
 * dims (one per tensor argument, depth first): along which dimension of the batched tensor the slices' tensors are
 * stacked, 0 … its rank; OPC_NOT_BATCHED: the tensor of slices[0] is passed as it is. out_returns (slice_count): the
 * returns of each slice, to be freed by opc_returns_free; all NULL unless the outcome is RETURNED.
 * *out_slices: the slices in the batch that came back; if they are not slice_count, the returns are NULL, too. */
enum { OPC_NOT_BATCHED = -1 };
opc_call_outcome_t opc_op_call_vmap(opc_op_handle_t *op, const opc_value_t *const *slices, size_t slice_count,
                                    const bool *absent, size_t count, const int *dims, size_t tensor_count,
                                    opc_value_t **out_returns, size_t *out_count, int64_t *out_slices,
                                    opc_text_t *message);
/* The same under torch.autocast for the CPU, with this dtype. Autocast's settings and its cache of cast weights are
 * afterwards as they were. */
opc_call_outcome_t opc_op_call_autocast(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent,
                                        size_t count, opc_dtype_t dtype, opc_value_t **out_returns, size_t *out_count,
                                        opc_text_t *message);
/* ---- calling with symbolic sizes ---- */

enum { OPC_SYMBOLIC_FRAMES = 16, OPC_SYMBOLIC_EVENTS = 16, OPC_SYMBOLIC_OUTPUTS = 16 };
enum { OPC_SYMBOLIC_GRADIENT = -1 }; /* in place of a tensor argument's index: a gradient that backward gets */

/* Where a kernel needed the number behind a symbol. */
typedef enum opc_symbolic_kind {
  OPC_SYMBOLIC_READ = 0, /* a size, stride or number of elements of a tensor argument was read as a plain number */
  OPC_SYMBOLIC_NUMBER,   /* an expression was converted to its number: guard_int */
  OPC_SYMBOLIC_EQUALITY  /* an expression was compared with a number, and the result was needed */
} opc_symbolic_kind_t;

typedef struct opc_symbolic_event {
  opc_symbolic_kind_t kind;
  char text[96]; /* "sizes()", "s0 * 2", "s0 == 4" */
  int argument;  /* for READ: index of the tensor argument, depth first, or OPC_SYMBOLIC_GRADIENT */
  int64_t value; /* the answer given: NUMBER's value; 0 or 1 for EQUALITY */
  uint64_t frames[OPC_SYMBOLIC_FRAMES]; /* return addresses, except the first, which points into its call; without the
                                           harness's own frames */
  uint32_t frame_count;
} opc_symbolic_event_t;

typedef struct opc_symbolic_output {
  int ndim;                  /* up to OPC_MAX_DIMS are described */
  bool number[OPC_MAX_DIMS]; /* the size does not depend on a symbol */
  int64_t sizes[OPC_MAX_DIMS];
} opc_symbolic_output_t;

typedef struct opc_symbolic {
  size_t symbols;                                   /* number of different symbols in the arguments */
  opc_symbolic_event_t events[OPC_SYMBOLIC_EVENTS]; /* of the kernel itself; each place once */
  size_t event_count;
  bool inner_read;      /* an operator called by the kernel needed a number */
  char inner_threw[96]; /* the first operator called by the kernel that threw; "": none */
  opc_symbolic_output_t outputs[OPC_SYMBOLIC_OUTPUTS]; /* the tensors of the returns, depth first */
  size_t output_count;
} opc_symbolic_t;

/* Calls the operator with symbolic sizes: each size of a Meta tensor and each SymInt that is 2 or more becomes a
 * symbol; equal numbers become the same symbol. A symbol's hint is its number; each request for it is recorded.
 * Arguments: as for opc_op_call, with tensors on Meta. */
opc_call_outcome_t opc_op_call_symbolic(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent,
                                        size_t count, opc_symbolic_t *out, opc_text_t *message);
/* The same with arguments that require grad, and then backward from all outputs; only backward is recorded.
 * UNCONVERTIBLE: the arguments cannot be made, forward threw, or no output requires grad. */
opc_call_outcome_t opc_op_backward_symbolic(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent,
                                            size_t count, opc_symbolic_t *out, opc_text_t *message);
/* Called right before each operator, after its arguments were made; must not throw. NULL: nothing is called. */
void opc_bridge_before_call(void (*prepare)(void));
/* Turns off backtraces in libtorch's exceptions: unwinding takes longer than most calls, and many calls of a run are
 * refused. */
void opc_bridge_no_backtraces(void);
void opc_returns_free(opc_value_t *returns, size_t count); /* frees handles too */
/* Constructs a custom class instance; class name "ns.Name"; outcomes as in opc_op_call. Arguments that are absent, and
 * those beyond the count, get their defaults; absent may be NULL: all are given. */
opc_call_outcome_t opc_object_new(const char *class_name, const opc_value_t *init, const bool *absent, size_t count,
                                  opc_object_t **out, opc_text_t *message);
/* The instance of the class that torch::jit::pickle_save wrote to a file; outcomes as in opc_op_call. */
opc_call_outcome_t opc_object_load(const char *file, const char *class_name, opc_object_t **out, opc_text_t *message);
/* An instance of the class that an operator, "ns::op", returns for these arguments; outcomes as in opc_op_call. */
opc_call_outcome_t opc_object_from(const char *operator_name, const char *class_name, const opc_value_t *arguments,
                                   size_t count, opc_object_t **out, opc_text_t *message);
void opc_object_free(opc_object_t *object);
/* The schema of a class's constructor, with the object itself as its first argument; class name "ns.Name". The text is
 * the caller's. NULL: there is no such class, or it has no constructor. */
char *opc_class_constructor(const char *class_name);
void opc_handle_free(opc_value_t *value); /* frees the handles in a tree (tensors and objects), not the tree */

/* ---- autograd (children; the engine's threads must not exist before a fork) ---- */

/* On (libtorch's default): outputs of an operator without an autograd kernel require grad, and their backward warns.
 * Off: they require grad only if the operator's own code built a graph. Returns the previous setting. */
bool opc_autograd_fallback_set(bool on);

/* Makes the tensor require grad. A tensor that the operator writes cannot be a leaf: it becomes a copy, with the same
 * strides, of the leaf in *out_leaf. The caller frees *out_leaf. */
opc_status_t opc_autograd_track(opc_tensor_t *tensor, bool written, opc_tensor_t **out_leaf,
                                opc_error_t *error) OPC_CHECKED;

/* Kinds of nodes in a tensor's graph. */
enum {
  OPC_GRAPH_CUSTOM = 1 << 0,         /* a custom node: torch::autograd::Function, a Node of the library */
  OPC_GRAPH_NOT_IMPLEMENTED = 1 << 1 /* a node that reports a missing derivative */
};
unsigned opc_autograd_graph(const opc_tensor_t *tensor);

typedef struct opc_autograd_request {
  opc_tensor_t *const *outputs;
  opc_tensor_t *const *weights; /* the gradient for each output; NULL: undefined. No array: ones for all */
  size_t output_count;
  opc_tensor_t *const *inputs; /* NULL: not requested */
  size_t input_count;
  bool retain_graph, create_graph;
} opc_autograd_request_t;
/* out_gradients: room for one per input; NULL where undefined. Outcomes as in opc_op_call, but of the backward. */
opc_call_outcome_t opc_autograd_grad(const opc_autograd_request_t *request, opc_tensor_t **out_gradients,
                                     opc_text_t *message);
/* The dtypes of the gradients from the operator's own node, before the engine converts them: one per input; OTHER:
 * unknown. */
opc_call_outcome_t opc_autograd_raw_dtypes(const opc_autograd_request_t *request, opc_dtype_t *out_dtypes,
                                           opc_text_t *message);
/* Adds one to every element in place, as a user may do between forward and backward: increments the version, outside
 * the graph. */
opc_status_t opc_tensor_overwrite(opc_tensor_t *tensor, opc_error_t *error) OPC_CHECKED;

/* ---- custom classes (children) ---- */

/* Calls a method; omitted trailing arguments take their defaults. Outcomes, returns (one or none) and message as in
 * opc_op_call. */
opc_call_outcome_t opc_object_call(const opc_object_t *object, const char *method, const opc_value_t *arguments,
                                   size_t count, opc_value_t **out_returns, size_t *out_count, opc_text_t *message);
/* Pickles the object with libtorch's pickler and unpickles another one from the bytes. *out_pickled (may be NULL):
 * pickling succeeded. */
opc_call_outcome_t opc_object_round_trip(const opc_object_t *object, opc_object_t **out, bool *out_pickled,
                                         opc_text_t *message);

/* ---- packages ---- */

bool opc_bridge_has_class(const char *name); /* "ns.Name" is registered */
/* Loads the model of a package and unloads it again. The process may crash or hang, so the caller must be prepared to
 * lose it. AOTInductor's loader unpacks into the current folder. Counts: inputs and outputs in the model's own
 * description. OPC_ERR_LIBRARY: it cannot be loaded; the message has libtorch's text and what was printed meanwhile. */
opc_status_t opc_bridge_package_try(const char *path, const char *model, size_t *out_inputs, size_t *out_outputs,
                                    opc_error_t *error) OPC_CHECKED;
typedef struct opc_package_operator {
  const char *path, *model;
  const char *device; /* "cpu", "cuda" */
  size_t inputs, outputs;
} opc_package_operator_t;
/* Registers the operator "package::MODEL(Tensor input0, …) -> (Tensor, …)" for the package; the model is loaded at the
 * first call. */
opc_status_t opc_bridge_package_define(const opc_package_operator_t *package, opc_error_t *error) OPC_CHECKED;

/* ---- state ---- */

void opc_bridge_seed(uint64_t seed); /* default generators of all devices in use */
/* The state of the device's default generator, for comparison; the caller frees *out. OPC_ERR_UNSUPPORTED: the device
 * has none. */
opc_status_t opc_bridge_generator_state(opc_device_t device, void **out, size_t *out_size,
                                        opc_error_t *error) OPC_CHECKED;
void opc_bridge_grad_mode(bool on); /* this thread */
void opc_bridge_threads(int count); /* intra-op threads of libtorch, for this thread's calls; 1 starts none */
void opc_bridge_inner_threads(
    int count); /* intra-op threads for operators called by an operator that this thread calls; 0: no separate number */
void opc_bridge_deterministic_algorithms(bool only); /* like torch.use_deterministic_algorithms; not only a warning */
void opc_bridge_default_dtype(opc_dtype_t dtype);    /* a floating dtype; OPC_SETTING_DEFAULT_DTYPE reads it */
bool opc_bridge_cuda_initialised(void);              /* a context exists: forking is not safe */
int opc_bridge_cuda_devices(void); /* initialises CUDA; only in a throw-away child; 0 without libtorch_cuda */
bool opc_bridge_device_available(opc_device_t device);

/* ---- CUDA devices, real or simulated (children) ----
 * Streams are cudaStream_t as numbers; 0 is the legacy default stream. Everything is per thread. */

/* Makes a stream of libtorch's pool the device's current stream; does not change the current device. */
opc_status_t opc_cuda_stream_use_pool(int device, uint64_t *out_stream, opc_error_t *error) OPC_CHECKED;
opc_status_t opc_cuda_stream_use_default(int device, opc_error_t *error) OPC_CHECKED;
uint64_t opc_cuda_stream_current(int device); /* also 0 if it cannot be read */
opc_status_t opc_cuda_device_use(int device, opc_error_t *error) OPC_CHECKED;
/* Live bytes in libtorch's caching allocator: memory of tensors, without free blocks in the cache. */
opc_status_t opc_cuda_allocated(int device, uint64_t *out_bytes, opc_error_t *error) OPC_CHECKED;
/* From now on, libtorch allocates CUDA memory with these functions, without a cache and without features of its own
 * allocator (statistics, capture). Call it before the first use of CUDA in the process. OPC_ERR_UNSUPPORTED: this
 * libtorch_cuda has no such interface; other errors: libtorch refuses. */
typedef struct opc_device_allocator {
  void *(*allocate)(size_t bytes); /* NULL: out of memory */
  void (*release)(void *data);
} opc_device_allocator_t;
opc_status_t opc_cuda_allocator_set(const opc_device_allocator_t *allocator, opc_error_t *error) OPC_CHECKED;
/* Whether convolutions and matrix products of float32 may round their arguments to 10 bits on the device (TF32). Per
 * process; returns the previous setting. */
bool opc_cuda_tf32_set(bool allowed);
/* Puts some milliseconds of work into the current stream (on_current) or into one of the pool; does not change the
 * current stream. The caller ends it with opc_cuda_load_end, which waits for the work. */
typedef struct opc_cuda_load opc_cuda_load_t;
opc_status_t opc_cuda_load_begin(int device, bool on_current, opc_cuda_load_t **out, opc_error_t *error) OPC_CHECKED;
void opc_cuda_load_end(opc_cuda_load_t *busy); /* NULL is fine */
/* at::cuda::CUDAGraph: from begin to end, work on the current stream, which must not be a default stream, is captured
 * and not run; its memory comes from a separate pool. OPC_ERR_UNSUPPORTED: this libtorch_cuda has no such class. If the
 * end fails, libtorch's allocator stays in capture mode: the process must not capture again. */
typedef struct opc_cuda_graph opc_cuda_graph_t;
opc_status_t opc_cuda_graph_begin(opc_cuda_graph_t **out, opc_error_t *error) OPC_CHECKED;
opc_status_t opc_cuda_graph_end(opc_cuda_graph_t *graph, opc_error_t *error) OPC_CHECKED;
opc_status_t opc_cuda_graph_replay(opc_cuda_graph_t *graph, opc_error_t *error) OPC_CHECKED;
void opc_cuda_graph_free(opc_cuda_graph_t *graph); /* NULL is fine */

/* Settings of libtorch and the C++ runtime, per thread or per process, that a call must leave unchanged. */
typedef enum opc_setting {
  OPC_SETTING_GRAD_MODE = 0,
  OPC_SETTING_INFERENCE_MODE,
  OPC_SETTING_FORWARD_GRAD,
  OPC_SETTING_AUTOCAST_CPU,
  OPC_SETTING_AUTOCAST_CUDA,
  OPC_SETTING_AUTOCAST_DTYPE,    /* of the CPU */
  OPC_SETTING_DISPATCH_INCLUDED, /* sets of dispatch keys, as bits */
  OPC_SETTING_DISPATCH_EXCLUDED,
  OPC_SETTING_DEFAULT_DTYPE,
  OPC_SETTING_THREADS, /* intra-op */
  OPC_SETTING_DETERMINISTIC,
  OPC_SETTING_DETERMINISTIC_WARN_ONLY,
  OPC_SETTING_FILL_UNINITIALISED, /* while deterministic */
  OPC_SETTING_ONEDNN,
  OPC_SETTING_CUDNN_BENCHMARK,
  OPC_SETTING_SEED,              /* the last seed of the CPU's default generator */
  OPC_SETTING_CPP_STREAMS,       /* 0: std::cout, cerr and clog write as at the first reading, into the same buffers */
  OPC_SETTING_CPP_LOCALE,        /* 0: std::locale() is the same as at the first reading */
  OPC_SETTING_TERMINATE_HANDLER, /* addresses */
  OPC_SETTING_NEW_HANDLER,
  OPC_SETTING_COUNT
} opc_setting_t;
void opc_bridge_settings_read(int64_t out[OPC_SETTING_COUNT]); /* under 1 us; flushes std::cout and std::clog */
/* Writes the settings that differ. Restores streams and locale to their state at the first reading. */
void opc_bridge_settings_write(const int64_t wanted[OPC_SETTING_COUNT]);
/* Copies the settings, with those changed that every operator must support: grad mode, default dtype, number of
 * threads, deterministic algorithms (which then only warn). */
void opc_bridge_settings_other(const int64_t usual[OPC_SETTING_COUNT], int64_t out[OPC_SETTING_COUNT]);
const char *opc_bridge_dtype_name(int64_t scalar_type); /* c10's: "Float" */
void opc_bridge_keys_text(int64_t keys, char *out,
                          size_t size); /* names in a set of dispatch keys: "AutogradCPU, Tracer" */
/* Bytes that TORCH_WARN has printed on this thread since the first call of this function, which starts the count. */
size_t opc_bridge_warnings_printed(void);

/* Allocates all CPU storage from now on through these functions (process-wide, kept for the process's life). */
typedef struct opc_cpu_allocator {
  void *(*allocate)(size_t bytes, void *context); /* at least 64-byte aligned; NULL: out of memory; 0 bytes: NULL */
  void (*release)(void *data, void *context);
  void *context;
} opc_cpu_allocator_t;
void opc_bridge_set_allocator(const opc_cpu_allocator_t *allocator); /* the struct must outlive the process */

#ifdef __cplusplus
}
#endif
