/* Puts a program together from the parts that it uses. */
#include "supervise/emit/program.h"

#include <stdlib.h>
#include <string.h>

#include "supervise/emit/program_inside.h"

enum { PARTS_MAX = 160, START = 64 };

typedef struct part {
  const char *name, *text;
  size_t name_length, length;
  bool needed;
} part_t;

typedef struct parts {
  part_t items[PARTS_MAX];
  size_t count;
} parts_t;

/* A part begins after a line that ends with " part NAME". */
static void parts_read(const char *text, parts_t *out) {
  static const char mark[] = " part ";
  *out = (parts_t){0};
  for (const char *line = text, *end; *line && out->count < PARTS_MAX; line = *end ? end + 1 : end) {
    end = line + strcspn(line, "\n");
    const char *at = line + strcspn(line, " \n");
    const bool begins = (line[0] == '#' || line[0] == '/') && strncmp(at, mark, sizeof mark - 1) == 0;
    if (begins) {
      const char *name = at + sizeof mark - 1;
      out->items[out->count++] = (part_t){.name = name, .name_length = (size_t)(end - name), .text = end};
    } else if (out->count > 0) {
      part_t *last = &out->items[out->count - 1];
      last->length = (size_t)(end - last->text);
    }
  }
}

static bool part_is(const part_t *part, const char *name) {
  return strlen(name) == part->name_length && memcmp(part->name, name, part->name_length) == 0;
}

/* "NAME(" or "NAME)" occurs in the text. */
static bool part_is_used(const part_t *part, const char *text, size_t length) {
  const char *stop = text + length;
  for (const char *at = text; (at = memmem(at, (size_t)(stop - at), part->name, part->name_length)); at++) {
    const char *after = at + part->name_length;
    const bool begins = at == text || !opc_is_plain_word(at - 1, 1);
    if (begins && after < stop && (*after == '(' || *after == ')')) return true;
  }
  return false;
}

static void parts_need(parts_t *parts, const char *shown, const char *case_text) {
  OPC_SCOPED(opc_scope_free) char *show = opc_string_format("show_%s", shown);
  for (size_t i = 0; show && i < parts->count; i++) {
    part_t *part = &parts->items[i];
    part->needed = part_is(part, "begin") || part_is(part, "end") || part_is(part, "case") || part_is(part, show) ||
                   part_is_used(part, case_text, strlen(case_text));
  }
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < parts->count; i++)
      for (size_t k = 0; k < parts->count && parts->items[i].needed; k++) {
        part_t *other = &parts->items[k];
        if (other->needed || !part_is_used(other, parts->items[i].text, parts->items[i].length)) continue;
        other->needed = more = true;
      }
  }
}

/* ---- lines ---- */

static bool is_import(const char *line) {
  return opc_string_begins(line, "import ") || opc_string_begins(line, "from ") || opc_string_begins(line, "#include ");
}

static const char *const constants[] = {"NAMES", "WRITABLE", "TOLERANCE", "SECONDS", "FACT", "SAME_BITS", "REFERENCE"};

static bool is_constant(const char *line, size_t length) {
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
    const char *at = memmem(line, length, constants[i], strlen(constants[i]));
    if (at && (at == line || opc_string_begins(line, "const "))) return true;
  }
  return false;
}

/* The constant that a line of the case defines is used in the rest of the program. */
static bool constant_is_used(const char *line, size_t length, const char *rest) {
  const size_t start = length < START ? length : START;
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
    if (memmem(line, start, constants[i], strlen(constants[i])) && strstr(rest, constants[i])) return true;
  return false;
}

static void add_lines(opc_text_t *imports, opc_text_t *body, const char *text, size_t length, const char *rest) {
  const char *stop = text + length;
  for (const char *line = text; line < stop;) {
    const char *end = memchr(line, '\n', (size_t)(stop - line));
    const size_t size = (size_t)((end ? end : stop) - line);
    OPC_SCOPED(opc_scope_free) char *whole = opc_string_format("%.*s\n", (int)size, line);
    line += size + 1;
    if (!whole) body->failed = true;
    else if (is_import(whole)) opc_text_add(imports, strstr(opc_text_c(imports), whole) ? "" : whole);
    else if (!rest || !is_constant(whole, size) || constant_is_used(whole, size, rest)) opc_text_add(body, whole);
  }
}

/* The headers of libtorch 2.14 and later need C++20. */
static int cpp_standard(const char *torch) {
  int major = 0, minor = 0;
  return sscanf(torch, "%d.%d", &major, &minor) == 2 && (major > 2 || minor >= 14) ? 20 : 17;
}

