/* Kernels that nvcc compiled to PTX (kernels.cu), run on the machine and compared with what the host calculates. */
#include <math.h>

#include "ptx_test.h"

static opc_ptx_module_t *module;

enum { N = 1000, THREADS = 128, BLOCKS = (N + THREADS - 1) / THREADS };

static void run(call_t *call, const char *kernel) { call_run(call, module, kernel); }
static void run_well(call_t *call, const char *kernel) { call_run_well(call, module, kernel); }

static void test_vector_add(void **state) {
  float a[N], b[N], c[N + 8] = {0};
  (void)state;
  for (int i = 0; i < N; i++) {
    a[i] = (float)i * 0.37f;
    b[i] = 1000.0f / (float)(i + 1);
  }
  call_t call = {.blocks = BLOCKS, .threads = THREADS};
  give_array(&call, a, sizeof a);
  give_array(&call, b, sizeof b);
  give_array(&call, c, N * sizeof *c);
  give_number(&call, N);
  run_well(&call, "vector_add");
  for (int i = 0; i < N; i++) assert_true(c[i] == a[i] + b[i]);
  for (int i = N; i < N + 8; i++) assert_true(c[i] == 0);
}

static void test_block_sum(void **state) {
  int in[N];
  long long out[3] = {0}, all = 0;
  (void)state;
  for (int i = 0; i < N; i++) all += in[i] = i * 7919 - 100000;
  call_t call = {.blocks = 3, .threads = 256};
  give_array(&call, in, sizeof in);
  give_array(&call, out, sizeof out);
  give_number(&call, N);
  run_well(&call, "block_sum");
  assert_int_equal(all, out[0] + out[1] + out[2]);
  assert_true(out[0] != 0 && out[1] != 0 && out[2] != 0);
}

static void test_warp_sum(void **state) {
  int in[N], out[2] = {0}, all = 0;
  (void)state;
  for (int i = 0; i < N; i++) all += in[i] = i * 31 - 5000;
  call_t call = {.blocks = BLOCKS, .threads = THREADS};
  give_array(&call, in, sizeof in);
  give_array(&call, out, sizeof out);
  give_number(&call, N);
  run_well(&call, "warp_sum");
  assert_int_equal(all, out[0]);
  assert_int_equal((BLOCKS * THREADS + 2) / 3, out[1]);
}

static void test_histogram(void **state) {
  unsigned char in[N];
  int out[256] = {0}, expected[256] = {0};
  (void)state;
  for (int i = 0; i < N; i++) expected[in[i] = (unsigned char)(i * i % 251)]++;
  call_t call = {.blocks = 4, .threads = 96, .shared = 256 * sizeof(int)};
  give_array(&call, in, sizeof in);
  give_array(&call, out, sizeof out);
  give_number(&call, N);
  run_well(&call, "histogram");
  assert_memory_equal(expected, out, sizeof out);
  call.shared = 64; /* too little: the stores outside are found, and dropped */
  run(&call, "histogram");
  assert_true(call.outcome.finding_count > 0);
  assert_int_equal(OPC_PTX_OUT_OF_BOUNDS, call.outcome.findings[0].kind);
  assert_string_equal("shared", call.outcome.findings[0].space);
}

static void test_collatz(void **state) {
  int out[N];
  (void)state;
  call_t call = {.blocks = BLOCKS, .threads = THREADS};
  give_array(&call, out, sizeof out);
  give_number(&call, N);
  run_well(&call, "collatz");
  for (int i = 0; i < N; i++) {
    int steps = 0;
    for (unsigned long long x = (unsigned long long)i + 1; x != 1; steps++) x = x % 2 != 0 ? 3 * x + 1 : x / 2;
    assert_int_equal(steps, out[i]);
  }
}

static void test_last_block(void **state) {
  int in[N], partial[5], out = 0, all = 0;
  (void)state;
  for (int i = 0; i < N; i++) all += in[i] = i ^ 0x55;
  for (int round = 0; round < 2; round++) { /* its counter goes back to 0 */
    out = 0;
    call_t call = {.blocks = 5, .threads = 64};
    give_array(&call, in, sizeof in);
    give_array(&call, partial, sizeof partial);
    give_array(&call, &out, sizeof out);
    give_number(&call, N);
    run_well(&call, "last_block");
    assert_int_equal(all, out);
  }
}

/* Lanes of one warp wait for another lane of it. */
static void test_spin_lock(void **state) {
  int counter = 0;
  (void)state;
  call_t call = {.blocks = 2, .threads = 40};
  give_array(&call, &counter, sizeof counter);
  run_well(&call, "spin_lock");
  assert_int_equal(80, counter);
}

