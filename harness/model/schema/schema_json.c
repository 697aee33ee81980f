#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/json/json_read.h"
#include "model/json/json_write.h"
#include "model/schema/schema.h"

static const char *const kind_words[] = {[OPC_OPERATOR] = "operator",
                                         [OPC_OPERATOR_CLASS] = "class",
                                         [OPC_OPERATOR_PACKAGE] = "package",
                                         [OPC_OPERATOR_LIBRARY] = "library"};

/* ---- writing ---- */

static json_t *argument_to_json(const opc_argument_t *argument) {
  json_t *json = json_object(), *alias = json_null();
  if (argument->alias.present) {
    alias = json_object();
    opc_json_put(&alias, "before", opc_json_text(argument->alias.before));
    opc_json_put(&alias, "after", opc_json_text(argument->alias.after));
    opc_json_put(&alias, "write", json_boolean(argument->alias.is_write));
  }
  opc_json_put(&json, "name", opc_json_text(argument->name));
  opc_json_put(&json, "type", opc_json_text(argument->type_text));
  opc_json_put(&json, "alias", alias);
  opc_json_put(&json, "has_default", json_boolean(argument->has_default));
  opc_json_put(&json, "default", opc_json_text(argument->default_text));
  opc_json_put(&json, "kwarg_only", json_boolean(argument->kwarg_only));
  return json;
}

static json_t *arguments_to_json(const opc_argument_t *arguments, size_t count) {
  json_t *json = json_array();
  for (size_t i = 0; i < count; i++) opc_json_append(&json, argument_to_json(&arguments[i]));
  return json;
}

static json_t *code_to_json(const opc_kernel_code_t *code) {
  json_t *json = json_object();
  if (code->module) {
    char address[32];
    snprintf(address, sizeof address, "0x%" PRIx64, code->address);
    opc_json_put(&json, "module", opc_json_text(code->module));
    opc_json_put(&json, "address", json_string(address));
    if (code->functor) opc_json_put(&json, "functor", opc_json_text(code->functor));
    return json;
  }
  opc_json_put(&json, "function", opc_json_text(code->function));
  opc_json_put(&json, "file", opc_json_text(code->file));
  opc_json_put(&json, "line", json_integer(code->line));
  return json;
}

static json_t *kernels_to_json(const opc_operator_t *op) {
  json_t *json = json_array();
  for (size_t i = 0; i < op->kernel_count; i++) {
    const opc_kernel_t *kernel = &op->kernels[i];
    json_t *item = json_object();
    opc_json_put(&item, "key", opc_json_text(kernel->key));
    opc_json_put(&item, "registered_at", opc_json_text(kernel->registered_at));
    if (kernel->library) opc_json_put(&item, "library", opc_json_text(kernel->library));
    opc_json_put(&item, "cpp_signature", opc_json_text(kernel->cpp_signature));
    opc_json_put(&item, "fallthrough", json_boolean(kernel->fallthrough));
    if (kernel->code.module || kernel->code.function) opc_json_put(&item, "code", code_to_json(&kernel->code));
    opc_json_append(&json, item);
  }
  return json;
}

static json_t *methods_to_json(const opc_method_t *methods, size_t count) {
  json_t *json = json_array();
  for (size_t i = 0; i < count; i++) {
    json_t *method = json_object();
    opc_json_put(&method, "name", opc_json_text(methods[i].name));
    opc_json_put(&method, "schema", opc_json_text(methods[i].schema));
    opc_json_append(&json, method);
  }
  return json;
}

json_t *opc_operator_to_json(const opc_operator_t *op) {
  json_t *json = json_object(), *keys = json_array(), *tags = json_array();
  for (size_t i = 0; i < op->kernel_count; i++)
    if (!op->kernels[i].fallthrough) opc_json_append(&keys, opc_json_text(op->kernels[i].key));
  for (size_t i = 0; i < op->tag_count; i++) opc_json_append(&tags, opc_json_text(op->tags[i]));
  opc_json_put(&json, "name", opc_json_text(op->name));
  opc_json_put(&json, "schema", opc_json_text(op->schema));
  opc_json_put(&json, "library", opc_json_text(op->library));
  opc_json_put(&json, "registered_at", opc_json_text(op->registered_at));
  opc_json_put(&json, "dispatch_keys", keys);
  opc_json_put(&json, "tags", tags);
  opc_json_put(&json, "arguments", arguments_to_json(op->arguments, op->argument_count));
  opc_json_put(&json, "returns", arguments_to_json(op->returns, op->return_count));
  opc_json_put(&json, "is_vararg", json_boolean(op->is_vararg));
  opc_json_put(&json, "is_varret", json_boolean(op->is_varret));
  opc_json_put(&json, "kernels", kernels_to_json(op));
  opc_json_put(&json, "defined_here", json_boolean(op->defined_here));
  if (op->in_python) opc_json_put(&json, "in_python", json_true());
  if (!op->schema) opc_json_put(&json, "namespace_defined", json_boolean(op->namespace_defined));
  opc_json_put(&json, "python_module", opc_json_text(op->python_module));
  if (op->python_module_imported) opc_json_put(&json, "python_module_imported", json_true());
  if (op->imported_from) opc_json_put(&json, "imported_from", opc_json_text(op->imported_from));
  if (op->kind != OPC_OPERATOR) opc_json_put(&json, "kind", json_string(kind_words[op->kind]));
  if (op->method_count) opc_json_put(&json, "methods", methods_to_json(op->methods, op->method_count));
  return json;
}

