/* What the search reads from the texts with which real operators reject. */
#include "unit.h"

#include <string.h>

#include "search/draft/search_inside.h"

enum { NO = -1 };

static void test_ranks(void **state) {
  (void)state;
  static const struct {
    const char *message;
    int wanted, found;
  } rows[] = {
      {"Expected input_c.ndimension() == 4 to be true, but got false.", 4, NO},
      {"boxes should be a 2d tensor, got 1D", 2, 1},
      {"TensorAccessor expected 1 dims but tensor has 3", 1, 3},
      {"Expected 4-dimensional input, but got 2-dimensional input instead", 4, 2},
      {"x.dim() == 3 INTERNAL ASSERT FAILED at \"/a/b/4d.cpp\":2, please report a bug to PyTorch.", 3, NO},
      {"vector expected", 1, NO},
      {"the matrices do not fit", 2, NO},
      {"size 4 is wrong", NO, NO},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_clue_t clue;
    opc_clue_read(&clue, rows[i].message);
    int wanted = clue.ranks_wanted_count > 0 ? clue.ranks_wanted[0] : NO,
        found = clue.ranks_found_count > 0 ? clue.ranks_found[0] : NO;
    if (wanted != rows[i].wanted || found != rows[i].found)
      fail_msg("%s: wanted %d, found %d", rows[i].message, wanted, found);
  }
}

static void test_dtypes_have_a_direction(void **state) {
  (void)state;
  static const struct {
    const char *message;
    opc_dtype_t wanted, found;
  } rows[] = {
      {"expected scalar type Long but found Int", OPC_DTYPE_INT64, OPC_DTYPE_INT32},
      {"Expected out tensor to have dtype float, but got int instead", OPC_DTYPE_FLOAT32, OPC_DTYPE_INT32},
      {"\"kernel\" not implemented for 'Half'", OPC_DTYPE_FLOAT16, OPC_DTYPE_OTHER},
      {"gemm: expected Half", OPC_DTYPE_FLOAT16, OPC_DTYPE_OTHER},
      {"gemm: half of the rows", OPC_DTYPE_OTHER, OPC_DTYPE_OTHER},
      {"offsets must be an int64_t tensor", OPC_DTYPE_INT64, OPC_DTYPE_OTHER},
      {"half of it is wrong", OPC_DTYPE_OTHER, OPC_DTYPE_OTHER},
      {"A must be bf16", OPC_DTYPE_BFLOAT16, OPC_DTYPE_OTHER},
      {"only supports fp16 input", OPC_DTYPE_FLOAT16, OPC_DTYPE_OTHER},
      {"mask.dtype must be torch.bool", OPC_DTYPE_BOOL, OPC_DTYPE_OTHER},
      {"expected q to be torch.float8_e4m3fn but got Float", OPC_DTYPE_FLOAT8_E4M3FN, OPC_DTYPE_FLOAT32},
      {"mat1 must be Float8_e5m2", OPC_DTYPE_FLOAT8_E5M2, OPC_DTYPE_OTHER},
      {"at::kFloat8_e8m0fnu is wanted of the type", OPC_DTYPE_FLOAT8_E8M0FNU, OPC_DTYPE_OTHER},
      {"the weights must be fp8", OPC_DTYPE_FLOAT8_E4M3FN, OPC_DTYPE_OTHER},
      {"\"scale\" not implemented for 'ComplexHalf'", OPC_DTYPE_COMPLEX32, OPC_DTYPE_OTHER},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_clue_t clue;
    opc_clue_read(&clue, rows[i].message);
    if (clue.dtype_wanted[0] != rows[i].wanted || clue.dtype_found[0] != rows[i].found) {
      fail_msg("%s: wanted %s, found %s", rows[i].message, opc_dtype_name(clue.dtype_wanted[0]),
               opc_dtype_name(clue.dtype_found[0]));
    }
  }
}

static void test_numbers_and_shapes(void **state) {
  (void)state;
  opc_clue_t clue;
  opc_clue_read(&clue, "offset.shape[1] is not valid: got: 3 expected: 18");
  assert_true(clue.got_expected);
  assert_int_equal(clue.got, 3);
  assert_int_equal(clue.expected, 18);
  assert_int_equal(clue.number_count, 2); /* the 1 is the number of the dimension */

  opc_clue_read(&clue, "boxes should have 4 elements in dimension 1, got 5");
  assert_int_equal(clue.expected, 4);
  assert_int_equal(clue.got, 5);

  opc_clue_read(&clue, "Tensor rois should have shape as Tensor[K, 5]");
  assert_int_equal(clue.tuple_count, 1);
  assert_int_equal(clue.tuples[0].count, 2);
  assert_int_equal(clue.tuples[0].sizes[0], -'K');
  assert_int_equal(clue.tuples[0].sizes[1], 5);

  opc_clue_read(&clue, "offset output dims: (2, 3) - computed output dims: (4, 5)");
  assert_int_equal(clue.tuple_count, 2);
  assert_int_equal(clue.tuples[1].sizes[1], 5);
  assert_false(clue.tuples[1].has_letter);

  opc_clue_read(&clue, "dim() and size(0) and tensor(s) are no shapes: [");
  assert_int_equal(clue.tuple_count, 0);

  opc_clue_read(
      &clue,
      "scale 0.5 in /usr/src/file_7.cpp:88 failed\nException raised from f at /x/y.cpp:12 (most recent call first):");
  assert_null(strstr(clue.text, "88"));
  assert_null(strstr(clue.text, "12"));

  opc_clue_read(&clue, NULL);
  assert_int_equal(clue.number_count, 0);
}

