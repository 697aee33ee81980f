/* registration: the operator's dispatcher entries are compared with its schema. Calls nothing. */
#include <stdlib.h>
#include <string.h>

#include "checks/framework/check.h"

static bool starts_with(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

static bool is_autograd_key(const char *key) { return starts_with(key, "Autograd"); }
static bool is_composite_key(const char *key) {
  return starts_with(key, "CompositeImplicit") || starts_with(key, "CompositeExplicit");
}

static const opc_kernel_t *real_kernel(const opc_operator_t *op) {
  for (size_t i = 0; i < op->kernel_count; i++)
    if (!op->kernels[i].fallthrough) return &op->kernels[i];
  return NULL;
}

static const char *registration_place_of(const opc_kernel_t *kernel) {
  return kernel->registered_at ? kernel->registered_at : "an unknown place";
}

static void check_any_kernel(const opc_operator_t *op, opc_finding_t *finding) {
  if (!op->schema) {
    const char *where = op->kernel_count ? registration_place_of(&op->kernels[0]) : "an unknown place";
    if (op->namespace_defined)
      opc_finding_fail(finding, OPC_RULE_registration_dangling_impl,
                       "a kernel for %s was registered at %s, but no library defines an operator of that name",
                       op->name, where);
    else
      opc_finding_fail(
          finding, OPC_RULE_registration_schema_elsewhere,
          "a kernel for %s was registered at %s, but no loaded library defines any operator of that namespace",
          op->name, where);
    return;
  }
  if (!real_kernel(op) && op->defined_here) {
    if (opc_operator_fake_elsewhere(op)) return; /* its kernels come with the Python module */
    opc_finding_fail(finding, OPC_RULE_registration_no_kernel, "%s has no kernel at any dispatch key", op->name);
  }
}

static void check_autograd(const opc_operator_t *op, opc_finding_t *finding) {
  const opc_kernel_t *fallthrough = NULL;
  for (size_t i = 0; i < op->kernel_count; i++) {
    const opc_kernel_t *kernel = &op->kernels[i];
    if (strcmp(kernel->key, "CompositeImplicitAutograd") == 0) return;
    if (!is_autograd_key(kernel->key)) continue;
    if (!kernel->fallthrough) return;
    fallthrough = kernel;
  }
  if (!fallthrough) return;
  opc_finding_fail(finding, OPC_RULE_registration_autograd_fallthrough,
                   "the kernel at %s is a fallthrough (registered at %s): gradients are dropped silently",
                   fallthrough->key, registration_place_of(fallthrough));
}

/* Keys of the form AutogradX apply only to tensors of backend X: an operator that also runs elsewhere has no derivative
 * there. */
static void check_autograd_backends(const opc_operator_t *op, opc_finding_t *finding) {
  /* c10's backend components (c10/core/DispatchKey.h), except Meta, whose tensors represent others. */
  static const char *const backends[] = {"CPU",  "CUDA", "HIP",         "XLA",         "MPS",
                                         "IPU",  "XPU",  "HPU",         "VE",          "Lazy",
                                         "MTIA", "MAIA", "PrivateUse1", "PrivateUse2", "PrivateUse3"};
  const opc_kernel_t *somewhere = NULL;
  const char *missing = NULL;
  for (size_t i = 0; i < op->kernel_count; i++) {
    const opc_kernel_t *kernel = &op->kernels[i];
    if (kernel->fallthrough) continue;
    if (strcmp(kernel->key, "Autograd") == 0 || strcmp(kernel->key, "CompositeImplicitAutograd") == 0) return;
    if (is_autograd_key(kernel->key) && strcmp(kernel->key, "AutogradMeta") != 0 &&
        strcmp(kernel->key, "AutogradOther") != 0)
      somewhere = kernel;
  }
  for (size_t i = 0; somewhere && !missing && i < sizeof backends / sizeof *backends; i++) {
    char key[64];
    snprintf(key, sizeof key, "Autograd%s", backends[i]);
    const opc_kernel_t *kernel = opc_operator_kernel(op, backends[i]);
    if (kernel && !kernel->fallthrough && !opc_operator_kernel(op, key)) missing = backends[i];
  }
  if (missing)
    opc_finding_fail(finding, OPC_RULE_registration_autograd_backend,
                     "there are kernels at %s and at %s (registered at %s), but none at Autograd%s", missing,
                     somewhere->key, registration_place_of(somewhere), missing);
}

static bool takes_or_gives_tensors(const opc_operator_t *op) {
  for (size_t i = 0; i < op->argument_count; i++)
    if (opc_type_holds_tensor(&op->arguments[i].type)) return true;
  for (size_t i = 0; i < op->return_count; i++)
    if (opc_type_holds_tensor(&op->returns[i].type)) return true;
  return false;
}

/* Records a warning, or that the fake kernel is in Python. */
static void check_meta_kernel(const opc_operator_t *op, opc_finding_t *finding, bool *fake_in_python) {
  if (!op->schema || !op->defined_here || !real_kernel(op) || !takes_or_gives_tensors(op)) return;
  for (size_t i = 0; i < op->kernel_count; i++) {
    const opc_kernel_t *kernel = &op->kernels[i];
    if (kernel->fallthrough) continue;
    if (strcmp(kernel->key, "Meta") == 0 || is_composite_key(kernel->key)) return;
    if (strcmp(kernel->key, "BackendSelect") == 0) return; /* a factory: that kernel sees the device */
  }
  if (opc_operator_fake_elsewhere(op)) {
    *fake_in_python = true;
    return;
  }
  OPC_SCOPED(opc_text_clear) opc_text_t keys = {0};
  for (size_t i = 0; i < op->kernel_count; i++)
    if (!op->kernels[i].fallthrough) opc_text_addf(&keys, "%s%s", keys.length ? ", " : "", op->kernels[i].key);
  opc_finding_fail(finding, OPC_RULE_registration_no_meta_kernel,
                   "%s has kernels for %s but none for Meta tensors%s%s%s%s%s", op->name, opc_text_c(&keys),
                   opc_operator_has_tag(op, "pt2_compliant_tag") ? ", although it is tagged pt2_compliant_tag" : "",
                   op->python_module ? "; Python module " : "", op->python_module ? op->python_module : "",
                   op->python_module ? " registers none either" : "",
                   opc_operator_output_depends_on_data(op)
                       ? "; as its result depends on data, only a fake kernel in Python helps"
                       : "");
}

/* Iterates over the types in a C++ signature "(Tensor _0, int[] _1) -> Tensor _0". False: no more. */
static bool next_type(const char **at, char *out, size_t size) {
  const char *text = *at;
  while (*text == ' ' || *text == '(' || *text == ',') text++;
  if (*text == ')' || *text == '\0') return false;
  size_t length = 0;
  int depth = 0;
  while (*text && (depth > 0 || (*text != ' ' && *text != ',' && *text != ')'))) {
    if (*text == '(') depth++;
    if (*text == ')') depth--;
    if (length + 1 < size) out[length++] = *text;
    text++;
  }
  out[length] = '\0';
  int brackets = 0;
  while (*text && (brackets > 0 || (*text != ',' && *text != ')'))) {
    if (*text == '(') brackets++;
    if (*text == ')') brackets--;
    text++;
  }
  *at = text;
  return true;
}

static void check_symint(const opc_operator_t *op, opc_finding_t *finding) {
  for (size_t i = 0; op->schema && i < op->kernel_count; i++) {
    const opc_kernel_t *kernel = &op->kernels[i];
    bool concerned = strcmp(kernel->key, "Meta") == 0 || is_composite_key(kernel->key) || is_autograd_key(kernel->key);
    if (!concerned || !kernel->cpp_signature || kernel->fallthrough) continue;
    if (!op->defined_here && opc_kernel_is_torchs(kernel)) continue;
    /* A fake kernel takes precedence if sizes are symbols. */
    if (op->python_module && starts_with(kernel->key, "CompositeExplicit")) continue;
    const char *at = kernel->cpp_signature;
    char type[96];
    for (size_t a = 0; a < op->argument_count && next_type(&at, type, sizeof type); a++) {
      if (!strstr(op->arguments[a].type_text, "SymInt") || !starts_with(type, "int")) continue;
      opc_finding_fail(finding, OPC_RULE_registration_int_for_symint,
                       "the kernel at %s (registered at %s) takes argument %s as %s, but the schema says %s",
                       kernel->key, registration_place_of(kernel), op->arguments[a].name, type,
                       op->arguments[a].type_text);
      break;
    }
  }
}

typedef struct tag_facts {
  bool mutable_, tensor_in, tensor_out, aliases, tensor_rest; /* tensor_rest: every return is a tensor */
  size_t mutable_count, mutable_keyword;
  bool first_mutable_returned;
} tag_facts_t;

static tag_facts_t tag_facts(const opc_operator_t *op) {
  tag_facts_t facts = {.tensor_rest = op->return_count > 0};
  for (size_t i = 0; i < op->argument_count; i++) {
    const opc_argument_t *argument = &op->arguments[i];
    if (opc_type_may_hold_tensor(&argument->type)) facts.tensor_in = true;
    if (!argument->alias.present || !argument->alias.is_write) continue;
    facts.mutable_ = true;
    facts.mutable_count++;
    if (argument->kwarg_only) facts.mutable_keyword++;
  }
  for (size_t i = 0; i < op->return_count; i++) {
    if (opc_type_may_hold_tensor(&op->returns[i].type)) facts.tensor_out = true;
    if (!opc_type_holds_tensor(&op->returns[i].type)) facts.tensor_rest = false;
    if (op->returns[i].alias.present) facts.aliases = true;
  }
  if (op->argument_count && op->return_count) {
    const opc_alias_t *first = &op->arguments[0].alias, *back = &op->returns[0].alias;
    facts.first_mutable_returned = first->present && first->is_write && back->present && first->before &&
                                   back->before && strcmp(first->before, back->before) == 0;
  }
  return facts;
}

static void check_tags(const opc_operator_t *op, opc_finding_t *finding) {
  static const struct {
    const char *left, *right;
  } exclusive[] = {{"inplace", "out"},
                   {"pointwise", "reduction"},
                   {"needs_exact_strides", "flexible_layout"},
                   {"needs_contiguous_strides", "flexible_layout"},
                   {"needs_fixed_stride_order", "flexible_layout"}};
  if (!op->schema) return;
  tag_facts_t facts = tag_facts(op);
  const struct {
    const char *tag;
    bool broken;
    const char *demand;
  } demands[] = {
      {"view_copy", facts.mutable_ || facts.aliases, "its outputs are copies, but the schema declares an alias"},
      {"inplace_view", !facts.mutable_, "it changes an argument's metadata, but no argument is declared mutable"},
      {"pointwise", !facts.tensor_in, "it works element by element, but takes no tensor"},
      {"pointwise", !facts.tensor_out && !facts.mutable_, "it works element by element, but returns no tensor"},
      {"reduction", !facts.tensor_in, "it reduces a tensor, but takes none"},
      {"dynamic_output_shape", !facts.tensor_out && !facts.mutable_,
       "an output's shape depends on data, but there is no tensor output"},
      {"data_dependent_output", op->return_count == 0, "a return depends on data, but there is no return"},
      {"out_variant", facts.mutable_count == 0, "it writes to its out arguments, but no argument is declared mutable"},
      {"out", facts.mutable_count == 0 || facts.mutable_count != facts.mutable_keyword,
       "its mutable arguments must be keyword-only out arguments"},
      {"core", facts.mutable_, "core operators are functional, but an argument is declared mutable"},
      {"inplace", !facts.first_mutable_returned, "its first argument must be mutable and returned"},
  };
  for (size_t i = 0; i < sizeof demands / sizeof demands[0]; i++)
    if (demands[i].broken && opc_operator_has_tag(op, demands[i].tag))
      opc_finding_fail(finding, OPC_RULE_registration_tags, "tagged %s: %s (%s)", demands[i].tag, demands[i].demand,
                       op->schema);
  for (size_t i = 0; i < sizeof exclusive / sizeof exclusive[0]; i++)
    if (opc_operator_has_tag(op, exclusive[i].left) && opc_operator_has_tag(op, exclusive[i].right))
      opc_finding_fail(finding, OPC_RULE_registration_tags, "tagged both %s and %s, which exclude each other",
                       exclusive[i].left, exclusive[i].right);
}

/* ---- names ---- */

/* Python's hard keywords (keyword.kwlist): an argument of such a name cannot be passed by name. */
static bool is_python_keyword(const char *name) {
  static const char *const keywords[] = {"False",  "None",   "True",    "and",      "as",       "assert", "async",
                                         "await",  "break",  "class",   "continue", "def",      "del",    "elif",
                                         "else",   "except", "finally", "for",      "from",     "global", "if",
                                         "import", "in",     "is",      "lambda",   "nonlocal", "not",    "or",
                                         "pass",   "raise",  "return",  "try",      "while",    "with",   "yield"};
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (strcmp(keywords[i], name) == 0) return true;
  return false;
}

/* A definition without a schema, from a function alone, calls the arguments _0, _1 and so on. */
static bool has_inferred_names(const opc_operator_t *op) {
  for (size_t i = 0; i < op->argument_count; i++) {
    char inferred[24];
    snprintf(inferred, sizeof inferred, "_%zu", i);
    if (strcmp(op->arguments[i].name, inferred) != 0) return false;
  }
  return op->argument_count > 0;
}

static void check_argument_names(const opc_operator_t *op, opc_finding_t *finding) {
  if (has_inferred_names(op)) {
    opc_finding_fail(finding, OPC_RULE_registration_argument_names,
                     "the arguments have the names that libtorch made up for a function without a schema: %s",
                     op->schema);
    return;
  }
  for (size_t i = 0; i < op->argument_count; i++)
    if (is_python_keyword(op->arguments[i].name))
      opc_finding_fail(finding, OPC_RULE_registration_argument_names,
                       "argument %s has the name of a keyword of Python, so nobody can pass it by name there",
                       op->arguments[i].name);
}

/* "ns::add_", "ns::add_.Scalar"; not "ns::_add" or "ns::__init__". */
static bool is_named_in_place(const char *name) {
  const char *base = strstr(name, "::");
  if (!base) return false;
  base += 2;
  const size_t length = strcspn(base, ".");
  return length > 1 && base[length - 1] == '_' && base[length - 2] != '_';
}

static void check_names(const opc_operator_t *op, opc_finding_t *finding) {
  if (!op->schema || !op->defined_here) return;
  check_argument_names(op, finding);
  if (is_named_in_place(op->name) && !opc_operator_is_mutable(op))
    opc_finding_fail(finding, OPC_RULE_registration_in_place_name,
                     "the name ends with _, as that of an operator that works in place, but the schema declares no "
                     "argument mutable: %s",
                     op->schema);
}

/* Names that PyTorch's own schemas use for the sizes of a result. */
static bool is_named_as_sizes(const char *name) {
  static const char *const names[] = {"size", "sizes", "shape", "output_size", "output_sizes", "output_shape"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

static void check_sizes(const opc_operator_t *op, opc_finding_t *finding) {
  if (!op->schema || !op->defined_here || op->kind != OPC_OPERATOR) return;
  for (size_t i = 0; i < op->argument_count; i++) {
    const opc_argument_t *argument = &op->arguments[i];
    const opc_type_t *type = argument->type.kind == OPC_TYPE_OPTIONAL ? argument->type.element : &argument->type;
    if (!is_named_as_sizes(argument->name) || type->kind != OPC_TYPE_LIST || type->element->kind != OPC_TYPE_INT)
      continue;
    opc_finding_fail(finding, OPC_RULE_registration_int_for_size,
                     "argument %s is declared %s, not SymInt: torch.compile compiles again for each new size",
                     argument->name, argument->type_text);
    return;
  }
}

/* ---- overloads: whether a call of torch.ops.ns.op can reach this one ---- */

/* Numbers as Python passes them: a wider type also takes what a narrower one takes. bool and int take each other's. */
static int width_of(const opc_type_t *type) {
  switch (type->kind) {
    case OPC_TYPE_BOOL:
    case OPC_TYPE_INT:
    case OPC_TYPE_SYMINT:
      return 1;
    case OPC_TYPE_FLOAT:
      return 2;
    case OPC_TYPE_COMPLEX:
    case OPC_TYPE_SCALAR:
      return 3;
    default:
      return 0;
  }
}

/* True: whatever Python passes for `narrow` is also taken for `wide`. Tried with torch 2.11 for each pair. */
static bool takes_all(const opc_type_t *wide, const opc_type_t *narrow) {
  if (wide->kind == OPC_TYPE_OPTIONAL)
    return takes_all(wide->element, narrow->kind == OPC_TYPE_OPTIONAL ? narrow->element : narrow);
  if (narrow->kind == OPC_TYPE_OPTIONAL) return wide->kind == OPC_TYPE_TENSOR && narrow->element->kind == wide->kind;
  if (width_of(wide)) return width_of(narrow) && width_of(wide) >= width_of(narrow);
  if (wide->kind == OPC_TYPE_LIST)
    return narrow->kind == OPC_TYPE_LIST && takes_all(wide->element, narrow->element) &&
           (wide->fixed_length > 0 || narrow->fixed_length == 0); /* int[2] also takes a single int */
  return wide->kind == narrow->kind && wide->kind != OPC_TYPE_OTHER && wide->kind != OPC_TYPE_OBJECT;
}

static bool may_be_left_out(const opc_argument_t *argument) { return argument->has_default; }

/* True: every call that fits `later` fits `earlier`. */
static bool hides(const opc_operator_t *earlier, const opc_operator_t *later) {
  if (earlier->is_vararg || later->is_vararg) return false;
  for (size_t i = 0; i < later->argument_count; i++) {
    const opc_argument_t *wanted = &later->arguments[i];
    const int at = opc_operator_argument(earlier, wanted->name);
    if (at < 0) return false;
    const opc_argument_t *taken = &earlier->arguments[at];
    const bool same_place = taken->kwarg_only ? wanted->kwarg_only : wanted->kwarg_only || (size_t)at == i;
    if (!same_place || !takes_all(&taken->type, &wanted->type)) return false;
    if (may_be_left_out(wanted) && !may_be_left_out(taken)) return false;
  }
  for (size_t i = 0; i < earlier->argument_count; i++)
    if (opc_operator_argument(later, earlier->arguments[i].name) < 0 && !may_be_left_out(&earlier->arguments[i]))
      return false;
  return true;
}

typedef struct names {
  char **items;
  size_t count;
} names_t;

static void names_clear(names_t *names) {
  for (size_t i = 0; i < names->count; i++) free(names->items[i]);
  free(names->items);
}

static opc_status_t find_hiding(const opc_operator_t *op, const char *base, opc_finding_t *finding,
                                opc_error_t *error) {
  OPC_SCOPED(names_clear) names_t names = {0};
  OPC_RETURN_IF_ERROR(opc_bridge_overloads(base, &names.items, &names.count, error));
  for (size_t i = 0; i < names.count && strcmp(names.items[i], op->name) != 0; i++) {
    OPC_SCOPED(opc_operator_clear) opc_operator_t earlier = {0};
    OPC_RETURN_IF_ERROR(opc_bridge_describe(names.items[i], &earlier, error));
    if (!hides(&earlier, op)) continue;
    opc_finding_fail(finding, OPC_RULE_registration_hidden_overload,
                     "a call that fits %s also fits %s, which was registered before it and is tried first", op->schema,
                     earlier.schema);
    break;
  }
  return OPC_OK;
}

static void check_overloads(const opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  const opc_operator_t *op = context->op;
  char base[256];
  const char *scope = strstr(op->name, "::");
  const size_t length = scope ? (size_t)(scope - op->name) + strcspn(scope, ".") : 0;
  if (op->kind != OPC_OPERATOR || !op->schema || !op->defined_here || length == 0 || length >= sizeof base) return;
  memcpy(base, op->name, length);
  base[length] = '\0';
  const opc_status_t status = find_hiding(op, base, finding, error);
  if (status != OPC_OK && status != OPC_ERR_NOT_FOUND) opc_finding_from_error(context, error, finding);
}

/* ---- functions that Python registers ---- */

static opc_status_t report_signatures(const opc_operator_t *op, opc_finding_t *finding, opc_error_t *error) {
  static const opc_rule_id_t rules[] = {OPC_RULE_registration_python_signature, OPC_RULE_registration_python_order};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  size_t index;
  const json_t *mistake;
  OPC_RETURN_IF_ERROR(opc_bridge_ask_interpreter("signatures", op->name, &text, error));
  json_auto_t *mistakes = json_loads(opc_text_c(&text), 0, NULL);
  if (!mistakes) return opc_error_set(error, OPC_ERR_PROTOCOL, "host_signatures.py answered \"%s\"", opc_text_c(&text));
  json_array_foreach(mistakes, index, mistake) {
    const opc_rule_id_t rule = opc_rule_id(json_string_value(json_array_get(mistake, 0)));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
      if (rules[i] == rule) opc_finding_fail(finding, rule, "%s", json_string_value(json_array_get(mistake, 1)));
  }
  return OPC_OK;
}

static void check_signatures(const opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  if (!opc_bridge_has_interpreter() || context->op->kind != OPC_OPERATOR || !context->op->schema) return;
  if (report_signatures(context->op, finding, error) != OPC_OK) opc_finding_from_error(context, error, finding);
}

/* ---- the check ---- */

static opc_status_t run_registration(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  const opc_operator_t *op = context->op;
  bool fake_in_python = false;
  check_any_kernel(op, finding);
  check_autograd(op, finding);
  check_autograd_backends(op, finding);
  check_symint(op, finding);
  check_tags(op, finding);
  check_meta_kernel(op, finding, &fake_in_python);
  check_names(op, finding);
  check_sizes(op, finding);
  check_overloads(context, finding, error);
  check_signatures(context, finding, error);
  if (fake_in_python)
    return opc_finding_skip(finding, OPC_SKIP_FAKE_IN_PYTHON,
                            "kernels and tags agree with the schema; the fake kernel is said to be in Python module %s",
                            op->python_module);
  return opc_finding_pass(finding, "%zu kernels and %zu tags agree with the schema", op->kernel_count, op->tag_count);
}

const opc_check_t opc_check_registration = {.name = "registration", .run = run_registration};
