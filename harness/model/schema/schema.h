/* An operator's schema as the C core sees it; what the dispatcher knows of the operator besides.
 *
 * The bridge fills these structs from c10::FunctionSchema; the worker sends them to opcheck-c as JSON, one object an
 * operator (the same object that the JSON report prints, with more fields). No libtorch is needed to use them.
 * Ownership: opc_operator_clear frees everything inside; a copy goes through JSON. Threads: read-only sharing is fine.
 */
#ifndef OPC_MODEL_SCHEMA_SCHEMA_H
#define OPC_MODEL_SCHEMA_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opc_type_kind {
  OPC_TYPE_OTHER = 0, /* Any, Dict, Tuple, Future…: the harness cannot make one */
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
  OPC_TYPE_OPTIONAL,
  OPC_TYPE_LIST
} opc_type_kind_t;

typedef struct opc_type {
  opc_type_kind_t kind;
  struct opc_type *element; /* of an OPTIONAL or a LIST */
  int64_t fixed_length;     /* int[2]: 2; 0 where any length is fine. One int then stands for all of them */
  char *class_name;         /* of an OBJECT, "ns.Name"; NULL otherwise */
} opc_type_t;

/* Parses the type part of a schema as c10 prints it, without alias annotation: "Tensor?[]", "SymInt[2]?". Never fails:
 * what is not known becomes OTHER. */
opc_status_t opc_type_parse(const char *text, opc_type_t *out, opc_error_t *error) OPC_CHECKED;
void opc_type_clear(opc_type_t *type);
/* True where a tensor can be inside: Tensor, Tensor?, Tensor[], Tensor?[]… */
bool opc_type_holds_tensor(const opc_type_t *type);

/* Alias annotation, `(a! -> b)`. Sets are joined by '|'; "*" is the wildcard. */
typedef struct opc_alias {
  bool present, is_write;
  char *before, *after; /* NULL when not present */
} opc_alias_t;

typedef struct opc_argument {
  char *name;      /* "_0" where the schema was inferred from a C++ signature; returns may have "" */
  char *type_text; /* as c10 prints it, without alias annotation */
  opc_type_t type;
  opc_alias_t alias;
  bool has_default, kwarg_only;
  char *default_text; /* as the schema prints it; NULL without default */
} opc_argument_t;

/* One direct kernel of an operator at a dispatch key. */
typedef struct opc_kernel {
  char *key;           /* "CPU", "Meta", "CompositeImplicitAutograd"… as c10 prints it */
  char *registered_at; /* "file.cpp:12" */
  char *cpp_signature; /* inferred C++ schema, "(Tensor _0, int _1) -> Tensor _0"; NULL for boxed kernels */
  bool fallthrough;
} opc_kernel_t;

/* What is called: an operator of the dispatcher, or something that is checked like one. */
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
  char *name;             /* "ns::op" or "ns::op.overload": how reports, filters and sample files name it */
  char *schema;           /* canonical text; NULL for a kernel without definition (dangling) */
  char *registered_at;    /* "file.cpp:12" of the definition; NULL when dangling */
  char *library;          /* path of the library whose load registered it */
  bool defined_here;      /* false: this library only put kernels on somebody else's operator */
  bool namespace_defined; /* dangling: whether any library that is loaded defines operators of its namespace */
  char *python_module;    /* where its fake kernel is said to live (set_python_module); NULL otherwise */
  opc_argument_t *arguments, *returns;
  size_t argument_count, return_count;
  bool is_vararg, is_varret;
  opc_kernel_t *kernels; /* direct kernels, fallthroughs included and marked */
  size_t kernel_count;
  char **tags; /* by name: "pt2_compliant_tag" */
  size_t tag_count;
  opc_method_t *methods; /* of a class */
  size_t method_count;
} opc_operator_t;

void opc_operator_clear(opc_operator_t *op);
const opc_kernel_t *opc_operator_kernel(const opc_operator_t *op, const char *key); /* NULL: no direct kernel there */
/* Whether a call with tensors of the device could reach a kernel at all. Autograd kernels and BackendSelect count: what
 * they call in turn shows when they run. */
bool opc_operator_serves(const opc_operator_t *op, opc_device_type_t device);
bool opc_operator_has_tag(const opc_operator_t *op, const char *tag);
/* Tagged maybe_aliasing_or_mutating, and decomposes (CompositeImplicitAutograd): for some inputs it returns an argument
 * or writes one, and its schema does not say so. Compilers decompose it and never trust the schema (tags.yaml). */
bool opc_operator_may_alias_or_mutate(const opc_operator_t *op);
bool opc_operator_is_mutable(const opc_operator_t *op);  /* any argument with a write annotation */
bool opc_operator_has_formula(const opc_operator_t *op); /* a kernel at an Autograd key, and no fallthrough */
/* Index of the argument called name, -1 where there is none. "self" and "input" are not the same name. */
int opc_operator_argument(const opc_operator_t *op, const char *name);

/* The JSON object of an operator: what `list --format json` prints and what the worker sends. */
json_t *opc_operator_to_json(const opc_operator_t *op); /* new reference; NULL: out of memory */
opc_status_t opc_operator_from_json(const json_t *json, opc_operator_t *out, opc_error_t *error) OPC_CHECKED;

typedef struct opc_class {
  char *name; /* "ns.Name" */
  char *library;
  opc_method_t *methods;
  size_t method_count;
} opc_class_t;

void opc_class_clear(opc_class_t *class_);
/* The arguments of a schema text such as a method's, "self" among them, and the text itself; nothing else of *out is
 * filled. Released by opc_operator_clear. */
opc_status_t opc_schema_arguments(const char *schema, opc_operator_t *out, opc_error_t *error) OPC_CHECKED;
/* The class's constructor as an operator of kind CLASS, "ns::Name"; without schema where it has none. Released by
 * opc_operator_clear. */
opc_status_t opc_operator_from_class(const opc_class_t *class_, opc_operator_t *out, opc_error_t *error) OPC_CHECKED;
json_t *opc_class_to_json(const opc_class_t *class_);
opc_status_t opc_class_from_json(const json_t *json, opc_class_t *out, opc_error_t *error) OPC_CHECKED;

/* Besides the object; false for those with a meaning of their own, as __eq__. */
bool opc_method_takes_arguments(const opc_method_t *method);
/* Some method takes arguments, and both halves of pickling are there. */
bool opc_class_is_used_and_pickled(const opc_operator_t *op);
const opc_method_t *opc_class_method(const opc_operator_t *op, const char *name); /* NULL: there is none */

/* A library's file as an operator of kind LIBRARY. Released by opc_operator_clear. */
opc_status_t opc_operator_from_library(const char *name, const char *file, opc_operator_t *out,
                                       opc_error_t *error) OPC_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
