/* The part "case" of a program: what it calls, and with which arguments. */
#include <stdlib.h>
#include <string.h>

#include "supervise/emit/program_inside.h"

static bool case_is_cpp(const opc_program_t *program) { return program->language == OPC_LANGUAGE_CPP; }

/* ---- loading ---- */

static void case_module(const char *path, opc_text_t *out) {
  const char *base = opc_base_name(path);
  if (!opc_string_ends(path, ".py")) {
    opc_text_addf(out, "import %s\n", path); /* goes to the top, like every import */
    return;
  }
  opc_text_add(out, "import importlib\nsys.path.insert(0, ");
  OPC_SCOPED(opc_scope_free) char *folder = opc_string_format("%.*s", (int)(base - path), path);
  opc_program_string(out, folder && folder[0] ? folder : ".");
  opc_text_addf(out, ")\nimportlib.import_module(\"%.*s\")\n", (int)(strlen(base) - strlen(".py")), base);
}

static void add_loading(const opc_program_t *program, opc_text_t *out) {
  for (size_t i = 0; i < program->library_count; i++) {
    const opc_program_library_t *library = &program->libraries[i];
    if (library->module) {
      case_module(library->path, out);
      continue;
    }
    if (library->preload && !case_is_cpp(program)) opc_text_add(out, "import ctypes\n");
    const char *before = case_is_cpp(program) ? "  load("
                         : library->preload   ? "ctypes.CDLL("
                                              : "torch.ops.load_library(";
    opc_text_add(out, before);
    opc_program_string(out, library->path);
    opc_text_add(out, case_is_cpp(program) ? ");\n" : library->preload ? ", ctypes.RTLD_GLOBAL)\n" : ")\n");
  }
}

/* "ns::op.overload" in its three parts; overload "" if there is none. */
static void split_name(const char *name, char space[128], char op[256], const char **overload) {
  const char *colons = strstr(name, "::"), *own = colons ? colons + 2 : name, *dot = strchr(own, '.');
  snprintf(space, 128, "%.*s", (int)(colons ? colons - name : 0), name);
  snprintf(op, 256, "%.*s", (int)(dot ? dot - own : (long)strlen(own)), own);
  *overload = dot ? dot + 1 : "";
}

static void case_operator(const opc_program_t *program, const char *name, const char *variable, opc_text_t *out) {
  char space[128], op[256];
  const char *overload;
  split_name(name, space, op, &overload);
  if (case_is_cpp(program))
    opc_text_addf(out, "c10::OperatorHandle %s = c10::Dispatcher::singleton().findSchemaOrThrow(\"%s::%s\", \"%s\");\n",
                  variable, space, op, overload);
  else opc_text_addf(out, "%s = torch.ops.%s.%s.%s\n", variable, space, op, overload[0] ? overload : "default");
}

/* ---- arguments ---- */

static bool is_by_name(const opc_program_t *program, size_t index) {
  bool gap = false;
  for (size_t i = 0; i < index; i++) gap |= program->sample->absent[i];
  return gap || program->op->arguments[index].kwarg_only;
}

static opc_status_t add_given(const opc_program_t *program, size_t index, char *const *names, size_t *next,
                              opc_text_t *out, opc_error_t *error) {
  return opc_program_value(program, &program->sample->arguments[index], &program->op->arguments[index].type, names,
                           next, out, error);
}

/* return [x, 2], {"alpha": 1} */
static opc_status_t return_python(const opc_program_t *program, char *const *names, opc_text_t *out,
                                  opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t named = {0};
  size_t next = 0, placed = 0;
  opc_text_add(out, "    return [");
  for (size_t i = 0; i < program->sample->argument_count; i++) {
    if (program->sample->absent[i]) continue;
    opc_text_t *to = is_by_name(program, i) ? &named : out;
    opc_text_add(to, (to == &named ? named.length > 0 : placed++ > 0) ? ", " : "");
    if (to == &named) opc_program_string(to, program->op->arguments[i].name);
    if (to == &named) opc_text_add(to, ": ");
    OPC_RETURN_IF_ERROR(add_given(program, i, names, &next, to, error));
  }
  opc_text_addf(out, "], {%s}\n", opc_text_c(&named));
  return OPC_OK;
}

static opc_status_t return_cpp(const opc_program_t *program, char *const *names, opc_text_t *out, opc_error_t *error) {
  size_t next = 0;
  opc_text_add(out, "  return {");
  for (size_t i = 0; i < program->sample->argument_count; i++) {
    opc_text_add(out, i ? ", " : "");
    if (program->sample->absent[i]) {
      opc_text_addf(out, "default_of(op, %zu)", i);
      continue;
    }
    opc_text_add(out, "c10::IValue(");
    OPC_RETURN_IF_ERROR(add_given(program, i, names, &next, out, error));
    opc_text_add(out, ")");
  }
  opc_text_add(out, "};\n");
  return OPC_OK;
}

