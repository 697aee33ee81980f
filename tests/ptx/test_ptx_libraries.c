/* test_ptx_libraries FIXTURE OPERATORS: the kernels of fixtures/cuda and ops, from the fat binaries of libraries that
 * were built, run on the machine. */
#include "ptx_library.h"

static const char *fixture, *operators;

enum { ROWS = 7, ROW = 45, N = ROWS * ROW };

typedef struct shape {
  int64_t rows, row_bytes;
} shape_t;

static void test_copies(void **state) {
  unsigned char in[N], out[N];
  const int64_t bytes = N, stage = 16;
  const shape_t shape = {ROWS, ROW};
  (void)state;
  opc_ptx_module_t *module = module_in(fixture);
  for (int i = 0; i < N; i++) in[i] = (unsigned char)(i * 7 + 3);
  for (int kernel = 0; kernel < 4; kernel++) {
    static const char *const names[] = {"copy_kernelE", "copy_rows_kernelE", "copy_shaped_kernelE",
                                        "copy_staged_kernelE"};
    call_t call = {.blocks = 3, .threads = 40, .shared = kernel == 3 ? (uint32_t)stage : 0};
    memset(out, 0, sizeof out);
    give_array(&call, in, sizeof in);
    give_array(&call, out, sizeof out);
    if (kernel == 0) give(&call, &bytes, sizeof bytes);
    else if (kernel == 2) give_array(&call, &shape, sizeof shape);
    else give_aligned(&call, &shape, sizeof shape, sizeof(int64_t));
    if (kernel == 3) give(&call, &stage, sizeof stage);
    if (kernel == 3) call.blocks = 1; /* each of its blocks in x would copy all */
    call_run_well(&call, module, names[kernel]);
    assert_memory_equal(in, out, sizeof in);
  }
  opc_ptx_module_free(module);
}

static void test_lookup(void **state) {
  unsigned char in[N], out[N] = {0}, table[256];
  const int64_t bytes = N;
  (void)state;
  opc_ptx_module_t *module = module_in(fixture);
  for (int i = 0; i < 256; i++) table[i] = (unsigned char)(255 - i);
  for (int i = 0; i < N; i++) in[i] = (unsigned char)(i * i);
  call_t call = {.blocks = 2, .threads = 64};
  give_array(&call, in, sizeof in);
  give_array(&call, out, sizeof out);
  give(&call, &bytes, sizeof bytes);
  give_array(&call, table, sizeof table);
  call_run_well(&call, module, "lookup_kernelE");
  for (int i = 0; i < N; i++) assert_int_equal(255 - in[i], out[i]);
  opc_ptx_module_free(module);
}

/* A matrix whose columns lie behind each other becomes one whose rows do. */
static void identity_of(const opc_ptx_module_t *module, const char *kernel, size_t size) {
  enum { DIMENSIONS = 64 };
  unsigned char in[N * 8], out[N * 8] = {0};
  struct {
    int dims;
    int64_t sizes[DIMENSIONS], strides[DIMENSIONS];
  } layout = {2, {ROWS, ROW}, {1, ROWS}};
  const int64_t count = N;
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * 31 + i / 256);
  call_t call = {.blocks = 1, .threads = 256};
  give_array(&call, in, N * size);
  give_array(&call, out, N * size);
  give(&call, &count, sizeof count);
  give_aligned(&call, &layout, sizeof layout, sizeof(int64_t));
  call_run_well(&call, module, kernel);
  for (int row = 0; row < ROWS; row++)
    for (int column = 0; column < ROW; column++)
      assert_memory_equal(in + (size_t)(column * ROWS + row) * size, out + (size_t)(row * ROW + column) * size, size);
}

static void test_identity(void **state) {
  (void)state;
  opc_ptx_module_t *module = module_in(operators);
  identity_of(module, "copy_kernelIhE", 1);
  identity_of(module, "copy_kernelItE", 2);
  identity_of(module, "copy_kernelIjE", 4);
  identity_of(module, "copy_kernelImE", 8);
  opc_ptx_module_free(module);
}

int main(int count, char **names) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_lookup),
                                     cmocka_unit_test(test_identity)};
  if (count != 3) return 2;
  fixture = names[1];
  operators = names[2];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
