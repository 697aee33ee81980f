/* test_ptx_defects PTX SOURCE: kernels with one defect each (defects.cu), and correct ones that look like them. A
 * finding must have the kind, and be at the line that the source names; a correct kernel must have none, in every order
 * of blocks and warps. */
#include "ptx_test.h"

enum { OK = -1, A = 1024, B = 1024, C = 256 };

typedef struct plan {
  const char *kernel;
  int kind; /* opc_ptx_finding_kind_t, or OK */
  const char *space, *text;
  uint32_t blocks, threads;
  int n;
  bool cooperative, freed;
} plan_t;

#define RACE(kernel, space, blocks, threads) \
  { kernel, OPC_PTX_RACE, space, "", blocks, threads, 0, false, false }
#define GOOD(kernel, blocks, threads, n) \
  { kernel, OK, "", "", blocks, threads, n, false, false }

static const plan_t plans[] = {
    RACE("reverse_without_barrier", "shared", 1, 64),
    GOOD("reverse_with_barrier", 1, 64, 0),
    RACE("sum_without_barrier", "shared", 1, 128),
    GOOD("sum_with_barrier", 1, 128, 0),
    RACE("stencil_in_place", "shared", 1, 64),
    GOOD("stencil_in_two_steps", 1, 64, 0),
    {"warp_exchange_without_sync", OPC_PTX_RACE_IN_WARP, "shared", "", 1, 32, 0, false, false},
    GOOD("warp_exchange_with_sync", 1, 32, 0),
    {"half_warps_that_exchange", OPC_PTX_RACE_IN_WARP, "shared", "", 1, 32, 0, false, false},
    GOOD("half_warps_on_their_own", 1, 32, 0),
    RACE("bins_without_atomic", "shared", 1, 64),
    GOOD("bins_with_atomic", 1, 64, 0),
    RACE("tile_used_again_too_soon", "shared", 1, 64),
    GOOD("tile_used_again", 1, 64, 0),
    GOOD("two_tiles_in_turn", 1, 64, 0),
    RACE("bytes_that_overlap", "shared", 1, 64),
    GOOD("bytes_side_by_side", 1, 64, 0),
    RACE("producer_that_is_not_waited_for", "shared", 1, 64),
    GOOD("producer_that_is_waited_for", 1, 64, 0),
    {"barrier_in_two_branches", OPC_PTX_DIVERGENT_BARRIER, "", "", 1, 64, 0, false, false},
    GOOD("barrier_of_whole_warps", 1, 64, 0),
    {"barrier_of_too_many", OPC_PTX_DEADLOCK, "", "32 threads wait at a barrier", 1, 64, 0, false, false},
    GOOD("barrier_after_some_have_left", 1, 64, 40),
    RACE("blocks_write_one_place", "global", 3, 64),
    GOOD("blocks_write_their_own", 3, 64, 0),
    {"blocks_write_one_value", OPC_PTX_RACE_OF_EQUALS, "global", "", 3, 64, 0, false, false},
    GOOD("blocks_write_one_value_by_exchange", 3, 64, 0),
    RACE("counter_without_atomic", "global", 3, 64),
    GOOD("counter_with_atomic", 3, 64, 0),
    {"shift_in_place", OPC_PTX_RACE, "global", "", 4, 64, 256, false, false},
    GOOD("shift_to_another", 4, 64, 256),
    GOOD("neighbours_bytes", 4, 64, 0),
    RACE("neighbours_bytes_overlap", "global", 4, 64),
    RACE("last_block_without_fence", "global", 4, 64),
    RACE("last_block_with_fence_of_block", "global", 4, 64),
    RACE("last_block_without_barrier", "global", 4, 64),
    GOOD("last_block_with_fence", 4, 64, 0),
    RACE("lock_without_fence", "global", 4, 64),
    GOOD("lock_with_fence", 4, 64, 0),
    {"grid_without_barrier", OPC_PTX_RACE, "global", "", 4, 64, 0, true, false},
    {"grid_with_barrier", OK, "", "", 4, 64, 0, true, false},
    RACE("flag_read_plainly", "global", 4, 64),
    GOOD("flag_read_by_atomic", 4, 64, 0),
    GOOD("chain_to_the_next", 8, 32, 0),
    GOOD("chain_to_the_one_before", 8, 32, 0),
    RACE("chain_without_fence", "global", 8, 32),
    {"one_too_many", OPC_PTX_OUT_OF_BOUNDS, "global", "", 5, 256, B, false, false},
    GOOD("none_too_many", 5, 256, B),
    {"tail_without_guard", OPC_PTX_OUT_OF_BOUNDS, "global", "", 2, 171, B, false, false},
    GOOD("tail_with_guard", 2, 171, B),
    {"half_read_as_float", OPC_PTX_OUT_OF_BOUNDS, "global", "", 1, 64, 0, false, false},
    GOOD("half_read_as_half", 1, 64, 0),
    {"index_that_overflows", OPC_PTX_OUT_OF_BOUNDS, "global", "", 1, 64, 0, false, false},
    GOOD("index_of_64_bits", 1, 64, 0),
    {"strides_mixed_up", OPC_PTX_OUT_OF_BOUNDS, "global", "", 1, 64, 146, false, false},
    GOOD("strides_in_order", 1, 64, 138),
    {"vectors_off_by_one", OPC_PTX_MISALIGNED, "global", "", 1, 64, 0, false, false},
    GOOD("vectors_aligned", 1, 64, 0),
    {"freed_memory", OPC_PTX_USE_AFTER_FREE, "global", "", 1, 64, 0, false, true},
    GOOD("live_memory", 1, 64, 0),
    {"shared_without_zeros", OPC_PTX_UNINITIALISED, "shared", "it is stored", 1, 64, 60, false, false},
    GOOD("shared_with_zeros", 1, 64, 60),
    {"shared_left_from_before", OPC_PTX_UNINITIALISED, "shared", "it is stored", 2, 64, 0, false, false},
    {"sum_of_nothing", OPC_PTX_UNINITIALISED, "global", "it is stored", 1, 64, 0, false, false},
    GOOD("sum_of_something", 1, 64, 0),
    {"branch_on_nothing", OPC_PTX_UNINITIALISED, "global", "it decides", 1, 64, 0, false, false},
    GOOD("branch_on_something", 1, 64, 0),
    {"index_of_nothing", OPC_PTX_UNINITIALISED, "global", "it is an address", 1, 64, 0, false, false},
    GOOD("index_of_something", 1, 64, 0),
    {"atomic_on_nothing", OPC_PTX_UNINITIALISED, "global", "an atomic operation reads it", 1, 64, 0, false, false},
    GOOD("atomic_on_zeros", 1, 64, 0),
    GOOD("padding_that_is_dropped", 1, 64, 0),
    {"padding_that_is_added", OPC_PTX_UNINITIALISED, "global", "it is stored", 1, 64, 0, false, false},
    GOOD("padding_that_is_copied", 1, 64, 0),
    GOOD("low_half_of_nothing", 1, 64, 0),
    {"high_half_of_nothing", OPC_PTX_UNINITIALISED, "global", "it is stored", 1, 64, 0, false, false},
    GOOD("half_of_a_pair_that_is_dropped", 1, 64, 0),
    {"half_of_a_pair_that_is_stored", OPC_PTX_UNINITIALISED, "global", "it is stored", 1, 64, 0, false, false},
    {"nothing_through_shared", OPC_PTX_UNINITIALISED, "global", "it is stored", 1, 64, 0, false, false},
    {"copy_without_wait", OPC_PTX_UNFINISHED_COPY, "shared", "", 1, 64, 0, false, false},
    GOOD("copy_with_wait", 1, 64, 0),
    {"copy_that_waits_for_too_few", OPC_PTX_UNFINISHED_COPY, "shared", "", 1, 64, 0, false, false},
    GOOD("copy_that_waits_for_enough", 1, 64, 0),
    {"copy_of_another_thread", OPC_PTX_RACE_IN_WARP, "shared", "", 1, 64, 0, false, false},
    GOOD("copy_of_another_thread_after_a_barrier", 1, 64, 0),
    RACE("copy_over_what_is_read", "shared", 1, 64),
    GOOD("copy_over_what_was_read", 1, 64, 0),
    {"copy_of_nothing", OPC_PTX_UNINITIALISED, "shared", "it is stored", 1, 64, 0, false, false},
};
enum { PLANS = sizeof plans / sizeof *plans };