json_t *opc_class_to_json(const opc_class_t *class_) {
  json_t *json = json_object();
  opc_json_put(&json, "name", opc_json_text(class_->name));
  opc_json_put(&json, "library", opc_json_text(class_->library));
  opc_json_put(&json, "methods", methods_to_json(class_->methods, class_->method_count));
  return json;
}

/* ---- reading ---- */

/* A copy of a string member; null if that is allowed. */
static opc_status_t schema_json_read_text(opc_json_reader_t *reader, const json_t *object, const char *key,
                                          bool optional, char **out) {
  size_t before = opc_json_enter(reader, key);
  const json_t *json = json_object_get(object, key);
  const char *text = NULL;
  *out = NULL;
  if (!optional || (json && !json_is_null(json))) {
    OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json, &text));
    OPC_RETURN_IF_ERROR(opc_string_copy_to(text, out, reader->error));
  }
  opc_json_leave(reader, before);
  return OPC_OK;
}

/* A member that is true or false; false if missing. */
static opc_status_t schema_json_read_flag(opc_json_reader_t *reader, const json_t *object, const char *key, bool *out) {
  const json_t *json = json_object_get(object, key);
  *out = false;
  if (!json) return OPC_OK;
  OPC_JSON_MEMBER(reader, key, opc_json_read_boolean(reader, json, out));
  return OPC_OK;
}

typedef opc_status_t read_item_t(opc_json_reader_t *reader, const json_t *json, void *item);

/* Reads a list member into a new array; a missing list is empty. *out_count counts the items that need clearing, also
 * on failure. */
static opc_status_t schema_json_read_list(opc_json_reader_t *reader, const json_t *object, const char *key,
                                          read_item_t *read, size_t item_size, void *out_items, size_t *out_count) {
  const json_t *list = json_object_get(object, key);
  void *items = NULL;
  *out_count = 0;
  memcpy(out_items, &items, sizeof items);
  if (!list || json_array_size(list) == 0) {
    if (!list || json_is_array(list)) return OPC_OK;
    opc_json_enter(reader, key);
    return opc_json_fail(reader, "expected a list");
  }
  items = calloc(json_array_size(list), item_size);
  if (!items) return opc_out_of_memory(reader->error);
  memcpy(out_items, &items, sizeof items);
  size_t before = opc_json_enter(reader, key);
  for (size_t i = 0; i < json_array_size(list); i++) {
    size_t inside = opc_json_enter_index(reader, i);
    ++*out_count;
    OPC_RETURN_IF_ERROR(read(reader, json_array_get(list, i), (char *)items + i * item_size));
    opc_json_leave(reader, inside);
  }
  opc_json_leave(reader, before);
  return OPC_OK;
}

static opc_status_t schema_json_read_argument(opc_json_reader_t *reader, const json_t *json, void *item) {
  opc_argument_t *argument = item;
  const json_t *alias = json_object_get(json, "alias");
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "name", false, &argument->name));
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "type", false, &argument->type_text));
  OPC_RETURN_IF_ERROR(opc_type_parse(argument->type_text, &argument->type, reader->error));
  OPC_RETURN_IF_ERROR(schema_json_read_flag(reader, json, "has_default", &argument->has_default));
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "default", true, &argument->default_text));
  OPC_RETURN_IF_ERROR(schema_json_read_flag(reader, json, "kwarg_only", &argument->kwarg_only));
  if (!alias || json_is_null(alias)) return OPC_OK;
  argument->alias.present = true;
  size_t before = opc_json_enter(reader, "alias");
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, alias, "before", true, &argument->alias.before));
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, alias, "after", true, &argument->alias.after));
  OPC_RETURN_IF_ERROR(schema_json_read_flag(reader, alias, "write", &argument->alias.is_write));
  opc_json_leave(reader, before);
  return OPC_OK;
}

static opc_status_t read_code(opc_json_reader_t *reader, const json_t *object, opc_kernel_code_t *code) {
  const json_t *json = json_object_get(object, "code");
  const char *address = opc_json_text_of(json, "address");
  const size_t before = opc_json_enter(reader, "code");
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "module", true, &code->module));
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "functor", true, &code->functor));
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "function", true, &code->function));
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "file", true, &code->file));
  code->address = address ? strtoull(address, NULL, 16) : 0;
  code->line = (int)json_integer_value(json_object_get(json, "line"));
  opc_json_leave(reader, before);
  return OPC_OK;
}

