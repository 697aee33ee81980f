/* An operator's schema as the C core sees it, and what else the dispatcher knows about the operator.
 *
 * The bridge fills these structs from c10::FunctionSchema. The worker sends them to opcheck-c as JSON, one object per
 * operator (the JSON report prints the same object, with more fields). They need no libtorch. Ownership:
 * opc_operator_clear frees everything inside; copy through JSON. Threads: may be shared for reading. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opc_type_kind {
  OPC_TYPE_OTHER = 0, /* Dict, Tuple, Future…: the harness cannot create one */
  OPC_TYPE_TENSOR,
  OPC_TYPE_INT,
  OPC_TYPE_SYMINT,
  OPC_TYPE_FLOAT,
  OPC_TYPE_BOOL,
  OPC_TYPE_COMPLEX,
  OPC_TYPE_SCALAR, /* "Scalar": int, float, bool or complex */
  OPC_TYPE_STRING,
  OPC_TYPE_DTYPE, /* "ScalarType" */
  OPC_TYPE_DEVICE,
  OPC_TYPE_LAYOUT,
  OPC_TYPE_MEMORY_FORMAT,
  OPC_TYPE_GENERATOR,
  OPC_TYPE_STREAM,
  OPC_TYPE_STORAGE,
  OPC_TYPE_DIMNAME,
  OPC_TYPE_OBJECT, /* a custom class: "__torch__.torch.classes.ns.Name" */
  OPC_TYPE_ANY,    /* "Any": a value of any type; in C++ a c10::IValue */
  OPC_TYPE_OPTIONAL,
  OPC_TYPE_LIST
} opc_type_kind_t;

typedef struct opc_type {
  opc_type_kind_t kind;
  struct opc_type *element; /* of an OPTIONAL or a LIST */
  int64_t fixed_length;     /* int[2]: 2; 0: any length. If not 0, a single int can stand for all items */
  char *class_name;         /* of an OBJECT, "ns.Name"; NULL otherwise */
} opc_type_t;

/* Parses the type in a schema as c10 prints it, without alias annotation: "Tensor?[]", "SymInt[2]?". Unknown types
 * become OTHER, so that it never fails. */
opc_status_t opc_type_parse(const char *text, opc_type_t *out, opc_error_t *error) OPC_CHECKED;
void opc_type_clear(opc_type_t *type);
bool opc_type_is_integer(const opc_type_t *type); /* int, SymInt */
bool opc_type_is_real(const opc_type_t *type);    /* float, Scalar */
/* What an argument of the type is if it is given: Tensor for "Tensor?". */
const opc_type_t *opc_type_given(const opc_type_t *type);
/* True for types of tensors: Tensor, Tensor?, Tensor[], Tensor?[]… */
bool opc_type_holds_tensor(const opc_type_t *type);
/* True for these, and for types that leave it open: Any, Any[], Dict, Tuple… */
bool opc_type_may_hold_tensor(const opc_type_t *type);

/* Alias annotation, `(a! -> b)`. Alias sets are joined by '|'; "*" is the wildcard. */
typedef struct opc_alias {
  bool present, is_write;
  char *before, *after; /* NULL if not present */
} opc_alias_t;

typedef struct opc_argument {
  char *name;      /* "_0" if the schema was inferred from a C++ signature; "" is possible for returns */
  char *type_text; /* as c10 prints it, without alias annotation */
  opc_type_t type;
  opc_alias_t alias;
  bool has_default, kwarg_only;
  char *default_text; /* as the schema prints it; NULL: no default */
} opc_argument_t;

/* The function that a kernel is, as far as it is known without reading debug information. */
typedef struct opc_kernel_code {
  char *module;     /* C++: the file that holds it; NULL: Python's, libtorch's own, or not known */
  uint64_t address; /* in the file's own terms, as for addr2line */
  char *functor;    /* C++: mangled type of what calls the function at `address`; NULL: `address` is the function's */
  char *function, *file; /* Python: the decorated function, and where it is defined; NULL: not known */
  int line;
} opc_kernel_code_t;

/* A kernel registered directly for an operator at a dispatch key. */
typedef struct opc_kernel {
  char *key;           /* as c10 prints it: "CPU", "Meta", "CompositeImplicitAutograd"… */
  char *registered_at; /* "file.cpp:12"; of a kernel from Python the line in the user's code, if it is known */
  char *library; /* path of another library than the operator's, or Python module, that registered it; else NULL */
  char *cpp_signature; /* inferred C++ schema, "(Tensor _0, int _1) -> Tensor _0"; NULL for boxed kernels */
  bool fallthrough;
  opc_kernel_code_t code;
} opc_kernel_t;