static opc_ptx_module_t *module;
static char source[1 << 16];

/* The line of a kernel that ends in the comment; 0: none. */
static uint32_t marked_line(const char *kernel, const char *comment) {
  char name[64];
  (void)snprintf(name, sizeof name, "KERNEL(%s)", kernel);
  const char *at = strstr(source, name);
  assert_non_null(at);
  const char *next = strstr(at + 1, "KERNEL("), *mark = strstr(at, comment);
  if (!mark || (next && mark > next)) return 0;
  uint32_t line = 1;
  for (const char *c = source; c < mark; c++) line += *c == '\n';
  return line;
}

static void prepare(const plan_t *plan, int *arrays, opc_written_t *written, call_t *call) {
  int *a = arrays, *b = a + A + 16, *c = b + B + 16;
  for (int i = 0; i < A; i++) a[i] = i * 5 % 64;
  memset(b, 0x55, B * sizeof *b);
  memset(c, 0, C * sizeof *c);
  *call = (call_t){.blocks = plan->blocks,
                   .threads = plan->threads,
                   .cooperative = plan->cooperative,
                   .watch = OPC_PTX_WATCH_RACES | OPC_PTX_WATCH_VALUES,
                   .written = written};
  give_array(call, a, A * sizeof *a);
  give_array(call, b, B * sizeof *b);
  give_array(call, c, C * sizeof *c);
  give_number(call, plan->n);
  opc_written_allocated(written, (uintptr_t)b, B * sizeof *b);
  if (!plan->freed) return;
  opc_written_allocated(written, (uintptr_t)c, C * sizeof *c);
  opc_written_freed(written, (uintptr_t)c);
  call->memory.count--;
}

