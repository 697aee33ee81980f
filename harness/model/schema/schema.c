#include "model/schema/schema.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *text;
  opc_type_kind_t kind;
} type_names[] = {
    {"Tensor", OPC_TYPE_TENSOR},       {"int", OPC_TYPE_INT},         {"SymInt", OPC_TYPE_SYMINT},
    {"float", OPC_TYPE_FLOAT},         {"SymFloat", OPC_TYPE_FLOAT},  {"bool", OPC_TYPE_BOOL},
    {"SymBool", OPC_TYPE_BOOL},        {"complex", OPC_TYPE_COMPLEX}, {"Scalar", OPC_TYPE_SCALAR},
    {"number", OPC_TYPE_SCALAR},       {"str", OPC_TYPE_STRING},      {"ScalarType", OPC_TYPE_DTYPE},
    {"Device", OPC_TYPE_DEVICE},       {"Layout", OPC_TYPE_LAYOUT},   {"MemoryFormat", OPC_TYPE_MEMORY_FORMAT},
    {"Generator", OPC_TYPE_GENERATOR}, {"Stream", OPC_TYPE_STREAM},   {"Storage", OPC_TYPE_STORAGE},
    {"Dimname", OPC_TYPE_DIMNAME},     {"Any", OPC_TYPE_ANY},
};

static const char class_prefix[] = "__torch__.torch.classes.";

static opc_status_t parse_base(const char *text, size_t length, opc_type_t *out, opc_error_t *error) {
  for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
    if (strlen(type_names[i].text) != length || strncmp(type_names[i].text, text, length) != 0) continue;
    out->kind = type_names[i].kind;
    return OPC_OK;
  }
  const size_t prefix = sizeof class_prefix - 1;
  if (length > prefix && strncmp(text, class_prefix, prefix) == 0) {
    out->class_name = strndup(text + prefix, length - prefix);
    if (!out->class_name) return opc_out_of_memory(error);
    out->kind = OPC_TYPE_OBJECT;
  }
  return OPC_OK;
}

static opc_status_t schema_wrap(opc_type_t *type, opc_type_kind_t kind, int64_t fixed_length, opc_error_t *error) {
  opc_type_t *element = malloc(sizeof *element);
  if (!element) return opc_out_of_memory(error);
  *element = *type;
  *type = (opc_type_t){.kind = kind, .element = element, .fixed_length = fixed_length};
  return OPC_OK;
}

/* Length of the type before its suffixes: parentheses contain commas, lists and question marks of their own. */
static size_t base_length(const char *text) {
  size_t length = 0;
  for (int depth = 0; text[length]; length++) {
    if (text[length] == '(') depth++;
    if (text[length] == ')') depth--;
    if (depth == 0 && (text[length] == '?' || text[length] == '[')) break;
  }
  while (length && isspace((unsigned char)text[length - 1])) length--;
  return length;
}

/* Wraps *out once per suffix. *known is false if a suffix is unknown. */
static opc_status_t parse_suffixes(const char *at, opc_type_t *out, bool *known, opc_error_t *error) {
  while (*at) {
    if (*at == '?') {
      OPC_RETURN_IF_ERROR(schema_wrap(out, OPC_TYPE_OPTIONAL, 0, error));
      at++;
    } else if (*at == '[') {
      char *end;
      long long fixed = strtoll(at + 1, &end, 10);
      if (*end != ']' || fixed < 0) break;
      OPC_RETURN_IF_ERROR(schema_wrap(out, OPC_TYPE_LIST, fixed, error));
      at = end + 1;
    } else if (isspace((unsigned char)*at)) {
      at++;
    } else {
      break;
    }
  }
  *known = !*at;
  return OPC_OK;
}

opc_status_t opc_type_parse(const char *text, opc_type_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_type_clear) opc_type_t type = {0};
  bool known = true;
  *out = type;
  if (!text) return OPC_OK;
  while (isspace((unsigned char)*text)) text++;
  size_t length = base_length(text);
  OPC_RETURN_IF_ERROR(parse_base(text, length, &type, error));
  OPC_RETURN_IF_ERROR(parse_suffixes(text + length, &type, &known, error));
  if (known) OPC_MOVE(out, type); /* otherwise OTHER */
  return OPC_OK;
}

