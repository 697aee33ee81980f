#include "inspect/package.h"

#include <stdlib.h>
#include <string.h>

#include "inspect/facts.h"
#include "inspect/gpu_kernels.h"
#include "inspect/requirement.h"

typedef struct inspecting {
  const opc_inspection_place_t *place;
  const opc_elf_file_t *file;
  opc_facts_t facts;
  opc_symbol_search_t search;
  opc_torch_use_t use;
  opc_gpu_kernels_t kernels;
  json_t *remarks; /* array of strings */
} inspecting_t;

/* Bytes of a file as a JSON string; invalid UTF-8 is shown escaped. */
static json_t *text_json(const char *text) {
  OPC_SCOPED(opc_text_clear) opc_text_t shown = {0};
  if (!text) return json_null();
  opc_text_add_utf8(&shown, text, strlen(text));
  json_t *string = json_string(opc_text_c(&shown));
  return string;
}

static void remark(inspecting_t *inspecting, const char *format, ...) OPC_PRINTF(2, 3);
static void remark(inspecting_t *inspecting, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  json_t *text = json_vsprintf(format, arguments);
  va_end(arguments);
  (void)json_array_append_new(inspecting->remarks, text);
}

/* ---- the parts of the report ---- */

static json_t *registers_json(const opc_facts_t *facts) {
  json_t *styles = json_array();
  if (facts->torch_library) (void)json_array_append_new(styles, json_string("TORCH_LIBRARY"));
  if (facts->stable_library) (void)json_array_append_new(styles, json_string("STABLE_TORCH_LIBRARY"));
  if (facts->register_operators) (void)json_array_append_new(styles, json_string("RegisterOperators"));
  if (facts->custom_classes) (void)json_array_append_new(styles, json_string("custom classes"));
  return styles;
}

static json_t *need_json(const inspecting_t *inspecting, const opc_need_t *need) {
  const bool own = need->by == inspecting->file;
  return json_pack("{s:o, s:s, s:o, s:b, s:o}", "name", text_json(need->name), "found",
                   opc_found_words(need->place.how), "path",
                   need->place.how == OPC_FOUND_NOWHERE ? json_null() : text_json(need->place.path), "replaced",
                   need->replaced, "by", own ? json_null() : text_json(opc_base_name(need->by->path)));
}

static json_t *needs_json(const inspecting_t *inspecting) {
  json_t *needs = json_array();
  for (size_t i = 0; i < inspecting->search.need_count; i++) {
    const opc_need_t *need = &inspecting->search.needs[i];
    /* For its parts, only what nothing else reports: missing libraries. */
    if (need->by == inspecting->file || need->place.how == OPC_FOUND_NOWHERE)
      (void)json_array_append_new(needs, need_json(inspecting, need));
  }
  return needs;
}

static json_t *torch_json(const inspecting_t *inspecting, const opc_package_hint_t *package) {
  static const char *const strings[] = {[OPC_STRINGS_NONE] = "none",
                                        [OPC_STRINGS_NEW] = "C++11",
                                        [OPC_STRINGS_OLD] = "before C++11",
                                        [OPC_STRINGS_BOTH] = "both"};
  const opc_facts_t *facts = &inspecting->facts;
  const opc_torch_use_t *use = &inspecting->use;
  const bool stable = use->stable > 0 && use->other == 0;
  const char *built_for = facts->newer_torch         ? "2.12 or newer"
                          : facts->old_string_symbol ? "before 2.6 (or a build with the old string ABI)"
                                                     : NULL;
  return json_pack("{s:s, s:s, s:I, s:I, s:s?, s:s?, s:s?, s:o, s:o, s:s?}", "interface",
                   stable           ? "stable C"
                   : use->other > 0 ? "C++"
                                    : "none",
                   "strings", strings[facts->strings], "cpp_symbols", (json_int_t)use->other, "c_symbols",
                   (json_int_t)use->stable, "lowest", stable ? use->lowest : NULL, "highest",
                   stable ? use->highest : NULL, "built_for", built_for, "package",
                   package->name[0] != '\0' ? json_sprintf("%s %s", package->name, package->version) : json_null(),
                   "package_wants", package->torch[0] != '\0' ? text_json(package->torch) : json_null(), "here",
                   inspecting->place->folder ? inspecting->place->version : NULL);
}

