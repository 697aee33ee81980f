#include "operators.h"

#include "base/text.h"
#include "fuzz.h"

static const char *const schemas[] = {
    "ns::op(Tensor x, Tensor? m=None, int[2] n=1, *, float eps=1e-05, Tensor[] ts=[], bool flag=False, Scalar alpha=1, "
    "ScalarType? dtype=None, Device? device=None, Generator? generator=None, "
    "__torch__.torch.classes.ns.Name? obj=None, SymInt k=1, SymInt[] sizes=[], str mode=\"mean\") -> Tensor",
    "ns::small(Tensor x, int n) -> Tensor"};
enum { OPERATORS = sizeof schemas / sizeof *schemas };

static void operator_make(const char *schema, opc_operator_t *out) {
  opc_error_t error;
  fuzz_expect(opc_schema_arguments(schema, out, &error) == OPC_OK, "the schema is wrong");
  out->name = strndup(schema, strcspn(schema, "("));
  out->defined_here = true;
  out->returns = calloc(1, sizeof *out->returns);
  fuzz_expect(out->name && out->returns, "out of memory");
  out->return_count = 1;
  out->returns->name = opc_string_copy("");
  out->returns->type_text = opc_string_copy("Tensor");
  fuzz_expect(opc_type_parse("Tensor", &out->returns->type, &error) == OPC_OK, "the type is wrong");
}

const opc_operator_t *fuzz_operator(const char *name, void *context) {
  static opc_operator_t operators[OPERATORS];
  (void)context;
  for (size_t i = 0; i < OPERATORS; i++) {
    if (!operators[i].name) operator_make(schemas[i], &operators[i]);
    if (strcmp(operators[i].name, name) == 0) return &operators[i];
  }
  return NULL;
}

const opc_class_t *fuzz_class(const char *name, void *context) {
  static struct opc_method methods[] = {
      {"__init__", "__init__(__torch__.torch.classes.ns.Name _0, int _1, Any _2=None) -> NoneType _0"}};
  static const opc_class_t known = {"ns.Name", NULL, methods, 1};
  (void)context;
  return strcmp(name, known.name) == 0 ? &known : NULL;
}