static opc_status_t read_kernel(opc_json_reader_t *reader, const json_t *json, void *item) {
  opc_kernel_t *kernel = item;
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "key", false, &kernel->key));
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "registered_at", true, &kernel->registered_at));
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "library", true, &kernel->library));
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "cpp_signature", true, &kernel->cpp_signature));
  OPC_RETURN_IF_ERROR(schema_json_read_flag(reader, json, "fallthrough", &kernel->fallthrough));
  return read_code(reader, json, &kernel->code);
}

static opc_status_t read_tag(opc_json_reader_t *reader, const json_t *json, void *item) {
  const char *text;
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json, &text));
  char *copy = opc_string_copy(text);
  memcpy(item, &copy, sizeof copy);
  return copy ? OPC_OK : opc_out_of_memory(reader->error);
}

static opc_status_t read_method(opc_json_reader_t *reader, const json_t *json, void *item) {
  opc_method_t *method = item;
  OPC_RETURN_IF_ERROR(schema_json_read_text(reader, json, "name", false, &method->name));
  return schema_json_read_text(reader, json, "schema", true, &method->schema);
}

opc_status_t opc_operator_from_json(const json_t *json, opc_operator_t *out, opc_error_t *error) {
  opc_json_reader_t reader = {.error = error};
  const char *kind = json_string_value(json_object_get(json, "kind"));
  OPC_SCOPED(opc_operator_clear) opc_operator_t op = {0};
  *out = op;
  for (size_t i = 0; kind && i < sizeof kind_words / sizeof *kind_words; i++)
    if (strcmp(kind, kind_words[i]) == 0) op.kind = (opc_operator_kind_t)i;
  OPC_RETURN_IF_ERROR(schema_json_read_text(&reader, json, "name", false, &op.name));
  OPC_RETURN_IF_ERROR(schema_json_read_text(&reader, json, "schema", true, &op.schema));
  OPC_RETURN_IF_ERROR(schema_json_read_text(&reader, json, "library", true, &op.library));
  OPC_RETURN_IF_ERROR(schema_json_read_text(&reader, json, "registered_at", true, &op.registered_at));
  OPC_RETURN_IF_ERROR(schema_json_read_text(&reader, json, "python_module", true, &op.python_module));
  OPC_RETURN_IF_ERROR(schema_json_read_flag(&reader, json, "python_module_imported", &op.python_module_imported));
  OPC_RETURN_IF_ERROR(schema_json_read_text(&reader, json, "imported_from", true, &op.imported_from));
  OPC_RETURN_IF_ERROR(schema_json_read_flag(&reader, json, "defined_here", &op.defined_here));
  OPC_RETURN_IF_ERROR(schema_json_read_flag(&reader, json, "in_python", &op.in_python));
  OPC_RETURN_IF_ERROR(schema_json_read_flag(&reader, json, "namespace_defined", &op.namespace_defined));
  OPC_RETURN_IF_ERROR(schema_json_read_flag(&reader, json, "is_vararg", &op.is_vararg));
  OPC_RETURN_IF_ERROR(schema_json_read_flag(&reader, json, "is_varret", &op.is_varret));
  OPC_RETURN_IF_ERROR(schema_json_read_list(&reader, json, "arguments", schema_json_read_argument,
                                            sizeof(opc_argument_t), &op.arguments, &op.argument_count));
  OPC_RETURN_IF_ERROR(schema_json_read_list(&reader, json, "returns", schema_json_read_argument, sizeof(opc_argument_t),
                                            &op.returns, &op.return_count));
  OPC_RETURN_IF_ERROR(schema_json_read_list(&reader, json, "kernels", read_kernel, sizeof(opc_kernel_t), &op.kernels,
                                            &op.kernel_count));
  OPC_RETURN_IF_ERROR(schema_json_read_list(&reader, json, "tags", read_tag, sizeof(char *), &op.tags, &op.tag_count));
  OPC_RETURN_IF_ERROR(schema_json_read_list(&reader, json, "methods", read_method, sizeof(opc_method_t), &op.methods,
                                            &op.method_count));
  OPC_MOVE(out, op);
  return OPC_OK;
}

opc_status_t opc_class_from_json(const json_t *json, opc_class_t *out, opc_error_t *error) {
  opc_json_reader_t reader = {.error = error};
  OPC_SCOPED(opc_class_clear) opc_class_t class_ = {0};
  *out = class_;
  OPC_RETURN_IF_ERROR(schema_json_read_text(&reader, json, "name", false, &class_.name));
  OPC_RETURN_IF_ERROR(schema_json_read_text(&reader, json, "library", true, &class_.library));
  OPC_RETURN_IF_ERROR(schema_json_read_list(&reader, json, "methods", read_method, sizeof(opc_method_t),
                                            &class_.methods, &class_.method_count));
  OPC_MOVE(out, class_);
  return OPC_OK;
}
