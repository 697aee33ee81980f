#include "model/package/model_package.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/package/archive.h"

#define MODELS_FOLDER "/data/aotinductor/"
#define EXAMPLES_FOLDER "/data/sample_inputs/"
#define CLASS_PREFIX "__torch__.torch.classes."

/* The model whose folder contains the entry; *out_name is its length. NULL: none. */
static const char *model_of(const char *entry, size_t *out_length) {
  const char *folder = strstr(entry, MODELS_FOLDER);
  const char *name = folder ? folder + strlen(MODELS_FOLDER) : NULL, *end = name ? strchr(name, '/') : NULL;
  if (!end || end == name) return NULL;
  *out_length = (size_t)(end - name);
  return name;
}

static opc_status_t model_get(opc_package_t *package, const char *name, size_t length, opc_package_model_t **out,
                              opc_error_t *error) {
  for (size_t i = 0; i < package->count; i++) {
    *out = &package->models[i];
    if (strlen((*out)->name) == length && memcmp((*out)->name, name, length) == 0) return OPC_OK;
  }
  if (!OPC_ARRAY_GROW(package->models, package->count)) return opc_out_of_memory(error);
  *out = &package->models[package->count];
  **out = (opc_package_model_t){
      .name = strndup(name, length), .kernels = true, .calls = json_object(), .classes = json_object()};
  package->count++;
  return (*out)->name && (*out)->calls && (*out)->classes ? OPC_OK : opc_out_of_memory(error);
}

/* ---- metadata ---- */

static void model_package_take_word(const json_t *metadata, const char *key, char *out, size_t size) {
  const char *word = json_string_value(json_object_get(metadata, key));
  if (word && !*out) snprintf(out, size, "%s", word);
}

static void take_metadata(opc_package_model_t *model, const json_t *metadata) {
  model_package_take_word(metadata, "AOTI_DEVICE_KEY", model->device, sizeof model->device);
  model_package_take_word(metadata, "AOTI_MACHINE", model->machine, sizeof model->machine);
  model_package_take_word(metadata, "AOTI_PLATFORM", model->platform, sizeof model->platform);
  model_package_take_word(metadata, "AOTI_CPU_ISA", model->instructions, sizeof model->instructions);
  model_package_take_word(metadata, "AOTI_COMPUTE_CAPABILITY", model->capability, sizeof model->capability);
  model_package_take_word(metadata, "libraries", model->libraries, sizeof model->libraries);
}

/* ---- operators called by name ---- */

static void take_class(opc_package_model_t *model, const json_t *argument) {
  const json_t *object = json_object_get(argument, "as_custom_obj");
  const char *name = json_string_value(json_object_get(object, "class_fqn"));
  if (!name) return;
  bool prefixed = strncmp(name, CLASS_PREFIX, strlen(CLASS_PREFIX)) == 0;
  json_object_set_new(model->classes, prefixed ? name + strlen(CLASS_PREFIX) : name, json_true());
}

static void take_calls(opc_package_model_t *model, const json_t *nodes) {
  size_t i, k;
  json_t *entry, *input;
  json_array_foreach(nodes, i, entry) {
    const json_t *node = json_object_get(entry, "node");
    const char *target = json_string_value(json_object_get(node, "target"));
    json_auto_t *names = json_array();
    json_array_foreach(json_object_get(node, "inputs"), k, input) {
      take_class(model, json_object_get(input, "arg"));
      json_array_append(names, json_object_get(input, "name"));
    }
    /* call_torchbind is not an operator: it calls a method of a class. */
    if (target && strstr(target, "::") && !json_object_get(model->calls, target))
      json_object_set(model->calls, target, names);
  }
}

/* ---- its source ---- */

/* The class whose members are the handles of the package's own kernels. */
static bool has_kernels(const char *source) {
  const char *start = strstr(source, "class AOTInductorModelKernels "), *end = start ? strstr(start, "};") : NULL;
  const char *handle = start ? strstr(start, "CUfunction") : NULL;
  return !end || (handle && handle < end);
}

static void take_source(opc_package_model_t *model, const char *source) {
  opc_model_inputs_read(source, &model->inputs, &model->outputs);
  model->kernels = has_kernels(source);
}

/* ---- the file ---- */

static opc_status_t take_entry(opc_package_t *package, const opc_archive_t *archive, const opc_archive_entry_t *entry,
                               opc_error_t *error) {
  size_t length = 0;
  OPC_SCOPED(opc_scope_free) char *bytes = NULL;
  opc_package_model_t *model = NULL;
  const char *name = model_of(entry->name, &length);
  bool code = opc_string_ends(entry->name, ".so"), source = opc_string_ends(entry->name, ".wrapper.cpp"),
       description = opc_string_ends(entry->name, ".json");
  if (!name || !(code || source || description)) return OPC_OK;
  OPC_RETURN_IF_ERROR(model_get(package, name, length, &model, error));
  OPC_RETURN_IF_ERROR(opc_archive_read(archive, entry, &bytes, error));
  if (source) take_source(model, bytes);
  if (!description) return OPC_OK;
  json_error_t where;
  json_auto_t *json = json_loadb(bytes, (size_t)entry->size, 0, &where);
  if (!json)
    return opc_error_set(error, OPC_ERR_INPUT, "%s in it is not JSON: line %d: %s", entry->name, where.line,
                         where.text);
  if (json_object_get(json, "nodes")) take_calls(model, json_object_get(json, "nodes"));
  else take_metadata(model, json);
  return OPC_OK;
}