void opc_type_clear(opc_type_t *type) {
  if (!type) return;
  opc_type_t *element = type->element;
  free(type->class_name);
  *type = (opc_type_t){0};
  while (element) {
    opc_type_t *next = element->element;
    free(element->class_name);
    free(element);
    element = next;
  }
}

bool opc_type_is_integer(const opc_type_t *type) { return type->kind == OPC_TYPE_INT || type->kind == OPC_TYPE_SYMINT; }

bool opc_type_is_real(const opc_type_t *type) { return type->kind == OPC_TYPE_FLOAT || type->kind == OPC_TYPE_SCALAR; }

const opc_type_t *opc_type_given(const opc_type_t *type) {
  return type->kind == OPC_TYPE_OPTIONAL ? type->element : type;
}

static opc_type_kind_t innermost_kind(const opc_type_t *type) {
  while (type->kind == OPC_TYPE_OPTIONAL || type->kind == OPC_TYPE_LIST) type = type->element;
  return type->kind;
}

bool opc_type_holds_tensor(const opc_type_t *type) { return innermost_kind(type) == OPC_TYPE_TENSOR; }

bool opc_type_may_hold_tensor(const opc_type_t *type) {
  const opc_type_kind_t kind = innermost_kind(type);
  return kind == OPC_TYPE_TENSOR || kind == OPC_TYPE_ANY || kind == OPC_TYPE_OTHER;
}

static void arguments_clear(opc_argument_t *arguments, size_t count) {
  for (size_t i = 0; arguments && i < count; i++) {
    free(arguments[i].name);
    free(arguments[i].type_text);
    opc_type_clear(&arguments[i].type);
    free(arguments[i].alias.before);
    free(arguments[i].alias.after);
    free(arguments[i].default_text);
  }
  free(arguments);
}

static void methods_clear(opc_method_t *methods, size_t count) {
  for (size_t i = 0; methods && i < count; i++) {
    free(methods[i].name);
    free(methods[i].schema);
  }
  free(methods);
}

void opc_operator_clear(opc_operator_t *op) {
  if (!op) return;
  free(op->name);
  free(op->schema);
  free(op->registered_at);
  free(op->library);
  free(op->python_module);
  free(op->imported_from);
  arguments_clear(op->arguments, op->argument_count);
  arguments_clear(op->returns, op->return_count);
  for (size_t i = 0; op->kernels && i < op->kernel_count; i++) {
    free(op->kernels[i].key);
    free(op->kernels[i].registered_at);
    free(op->kernels[i].library);
    free(op->kernels[i].cpp_signature);
    free(op->kernels[i].code.module);
    free(op->kernels[i].code.functor);
    free(op->kernels[i].code.function);
    free(op->kernels[i].code.file);
  }
  free(op->kernels);
  for (size_t i = 0; op->tags && i < op->tag_count; i++) free(op->tags[i]);
  free(op->tags);
  methods_clear(op->methods, op->method_count);
  *op = (opc_operator_t){0};
}

const opc_kernel_t *opc_operator_kernel(const opc_operator_t *op, const char *key) {
  for (size_t i = 0; op && key && i < op->kernel_count; i++)
    if (strcmp(op->kernels[i].key, key) == 0) return &op->kernels[i];
  return NULL;
}

bool opc_operator_has_kernel(const opc_operator_t *op, const char *key) {
  const opc_kernel_t *kernel = opc_operator_kernel(op, key);
  return kernel && !kernel->fallthrough;
}

bool opc_operator_fake_elsewhere(const opc_operator_t *op) { return op->python_module && !op->python_module_imported; }

/* torch.library.register_fake refuses an operator that has a kernel at CompositeImplicitAutograd. */
bool opc_operator_fake_may_be_in_python(const opc_operator_t *op) {
  return !op->in_python && !opc_operator_kernel(op, "Meta") && !opc_operator_kernel(op, "CompositeImplicitAutograd");
}

/* The place is a file that libtorch's build generates, such as "…/ATen/RegisterMeta_0.cpp:26378". */
bool opc_kernel_is_torchs(const opc_kernel_t *kernel) {
  return kernel && kernel->registered_at && strstr(kernel->registered_at, "/ATen/Register");
}

