#include "supervise/symbols/kernel_name.h"

#include <string.h>

#define OPERATOR "::operator()"

/* How deep `at` opens or closes brackets. "->" and the operators of shifts do not occur in these names. */
static int bracket(char at) {
  if (at == '<' || at == '(' || at == '{' || at == '[') return 1;
  return at == '>' || at == ')' || at == '}' || at == ']' ? -1 : 0;
}

/* The end of the argument of a template that begins here. */
static const char *end_of_argument(const char *at) {
  for (int depth = 0; *at && (depth > 0 || (*at != ',' && *at != '>')); at++) depth += bracket(*at);
  return at;
}

/* The last "(…)" of a function's name, its arguments; NULL: there are none. "operator()" has its own before them. */
static const char *arguments_in(const char *name, const char *end) {
  while (end > name && end[-1] != ')') end--; /* a "const" */
  int depth = 0;
  while (end > name) {
    end--;
    depth -= bracket(*end);
    if (depth == 0) return end;
  }
  return NULL;
}

/* Without a return type, which ends with a space outside of brackets. */
static const char *without_return_type(const char *name, const char *end) {
  const char *start = name;
  int depth = 0;
  for (const char *at = name; at < end; at++) {
    depth += bracket(*at);
    if (depth == 0 && *at == ' ') start = at + 1;
  }
  return start;
}

/* The first address of a function among the arguments of templates: "&my::kernel", "&(kernel(at::Tensor))". A reference
 * has its "&" after a name. NULL: there is none. */
static const char *address_in(const char *type) {
  for (const char *at = strchr(type, '&'); at; at = strchr(at + 1, '&'))
    if (at > type && (at[-1] == ' ' || at[-1] == '<' || at[-1] == '(') && at[1] != '&') return at + 1;
  return NULL;
}

/* `type`: "at::Tensor (at::Tensor const&)" of the function, where its address has none. */
static bool take_address(const char *address, const char *type, const char *type_end, opc_kernel_name_t *out) {
  const char *name = address, *end = end_of_argument(address), *arguments = NULL;
  const bool whole = *name == '(' && strncmp(name, "(anonymous namespace)", 21) != 0;
  if (whole) {
    name++, end--;
    arguments = arguments_in(name, end);
    if (arguments) opc_text_add_bytes(&out->arguments, arguments, (size_t)(end - arguments));
    if (arguments) end = arguments;
    name = without_return_type(name, end);
  } else if (type) {
    arguments = arguments_in(type, type_end);
    if (arguments) opc_text_add_bytes(&out->arguments, arguments, (size_t)(type_end - arguments));
  }
  if (end <= name) return false;
  opc_text_add_bytes(&out->name, name, (size_t)(end - name));
  return true;
}

bool opc_kernel_name_of_functor(const char *type, opc_kernel_name_t *out) {
  static const char fixed[] = "c10::CompileTimeFunctionPointer<", runtime[] = "WrapFunctionIntoRuntimeFunctor_<";
  const char *function = strstr(type, fixed), *callable = strstr(type, runtime);
  *out = (opc_kernel_name_t){0};
  if (function) {
    const char *of = function + sizeof fixed - 1, *address = address_in(of);
    return address && take_address(address, of, end_of_argument(of), out);
  }
  const char *name = callable ? callable + sizeof runtime - 1 : type;
  const char *end = callable ? end_of_argument(name) : name + strlen(name);
  opc_text_add_bytes(&out->name, name, (size_t)(end - name));
  opc_text_add(&out->name, OPERATOR);
  out->lambda = strstr(opc_text_c(&out->name), "{lambda(");
  return end > name;
}

bool opc_kernel_name_of_caller(const char *function, opc_kernel_name_t *out) {
  static const char *const callers[] = {"c10::BoxedKernel::make_boxed_function<", "torch::stable::detail::boxer<",
                                        "torch::stable::detail::boxer_impl<"};
  *out = (opc_kernel_name_t){0};
  for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
    const char *found = strstr(function, callers[i]), *address = found ? address_in(found) : NULL;
    if (address) return take_address(address, NULL, NULL, out);
  }
  return false;
}

void opc_kernel_name_clear(opc_kernel_name_t *name) {
  opc_text_clear(&name->name);
  opc_text_clear(&name->arguments);
  *name = (opc_kernel_name_t){0};
}

bool opc_kernel_name_is(const opc_kernel_name_t *name, const char *function, bool with_arguments) {
  const char *wanted = opc_text_c(&name->name), *at = strstr(function, wanted);
  while (at && at != function && at[-1] != ' ') at = strstr(at + 1, wanted);
  if (!at) return false;
  at += name->name.length;
  return *at == '(' && (!with_arguments || strncmp(at, opc_text_c(&name->arguments), name->arguments.length) == 0);
}

const char *opc_kernel_name_short(const opc_kernel_name_t *name) {
  const char *text = opc_text_c(&name->name), *last = text;
  int depth = 0;
  if (name->lambda || strstr(text, OPERATOR)) return "operator()";
  for (const char *at = text; *at; at++) {
    depth += bracket(*at);
    if (depth == 0 && at[0] == ':' && at[1] == ':') last = at + 2;
  }
  return last;
}