static json_t *python_json(const opc_facts_t *facts) {
  json_t *names = json_array();
  for (size_t i = 0; i < facts->python_count; i++)
    (void)json_array_append_new(names, text_json(facts->python_symbols[i]));
  return json_pack("{s:I, s:o, s:o}", "count", (json_int_t)facts->python_count, "symbols", names, "module",
                   text_json(facts->python_module));
}

/* "missing": the instruction; "why": the reason in words, for PTX that does not run. */
static json_t *kernels_json(const opc_gpu_kernels_t *kernels) {
  json_t *list = json_array();
  for (size_t i = 0; i < kernels->count; i++) {
    const opc_gpu_kernel_t *kernel = &kernels->items[i];
    const opc_ptx_problem_t *problem = &kernel->problem;
    const bool bad = kernel->ptx != 0 && !kernel->runs;
    (void)json_array_append_new(
        list, json_pack("{s:o, s:I, s:s, s:I, s:b, s:b, s:I, s:s?, s:o, s:I}", "name", text_json(kernel->name), "image",
                        (json_int_t)kernel->image, "code", kernel->ptx != 0 ? "PTX" : "SASS", "architecture",
                        (json_int_t)kernel->ptx, "runs", kernel->runs, "exact", kernel->exact, "instructions",
                        (json_int_t)kernel->instructions, "missing", problem->form[0] != '\0' ? problem->form : NULL,
                        "why", text_json(bad ? problem->message : NULL), "line", (json_int_t)problem->line));
  }
  return list;
}

static json_t *gpu_json(const inspecting_t *inspecting) {
  const opc_facts_t *facts = &inspecting->facts;
  static const char *const runtimes[] = {
      [OPC_GPU_RUNTIME_NONE] = "none", [OPC_GPU_RUNTIME_SHARED] = "shared", [OPC_GPU_RUNTIME_STATIC] = "static"};
  json_t *codes = json_array();
  for (size_t i = 0; i < facts->gpu.count; i++) {
    const opc_gpu_code_t *code = &facts->gpu.items[i];
    char name[32];
    (void)snprintf(name, sizeof name, "%s_%u%.1s", code->ptx ? "compute" : "sm", code->architecture, &code->suffix);
    (void)json_array_append_new(
        codes, json_pack("{s:s, s:s, s:I, s:I}", "architecture", name, "kind", code->ptx ? "PTX" : "SASS", "count",
                         (json_int_t)code->count, "compressed", (json_int_t)code->compressed));
  }
  return json_pack("{s:s, s:o, s:I, s:b, s:b, s:b, s:o}", "runtime", runtimes[facts->gpu_runtime], "code", codes,
                   "entries", (json_int_t)facts->gpu.entries, "damaged", facts->gpu.damaged, "driver_calls",
                   facts->driver_calls, "rocm", facts->rocm, "kernels", kernels_json(&inspecting->kernels));
}

static json_t *debug_json(const opc_facts_t *facts) {
  return json_pack("{s:s, s:o, s:b}", "information",
                   facts->debug        ? "in the file"
                   : facts->debug_file ? "separate"
                                       : "none",
                   "file", text_json(facts->debug_file), "function_names", facts->function_names);
}

/* ---- the verdict ---- */

static void inspection_refuse(const char *loader_words, const char *torch, opc_text_t *verdict) {
  opc_library_error_t why;
  opc_library_error_from_message(&why, loader_words, torch);
  opc_text_add(verdict, why.message);
}