static bool is_ours(const char *file, uint32_t length) {
  static const char name[] = "defects.cu";
  return file && length >= sizeof name - 1 && memcmp(file + length - (sizeof name - 1), name, sizeof name - 1) == 0;
}

/* In the source of the kernels: of a function of CUDA's headers the line that calls it. */
static uint32_t own_line(const opc_ptx_line_t *line, const opc_ptx_line_t *caller) {
  return is_ours(line->file, line->file_length)       ? line->source_line
         : is_ours(caller->file, caller->file_length) ? caller->source_line
                                                      : 0;
}

static uint32_t line_of_finding(const opc_ptx_finding_t *finding) {
  return own_line(&(opc_ptx_line_t){finding->file, finding->file_length, finding->source_line}, &finding->caller);
}

static uint32_t line_of_other(const opc_ptx_side_t *side) {
  return own_line(&(opc_ptx_line_t){side->file, side->file_length, side->source_line}, &side->caller);
}

static void check_finding(const plan_t *plan, const opc_ptx_finding_t *finding) {
  assert_string_equal(plan->space, finding->space);
  assert_non_null(strstr(finding->text, plan->text));
  if (plan->freed) assert_int_equal(C * sizeof(int), finding->allocation.end - finding->allocation.begin);
  if (plan->kind < OPC_PTX_RACE || plan->kind > OPC_PTX_RACE_IN_WARP) return;
  assert_true(finding->access != OPC_PTX_READ || finding->other.access != OPC_PTX_READ);
  assert_true(memcmp(finding->thread, finding->other.thread, sizeof finding->thread) != 0 ||
              memcmp(finding->block, finding->other.block, sizeof finding->block) != 0);
  assert_true((strcmp(plan->space, "global") == 0) == (finding->allocation.end > finding->address));
}

/* One of the findings is the one that the plan names; those of other kinds follow from it. */
static void check(const plan_t *plan, const opc_ptx_outcome_t *outcome) {
  const uint32_t line = marked_line(plan->kernel, "// defect"), other = marked_line(plan->kernel, "// other");
  bool found = plan->kind == OK;
  if (plan->kind == OK) {
    assert_int_equal(0, outcome->finding_count);
    assert_int_equal(OPC_PTX_FINISHED, outcome->end);
  }
  for (size_t i = 0; i < outcome->finding_count && i < OPC_PTX_FINDINGS_KEPT; i++) {
    const opc_ptx_finding_t *finding = &outcome->findings[i];
    if ((int)finding->kind != plan->kind) continue;
    check_finding(plan, finding);
    assert_int_not_equal(0, line_of_finding(finding));
    const uint32_t here = line_of_finding(finding), there = line_of_other(&finding->other);
    found = found || ((line == 0 || line == here) && (other == 0 || other == there)) ||
            (other != 0 && line == there && other == here); /* which of two came first depends on the order */
  }
  assert_true(found);
}