/* ---- the example ---- */

/* The inputs of the compiled model: an input that became a constant is no longer one, and the example does not say
 * which it was. */
static bool fits_inputs(const json_t *example, const json_t *inputs) {
  if (!inputs || json_array_size(example) != json_array_size(inputs)) return false;
  for (size_t i = 0; i < json_array_size(inputs); i++) {
    const json_t *one = json_object_get(json_array_get(example, i), "tensor"),
                 *other = json_object_get(json_array_get(inputs, i), "tensor");
    const char *dtype = json_string_value(json_object_get(one, "dtype")),
               *wanted = json_string_value(json_object_get(other, "dtype"));
    if (!one || !other ||
        json_array_size(json_object_get(one, "shape")) != json_array_size(json_object_get(other, "shape")))
      return false;
    if (strcmp(dtype ? dtype : "float32", wanted ? wanted : "float32") != 0) return false;
  }
  return true;
}

static bool has_values(const json_t *example) {
  for (size_t i = 0; i < json_array_size(example); i++)
    if (!json_object_get(json_object_get(json_array_get(example, i), "tensor"), "fill")) return false;
  return true;
}

/* A package also runs without its example: if the example is unreadable or does not fit, the inputs come from the
 * model's source. */
static opc_status_t take_example(const opc_archive_t *archive, opc_package_model_t *model, opc_error_t *error) {
  char end[512];
  OPC_SCOPED(opc_scope_free) char *bytes = NULL;
  json_auto_t *example = NULL;
  opc_error_t none = {0};
  const opc_archive_entry_t *entry = NULL;
  snprintf(end, sizeof end, EXAMPLES_FOLDER "%s.pt", model->name);
  for (size_t i = 0; i < archive->count && !entry; i++)
    if (opc_string_ends(archive->entries[i].name, end)) entry = &archive->entries[i];
  if (!entry) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_archive_read(archive, entry, &bytes, error));
  if (opc_torch_saved_read(bytes, (size_t)entry->size, &example, &none) != OPC_OK ||
      !fits_inputs(example, model->inputs))
    return OPC_OK;
  json_decref(model->inputs);
  model->inputs = json_incref(example);
  model->example = has_values(example);
  return OPC_OK;
}

static opc_status_t not_compiled(const opc_archive_t *archive, opc_error_t *error) {
  bool exported = false;
  for (size_t i = 0; i < archive->count; i++)
    exported |= strstr(archive->entries[i].name, "/models/") ||
                opc_string_ends(archive->entries[i].name, "serialized_exported_program.json");
  return opc_error_set(
      error, OPC_ERR_UNSUPPORTED, "it is not an AOTInductor package: nothing is in data/aotinductor/%s",
      exported ? "; it holds an exported program only: compile it with torch._inductor.aoti_compile_and_package" : "");
}

opc_status_t opc_package_read(const char *path, opc_package_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_archive_close) opc_archive_t archive = {0};
  OPC_SCOPED(opc_package_clear) opc_package_t package = {0};
  *out = package;
  OPC_RETURN_IF_ERROR(opc_archive_open(path, &archive, error));
  package.bytes = archive.size;
  for (size_t i = 0; i < archive.count; i++)
    OPC_RETURN_IF_ERROR(take_entry(&package, &archive, &archive.entries[i], error));
  for (size_t i = 0; i < package.count; i++) OPC_RETURN_IF_ERROR(take_example(&archive, &package.models[i], error));
  if (package.count == 0) return not_compiled(&archive, error);
  OPC_MOVE(out, package);
  return OPC_OK;
}

static opc_status_t write_file(const char *target, const char *bytes, size_t size, opc_error_t *error) {
  FILE *file = fopen(target, "wbe");
  bool good = file && fwrite(bytes, 1, size, file) == size;
  if (file) good = fclose(file) == 0 && good;
  return good ? OPC_OK : opc_error_set(error, OPC_ERR_IO, "cannot write %s: %s", target, strerror(errno));
}

opc_status_t opc_package_unpack_code(const char *path, const char *model, const char *target, opc_error_t *error) {
  OPC_SCOPED(opc_archive_close) opc_archive_t archive = {0};
  OPC_SCOPED(opc_scope_free) char *bytes = NULL;
  const opc_archive_entry_t *code = NULL;
  OPC_RETURN_IF_ERROR(opc_archive_open(path, &archive, error));
  for (size_t i = 0; i < archive.count; i++) {
    size_t length = 0;
    const char *name = model_of(archive.entries[i].name, &length);
    if (name && strlen(model) == length && memcmp(name, model, length) == 0 &&
        opc_string_ends(archive.entries[i].name, ".so"))
      code = &archive.entries[i];
  }
  if (!code) return opc_error_set(error, OPC_ERR_NOT_FOUND, "model %s has no compiled library", model);
  OPC_RETURN_IF_ERROR(opc_archive_read(&archive, code, &bytes, error));
  return write_file(target, bytes, (size_t)code->size, error);
}

void opc_package_clear(opc_package_t *package) {
  for (size_t i = 0; i < package->count; i++) {
    free(package->models[i].name);
    json_decref(package->models[i].calls);
    json_decref(package->models[i].classes);
    json_decref(package->models[i].inputs);
  }
  free(package->models);
  *package = (opc_package_t){0};
}