/* "yes", "no" or "unknown". */
static const char *will_load(inspecting_t *inspecting, opc_text_t *verdict) {
  const opc_symbol_search_t *search = &inspecting->search;
  const opc_inspection_place_t *place = inspecting->place;
  char said[1024];
  for (size_t i = 0; i < search->need_count; i++) {
    const opc_need_t *need = &search->needs[i];
    if (need->place.how != OPC_FOUND_NOWHERE || need->replaced || (!place->folder && opc_library_is_torch(need->name)))
      continue;
    (void)snprintf(said, sizeof said, "%s: cannot open shared object file: No such file or directory", need->name);
    inspection_refuse(said, place->version, verdict);
    return "no";
  }
  if (search->lacking_version) {
    (void)snprintf(said, sizeof said, "%s: version `%s' not found (required by %s)", search->lacking_in,
                   search->lacking_version, inspecting->file->path);
    inspection_refuse(said, place->version, verdict);
    return "no";
  }
  if (!place->folder && inspecting->use.count > 0) {
    opc_text_add(verdict, "it needs libtorch, but none is known here: give one with --torch ROOT");
    return "unknown";
  }
  const char *missing = search->symbols.left > 0 ? opc_symbol_search_example(search) : NULL;
  if (!missing) {
    opc_text_add(verdict, "loads here");
    if (!opc_facts_registers(&inspecting->facts))
      opc_text_addf(verdict, ", but registers no operators%s",
                    inspecting->facts.python_module ? ": " OPC_PYTHON_MODULE_WORDS : "");
    return "yes";
  }
  (void)snprintf(said, sizeof said, "undefined symbol: %s", missing);
  inspection_refuse(said, place->version, verdict);
  if (search->symbols.left > 1) opc_text_addf(verdict, "; %zu more symbols are missing", search->symbols.left - 1);
  return "no";
}

static void remark_cuda(inspecting_t *inspecting) {
  const char *folder = inspecting->place->folder;
  const int wanted = opc_cuda_major(inspecting->file), here = folder ? opc_cuda_major_of_torch(folder) : 0;
  if (wanted == 0 || !folder) return;
  if (here == 0) {
    remark(inspecting,
           "it was built for CUDA %d, but this libtorch is one without CUDA: only what needs no GPU can run", wanted);
  } else if (here != wanted) {
    remark(inspecting,
           "it was built for CUDA %d, but this libtorch for CUDA %d: its kernels cannot run with it; get its build "
           "for CUDA %d to use a GPU",
           wanted, here, here);
  }
}

static void add_remarks(inspecting_t *inspecting) {
  const opc_facts_t *facts = &inspecting->facts;
  bool cuda_missing = false;
  for (size_t i = 0; i < inspecting->search.need_count; i++) {
    const opc_need_t *need = &inspecting->search.needs[i];
    cuda_missing |= need->replaced && need->place.how == OPC_FOUND_NOWHERE && opc_library_is_accelerator(need->name);
  }
  if (facts->python_count > 0)
    remark(inspecting, "a call that needs Python ends with an error: a stub library provides Python's symbols");
  if (cuda_missing)
    remark(inspecting,
           "code that needs an accelerator cannot run: stub libraries replace the accelerator's missing libraries");
  remark_cuda(inspecting);
  if (facts->gpu_runtime == OPC_GPU_RUNTIME_STATIC) {
    remark(inspecting,
           "its CUDA runtime is linked into it (nvcc -cudart shared avoids that): what it does with a GPU cannot be "
           "watched without one");
  }
  if (inspecting->kernels.unread > 0)
    remark(inspecting, "%zu of its PTX images cannot be read: line %u: %s", inspecting->kernels.unread,
           inspecting->kernels.problem.line, inspecting->kernels.problem.message);
  if (facts->gpu.damaged) remark(inspecting, "its GPU code cannot be read completely");
  if (facts->strings == OPC_STRINGS_BOTH) {
    remark(inspecting,
           "it was built from parts with the string ABI of before C++11 and of after it (_GLIBCXX_USE_CXX11_ABI)");
  }
  if (!facts->debug && !facts->debug_file && opc_facts_registers(facts)) {
    remark(inspecting, "it has no debug information: crashes are reported by function, not by line (build with -g)");
  }
}