static void run_ordered(const plan_t *plan, opc_ptx_order_t order, uint64_t seed, int *arrays, call_t *call) {
  opc_written_t *written = opc_written_make();
  assert_non_null(written);
  prepare(plan, arrays, written, call);
  call->order = order;
  call->seed = seed;
  call_run(call, module, plan->kernel);
  opc_written_free(written);
}

static void run_plan(void **state) {
  static const struct {
    opc_ptx_order_t order;
    uint64_t seed;
  } orders[] = {{OPC_PTX_ORDER_ASCENDING, 0},
                {OPC_PTX_ORDER_DESCENDING, 0},
                {OPC_PTX_ORDER_SEEDED, 1},
                {OPC_PTX_ORDER_SEEDED, 2}};
  const plan_t *plan = *state;
  int arrays[A + B + C + 64];
  call_t call;
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    run_ordered(plan, orders[i].order, orders[i].seed, arrays, &call);
    print_message("  order %zu\n", i);
    check(plan, &call.outcome);
  }
}

/* ---- schedules ---- */

enum { WARPS = 2, BLOCKS = 13, TURNS = WARPS * BLOCKS };

static void turns_of(opc_ptx_order_t order, uint64_t seed, int out[TURNS]) {
  static const plan_t plan = GOOD("order_of_warps", BLOCKS, WARPS * 32, 0);
  int arrays[A + B + C + 64];
  bool seen[TURNS] = {false};
  call_t call;
  run_ordered(&plan, order, seed, arrays, &call);
  assert_int_equal(0, call.outcome.finding_count);
  memcpy(out, arrays + A + 16, TURNS * sizeof *out);
  for (int i = 0; i < TURNS; i++) {
    assert_true(out[i] >= 0 && out[i] < TURNS && !seen[out[i]]);
    seen[out[i]] = true;
  }
}

static void test_orders(void **state) {
  int up[TURNS], down[TURNS], one[TURNS], again[TURNS], other[TURNS];
  (void)state;
  turns_of(OPC_PTX_ORDER_ASCENDING, 0, up);
  turns_of(OPC_PTX_ORDER_DESCENDING, 0, down);
  turns_of(OPC_PTX_ORDER_SEEDED, 7, one);
  turns_of(OPC_PTX_ORDER_SEEDED, 7, again);
  turns_of(OPC_PTX_ORDER_SEEDED, 8, other);
  for (int i = 0; i < TURNS; i++) {
    assert_int_equal(i, up[i]);
    assert_int_equal(TURNS - 1 - i, down[i]);
  }
  assert_memory_equal(one, again, sizeof one);
  assert_memory_not_equal(one, other, sizeof one);
  assert_memory_not_equal(one, up, sizeof one);
}

int main(int count, char **names) {
  static struct CMUnitTest tests[PLANS + 1];
  static char text[1 << 20];
  opc_ptx_problem_t problem;
  FILE *file = count == 3 ? fopen(names[1], "rb") : NULL;
  if (!file) return 2;
  const size_t size = fread(text, 1, sizeof text, file);
  fclose(file);
  file = fopen(names[2], "rb");
  if (!file) return 2;
  source[fread(source, 1, sizeof source - 1, file)] = '\0';
  fclose(file);
  module = opc_ptx_module_read(text, size, &problem);
  if (!module) return 2;
  for (size_t i = 0; i < PLANS; i++)
    tests[i] = (struct CMUnitTest){plans[i].kernel, run_plan, NULL, NULL, (void *)(uintptr_t)&plans[i]};
  tests[PLANS] = (struct CMUnitTest)cmocka_unit_test(test_orders);
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  opc_ptx_module_free(module);
  return failed;
}
