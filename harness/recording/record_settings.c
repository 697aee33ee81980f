#include "recording/record_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "recording/record_folder.h"

/* Namespaces of libtorch itself and of its compiler. */
static const char *const own_namespaces[] = {"_c10d_functional",
                                             "_c10d_functional_autograd",
                                             "_dtensor",
                                             "_quantized",
                                             "_test",
                                             "aten",
                                             "c10d",
                                             "c10d_functional",
                                             "cuda",
                                             "debug_mode_ops",
                                             "debugprims",
                                             "export",
                                             "flex_lib",
                                             "higher_order",
                                             "inductor",
                                             "mkl",
                                             "mkldnn",
                                             "mkldnn_prepacked",
                                             "onednn",
                                             "onnx",
                                             "prepacked",
                                             "prim",
                                             "prims",
                                             "profiler",
                                             "quantization",
                                             "quantized",
                                             "rngprims",
                                             "sparse",
                                             "static_runtime",
                                             "streams",
                                             "symm_mem",
                                             "xnnpack"};

void opc_record_settings_default(opc_record_settings_t *settings) {
  *settings = (opc_record_settings_t){
      .observers = "", .values_folder = "", .calls = 64, .total = 4096, .size_mib = 256, .elements = 1024};
}

opc_status_t opc_record_settings_write(const opc_record_settings_t *settings, const char *folder, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *path = opc_string_format("%s/" OPC_RECORD_SETTINGS, folder);
  FILE *file = path ? fopen(path, "wbxe") : NULL;
  if (!path) return opc_out_of_memory(error);
  else if (!file) return opc_error_set(error, OPC_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  fprintf(file, "observers %s\nbeside %s\nvalues %d\n", settings->observers, settings->values_folder, settings->values);
  for (size_t i = 0; i < settings->namespace_count; i++) fprintf(file, "namespace %s\n", settings->namespaces[i]);
  for (size_t i = 0; i < settings->glob_count; i++) fprintf(file, "op %s\n", settings->globs[i]);
  fprintf(file, "calls %" PRId64 "\ntotal %" PRId64 "\nsize %" PRId64 "\nelements %" PRId64 "\n", settings->calls,
          settings->total, settings->size_mib, settings->elements);
  if (fflush(file) != 0 || ferror(file))
    return opc_error_set(error, OPC_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  if (file && fclose(file) != 0) return opc_error_set(error, OPC_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  return OPC_OK;
}

static opc_status_t record_settings_read_file(const char *path, char **out, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  char block[4096];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return opc_error_set(error, OPC_ERR_IO, "cannot open %s: %s", path, strerror(errno));
  ssize_t got;
  while ((got = read(fd, block, sizeof block)) > 0) opc_text_add_bytes(&text, block, (size_t)got);
  close(fd);
  *out = got == 0 && !text.failed ? opc_text_take(&text) : NULL;
  return *out ? OPC_OK : opc_error_set(error, OPC_ERR_IO, "cannot read %s", path);
}

static opc_status_t take_line(opc_record_settings_t *to, char *key, char *value) {
  int64_t *const numbers[] = {&to->calls, &to->total, &to->size_mib, &to->elements};
  static const char *const number_keys[] = {"calls", "total", "size", "elements"};
  if (strcmp(key, "observers") == 0) to->observers = value;
  if (strcmp(key, "beside") == 0) to->values_folder = value;
  if (strcmp(key, "values") == 0) to->values = *value == '1';
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    if (strcmp(key, number_keys[i]) == 0) *numbers[i] = strtoll(value, NULL, 10);
  const bool is_namespace = strcmp(key, "namespace") == 0;
  if (!is_namespace && strcmp(key, "op") != 0) return OPC_OK;
  const char ***list = is_namespace ? &to->namespaces : &to->globs;
  size_t *count = is_namespace ? &to->namespace_count : &to->glob_count;
  if (!OPC_ARRAY_GROW(*list, *count)) return OPC_ERR_MEMORY;
  (*list)[(*count)++] = value;
  return OPC_OK;
}

opc_status_t opc_record_settings_read(const char *folder, opc_record_settings_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_record_settings_clear) opc_record_settings_t settings;
  opc_record_settings_default(&settings);
  *out = (opc_record_settings_t){0};
  OPC_SCOPED(opc_scope_free) char *path = opc_string_format("%s/" OPC_RECORD_SETTINGS, folder);
  if (!path) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(record_settings_read_file(path, &settings.owned, error));
  for (char *line = settings.owned, *line_end; line && *line; line = line_end) {
    line_end = line + strcspn(line, "\n");
    if (*line_end) *line_end++ = '\0';
    char *value = strchr(line, ' ');
    if (!value) continue;
    *value++ = '\0';
    if (take_line(&settings, line, value) != OPC_OK) return opc_out_of_memory(error);
  }
  OPC_MOVE(out, settings);
  return OPC_OK;
}

void opc_record_settings_clear(opc_record_settings_t *settings) {
  if (settings->owned) { /* lists set by the writer are not ours */
    free(settings->namespaces);
    free(settings->globs);
  }
  free(settings->owned);
  *settings = (opc_record_settings_t){0};
}

static bool same(const char *word, const char *name, size_t length) {
  return strncmp(word, name, length) == 0 && word[length] == '\0';
}

static bool namespace_wanted(const opc_record_settings_t *settings, const char *name, size_t length) {
  for (size_t i = 0; i < settings->namespace_count; i++)
    if (same(settings->namespaces[i], name, length)) return true;
  if (settings->namespace_count) return false;
  for (size_t i = 0; i < sizeof own_namespaces / sizeof own_namespaces[0]; i++)
    if (same(own_namespaces[i], name, length)) return false;
  return true;
}

bool opc_record_settings_want(const opc_record_settings_t *settings, const char *name, const char *overload) {
  const char *colons = strstr(name, "::");
  if (!colons || !namespace_wanted(settings, name, (size_t)(colons - name))) return false;
  if (settings->glob_count == 0) return true;
  char whole[512];
  snprintf(whole, sizeof whole, "%s%s%s", name, *overload ? "." : "", overload);
  for (size_t i = 0; i < settings->glob_count; i++) {
    const char *glob = settings->globs[i]; /* as `run --op`: without a namespace it matches the rest of the name */
    if (fnmatch(glob, whole, 0) == 0) return true;
    if (!strstr(glob, "::") && fnmatch(glob, whole + (colons - name) + 2, 0) == 0) return true;
  }
  return false;
}