static float helper(float x, int *steps) {
  for (int i = 0; i < *steps; i++) x = fmaf(x, 0.5f, 1.0f);
  *steps += 1;
  return x;
}

static void test_called(void **state) {
  float x[40], expected[40];
  (void)state;
  for (int i = 0; i < 40; i++) {
    int steps = i % 4;
    x[i] = (float)i * 1.25f;
    const float y = helper(x[i], &steps);
    expected[i] = helper(y, &steps) + (float)steps;
  }
  call_t call = {.blocks = 1, .threads = 64};
  give_array(&call, x, sizeof x);
  give_number(&call, 40);
  run_well(&call, "called");
  for (int i = 0; i < 40; i++) assert_true(expected[i] == x[i]);
}

static int selected(int x, int i) {
  unsigned reversed = 0;
  int y = 0;
  for (int bit = 0; bit < 32; bit++) reversed |= ((unsigned)i >> bit & 1) << (31 - bit);
  switch (x) {
    case 0:
      return i;
    case 1:
      return 1 ^ i;
    case 2:
      for (int k = 0; k < i; k++) y += k % 7;
      return y;
    case 3:
      return i / 3 - 5;
    case 4:
      return (int)reversed;
    case 5:
      return (i == 0 ? 32 : __builtin_clz((unsigned)i)) + __builtin_ffs(i);
    /* bytes 5, 1, 7, 3 of the eight, from the lowest: 6 0 0 0, then those of i */
    case 6:
      return (int)(((unsigned)i >> 8 & 0xff) << 8 | ((unsigned)i >> 24) << 24);
    default:
      return -1;
  }
}

static void test_selects(void **state) {
  int in[N], out[N];
  (void)state;
  for (int i = 0; i < N; i++) in[i] = i * 5 % 9 - 1;
  call_t call = {.blocks = BLOCKS, .threads = THREADS};
  give_array(&call, in, sizeof in);
  give_array(&call, out, sizeof out);
  give_number(&call, N);
  run_well(&call, "selects");
  for (int i = 0; i < N; i++) assert_int_equal(selected(in[i], i), out[i]);
}

static void test_asserts(void **state) {
  int in[64];
  (void)state;
  for (int i = 0; i < 64; i++) in[i] = i == 45 ? 10 : 1;
  call_t call = {.blocks = 1, .threads = 64};
  give_array(&call, in, sizeof in);
  run(&call, "asserts");
  const opc_ptx_finding_t *finding = &call.outcome.findings[0];
  assert_int_equal(OPC_PTX_ENDED_BY_FINDING, call.outcome.end);
  assert_int_equal(1, call.outcome.finding_count);
  assert_int_equal(OPC_PTX_TRAP, finding->kind);
  assert_int_equal(45, finding->thread[0]);
  assert_non_null(strstr(finding->text, "in[threadIdx.x] < 10 (kernels.cu:"));
}

static void test_out_of_bounds(void **state) {
  int out[64] = {0};
  (void)state;
  call_t call = {.blocks = 1, .threads = 64};
  give_array(&call, out, 60 * sizeof *out);
  give_number(&call, 60);
  run(&call, "out_of_bounds");
  const opc_ptx_finding_t *finding = &call.outcome.findings[0];
  assert_int_equal(OPC_PTX_FINISHED, call.outcome.end);
  assert_int_equal(4, call.outcome.finding_count);
  assert_int_equal(OPC_PTX_OUT_OF_BOUNDS, finding->kind);
  assert_int_equal(OPC_PTX_WRITE, finding->access);
  assert_string_equal("global", finding->space);
  assert_int_equal(60, finding->thread[0]);
  assert_int_equal((uintptr_t)(out + 60), finding->address);
  assert_int_equal(4, finding->bytes);
  assert_true(finding->source_line > 0);
  assert_true(finding->file_length > 10 && memcmp(finding->file + finding->file_length - 10, "kernels.cu", 10) == 0);
  for (int i = 0; i < 64; i++) assert_int_equal(i < 60, out[i]);
}

