#include <stdlib.h>
#include <string.h>

#include "model/schema/schema.h"

char *opc_class_operator_name(const char *class_name) {
  const char *dot = strrchr(class_name, '.');
  return dot ? opc_string_format("%.*s::%s", (int)(dot - class_name), class_name, dot + 1)
             : opc_string_copy(class_name);
}

char *opc_class_name_of(const opc_operator_t *op) {
  const char *colons = strstr(op->name, "::");
  return colons ? opc_string_format("%.*s.%s", (int)(colons - op->name), op->name, colons + 2)
                : opc_string_copy(op->name);
}

static opc_status_t take_methods(const opc_class_t *class_, opc_operator_t *out, opc_error_t *error) {
  out->methods = calloc(class_->method_count + 1, sizeof *out->methods);
  if (!out->methods) return opc_out_of_memory(error);
  for (size_t i = 0; i < class_->method_count; i++) {
    out->methods[i] = (opc_method_t){.name = opc_string_copy(class_->methods[i].name),
                                     .schema = opc_string_copy(class_->methods[i].schema)};
    out->method_count++;
    if (!out->methods[i].name) return opc_out_of_memory(error);
  }
  return OPC_OK;
}

/* Without "self". */
static opc_status_t take_constructor(const opc_class_t *class_, const char *schema, opc_operator_t *out,
                                     opc_error_t *error) {
  OPC_SCOPED(opc_operator_clear) opc_operator_t parsed = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_operator_t own = {0};
  OPC_RETURN_IF_ERROR(opc_schema_arguments(schema, &parsed, error));
  opc_text_addf(&text, "%s(", out->name);
  for (size_t i = 1; i < parsed.argument_count; i++)
    opc_text_addf(&text, "%s%s %s%s%s", i > 1 ? ", " : "", parsed.arguments[i].type_text, parsed.arguments[i].name,
                  parsed.arguments[i].has_default ? "=" : "",
                  parsed.arguments[i].has_default ? parsed.arguments[i].default_text : "");
  opc_text_addf(&text, ") -> __torch__.torch.classes.%s", class_->name);
  OPC_RETURN_IF_ERROR(opc_schema_arguments(opc_text_c(&text), &own, error));
  out->schema = own.schema;
  out->arguments = own.arguments;
  out->argument_count = own.argument_count;
  return OPC_OK;
}

/* Its objects come from elsewhere, such as an operator that returns them: the one argument is the object. */
static opc_status_t take_object(const opc_class_t *class_, opc_operator_t *out, opc_error_t *error) {
  const char *name = class_->name;
  OPC_SCOPED(opc_scope_free)
  char *schema =
      opc_string_format("%s(__torch__.torch.classes.%s object) -> __torch__.torch.classes.%s", out->name, name, name);
  OPC_SCOPED(opc_operator_clear) opc_operator_t own = {0};
  if (!schema) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_schema_arguments(schema, &own, error));
  out->arguments = own.arguments;
  out->argument_count = own.argument_count;
  out->schema = own.schema;
  own = (opc_operator_t){0};
  return OPC_OK;
}

opc_status_t opc_operator_from_library(const char *name, const char *file, opc_operator_t *out, opc_error_t *error) {
  *out = (opc_operator_t){.kind = OPC_OPERATOR_LIBRARY,
                          .name = opc_string_copy(name),
                          .library = opc_string_copy(file),
                          .defined_here = true};
  if (out->name && out->library) return OPC_OK;
  opc_operator_clear(out);
  return opc_out_of_memory(error);
}

opc_status_t opc_operator_from_class(const opc_class_t *class_, opc_operator_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_operator_clear)
  opc_operator_t made = {.kind = OPC_OPERATOR_CLASS,
                         .name = opc_class_operator_name(class_->name),
                         .library = opc_string_copy(class_->library),
                         .kernels = calloc(1, sizeof *made.kernels),
                         .defined_here = true};
  *out = (opc_operator_t){0};
  if (!made.name || !made.kernels) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(take_methods(class_, &made, error));
  made.kernels[0].key = opc_string_copy("CPU"); /* constructors create their objects on the host */
  made.kernel_count = 1;
  for (size_t i = 0; i < class_->method_count; i++)
    if (strcmp(class_->methods[i].name, "__init__") == 0 && class_->methods[i].schema)
      OPC_RETURN_IF_ERROR(take_constructor(class_, class_->methods[i].schema, &made, error));
  if (!opc_class_has_constructor(&made)) OPC_RETURN_IF_ERROR(take_object(class_, &made, error));
  OPC_MOVE(out, made);
  return OPC_OK;
}

const opc_method_t *opc_class_method(const opc_operator_t *op, const char *name) {
  for (size_t i = 0; i < op->method_count; i++)
    if (strcmp(op->methods[i].name, name) == 0) return &op->methods[i];
  return NULL;
}

bool opc_class_has_constructor(const opc_operator_t *op) { return opc_class_method(op, "__init__"); }

bool opc_method_takes_arguments(const opc_method_t *method) {
  OPC_SCOPED(opc_operator_clear) opc_operator_t parsed = {0};
  if (strncmp(method->name, "__", 2) == 0 || !method->schema ||
      opc_schema_arguments(method->schema, &parsed, NULL) != OPC_OK)
    return false;
  bool takes = parsed.argument_count > 1;
  return takes;
}

bool opc_class_is_used_and_pickled(const opc_operator_t *op) {
  bool takes = false;
  for (size_t i = 0; i < op->method_count; i++) takes = takes || opc_method_takes_arguments(&op->methods[i]);
  return takes && opc_class_method(op, "__getstate__") && opc_class_method(op, "__setstate__");
}
