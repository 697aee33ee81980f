/* Reading PTX: what is understood, what is refused and with which words, and damaged texts. */
#include "cuda/ptx/ptx_text.h"
#include "ptx_test.h"

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

/* A kernel `k` with the statements. */
static const char *kernel_text(const char *statements) {
  static char text[8192];
  (void)snprintf(text, sizeof text,
                 HEAD
                 ".visible .entry k(.param .u64 k_param_0)\n{\n"
                 ".reg .pred %%p<4>;\n.reg .b16 %%rs<4>;\n.reg .b32 %%r<8>;\n.reg .b64 %%rd<8>;\n%s\nret;\n}\n",
                 statements);
  return text;
}

static opc_ptx_problem_t problem_of(const char *text) {
  opc_ptx_problem_t problem;
  opc_ptx_module_t *module = opc_ptx_module_read(text, strlen(text), &problem);
  if (module && problem.message[0] == '\0' && opc_ptx_kernel_count(module) > 0) {
    opc_ptx_program_t *program = opc_ptx_program_make(module, 0, &problem);
    assert_true(!program == (problem.message[0] != '\0'));
    opc_ptx_program_free(program);
  }
  opc_ptx_module_free(module);
  return problem;
}

static void assert_problem(const char *text, uint32_t line, const char *form, const char *message) {
  const opc_ptx_problem_t problem = problem_of(text);
  if (!strstr(problem.message, message)) fail_msg("\"%s\" is not \"%s\"", problem.message, message);
  assert_int_equal(line, problem.line);
  assert_string_equal(form, problem.form);
}

static void assert_refused(const char *statements, const char *form, const char *message) {
  assert_problem(kernel_text(statements), 10, form, message); /* its first line */
}