static opc_status_t make(inspecting_t *inspecting, const char *name, json_t **out, opc_error_t *error) {
  opc_package_hint_t package = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t verdict = {0};
  (void)opc_package_hint_find(inspecting->file->path, &package);
  add_remarks(inspecting);
  const char *loads = will_load(inspecting, &verdict);
  *out = json_pack("{s:o, s:s, s:n, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:O}", "path",
                   text_json(name), "status", "read", "error", "soname", text_json(inspecting->file->soname), "bytes",
                   (json_int_t)inspecting->file->size, "registers", registers_json(&inspecting->facts), "needs",
                   needs_json(inspecting), "torch", torch_json(inspecting, &package), "python",
                   python_json(&inspecting->facts), "gpu", gpu_json(inspecting), "debug",
                   debug_json(&inspecting->facts), "compiler", text_json(inspecting->facts.compiler), "loads", loads,
                   "verdict", text_json(opc_text_c(&verdict)), "remarks", inspecting->remarks);
  return *out ? OPC_OK : opc_out_of_memory(error);
}

static void inspecting_clear(inspecting_t *inspecting) {
  json_decref(inspecting->remarks);
  opc_torch_use_clear(&inspecting->use);
  opc_symbol_search_clear(&inspecting->search);
  opc_facts_clear(&inspecting->facts);
  opc_gpu_kernels_clear(&inspecting->kernels);
}

static opc_status_t kernels_read(inspecting_t *inspecting, opc_error_t *error) {
  size_t size = 0;
  const unsigned char *gpu = opc_elf_section(inspecting->file, ".nv_fatbin", &size);
  return gpu ? opc_gpu_kernels_read(gpu, size, &inspecting->kernels, error) : OPC_OK;
}

static opc_status_t judge_requirements(const inspecting_t *inspecting, const opc_requirements_t *requirements,
                                       json_t *report, opc_error_t *error) {
  json_t *judged = NULL;
  if (!requirements || !opc_requirements_any(requirements)) return OPC_OK;
  OPC_RETURN_IF_ERROR(
      opc_requirements_judge(requirements, &inspecting->facts, &inspecting->search, &inspecting->use, &judged, error));
  return json_object_set_new(report, "require", judged) == 0 ? OPC_OK : opc_out_of_memory(error);
}

opc_status_t opc_inspection_make(const char *path, const char *name, const opc_inspection_place_t *place,
                                 const opc_requirements_t *requirements, json_t **out, opc_error_t *error) {
  opc_library_error_t refusal;
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  *out = NULL;
  if (!opc_elf_probe(path, &refusal)) {
    *out = json_pack("{s:o, s:s, s:{s:s, s:o}}", "path", text_json(name), "status", "failed", "error", "kind",
                     refusal.kind, "message", text_json(refusal.message));
    return *out ? OPC_OK : opc_out_of_memory(error);
  }
  OPC_RETURN_IF_ERROR(opc_elf_open(path, &file, error));
  OPC_SCOPED(inspecting_clear) inspecting_t inspecting = {.place = place, .file = file, .remarks = json_array()};
  OPC_RETURN_IF_ERROR(opc_facts_read(file, &inspecting.facts, error));
  OPC_RETURN_IF_ERROR(kernels_read(&inspecting, error));
  OPC_RETURN_IF_ERROR(opc_symbol_search_run(file, place->folder, &inspecting.search, error));
  OPC_RETURN_IF_ERROR(opc_torch_use_read(&inspecting.search, &inspecting.use, error));
  OPC_RETURN_IF_ERROR(make(&inspecting, name, out, error));
  return judge_requirements(&inspecting, requirements, *out, error);
}
