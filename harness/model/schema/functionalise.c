#include "model/schema/schema.h"

#include <string.h>

static bool is_named(const opc_operator_t *op, const char *space) {
  size_t length = strlen(space);
  return strncmp(op->name, space, length) == 0 && strncmp(op->name + length, "::", 2) == 0;
}

static bool is_written_type(const opc_type_t *type) {
  return opc_type_given(type->kind == OPC_TYPE_LIST ? type->element : type)->kind == OPC_TYPE_TENSOR;
}

static const opc_argument_t *first_annotated(const opc_argument_t *arguments, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (arguments[i].alias.present) return &arguments[i];
  return NULL;
}

/* From libtorch 2.13 on, these tags say that an annotated return is the argument that was written. */
static bool returns_what_it_writes(const opc_operator_t *op) {
  return opc_operator_has_tag(op, "inplace") || opc_operator_has_tag(op, "out");
}

static opc_functionalise_t rule_of_mutable(const opc_operator_t *op, opc_text_t *reason) {
  for (size_t i = 0; i < op->argument_count; i++) {
    const opc_argument_t *argument = &op->arguments[i];
    if (!argument->alias.is_write || is_written_type(&argument->type)) continue;
    opc_text_addf(reason,
                  "argument %s is written and is of type %s; only Tensor, Tensor?, Tensor[] and Tensor?[] may be",
                  argument->name, argument->type_text);
    return OPC_FUNCTIONALISE_REFUSED;
  }
  for (size_t i = 0; i < op->return_count && !returns_what_it_writes(op); i++) {
    const opc_argument_t *back = &op->returns[i];
    if (!back->alias.present && back->type.kind == OPC_TYPE_TENSOR) continue;
    if (back->alias.present)
      opc_text_addf(reason, "it writes an argument, and return %zu is declared to share storage with one (%s)", i,
                    back->alias.before);
    else
      opc_text_addf(reason, "it writes an argument, and return %zu is of type %s; only Tensor may be returned then", i,
                    back->type_text);
    return OPC_FUNCTIONALISE_REFUSED;
  }
  opc_text_add(reason, "what it writes is replaced by a copy that is written, and handed on");
  return OPC_FUNCTIONALISE_AUTOMATIC;
}

opc_functionalise_t opc_functionalise_rule(const opc_operator_t *op, opc_text_t *reason) {
  const opc_argument_t *in = first_annotated(op->arguments, op->argument_count),
                       *back = first_annotated(op->returns, op->return_count);
  const opc_kernel_t *own = opc_operator_kernel(op, "Functionalize"),
                     *composite = opc_operator_kernel(op, "CompositeImplicitAutograd");
  if (!op->library || is_named(op, "aten") || is_named(op, "prims") || is_named(op, "prim")) {
    opc_text_add(reason, "it is libtorch's own");
    return OPC_FUNCTIONALISE_BUILT_IN;
  }
  if (own && !own->fallthrough) {
    opc_text_add(reason, "it has a kernel of its own at Functionalize");
    return OPC_FUNCTIONALISE_OWN_KERNEL;
  }
  if (composite && !composite->fallthrough) {
    opc_text_add(reason, "it is composite: torch.compile sees the operators that it calls");
    return OPC_FUNCTIONALISE_DECOMPOSED;
  }
  if (opc_operator_is_mutable(op)) return rule_of_mutable(op, reason);
  if (back)
    opc_text_addf(
        reason,
        "a return is declared to share storage with an argument (%s), and views are for libtorch's own operators only",
        back->alias.before);
  else if (in)
    opc_text_addf(reason, "argument %s has an alias annotation (%s), though nothing is written and no return has it",
                  in->name, in->alias.before);
  if (back || in) return OPC_FUNCTIONALISE_REFUSED;
  opc_text_add(reason, "its schema has no alias annotation");
  return OPC_FUNCTIONALISE_FUNCTIONAL;
}