static void test_missing_instructions(void **state) {
  (void)state;
  assert_refused("wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned",
                 "the instruction wgmma.fence.sync.aligned is missing");
  assert_refused("add.s32 %r1, %r2, %r3, %r4;", "add.s32", "missing"); /* no form with four */
  assert_refused("add.f128 %r1, %r2, %r3;", "add.f128", "missing");
  assert_refused("ld.global.v2.u32 %r1, [%rd1];", "ld.global.v2.u32", "missing");
  assert_refused("ld.global.u32 {%r1, %r2}, [%rd1];", "ld.global.u32", "missing");
  assert_refused("add.s32 %p1, %r2, %r3;", "add.s32", "missing");
  assert_refused("add.s32 5, %r2, %r3;", "add.s32", "missing");
  assert_refused("cp.async.ca.shared.global [%rd1], [%rd1], 12;", "cp.async.ca.shared.global", "missing");
  assert_refused("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1, %r2}, [%rd1];",
                 "ldmatrix.sync.aligned.m8n8.x1.shared.b16", "missing");
  assert_refused(
      "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r1, %r1, %r1, %r1}, {%r1}, {%r1}, {%r1, %r1, %r1, %r1};",
      "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "missing");
  assert_refused("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%r1}, {%r1}, {%r1}, {%r1};",
                 "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "missing");
  assert_refused("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t;", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t", "missing");
}

static void test_names(void **state) {
  (void)state;
  assert_refused("bra nowhere;", "", "unknown name nowhere");
  assert_refused("add.s32 %r1, %r9, 1;", "", "%r9 is not declared");
  assert_refused("add.s32 %r1, %q1, 1;", "", "%q1 is not declared");
  assert_refused("@%r1 add.s32 %r1, %r2, 1;", "", "%r1 is no predicate");
  assert_refused("mov.u64 %rd1, k;", "", "the address of the function k is taken");
  assert_refused("call.uni nobody, (k);", "", "unknown name nobody");
  assert_refused(".reg .b32 %x<99999999>;", "", "more than 262144 registers");
  assert_refused("tex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r1, %r2}];", "", "which are not run");
  assert_refused("call (k_param_0), (k_param_0);", "", "a call that is not understood");
}

static void test_calls(void **state) {
  (void)state;
  static const char recursion[] =
      HEAD ".func f()\n{\ncall.uni g;\n}\n.func g()\n{\ncall.uni f;\n}\n.entry k()\n{\ncall.uni f;\n}\n";
  assert_problem(recursion, 10, "", "recursion: f");
  assert_problem(HEAD ".entry k()\n{\n.reg .b64 %rd<3>;\nproto: .callprototype _ ();\ncall %rd2, (), proto;\n}\n", 8,
                 "", "an indirect call");
  assert_problem(HEAD ".extern .func f;\n.entry k()\n{\ncall.uni f;\n}\n", 7, "", "the function f has no body");
  assert_problem(HEAD ".func f(.param .b32 x)\n{\n}\n.entry k()\n{\ncall.uni f;\n}\n", 9, "",
                 "a call with 0 arguments of a function with 1");
}

/* Each function calls the one before it twice: a thousand million calls of nothing. */
static void test_too_many_calls(void **state) {
  (void)state;
  enum { FUNCTIONS = 30, SIZE = 4096 };
  char text[SIZE] = HEAD ".func f0()\n{\n}\n";
  size_t length = strlen(text);
  for (int i = 1; i < FUNCTIONS; i++)
    length += (size_t)snprintf(text + length, SIZE - length, ".func f%d()\n{\ncall.uni f%d;\ncall.uni f%d;\n}\n", i,
                               i - 1, i - 1);
  snprintf(text + length, SIZE - length, ".entry k()\n{\ncall.uni f%d;\n}\n", FUNCTIONS - 1);
  assert_problem(text, 25, "", "more than 16384 calls"); /* where the last one would be */
}

static bool is_without_threads(const char *bytes) {
  char text[512];
  opc_ptx_problem_t problem;
  snprintf(text, sizeof text, HEAD ".entry k()\n{\nret;\n}\n.section .debug_info\n{\n.b8 %s\n}\n", bytes);
  opc_ptx_module_t *module = opc_ptx_module_read(text, strlen(text), &problem);
  assert_non_null(module);
  const bool without = module->without_threads;
  opc_ptx_module_free(module);
  return without;
}

/* The name of the compiler; a folder of that name is none. */
static void test_made_by_triton(void **state) {
  (void)state;
  assert_true(is_without_threads("1, 116, 114, 105, 116, 111, 110, 0"));
  assert_false(is_without_threads("1, 47, 116, 114, 105, 116, 111, 110, 0"));     /* /triton */
  assert_false(is_without_threads("1, 116, 114, 105, 116, 111, 110, 115, 0"));    /* tritons */
  assert_false(is_without_threads("1, 116, 116, 114, 105, 116, 111, 110, 0, 0")); /* ttriton */
}

static void test_not_ptx(void **state) {
  (void)state;
  assert_problem("", 0, "", "the text is empty");
  assert_problem("// nothing\n", 0, "", "the text is empty");
  assert_problem(
      "\x7f"
      "ELF\1\1",
      1, "", "this is no PTX");
  assert_problem(".version 12.4\n.target sm_200\n", 1, "", "it is PTX 12.4; up to PTX 9.x is known here");
  assert_problem(".version\n", 2, "", "a version without a number");
  assert_problem(".version 9.0\n.target sm_90\n.address_size 32\n", 4, "", "addresses of 32 bits are not known");
  assert_problem(HEAD ".visible .entry k(.param .u64 p)\n{\nadd.s32", 6, "",
                 "the text ends where an operand is expected");
  assert_problem(HEAD ".visible .entry k(.param .u64 p)\n{\n", 6, "", "the text ends inside a function");
  assert_problem(HEAD ".visible .entry k(.param .u64", 4, "", "a declaration without a name");
  assert_problem(HEAD ".global .align 3 .b8 x;\n", 4, "", "no power of two");
  assert_problem(HEAD ".global .b8 x[2] = {1, 2, 3};\n", 4, "", "more initial values than elements");
}

/* One damaged kernel leaves the others usable. */
static void test_damage_stays(void **state) {
  static const char text[] = HEAD
      ".entry a()\n{\nret;\n}\n"
      ".entry b()\n{\n.reg .b32 %r<2>;\n{ add.s32 %r1, %r1 %r1; }\nret;\n}\n"
      ".entry c()\n{\nret;\n}\n";
  opc_ptx_problem_t problem;
  (void)state;
  opc_ptx_module_t *module = module_of(text, sizeof text);
  assert_int_equal(3, opc_ptx_kernel_count(module));
  assert_string_equal("b", opc_ptx_kernel_name(module, 1));
  for (size_t i = 0; i < 3; i++) {
    opc_ptx_program_t *program = opc_ptx_program_make(module, i, &problem);
    assert_true(!program == (i == 1));
    opc_ptx_program_free(program);
    if (i != 1) continue;
    assert_int_equal(11, problem.line);
    assert_non_null(strstr(problem.message, "';' is expected, not \"%r1\""));
  }
  opc_ptx_module_free(module);
}

static size_t size_of(const char *text, opc_ptx_exactness_t worth) {
  opc_ptx_module_t *module = module_of(text, strlen(text));
  opc_ptx_program_t *program = program_of(module, "k");
  const size_t size = opc_ptx_program_size(program);
  assert_int_equal(worth, opc_ptx_program_exactness(program));
  opc_ptx_program_free(program);
  opc_ptx_module_free(module);
  return size;
}

/* Nothing is lost: each instruction is one of the program, whatever stands around it; ret and the end are two more. */
static void test_everything_counts(void **state) {
  (void)state;
  assert_int_equal(2, size_of(kernel_text(""), OPC_PTX_EXACT));
  assert_int_equal(3, size_of(kernel_text("add.s32 %r1, %r2, %r3;"), OPC_PTX_EXACT));
  assert_int_equal(3, size_of(kernel_text("ex2.approx.f32 %r1, %r2;"), OPC_PTX_BOUNDED));
  assert_int_equal(
      5, size_of(kernel_text(".loc 1 2 3\nadd.s32 %r1, %r2, %r3;\n.loc 1 2 3, function_name $L+7, inlined_at 1 5 6\n"
                             "sub.s32 %r1, %r2, %r3; add.s32 %r1, %r1, %r1;"),
                 OPC_PTX_EXACT));
  assert_int_equal(
      4, size_of(kernel_text(".pragma \"nounroll\";\nL: { .reg .pred p; L: @p bra L; }\nbra L;"), OPC_PTX_EXACT));
  assert_int_equal(3, size_of(kernel_text("/* ; } */ // ; }\nadd.s32 %r1, -5, 0x1F;"), OPC_PTX_EXACT));
  assert_int_equal(
      4, size_of(kernel_text("t: .branchtargets a, b;\nbrx.idx %r1, t;\na:\nb: nanosleep.u32 5;"), OPC_PTX_EXACT));
}

/* Two calls of a function are two copies of it. */
static void test_functions_in_place(void **state) {
  static const char text[] = HEAD
      ".func (.param .b32 r) f(.param .b32 x)\n{\n.reg .b32 %a;\nld.param.b32 %a, [x];\nst.param.b32 [r], "
      "%a;\nret;\n}\n"
      ".entry k()\n{\n.reg .pred %p<2>;\n"
      "{ .param .b32 x; .param .b32 r; call.uni (r), f, (x); }\n"
      "{ .param .b32 x; .param .b32 r; @%p1 call.uni (r), f, (x); }\nret;\n}\n";
  (void)state;
  assert_int_equal(3 + 1 + 3 + 2, size_of(text, OPC_PTX_EXACT));
}

static void test_variables(void **state) {
  static const char text[] = HEAD
      ".global .align 8 .u32 x[3] = {1, 0x2, -3};\n.const .f32 f = 0f3F800000;\n.global .f64 d[2] = {1.5, "
      "0d3FF0000000000000};\n"
      ".global .u64 p[2] = {x, generic(x)+8};\n.extern .shared .align 16 .b8 dynamic[];\n.shared .align 4 .b8 s[100];\n"
      ".visible .entry k(.param .align 8 .b8 k_param_0[12], .param .u64 .ptr .global .align 4 k_param_1)\n"
      ".maxntid 256, 1, 1\n.minnctapersm 2\n{\n.reg .b64 %rd<4>;\nmov.u64 %rd1, s;\nmov.u64 %rd2, dynamic;\nret;\n}\n"
      ".section .debug_str\n{\n.b8 65,0\n}\n";
  (void)state;
  opc_ptx_module_t *module = module_of(text, strlen(text));
  opc_ptx_program_t *program = program_of(module, "k");
  assert_int_equal(24, opc_ptx_program_parameter_bytes(program));
  assert_int_equal(112, opc_ptx_program_shared_bytes(program)); /* in steps of 16 */
  opc_ptx_program_free(program);
  opc_ptx_module_free(module);
}

/* Texts that broke the reader: found by changing PTX at random. */
static void test_found_by_chance(void **state) {
  static const char *const texts[] = {".version 9.0\n.global .b8 x[] = {",
                                      ".version 9.0\n.global .b8 x[4294967295][4294967295];",
                                      ".version 9.0\n.func (",
                                      ".version 9.0\n.entry k(.param .b8 x[9999999]){",
                                      ".version 9.0\n.loc",
                                      ".version 9.0\n.file 1 \"",
                                      ".version 9.0\n.entry k(){L: .branchtargets ;",
                                      ".version 9.0\n.entry k(){{{{{{{{",
                                      ".version 9.0\n.entry k(){}}}}}"};
  (void)state;
  for (size_t i = 0; i < COUNT(texts); i++) {
    const opc_ptx_problem_t problem = problem_of(texts[i]);
    if (problem.message[0] == '\0') fail_msg("nothing is said about text %zu", i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_missing_instructions),
                                     cmocka_unit_test(test_names),
                                     cmocka_unit_test(test_calls),
                                     cmocka_unit_test(test_too_many_calls),
                                     cmocka_unit_test(test_made_by_triton),
                                     cmocka_unit_test(test_not_ptx),
                                     cmocka_unit_test(test_damage_stays),
                                     cmocka_unit_test(test_everything_counts),
                                     cmocka_unit_test(test_functions_in_place),
                                     cmocka_unit_test(test_variables),
                                     cmocka_unit_test(test_found_by_chance)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
