/* Launches of which some blocks run: what is found, what is not, and that global memory stays as it is. */
#include "ptx_test.h"

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
enum { THREADS = 64, FLOATS = 1 << 16 };
/* So many blocks that thread numbers of 32 bits become negative. */
#define BLOCKS ((UINT32_C(1) << 31) / THREADS + 2)

/* A kernel of one array, which has the address in %rd1 and a number of its thread in %r1, of 32 bits. */
static opc_ptx_module_t *sampled_module(const char *statements) {
  static char text[8192];
  (void)snprintf(text, sizeof text,
                 HEAD
                 ".visible .entry k(.param .u64 k_param_0)\n{\n"
                 ".reg .pred %%p<8>;\n.reg .b32 %%r<16>;\n.reg .b64 %%rd<16>;\n.shared .align 8 .b8 tile[1024];\n"
                 ".local .align 8 .b8 room[16];\n"
                 "ld.param.u64 %%rd1, [k_param_0];\ncvta.to.global.u64 %%rd1, %%rd1;\n"
                 "mov.u32 %%r2, %%ctaid.x;\nmov.u32 %%r3, %%tid.x;\nmad.lo.s32 %%r1, %%r2, 64, %%r3;\n%s\n"
                 "ret;\n}\n",
                 statements);
  return module_of(text, strlen(text));
}

static uint32_t floats[FLOATS];

static opc_ptx_outcome_t run_sampled(const char *statements, const uint64_t *blocks, size_t count) {
  static opc_ptx_outcome_t outcome;
  opc_ptx_module_t *module = sampled_module(statements);
  opc_ptx_program_t *program = program_of(module, "k");
  const uint64_t address = (uintptr_t)floats;
  const memory_t memory = {.ranges = {{address, address + sizeof floats}}, .count = 1};
  unsigned char parameters[sizeof address];
  memcpy(parameters, &address, sizeof address);
  const opc_ptx_launch_t launch = {.grid = {BLOCKS, 1, 1},
                                   .block = {THREADS, 1, 1},
                                   .parameters = parameters,
                                   .budget = 1000000,
                                   .find = memory_find,
                                   .find_context = (void *)(uintptr_t)&memory,
                                   .sampled = blocks,
                                   .sampled_count = count};
  opc_ptx_launch_run(program, &launch, &outcome);
  opc_ptx_program_free(program);
  opc_ptx_module_free(module);
  assert_int_equal(OPC_PTX_FINISHED, outcome.end);
  return outcome;
}

#define ADDRESS_OF_R1 "mul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"

/* In the first block all is well, and in the last one the number is negative. */
static void test_negative_number(void **state) {
  const uint64_t first[] = {0}, last[] = {0, BLOCKS - 1};
  (void)state;
  assert_int_equal(0, run_sampled(ADDRESS_OF_R1 "ld.global.u32 %r4, [%rd3];", first, 1).finding_count);
  opc_ptx_outcome_t out = run_sampled(ADDRESS_OF_R1 "ld.global.u32 %r4, [%rd3];", last, 2);
  assert_int_equal(THREADS, out.finding_count);
  assert_int_equal(OPC_PTX_OUT_OF_BOUNDS, out.findings[0].kind);
  assert_int_equal(BLOCKS - 1, out.findings[0].block[0]);
  assert_int_equal(0, out.findings[0].thread[0]);
  out = run_sampled(ADDRESS_OF_R1 "add.s64 %rd3, %rd3, 2;\nst.global.u32 [%rd3], %r1;", first, 1);
  assert_int_equal(OPC_PTX_MISALIGNED, out.findings[0].kind);
  out = run_sampled("trap;", last, 2);
  assert_int_equal(2, out.finding_count); /* it ends one block, not the other */
  assert_int_equal(OPC_PTX_TRAP, out.findings[1].kind);
}

static void test_memory_stays(void **state) {
  const uint64_t first[] = {0};
  (void)state;
  for (unsigned i = 0; i < FLOATS; i++) floats[i] = i;
  const opc_ptx_outcome_t out = run_sampled(ADDRESS_OF_R1
                                            "st.global.u32 [%rd3], 7;\natom.global.add.u32 %r5, [%rd3], 1;\n"
                                            "red.global.add.u32 [%rd3], 1;",
                                            first, 1);
  assert_int_equal(0, out.finding_count);
  for (unsigned i = 0; i < FLOATS; i++) assert_int_equal(i, floats[i]);
}