/* What is called: an operator of the dispatcher, or something checked like one. */
typedef enum opc_operator_kind {
  OPC_OPERATOR = 0,
  OPC_OPERATOR_CLASS,   /* the constructor of a custom class, "ns::Name(…) -> __torch__.torch.classes.ns.Name" */
  OPC_OPERATOR_PACKAGE, /* the model of a package, "package::NAME(Tensor input0, …) -> (…)" */
  OPC_OPERATOR_LIBRARY  /* a library's file, "library::libmy_ops.so"; without schema, never called */
} opc_operator_kind_t;

typedef struct opc_method {
  char *name, *schema;
} opc_method_t;

typedef struct opc_operator {
  opc_operator_kind_t kind;
  char *name;                  /* "ns::op" or "ns::op.overload": how reports, filters and sample files name it */
  char *schema;                /* canonical text; NULL: kernels without a definition (dangling) */
  char *registered_at;         /* "file.cpp:12" of the definition; NULL if dangling */
  char *library;               /* path of the library that registered it while loading */
  bool defined_here;           /* false: this library only added kernels to another library's operator */
  bool in_python;              /* a Python interpreter hosts the worker that listed it (--python) */
  bool namespace_defined;      /* if dangling: whether a loaded library defines operators in its namespace */
  char *python_module;         /* module of its fake kernel (set_python_module); NULL: none */
  bool python_module_imported; /* --python imported that module, so that its kernels are known */
  char *imported_from;         /* the installed package that registered it, if --python named another; else NULL */
  opc_argument_t *arguments, *returns;
  size_t argument_count, return_count;
  bool is_vararg, is_varret;
  opc_kernel_t *kernels; /* direct kernels; includes fallthroughs, which are marked */
  size_t kernel_count;
  char **tags; /* by name: "pt2_compliant_tag" */
  size_t tag_count;
  opc_method_t *methods; /* of a class */
  size_t method_count;
} opc_operator_t;

void opc_operator_clear(opc_operator_t *op);
const opc_kernel_t *opc_operator_kernel(const opc_operator_t *op,
                                        const char *key);                /* NULL: no direct kernel at this key */
bool opc_operator_has_kernel(const opc_operator_t *op, const char *key); /* one that is not a fallthrough */
/* Its fake kernel is said to be in a Python module that was not imported. */
bool opc_operator_fake_elsewhere(const opc_operator_t *op);
/* On Meta tensors a kernel runs that is registered for every device, in place of which Python code may register a fake
 * kernel: there is no Meta kernel here, and this process has no Python. */
bool opc_operator_fake_may_be_in_python(const opc_operator_t *op);
/* True for a kernel that was generated for libtorch's own operators; a library may add others. */
bool opc_kernel_is_torchs(const opc_kernel_t *kernel);
/* True for a kernel that Python registered. */
bool opc_kernel_is_python(const opc_kernel_t *kernel);
/* True if a call with tensors on the device could reach a kernel at all. Autograd and BackendSelect kernels count: what
 * they call is only known when they run. */
bool opc_operator_serves(const opc_operator_t *op, opc_device_type_t device);
bool opc_operator_is_python(const opc_operator_t *op); /* Python registered a kernel that computes */
bool opc_operator_has_tag(const opc_operator_t *op, const char *tag);
/* True if tagged dynamic_output_shape or data_dependent_output: arguments' sizes do not determine the result's. */
bool opc_operator_output_depends_on_data(const opc_operator_t *op);
/* True if tagged nondeterministic_seeded, or if an argument is a seed by its name ("seed", "philox_seed", "seed0"):
 * equal numbers in another place or dtype may get other random numbers. */
bool opc_operator_is_random(const opc_operator_t *op);
/* True if tagged maybe_aliasing_or_mutating and CompositeImplicitAutograd: for some inputs it returns or writes an
 * argument, which its schema does not say. Compilers decompose it and never trust the schema (tags.yaml). */
