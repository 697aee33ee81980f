/* A slope agrees with a correct derivative, detects a wrong one, and decides nothing if there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "checks/autograd/autograd_slope.h"

enum { HALVINGS = 10 };
static const double EPSILON = 0x1p-52;

typedef double real_t(double);
typedef struct function {
  real_t *real;
  double at;
} function_t;

static opc_status_t value_of(double step, void *context, double *out, opc_error_t *error) {
  const function_t *function = context;
  (void)error;
  *out = function->real(function->at + step);
  return OPC_OK;
}

static opc_agreement_t compare(real_t *real, double at, double derivative) {
  function_t function = {real, at};
  opc_slope_t slope;
  opc_error_t error;
  assert_int_equal(opc_slope_take(value_of, &function, EPSILON, &slope, &error), OPC_OK);
  return opc_slope_compare(&slope, derivative, fabs(derivative), EPSILON);
}

static bool jumps(real_t *real, double at) {
  function_t function = {real, at};
  opc_error_t error;
  bool found = false;
  assert_int_equal(opc_slope_jumps(value_of, &function, 1.0, HALVINGS, EPSILON, &found, &error), OPC_OK);
  return found;
}

static double cube(double x) { return x * x * x; }
static double relu(double x) { return x > 0.0 ? x : 0.0; }
static double in_tenths(double x) { return round(10.0 * x) / 10.0; }
static double in_thousandths(double x) { return round(1000.0 * x) / 1000.0; }
static double learned_scale(double x) { return x * round(3.7 / x); }
static double pole_at_half(double x) { return 1.0 / (0.5 - x); }
static double square_pole_at_half(double x) { return 1.0 / ((0.5 - x) * (0.5 - x)); }
static double pole_in_tenths(double x) { return in_tenths(x) + 1e-3 / (0.9 - x); }
static double logarithm(double x) { return log(0.5 - x); }
static double constant(double x) { return 2.0 + 0.0 * x; }
static double in_float(double x) { return (double)(float)(x * x * x); }

static void test_smooth(void **state) {
  (void)state;
  assert_int_equal(compare(cube, 1.5, 3 * 1.5 * 1.5), OPC_AGREES);
  assert_int_equal(compare(cube, 1.5, -3 * 1.5 * 1.5), OPC_DIFFERS);
  assert_int_equal(compare(cube, 1.5, 3 * 1.5 * 1.5 * (1 + 1e-6)), OPC_DIFFERS);
  assert_int_equal(compare(exp, 0.3, exp(0.3)), OPC_AGREES);
  assert_int_equal(compare(sin, 20.0, cos(20.0)), OPC_AGREES);
  assert_int_equal(compare(constant, 1.0, 0.0), OPC_AGREES);
  assert_int_equal(compare(constant, 1.0, 0.5), OPC_DIFFERS);
  assert_int_equal(compare(constant, 1.0, 1e-17), OPC_UNDECIDED); /* rounding in the gradient */
  assert_int_equal(compare(cube, 1.5, NAN), OPC_DIFFERS);
}

static void test_no_slope(void **state) {
  (void)state;
  for (double derivative = -1.0; derivative <= 2.0;
       derivative += 0.5) { /* at a kink any value between the slopes is right, and others are not detected */
    assert_int_not_equal(compare(relu, 0.0, derivative),
                         derivative < -0.5 || derivative > 1.5 ? OPC_AGREES : OPC_DIFFERS);
    assert_int_not_equal(compare(fabs, 0.0, derivative),
                         derivative < -1.5 || derivative > 1.5 ? OPC_AGREES : OPC_DIFFERS);
  }
  assert_int_equal(compare(relu, 0.01, 1.0), OPC_AGREES);
  assert_int_equal(compare(relu, 0.01, 0.0), OPC_DIFFERS);
  assert_int_equal(compare(log, -1.0, 1.0), OPC_UNDECIDED);
  assert_int_equal(compare(in_tenths, 0.05, 1.0), OPC_UNDECIDED);
}

static void test_precision_of_another_dtype(void **state) {
  (void)state;
  for (double at = 0.7; at < 2.0; at += 0.01) assert_int_not_equal(compare(in_float, at, 3 * at * at), OPC_DIFFERS);
  assert_int_equal(compare(in_float, 1.3, 2 * 3 * 1.3 * 1.3), OPC_DIFFERS);
}

static void test_rounding(void **state) {
  (void)state;
  assert_true(jumps(in_tenths, 0.321));
  assert_true(jumps(in_thousandths, 0.321));
  assert_true(jumps(learned_scale, 0.321));
  assert_false(jumps(cube, 0.321));
  assert_false(jumps(exp, 0.321));
  assert_false(jumps(constant, 0.321));
  assert_false(jumps(relu, -0.321));
}

static void test_poles_are_no_jumps(void **state) {
  (void)state;
  for (double at = -0.4; at < 0.49; at += 0.0625) {
    assert_false(jumps(pole_at_half, at));
    assert_false(jumps(square_pole_at_half, at));
    assert_false(jumps(logarithm, at));
  }
  assert_true(jumps(pole_in_tenths, 0.321));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_smooth), cmocka_unit_test(test_no_slope),
                                     cmocka_unit_test(test_precision_of_another_dtype), cmocka_unit_test(test_rounding),
                                     cmocka_unit_test(test_poles_are_no_jumps)};
  return cmocka_run_group_tests_name("slope", tests, NULL, NULL);
}