/* What is not known leads nowhere: each of these would read far outside. */
static void test_unknown_values(void **state) {
  static const char *const unknown[] = {
      /* an address that was loaded */
      ADDRESS_OF_R1 "ld.global.u64 %rd4, [%rd1];\nld.global.u32 %r5, [%rd4];",
      ADDRESS_OF_R1
      "ld.global.u32 %r4, [%rd3];\nsub.s32 %r4, %r4, 1;\nmul.wide.s32 %rd4, %r4, 4;\n"
      "add.s64 %rd4, %rd1, %rd4;\nst.global.u32 [%rd4], %r4;",
      /* a branch, and a predicate */
      ADDRESS_OF_R1
      "ld.global.u32 %r4, [%rd3];\nsetp.ne.s32 %p1, %r4, 0;\n@%p1 bra DONE;\n"
      "ld.global.u32 %r5, [%rd1+-4];\nDONE:",
      ADDRESS_OF_R1
      "mov.u64 %rd5, 0;\nld.global.u32 %r4, [%rd3];\nsetp.ne.s32 %p1, %r4, 0;\n"
      "@%p1 mov.u64 %rd5, %rd1;\nld.global.u32 %r5, [%rd5];",
      /* through an atomic operation, shared memory, local memory, another lane, a vote and a barrier */
      "atom.global.add.u64 %rd4, [%rd1], 1;\nld.global.u32 %r5, [%rd4];",
      "ld.global.u64 %rd4, [%rd1];\nst.shared.u64 [tile], %rd4;\nbar.sync 0;\nld.shared.u64 %rd5, [tile];\n"
      "ld.global.u32 %r5, [%rd5];",
      "ld.global.u32 %r4, [%rd1];\nst.shared.u32 [tile], %r1;\nbar.sync 0;\natom.shared.add.u32 %r5, [tile], %r4;\n"
      "bar.sync 0;\nld.shared.u32 %r6, [tile];\nmul.wide.u32 %rd4, %r6, 1073741824;\nadd.s64 %rd4, %rd4, %rd1;\n"
      "ld.global.u32 %r5, [%rd4];",
      "ld.global.u64 %rd4, [%rd1];\nst.local.u64 [room], %rd4;\nld.local.u64 %rd5, [room];\nld.global.u32 %r5, [%rd5];",
      "ld.global.u32 %r4, [%rd1];\nshfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;\ncvt.u64.u32 %rd4, %r5;\n"
      "ld.global.u32 %r6, [%rd4];",
      "ld.global.u32 %r4, [%rd1];\nsetp.ne.s32 %p1, %r4, 0;\nvote.sync.ballot.b32 %r5, %p1, -1;\n"
      "cvt.u64.u32 %rd4, %r5;\nld.global.u32 %r6, [%rd4];",
      "ld.global.u32 %r4, [%rd1];\nsetp.ne.s32 %p1, %r4, 0;\nbarrier.sync 0;\nbar.red.popc.u32 %r5, 0, %p1;\n"
      "cvt.u64.u32 %rd4, %r5;\nld.global.u32 %r6, [%rd4];",
      "cvta.shared.u64 %rd6, 0;\nld.global.u64 %rd4, [%rd1];\nadd.s64 %rd5, %rd6, %rd4;\nst.u32 [%rd5], %r1;\n"
      "ld.global.u32 %r5, [%rd1+-4];",
      "mov.u32 %r7, tile;\ncp.async.ca.shared.global [%r7], [%rd1], 8;\ncp.async.wait_all;\nbar.sync 0;\n"
      "ld.shared.u64 %rd5, [tile];\nld.global.u32 %r5, [%rd5];"};
  const uint64_t blocks[] = {0, 1, BLOCKS - 1};
  (void)state;
  memset(floats, 0, sizeof floats);
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    const opc_ptx_outcome_t out = run_sampled(unknown[i], blocks, 2);
    if (out.finding_count != 0) fail_msg("%zu: %s: kind %d", i, unknown[i], out.findings[0].kind);
  }
}

/* What is known is known: the same ways, with values that no memory has decided. */
static void test_known_values(void **state) {
  static const char *const known[] = {
      "st.shared.u64 [tile], 4096;\nbar.sync 0;\nld.shared.u64 %rd5, [tile];\nld.global.u32 %r5, [%rd5];",
      "st.local.u64 [room], 4096;\nld.local.u64 %rd5, [room];\nld.global.u32 %r5, [%rd5];",
      "ld.global.u32 %r4, [%rd1];\nst.global.u32 [%rd1], %r4;\nshfl.sync.bfly.b32 %r5, %r1, 1, 31, -1;\n"
      "cvt.u64.u32 %rd4, %r5;\nshl.b64 %rd4, %rd4, 2;\nld.global.u32 %r6, [%rd4];",
      "ld.global.u32 %r4, [%rd1];\nst.shared.u32 [tile], 0;\nbar.sync 0;\natom.shared.add.u32 %r5, [tile], 4;\n"
      "cvt.u64.u32 %rd4, %r5;\nld.global.u32 %r6, [%rd4];"};
  const uint64_t first[] = {0};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const opc_ptx_outcome_t out = run_sampled(known[i], first, 1);
    if (out.finding_count == 0 || out.findings[0].kind != OPC_PTX_OUT_OF_BOUNDS) fail_msg("%zu: %s", i, known[i]);
  }
}

/* A block that waits for another one, that never ends or that cannot go on is no finding, and others run. */
static void test_endless(void **state) {
  static const char *const endless[] = {
      "WAIT:\nld.volatile.global.u32 %r4, [%rd1];\nsetp.eq.s32 %p1, %r4, 0;\n@%p1 bra WAIT;",
      "setp.gt.s32 %p1, %r2, 0;\n@%p1 bra REST;\nAGAIN:\nbra AGAIN;\nREST:\nld.global.u32 %r5, [%rd1+-4];",
      "setp.gt.s32 %p1, %r2, 0;\n@%p1 bra REST;\nbarrier.sync 0, 96;\nREST:\nld.global.u32 %r5, [%rd1+-4];"};
  const uint64_t blocks[] = {0, 7};
  (void)state;
  for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
    const opc_ptx_outcome_t out = run_sampled(endless[i], blocks, 2);
    assert_int_equal(i == 0 ? 0 : THREADS, out.finding_count);
    assert_true(out.lane_instructions <= 1000000 + 64);
    if (i > 0) assert_int_equal(7, out.findings[0].block[0]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_negative_number), cmocka_unit_test(test_memory_stays),
                                     cmocka_unit_test(test_unknown_values), cmocka_unit_test(test_known_values),
                                     cmocka_unit_test(test_endless)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