bool opc_operator_may_alias_or_mutate(const opc_operator_t *op);
bool opc_operator_is_mutable(const opc_operator_t *op); /* some argument has a write annotation */
/* It returns something, but nothing that may hold a tensor. */
bool opc_operator_returns_numbers(const opc_operator_t *op);
bool opc_operator_has_formula(const opc_operator_t *op); /* has a kernel at an Autograd key that is not a fallthrough */
bool opc_argument_is_string(const opc_argument_t *argument); /* str, or str? */
/* Index of the argument with this name, -1: none. "self" and "input" are different names. */
int opc_operator_argument(const opc_operator_t *op, const char *name);

/* An operator as JSON object: `list --format json` prints it and the worker sends it. */
json_t *opc_operator_to_json(const opc_operator_t *op); /* new reference; NULL: out of memory */
opc_status_t opc_operator_from_json(const json_t *json, opc_operator_t *out, opc_error_t *error) OPC_CHECKED;

typedef struct opc_class {
  char *name; /* "ns.Name" */
  char *library;
  opc_method_t *methods;
  size_t method_count;
} opc_class_t;

void opc_class_clear(opc_class_t *class_);
/* Fills *out with the arguments of a schema text such as a method's ("self" included), and with the text; nothing else.
 * Release with opc_operator_clear. */
opc_status_t opc_schema_arguments(const char *schema, opc_operator_t *out, opc_error_t *error) OPC_CHECKED;
/* The class's constructor as an operator of kind CLASS, "ns::Name". Without a constructor its one argument is an object
 * of the class. Release with opc_operator_clear. */
opc_status_t opc_operator_from_class(const opc_class_t *class_, opc_operator_t *out, opc_error_t *error) OPC_CHECKED;
/* The name of that operator: "ns.Name" becomes "ns::Name". The text is the caller's; NULL: out of memory. */
char *opc_class_operator_name(const char *class_name);
/* The name of the class, "ns.Name", whose constructor this operator is. The text is the caller's; NULL: out of memory.
 */
char *opc_class_name_of(const opc_operator_t *op);
json_t *opc_class_to_json(const opc_class_t *class_);
opc_status_t opc_class_from_json(const json_t *json, opc_class_t *out, opc_error_t *error) OPC_CHECKED;

/* True if it takes arguments other than self; false for special methods such as __eq__. */
bool opc_method_takes_arguments(const opc_method_t *method);
/* Some method takes arguments, and both __getstate__ and __setstate__ exist. */
bool opc_class_is_used_and_pickled(const opc_operator_t *op);
const opc_method_t *opc_class_method(const opc_operator_t *op, const char *name); /* NULL: no such method */
bool opc_class_has_constructor(const opc_operator_t *op);

/* A library's file as an operator of kind LIBRARY. Release with opc_operator_clear. */
opc_status_t opc_operator_from_library(const char *name, const char *file, opc_operator_t *out,
                                       opc_error_t *error) OPC_CHECKED;

/* What the name of an argument says about its values.
 *
 * Ownership: texts are constant. Threads: any. */

/* True if one of the space-separated words is a whole part of the name, between underscores: "height" of
 * "pooled_height". Upper and lower case are the same. */
bool opc_argument_is_named(const char *name, const char *words);
/* The words that a str argument of this name usually takes, separated by '|': "mean|sum|none". NULL: not known. */
const char *opc_argument_words(const char *name);

/* Whether torch.compile can functionalise an operator: replace mutation and aliasing by new values that are passed
 * on. The rule needs only the schema and the kernels, no call.
 *
 * Ownership: nothing is kept. Threads: any. */

typedef enum opc_functionalise {
  OPC_FUNCTIONALISE_FUNCTIONAL = 0, /* no alias annotation: nothing to replace */
  OPC_FUNCTIONALISE_AUTOMATIC,      /* auto_functionalized handles it */
  OPC_FUNCTIONALISE_OWN_KERNEL,     /* it has its own Functionalize kernel */
  OPC_FUNCTIONALISE_DECOMPOSED,     /* composite: torch.compile never sees it as an operator */
  OPC_FUNCTIONALISE_BUILT_IN,       /* libtorch's own operator, with its own rules */
  OPC_FUNCTIONALISE_REFUSED
} opc_functionalise_t;

/* *out_reason gets a sentence without a full stop, even if the operator is not refused. From
 * torch/_higher_order_ops/auto_functionalize.py (can_auto_functionalize) and the C++ fallback at key Functionalize,
 * which refuses every annotation that can_auto_functionalize does not accept. */
opc_functionalise_t opc_functionalise_rule(const opc_operator_t *op, opc_text_t *out_reason);

#ifdef __cplusplus
}
#endif