/* Comments over the program. */
static void add_header(const opc_program_t *program, opc_text_t *out) {
  const bool cpp = program->language == OPC_LANGUAGE_CPP;
  const char *mark = cpp ? "//" : "#", *rule = opc_rule_name(program->rule);
  opc_text_addf(out, "%s %s: %s\n%s %s\n%s ", mark, program->op->name, rule, mark, opc_rule_of(program->rule)->title,
                mark);
  for (const char *at = program->result->message; *at; at++)
    opc_text_add_bytes(out, (unsigned char)*at < 0x20 ? " " : at, 1);
  opc_text_addf(out, "\n%s\n%s opcheck-c %s" OPC_PROGRAM_FOUND "%s:\n%s   %s\n%s\n", mark, mark, program->version,
                program->torch, mark, program->repro ? program->repro : "", mark);
  opc_text_addf(out, "%s Exit status: 1: the operator fails, 0: it does not, 125: this program cannot tell.\n", mark);
  if (cpp)
    opc_text_addf(out,
                  "%s Compile: c++ -std=c++%d -I$TORCH/include -I$TORCH/include/torch/csrc/api/include THIS.cpp "
                  "-L$TORCH/lib -Wl,-rpath,$TORCH/lib -Wl,--no-as-needed -ltorch_cpu -lc10 -ldl\n",
                  mark, cpp_standard(program->torch));
}

static void squeeze(const char *text, opc_text_t *out) {
  int empty = 0;
  for (const char *at = text; *at; at++) {
    empty = *at == '\n' ? empty + 1 : 0;
    if (empty <= 3) opc_text_add_bytes(out, at, 1);
  }
}

/* Checks that call the operator in other ways than with the arguments of the case, or with other settings. */
static bool changes_calls(const char *check) {
  static const char *const names[] = {"autograd", "determinism", "state",    "leak", "device",  "vmap",
                                      "autocast", "equivalent",  "symbolic", "tags", "defaults"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], check) == 0) return true;
  return false;
}

/* The operator leaves the memory of an argument. */
static bool is_beside_argument(const opc_program_t *program) {
  size_t i;
  json_t *access;
  json_array_foreach(json_object_get(program->result->evidence, "accesses"), i, access) {
    const char *argument = json_string_value(json_object_get(access, "argument"));
    const char *rule = json_string_value(json_object_get(access, "rule"));
    if (argument && argument[0] != '\0' && rule && opc_rule_id(rule) == program->rule) return true;
  }
  return false;
}

/* A crash or an access needs the very call, and memory that can be guarded. */
static opc_status_t check_call(const opc_program_t *program, const opc_shown_t *shown, opc_error_t *error) {
  const bool guards = strcmp(shown->part, "guarded") == 0;
  if (!guards && strcmp(shown->part, "call") != 0) return OPC_OK;
  if (changes_calls(program->result->id.check))
    return opc_error_set(error, OPC_ERR_UNSUPPORTED,
                         "check %s found it in a call with arguments or settings of its own; a case of check memory "
                         "may show it as well",
                         program->result->id.check);
  if (guards && program->language == OPC_LANGUAGE_PYTHON && !is_beside_argument(program))
    return opc_error_set(error, OPC_ERR_UNSUPPORTED,
                         "the access is beside memory that the operator made itself, which Python cannot guard: "
                         "--emit cpp can");
  return OPC_OK;
}

opc_status_t opc_program_text(const opc_program_t *program, opc_text_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t own = {0}, imports = {0}, body = {0}, rest = {0};
  parts_t parts;
  const opc_shown_t *shown = opc_shown_of(program->rule);
  OPC_SCOPED(opc_text_clear) opc_text_t why = {0};
  if (!opc_program_is_possible(program->rule, program->language, &why))
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "%s", opc_text_c(&why));
  OPC_RETURN_IF_ERROR(check_call(program, shown, error));
  OPC_RETURN_IF_ERROR(opc_program_case(program, shown, &own, error));
  parts_read(program->language == OPC_LANGUAGE_CPP ? opc_cpp_parts : opc_python_parts, &parts);
  parts_need(&parts, shown->part, opc_text_c(&own));
  for (size_t i = 0; i < parts.count; i++)
    if (parts.items[i].needed) opc_text_add_bytes(&rest, parts.items[i].text, parts.items[i].length);
  for (size_t i = 0; i < parts.count; i++) {
    const part_t *part = &parts.items[i];
    if (part_is(part, "case")) add_lines(&imports, &body, opc_text_c(&own), own.length, opc_text_c(&rest));
    else if (part->needed) add_lines(&imports, &body, part->text, part->length, NULL);
    opc_text_add(&body, "\n");
  }
  opc_text_t whole = {0};
  add_header(program, out);
  opc_text_addf(&whole, "%s\n%s", opc_text_c(&imports), opc_text_c(&body));
  squeeze(opc_text_c(&whole), out);
  const bool failed = own.failed || imports.failed || body.failed || whole.failed || out->failed;
  opc_text_clear(&whole);
  return failed ? opc_out_of_memory(error) : OPC_OK;
}
