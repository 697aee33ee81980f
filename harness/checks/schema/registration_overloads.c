#include "checks/schema/registration_overloads.h"

#include <stdlib.h>
#include <string.h>

#include "checks/framework/outcome.h"

/* ---- types ---- */

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

/* ---- schemas ---- */

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

/* ---- the check ---- */

static void names_free(char **names, size_t count) {
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
}

void opc_registration_check_overloads(const opc_case_context_t *context, opc_finding_t *finding) {
  const opc_operator_t *op = context->op;
  char base[256], **names = NULL;
  size_t count = 0;
  opc_error_t error = {0};
  const char *scope = strstr(op->name, "::");
  const size_t length = scope ? (size_t)(scope - op->name) + strcspn(scope, ".") : 0;
  if (op->kind != OPC_OPERATOR || !op->schema || !op->defined_here || length == 0 || length >= sizeof base) return;
  memcpy(base, op->name, length);
  base[length] = '\0';
  opc_status_t status = opc_bridge_overloads(base, &names, &count, &error);
  for (size_t i = 0; status == OPC_OK && i < count && strcmp(names[i], op->name) != 0; i++) {
    OPC_SCOPED(opc_operator_clear) opc_operator_t earlier = {0};
    status = opc_bridge_describe(names[i], &earlier, &error);
    if (status != OPC_OK || !hides(&earlier, op)) continue;
    opc_finding_fail(finding, "registration.hidden_overload",
                     "a call that fits %s also fits %s, which was registered before it and is tried first", op->schema,
                     earlier.schema);
    break;
  }
  names_free(names, count);
  if (status != OPC_OK && status != OPC_ERR_NOT_FOUND) opc_finding_from_error(context, &error, finding);
}