bool opc_kernel_is_python(const opc_kernel_t *kernel) {
  return kernel && kernel->registered_at && strstr(kernel->registered_at, ".py:");
}

bool opc_operator_is_python(const opc_operator_t *op) {
  for (size_t i = 0; i < op->kernel_count; i++) {
    const char *key = op->kernels[i].key;
    if (opc_kernel_is_python(&op->kernels[i]) && strcmp(key, "Meta") != 0 && strncmp(key, "Autograd", 8) != 0)
      return true;
  }
  return false;
}

static bool is_one_of(const char *name, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i], name) == 0) return true;
  return false;
}

bool opc_operator_serves(const opc_operator_t *op, opc_device_type_t device) {
  static const char *const keys_of_all[] = {"CompositeImplicitAutograd",
                                            "CompositeExplicitAutograd",
                                            "CompositeExplicitAutogradNonFunctional",
                                            "Autograd",
                                            "BackendSelect",
                                            "Undefined"};
  static const char *const keys_of_cpu[] = {"CPU", "AutogradCPU"}, *const keys_of_cuda[] = {"CUDA", "AutogradCUDA"};
  for (size_t i = 0; i < op->kernel_count; i++) {
    const opc_kernel_t *kernel = &op->kernels[i];
    if (kernel->fallthrough) continue;
    if (is_one_of(kernel->key, keys_of_all, sizeof keys_of_all / sizeof *keys_of_all)) return true;
    if (is_one_of(kernel->key, device == OPC_DEVICE_CUDA ? keys_of_cuda : keys_of_cpu, 2)) return true;
  }
  return false;
}

bool opc_operator_has_tag(const opc_operator_t *op, const char *tag) {
  for (size_t i = 0; op && tag && i < op->tag_count; i++)
    if (strcmp(op->tags[i], tag) == 0) return true;
  return false;
}

bool opc_operator_output_depends_on_data(const opc_operator_t *op) {
  return opc_operator_has_tag(op, "dynamic_output_shape") || opc_operator_has_tag(op, "data_dependent_output");
}

static bool is_seed(const char *name) {
  static const char word[] = "seed";
  const char *at = strstr(name, word);
  if (!at || (at != name && at[-1] != '_')) return false;
  at += strlen(word);
  return *at == '\0' || *at == '_' || isdigit((unsigned char)*at);
}

bool opc_operator_is_random(const opc_operator_t *op) {
  if (opc_operator_has_tag(op, "nondeterministic_seeded")) return true;
  for (size_t i = 0; op && i < op->argument_count; i++)
    if (is_seed(op->arguments[i].name)) return true;
  return false;
}

bool opc_operator_may_alias_or_mutate(const opc_operator_t *op) {
  return opc_operator_has_tag(op, "maybe_aliasing_or_mutating") && opc_operator_kernel(op, "CompositeImplicitAutograd");
}

bool opc_operator_returns_numbers(const opc_operator_t *op) {
  for (size_t i = 0; i < op->return_count; i++)
    if (opc_type_may_hold_tensor(&op->returns[i].type)) return false;
  return op->return_count > 0;
}

bool opc_operator_has_formula(const opc_operator_t *op) {
  for (size_t i = 0; i < op->kernel_count; i++)
    if (!op->kernels[i].fallthrough && strncmp(op->kernels[i].key, "Autograd", 8) == 0) return true;
  return false;
}

bool opc_operator_is_mutable(const opc_operator_t *op) {
  for (size_t i = 0; op && i < op->argument_count; i++)
    if (op->arguments[i].alias.present && op->arguments[i].alias.is_write) return true;
  return false;
}

bool opc_argument_is_string(const opc_argument_t *argument) {
  return opc_type_given(&argument->type)->kind == OPC_TYPE_STRING;
}

int opc_operator_argument(const opc_operator_t *op, const char *name) {
  for (size_t i = 0; op && name && i < op->argument_count; i++)
    if (strcmp(op->arguments[i].name, name) == 0) return (int)i;
  return -1;
}

void opc_class_clear(opc_class_t *class_) {
  if (!class_) return;
  free(class_->name);
  free(class_->library);
  methods_clear(class_->methods, class_->method_count);
  *class_ = (opc_class_t){0};
}