static opc_status_t case_arguments(const opc_program_t *program, opc_text_t *out, opc_error_t *error) {
  char **names = NULL;
  size_t count = 0;
  const bool cpp = case_is_cpp(program);
  opc_text_add(out, cpp ? "torch::jit::Stack arguments(const c10::OperatorHandle &op) {\n  (void)op;\n"
                        : "\n\ndef arguments():\n    \"\"\"By position, and by name.\"\"\"\n");
  opc_status_t status = opc_program_tensors(program, cpp ? "  " : "    ", &names, &count, out, error);
  if (!status) status = cpp ? return_cpp(program, names, out, error) : return_python(program, names, out, error);
  if (cpp) opc_text_add(out, "}\n");
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return status;
}

/* ---- constants ---- */

/* Names of arguments; only those that the schema declares mutable. */
static void add_names(const opc_program_t *program, const char *constant, bool mutable_only, opc_text_t *out) {
  const bool cpp = case_is_cpp(program);
  size_t count = 0;
  opc_text_addf(out, cpp ? "const std::vector<std::string> %s = {" : "%s = [", constant);
  for (size_t i = 0; i < program->op->argument_count; i++) {
    if (mutable_only && !program->op->arguments[i].alias.is_write) continue;
    opc_text_add(out, count++ ? ", " : "");
    opc_program_string(out, program->op->arguments[i].name);
  }
  opc_text_add(out, cpp ? "};\n" : "]\n");
}

/* The bound that the check took for rounding. */
static double tolerance_of(const opc_case_result_t *result) {
  const double bound = json_number_value(json_object_get(json_object_get(result->evidence, "tolerance"), "bound"));
  return bound > 0 ? bound : 0;
}

/* SAME_BITS = [(0, "x")] */
static void case_same_bits(const opc_program_t *program, opc_text_t *out) {
  const bool cpp = case_is_cpp(program);
  const opc_expect_t *expect = &program->sample->expect;
  opc_text_add(out, cpp ? "const std::vector<std::pair<size_t, std::string>> SAME_BITS = {" : "SAME_BITS = [");
  for (size_t i = 0; i < expect->same_bits_count; i++) {
    opc_text_addf(out, "%s%s%zu, ", i ? ", " : "", cpp ? "{" : "(", expect->same_bits[i].output);
    opc_program_string(out, expect->same_bits[i].argument);
    opc_text_add(out, cpp ? "}" : ")");
  }
  opc_text_add(out, cpp ? "};\n" : "]\n");
}

/* REFERENCE, and REFERENCE_ARGUMENTS = {"other": "y", "alpha": 2}: a string names an argument. Python only. */
static opc_status_t case_reference(const opc_program_t *program, opc_text_t *out, opc_error_t *error) {
  static const opc_type_t any = {.kind = OPC_TYPE_ANY};
  const opc_expect_t *expect = &program->sample->expect;
  size_t next = 0;
  case_operator(program, expect->reference, "REFERENCE", out);
  opc_text_add(out, "REFERENCE_ARGUMENTS = {");
  for (size_t i = 0; i < expect->reference_argument_count; i++) {
    opc_text_add(out, i ? ", " : "");
    opc_program_string(out, expect->reference_arguments[i].name);
    opc_text_add(out, ": ");
    if (expect->reference_arguments[i].from) opc_program_string(out, expect->reference_arguments[i].from);
    else
      OPC_RETURN_IF_ERROR(
          opc_program_value(program, &expect->reference_arguments[i].value, &any, NULL, &next, out, error));
  }
  opc_text_add(out, "}\n");
  return OPC_OK;
}

static void add_constants(const opc_program_t *program, const opc_shown_t *shown, opc_text_t *out) {
  const bool cpp = case_is_cpp(program);
  add_names(program, "NAMES", false, out);
  add_names(program, "WRITABLE", true, out);
  opc_text_addf(out, cpp ? "const double TOLERANCE = %.9g;\n" : "TOLERANCE = %.9g\n", tolerance_of(program->result));
  opc_text_addf(out, cpp ? "const unsigned SECONDS = %d;\n" : "SECONDS = %d\n", program->seconds);
  opc_text_add(out, cpp ? "const std::string FACT = " : "FACT = ");
  opc_program_string(out, shown->fact);
  opc_text_add(out, cpp ? ";\n" : "\n");
}

opc_status_t opc_program_case(const opc_program_t *program, const opc_shown_t *shown, opc_text_t *out,
                              opc_error_t *error) {
  const bool cpp = case_is_cpp(program);
  if (cpp) opc_text_add(out, "void load_libraries() {\n");
  add_loading(program, out);
  if (cpp) opc_text_add(out, "}\n\n");
  if (cpp) opc_text_add(out, "c10::OperatorHandle find_operator() {\n  ");
  case_operator(program, program->op->name, "op", out);
  if (cpp) opc_text_add(out, "  return op;\n}\n\n");
  add_constants(program, shown, out);
  if (program->sample && program->sample->expect.same_bits_count > 0) case_same_bits(program, out);
  if (program->sample && program->sample->expect.reference && !cpp)
    OPC_RETURN_IF_ERROR(case_reference(program, out, error));
  return program->sample ? case_arguments(program, out, error) : OPC_OK;
}