static float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float size =
      exponent == 0 ? ldexpf((float)(bits & 1023), -24) : ldexpf((float)(bits & 1023) + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

static void test_halves(void **state) {
  uint16_t a[N], b[N], c[N], d[N], e[N];
  (void)state;
  for (int i = 0; i < N; i++) {
    a[i] = (uint16_t)(0x3c00 + i * 13 % 1024);
    b[i] = (uint16_t)(0xbc00 + i * 29 % 1024);
    d[i] = (uint16_t)(0x3f80 + i % 128);
  }
  call_t call = {.blocks = BLOCKS, .threads = THREADS};
  give_array(&call, a, sizeof a);
  give_array(&call, b, sizeof b);
  give_array(&call, c, sizeof c);
  give_array(&call, d, sizeof d);
  give_array(&call, e, sizeof e);
  give_number(&call, N);
  run_well(&call, "halves");
  for (int i = 0; i < N; i++) {
    /* Numbers between 1 and 2: a float holds a * b + a / 4 exactly; the nearest half is at most half a step away. */
    const float exact = half_value(a[i]) * half_value(b[i]) + half_value(a[i]) * 0.25f;
    const float step = ldexpf(1, ilogbf(exact) - 10);
    assert_true(fabsf(half_value(c[i]) - exact) <= step / 2);
    uint32_t wide = (uint32_t)d[i] << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    value += 1.5f;
    memcpy(&wide, &value, sizeof wide);
    wide += 0x7fff + (wide >> 16 & 1);
    assert_int_equal(wide >> 16, e[i]);
  }
}

/* CUDA's own functions: 2 ulp at most for double; floats go through approximations. */
static void test_doubles(void **state) {
  double a[N], b[N];
  float f[N];
  (void)state;
  for (int i = 0; i < N; i++) a[i] = (i - 500) * 0.0173;
  call_t call = {.blocks = BLOCKS, .threads = THREADS};
  give_array(&call, a, sizeof a);
  give_array(&call, b, sizeof b);
  give_array(&call, f, sizeof f);
  give_number(&call, N);
  run_well(&call, "doubles");
  for (int i = 0; i < N; i++) {
    const double expected = exp(a[i]) + sin(a[i]) / sqrt(fabs(a[i]) + 1), single = exp((float)a[i]) + sin((float)a[i]);
    assert_true(fabs(b[i] - expected) <= 4 * 2.3e-16 * (fabs(expected) + 1));
    assert_true(fabs((double)f[i] - single) <= 4 * 1.2e-7 * (exp(a[i]) + 1));
  }
}

static void test_endless(void **state) {
  int flag = 0, out = 0;
  (void)state;
  call_t call = {.blocks = 1, .threads = 32, .budget = 100000};
  give_array(&call, &flag, sizeof flag);
  run(&call, "never_ends");
  assert_int_equal(OPC_PTX_OVER_BUDGET, call.outcome.end);
  call = (call_t){.blocks = 1, .threads = 64};
  give_array(&call, &out, sizeof out);
  run(&call, "lost_barrier");
  assert_int_equal(OPC_PTX_ENDED_BY_FINDING, call.outcome.end);
  assert_int_equal(OPC_PTX_DEADLOCK, call.outcome.findings[0].kind);
  assert_int_equal(0, out);
}

static void test_constants(void **state) {
  static const int table[] = {2, 3, 5, 7, 11};
  int out[48];
  (void)state;
  call_t call = {.blocks = 1, .threads = 48};
  give_array(&call, out, sizeof out);
  run_well(&call, "constants");
  for (int i = 0; i < 48; i++) assert_int_equal(table[i % 5], out[i]);
}

static void test_grid_barrier(void **state) {
  unsigned arrivals = 0;
  int data[256], out[256];
  (void)state;
  call_t call = {.blocks = 4, .threads = 64, .cooperative = true};
  give_array(&call, &arrivals, sizeof arrivals);
  give_array(&call, data, sizeof data);
  give_array(&call, out, sizeof out);
  run_well(&call, "grid_barrier");
  for (int i = 0; i < 256; i++) assert_int_equal((255 - i) * 7, out[i]);
}

int main(int count, char **names) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_vector_add),  cmocka_unit_test(test_block_sum),     cmocka_unit_test(test_warp_sum),
      cmocka_unit_test(test_histogram),   cmocka_unit_test(test_collatz),       cmocka_unit_test(test_last_block),
      cmocka_unit_test(test_spin_lock),   cmocka_unit_test(test_called),        cmocka_unit_test(test_selects),
      cmocka_unit_test(test_asserts),     cmocka_unit_test(test_out_of_bounds), cmocka_unit_test(test_halves),
      cmocka_unit_test(test_doubles),     cmocka_unit_test(test_endless),       cmocka_unit_test(test_constants),
      cmocka_unit_test(test_grid_barrier)};
  FILE *file = count == 2 ? fopen(names[1], "rb") : NULL;
  static char text[1 << 20];
  if (!file) return 2;
  const size_t size = fread(text, 1, sizeof text, file);
  fclose(file);
  opc_ptx_problem_t problem;
  module = opc_ptx_module_read(text, size, &problem);
  if (!module) return 2;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  opc_ptx_module_free(module);
  return failed;
}
