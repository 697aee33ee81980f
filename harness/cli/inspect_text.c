/* The results of inspect as text. */
#include <string.h>

#include "base/system.h"
#include "cli/cli.h"

static json_int_t inspect_text_count_of(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

static void inspect_text_field(const opc_screen_t *screen, const char *label, opc_text_t *text) {
  if (text->length > 0) opc_screen_field(screen, label, opc_text_c(text));
  opc_text_clear(text);
}

static void show_list(const opc_screen_t *screen, const char *label, const json_t *list) {
  size_t i;
  json_t *item;
  opc_text_t line = {0};
  json_array_foreach(list, i, item) opc_text_addf(&line, "%s%s", i > 0 ? ", " : "", json_string_value(item));
  if (line.length == 0) opc_text_add(&line, "nothing");
  inspect_text_field(screen, label, &line);
}

static void show_torch(const opc_screen_t *screen, const json_t *torch) {
  opc_text_t line = {0};
  const char *interface = opc_record_text(torch, "interface"), *strings = opc_record_text(torch, "strings"),
             *here = opc_record_text(torch, "here");
  if (strcmp(interface, "none") == 0) opc_text_add(&line, "uses nothing of it");
  else
    opc_text_addf(&line, "%s interface, %" JSON_INTEGER_FORMAT " symbols", interface,
                  inspect_text_count_of(torch, "cpp_symbols") + inspect_text_count_of(torch, "c_symbols"));
  if (strcmp(strings, "none") != 0) opc_text_addf(&line, "; string ABI: %s", strings);
  if (*opc_record_text(torch, "lowest"))
    opc_text_addf(&line, "; loads into libtorch %s %s%s", opc_record_text(torch, "lowest"),
                  *opc_record_text(torch, "highest") ? "to " : "and newer", opc_record_text(torch, "highest"));
  if (*opc_record_text(torch, "built_for")) opc_text_addf(&line, "; built for %s", opc_record_text(torch, "built_for"));
  if (*opc_record_text(torch, "package")) opc_text_addf(&line, "; package %s", opc_record_text(torch, "package"));
  if (*opc_record_text(torch, "package_wants"))
    opc_text_addf(&line, " needs torch%s", opc_record_text(torch, "package_wants"));
  opc_text_addf(&line, "; here %s%s", *here ? "is " : "is none", here);
  inspect_text_field(screen, "libtorch", &line);
}

static void show_needs(const opc_screen_t *screen, const json_t *needs) {
  size_t i;
  json_t *need;
  json_array_foreach(needs, i, need) {
    opc_text_t line = {0};
    opc_text_addf(&line, "%s  %s", opc_record_text(need, "name"), opc_record_text(need, "found"));
    if (*opc_record_text(need, "path")) opc_text_addf(&line, " (%s)", opc_record_text(need, "path"));
    if (*opc_record_text(need, "by")) opc_text_addf(&line, ", needed by %s", opc_record_text(need, "by"));
    if (json_is_true(json_object_get(need, "replaced"))) opc_text_add(&line, ", replaced by a stub library");
    inspect_text_field(screen, i == 0 ? "needs" : "", &line);
  }
}

static void show_worker(const opc_screen_t *screen, const json_t *worker) {
  opc_text_t line = {0};
  if (*opc_record_text(worker, "error")) {
    opc_text_addf(&line, "none: %s", opc_record_text(worker, "error"));
  } else {
    opc_text_addf(&line, "%s, because %s", opc_record_text(worker, "program"), opc_record_text(worker, "because"));
    if (*opc_record_text(worker, "torch_folder"))
      opc_text_addf(&line, "; it loads the libtorch in %s (%s)", opc_record_text(worker, "torch_folder"),
                    opc_record_text(worker, "torch_found"));
  }
  inspect_text_field(screen, "worker", &line);
}

static void show_python(const opc_screen_t *screen, const json_t *python) {
  enum { NAMED = 6 };
  size_t i;
  json_t *name;
  opc_text_t line = {0};
  const json_int_t count = inspect_text_count_of(python, "count");
  if (count == 0 && !*opc_record_text(python, "module")) return;
  opc_text_addf(&line, "%" JSON_INTEGER_FORMAT " symbol%s", count, count == 1 ? "" : "s");
  json_array_foreach(json_object_get(python, "symbols"), i, name) {
    if (i < NAMED) opc_text_addf(&line, "%s%s", i == 0 ? ": " : ", ", json_string_value(name));
    if (i == NAMED) opc_text_add(&line, ", …");
  }
  if (*opc_record_text(python, "module")) opc_text_addf(&line, "; module %s", opc_record_text(python, "module"));
  inspect_text_field(screen, "Python", &line);
}

static void show_gpu(const opc_screen_t *screen, const json_t *gpu) {
  size_t i;
  json_t *code;
  opc_text_t line = {0};
  const char *runtime = opc_record_text(gpu, "runtime"), *kind = "";
  json_array_foreach(json_object_get(gpu, "code"), i, code) {
    if (strcmp(kind, opc_record_text(code, "kind")) != 0)
      opc_text_addf(&line, "%s%s", i > 0 ? "; " : "", opc_record_text(code, "kind"));
    kind = opc_record_text(code, "kind");
    opc_text_addf(&line, " %s", opc_record_text(code, "architecture"));
  }
  if (inspect_text_count_of(gpu, "entries") > 0)
    opc_text_addf(&line, "; %" JSON_INTEGER_FORMAT " images", inspect_text_count_of(gpu, "entries"));
  if (strcmp(runtime, "none") != 0) opc_text_addf(&line, "%sCUDA runtime %s", line.length > 0 ? "; " : "", runtime);
  if (json_is_true(json_object_get(gpu, "rocm"))) opc_text_addf(&line, "%sROCm code", line.length > 0 ? "; " : "");
  inspect_text_field(screen, "GPU code", &line);
}

static size_t kernels_where(const json_t *kernels, const char *key, bool wanted, const char *code) {
  size_t i, count = 0;
  json_t *kernel;
  json_array_foreach(kernels, i, kernel) {
    if (strcmp(opc_record_text(kernel, "code"), code) == 0 && json_is_true(json_object_get(kernel, key)) == wanted)
      count++;
  }
  return count;
}

/* One that has PTX and does not run. All of them are in the JSON report. */
static void show_missing(const opc_screen_t *screen, const json_t *kernel) {
  opc_text_t line = {0};
  OPC_SCOPED(opc_scope_free) char *plain = opc_demangle(opc_record_text(kernel, "name"));
  opc_text_addf(&line, "not %s: %s (line %" JSON_INTEGER_FORMAT " of the PTX of fat binary %" JSON_INTEGER_FORMAT ")",
                plain ? plain : opc_record_text(kernel, "name"), opc_record_text(kernel, "why"),
                inspect_text_count_of(kernel, "line"), inspect_text_count_of(kernel, "image"));
  inspect_text_field(screen, "", &line);
}

static void show_kernels(const opc_screen_t *screen, const json_t *kernels) {
  enum { NAMED = 12 };
  const size_t run = kernels_where(kernels, "runs", true, "PTX"),
               not_run = kernels_where(kernels, "runs", false, "PTX"),
               exact = kernels_where(kernels, "exact", true, "PTX"),
               machine = kernels_where(kernels, "runs", false, "SASS");
  size_t i, shown = 0;
  json_t *kernel;
  opc_text_t line = {0};
  if (json_array_size(kernels) == 0) return;
  if (run + not_run > 0)
    opc_text_addf(&line, "%zu with PTX, of which the PTX machine can run %zu (%zu exactly, %zu with approximations)",
                  run + not_run, run, exact, run - exact);
  if (machine > 0)
    opc_text_addf(&line, "%s%zu with machine code only, which needs a GPU%s", line.length > 0 ? "; " : "", machine,
                  run + not_run == 0 ? " (nvcc -gencode arch=compute_90,code=compute_90 adds PTX)" : "");
  inspect_text_field(screen, "kernels", &line);
  json_array_foreach(kernels, i, kernel) {
    if (!*opc_record_text(kernel, "why")) continue;
    if (shown++ < NAMED) show_missing(screen, kernel);
  }
  if (shown <= NAMED) return;
  opc_text_addf(&line, "and %zu more: --format json lists them", shown - NAMED);
  inspect_text_field(screen, "", &line);
}

static void show_debug(const opc_screen_t *screen, const json_t *debug) {
  opc_text_t line = {0};
  opc_text_addf(&line, "%s", opc_record_text(debug, "information"));
  if (*opc_record_text(debug, "file")) opc_text_addf(&line, " (%s)", opc_record_text(debug, "file"));
  opc_text_addf(&line, "; %s",
                json_is_true(json_object_get(debug, "function_names")) ? "names of all functions"
                                                                       : "names of exported functions only");
  inspect_text_field(screen, "debug", &line);
}

/* One requirement with the symbols that break it. All of them are in the JSON report. */
static void show_requirement(const opc_screen_t *screen, const char *label, const json_t *result) {
  enum { NAMED = 12 };
  size_t i;
  json_t *symbol;
  const json_t *symbols = json_object_get(result, "symbols");
  opc_text_t line = {0};
  opc_text_addf(&line, "%s: %s: %s", opc_record_text(result, "requirement"),
                json_is_true(json_object_get(result, "met")) ? "met" : "NOT MET", opc_record_text(result, "message"));
  inspect_text_field(screen, label, &line);
  json_array_foreach(symbols, i, symbol) {
    if (i == NAMED) break;
    opc_text_addf(&line, "  %s (%s)", opc_record_text(symbol, "shown"), opc_record_text(symbol, "why"));
    if (*opc_record_text(symbol, "by")) opc_text_addf(&line, ", needed by %s", opc_record_text(symbol, "by"));
    inspect_text_field(screen, "", &line);
  }
  if (json_array_size(symbols) <= NAMED) return;
  opc_text_addf(&line, "  and %zu more: --format json lists them", json_array_size(symbols) - NAMED);
  inspect_text_field(screen, "", &line);
}

void opc_inspect_show(const opc_screen_t *screen, const json_t *library) {
  size_t i;
  json_t *remark;
  opc_screen_text(screen, OPC_TONE_BOLD, opc_record_text(library, "path"));
  fputc('\n', screen->stream);
  if (strcmp(opc_record_text(library, "status"), "failed") == 0) {
    opc_screen_field(screen, "kind", opc_record_text(json_object_get(library, "error"), "kind"));
    opc_screen_field(screen, "what", opc_record_text(json_object_get(library, "error"), "message"));
    fputc('\n', screen->stream);
    return;
  }
  show_list(screen, "registers", json_object_get(library, "registers"));
  show_torch(screen, json_object_get(library, "torch"));
  if (json_object_get(library, "require")) {
    json_array_foreach(json_object_get(library, "require"), i, remark)
        show_requirement(screen, i == 0 ? "require" : "", remark);
    fputc('\n', screen->stream);
    return;
  }
  show_worker(screen, json_object_get(library, "worker"));
  opc_screen_line(screen, "compiler", opc_record_text(library, "compiler"));
  show_needs(screen, json_object_get(library, "needs"));
  show_python(screen, json_object_get(library, "python"));
  show_gpu(screen, json_object_get(library, "gpu"));
  show_kernels(screen, json_object_get(json_object_get(library, "gpu"), "kernels"));
  show_debug(screen, json_object_get(library, "debug"));
  opc_screen_field(screen, "verdict", opc_record_text(library, "verdict"));
  json_array_foreach(json_object_get(library, "remarks"), i, remark)
      opc_screen_field(screen, i == 0 ? "remarks" : "", json_string_value(remark));
  fputc('\n', screen->stream);
}