static void test_names(void **state) {
  (void)state;
  static const struct {
    const char *message, *argument;
    int certainty;
  } rows[] = {
      {"weight must be positive", "weight", 2}, {"weight_c.size(1) is wrong", "weight", 2},
      {"'x' must be positive", "x", 2},         {"a matrix x wide", "a", 0},
      {"weights are wrong", "weight", 1},       {"boxes should be 2D", "dets", 1},
      {"boxes should be 2D", "scores", 0},      {"output_size is wrong", "size", 0},
      {"expected 2D", "expected_length", 0},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_clue_t clue;
    opc_clue_read(&clue, rows[i].message);
    if (opc_clue_names(&clue, rows[i].argument) != rows[i].certainty)
      fail_msg("%s: %s", rows[i].message, rows[i].argument);
  }
}

static void test_sites(void **state) {
  (void)state;
  static const struct {
    const char *left, *right;
    bool same;
  } rows[] = {
      {"expected 3 but got 4", "expected 3 but got 17", true},
      {"expected uint8 tensor", "expected int64 tensor", true}, /* a dtype is not a place */
      {"/a/file.cpp:12: too small", "/b/other.cpp:99: too small", true},
      {"x too small\nException raised from a", "x too small\nException raised from b", true},
      {"input too small", "weight too small", false},
      {"", "x", false},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    if ((opc_clue_site(rows[i].left) == opc_clue_site(rows[i].right)) != rows[i].same)
      fail_msg("%s | %s", rows[i].left, rows[i].right);
  }
  assert_true(opc_clue_is_hopeless("lib::f.out", "Found no NVIDIA driver on your system."));
  assert_true(
      opc_clue_is_hopeless("lib::f.out", "all symbols must have a namespace, <namespace>::<string>, but found: mean"));
  assert_false(opc_clue_is_hopeless("lib::f.out", "expected a CPU tensor"));
  assert_false(opc_clue_is_hopeless("lib::f.out", "x must be on CPU"));
  assert_true(opc_clue_is_hopeless(
      "lib::f.out", "No compiled quantization kernel for SM 90. Recompile with the appropriate CUDA arch."));
  static const char *const wishes[] = {"q must be on CUDA",
                                       "x must be a CUDA tensor",
                                       "Expected x.is_cuda() to be true, but got false.",
                                       "CUDAGuardImpl initialized with non-CUDA DeviceType: cpu",
                                       "sorted search is not supported by CPU",
                                       "CPU tensors are never what this takes",
                                       "this op does not support CPU tensors"};
  for (size_t i = 0; i < COUNT(wishes); i++)
    assert_true(opc_clue_wants_cuda(wishes[i]) && opc_clue_is_hopeless("lib::f.out", wishes[i]));
  assert_false(opc_clue_wants_cuda("Found no NVIDIA driver on your system."));
  assert_true(opc_clue_is_hopeless("lib::f.out", "lib::f is deprecated. Use lib::g."));
  assert_false(opc_clue_is_hopeless("lib::f.out", "memory_format is deprecated"));
  assert_false(opc_clue_is_hopeless("lib::f.out", "is deprecated"));
  assert_false(opc_clue_is_hopeless("lib::f.out", NULL));
}

static void test_long_and_odd_texts(void **state) {
  (void)state;
  static char text[6000];
  opc_clue_t clue;
  memset(text, '[', sizeof text - 1);
  opc_clue_read(&clue, text);
  assert_int_equal(clue.tuple_count, 0);
  for (size_t i = 0; i + 2 < sizeof text; i += 2) memcpy(text + i, i % 3 ? "9 " : "\xff,", 2);
  opc_clue_read(&clue, text);
  (void)opc_clue_site(text);
  opc_clue_read(&clue, "99999999999999999999999 and -");
  assert_true(clue.number_count <= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ranks),
      cmocka_unit_test(test_dtypes_have_a_direction),
      cmocka_unit_test(test_numbers_and_shapes),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_sites),
      cmocka_unit_test(test_long_and_odd_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
