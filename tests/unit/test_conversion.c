/* Instructions that convert floating-point numbers to integers: decoding them, which numbers fit, and the trap that
 * shows those that do not. The bytes come from the GNU assembler. */
#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/conversion.h"
#include "memory/conversion_trap.h"
#include "memory/guard.h"

/* ---- decoding ---- */

typedef struct expected {
  const char *code;
  size_t size;
  opc_conversion_t conversion;
} expected_t;

enum {
  NONE = OPC_OPERAND_NONE,
  NEXT = OPC_OPERAND_NEXT,
  RAX = 0,
  RCX,
  RDX,
  RBX,
  RSP,
  RBP,
  RDI = 7,
  R12 = 12,
  R13,
  R14
};

#define CODE(text) .code = (text), .size = sizeof(text) - 1
#define AT(base_, index_, scale_, displacement_) \
  .from_memory = true,                           \
  .operand = {.base = (base_), .index = (index_), .scale = (scale_), .displacement = (displacement_)}

static const expected_t instructions[] = {
    {CODE("\xf3\x0f\x2c\xc1"), {.name = "cvttss2si", .lanes = 1, .truncates = true, .bits = 32, .to = RAX, .from = 1}},
    {CODE("\xf3\x4d\x0f\x2c\xd1"),
     {.name = "cvttss2si", .lanes = 1, .truncates = true, .bits = 64, .to = 10, .from = 9}},
    {CODE("\xf3\x48\x0f\x2d\x04\x8f"), {.name = "cvtss2si", .lanes = 1, .bits = 64, .to = RAX, AT(RDI, RCX, 4, 0)}},
    {CODE("\xf2\x44\x0f\x2c\x45\xf8"),
     {.name = "cvttsd2si",
      .lanes = 1,
      .from_double = true,
      .truncates = true,
      .bits = 32,
      .to = 8,
      AT(RBP, NONE, 0, -8)}},
    {CODE("\xf2\x48\x0f\x2d\x15\x34\x12\x00\x00"),
     {.name = "cvtsd2si", .lanes = 1, .from_double = true, .bits = 64, .to = RDX, AT(NEXT, NONE, 0, 0x1234)}},
    {CODE("\xf3\x44\x0f\x5b\xda"),
     {.name = "cvttps2dq", .lanes = 4, .truncates = true, .bits = 32, .to_vector = true, .to = 11, .from = 2}},
    {CODE("\x66\x0f\x5b\x1c\x24"),
     {.name = "cvtps2dq", .lanes = 4, .bits = 32, .to_vector = true, .to = 3, AT(RSP, NONE, 1, 0)}},
    {CODE("\x66\x41\x0f\xe6\x24\x24"),
     {.name = "cvttpd2dq",
      .lanes = 2,
      .from_double = true,
      .truncates = true,
      .bits = 32,
      .to_vector = true,
      .to = 4,
      AT(R12, NONE, 1, 0)}},
    {CODE("\xf2\x41\x0f\xe6\xed"),
     {.name = "cvtpd2dq", .lanes = 2, .from_double = true, .bits = 32, .to_vector = true, .to = 5, .from = 13}},
    {CODE("\x64\xf3\x0f\x2c\x04\x25\x10\x00\x00\x00"),
     {.name = "cvttss2si",
      .lanes = 1,
      .truncates = true,
      .bits = 32,
      .to = RAX,
      .from_memory = true,
      .operand = {.base = NONE, .index = NONE, .scale = 1, .displacement = 16, .segment = true}}},
    {CODE("\xc5\xfa\x2c\xc1"), {.name = "vcvttss2si", .lanes = 1, .truncates = true, .bits = 32, .to = RAX, .from = 1}},
    {CODE("\xc4\x41\xfb\x2c\xcc"),
     {.name = "vcvttsd2si", .lanes = 1, .from_double = true, .truncates = true, .bits = 64, .to = 9, .from = 12}},
    {CODE("\xc5\x7e\x5b\xc3"),
     {.name = "vcvttps2dq", .lanes = 8, .truncates = true, .bits = 32, .to_vector = true, .to = 8, .from = 3}},
    {CODE("\xc4\x81\x79\x5b\x4c\xf5\x00"),
     {.name = "vcvtps2dq", .lanes = 4, .bits = 32, .to_vector = true, .to = 1, AT(R13, R14, 8, 0)}},
    {CODE("\xc5\xfd\xe6\xf2"),
     {.name = "vcvttpd2dq",
      .lanes = 4,
      .from_double = true,
      .truncates = true,
      .bits = 32,
      .to_vector = true,
      .to = 6,
      .from = 2}},
    {CODE("\x62\x21\x7e\x48\x5b\xf4"),
     {.name = "vcvttps2dq", .lanes = 16, .truncates = true, .bits = 32, .to_vector = true, .to = 30, .from = 20}},
    {CODE("\x62\xf1\x7e\xcb\x5b\x48\x01"),
     {.name = "vcvttps2dq",
      .lanes = 16,
      .truncates = true,
      .bits = 32,
      .to_vector = true,
      .to = 1,
      .mask = 3,
      AT(RAX, NONE, 0, 64)}},
    {CODE("\x62\xe1\x7c\x58\x78\x48\x20"),
     {.name = "vcvttps2udq",
      .lanes = 16,
      .truncates = true,
      .to_unsigned = true,
      .bits = 32,
      .to_vector = true,
      .to = 17,
      .repeats = true,
      AT(RAX, NONE, 0, 128)}},
    {CODE("\x62\xf1\x7c\x28\x78\x53\xff"),
     {.name = "vcvttps2udq",
      .lanes = 8,
      .truncates = true,
      .to_unsigned = true,
      .bits = 32,
      .to_vector = true,
      .to = 2,
      AT(RBX, NONE, 0, -32)}},
    {CODE("\x62\xb1\xfe\x08\x78\xc5"),
     {.name = "vcvttss2usi", .lanes = 1, .truncates = true, .to_unsigned = true, .bits = 64, .to = RAX, .from = 21}},
    {CODE("\x62\xf1\x7f\x08\x78\x51\x03"),
     {.name = "vcvttsd2usi",
      .lanes = 1,
      .from_double = true,
      .truncates = true,
      .to_unsigned = true,
      .bits = 32,
      .to = RDX,
      AT(RCX, NONE, 0, 24)}},
    {CODE("\x62\xf1\xfc\x28\x78\xd1"),
     {.name = "vcvttpd2udq",
      .lanes = 4,
      .from_double = true,
      .truncates = true,
      .to_unsigned = true,
      .bits = 32,
      .to_vector = true,
      .to = 2,
      .from = 1}},
    {CODE("\x62\xf1\x7d\x08\x7a\x6a\x02"),
     {.name = "vcvttps2qq",
      .lanes = 2,
      .truncates = true,
      .bits = 64,
      .to_vector = true,
      .to = 5,
      AT(RDX, NONE, 0, 16)}},
    {CODE("\x62\xf1\xfd\x49\x78\xe3"),
     {.name = "vcvttpd2uqq",
      .lanes = 8,
      .from_double = true,
      .truncates = true,
      .to_unsigned = true,
      .bits = 64,
      .to_vector = true,
      .to = 4,
      .from = 3,
      .mask = 1}},
    {CODE("\x62\xa1\xfd\x08\x7b\xd1"),
     {.name = "vcvtpd2qq", .lanes = 2, .from_double = true, .bits = 64, .to_vector = true, .to = 18, .from = 17}},
    {CODE("\x62\x71\xff\x08\x79\xd9"),
     {.name = "vcvtsd2usi", .lanes = 1, .from_double = true, .to_unsigned = true, .bits = 64, .to = 11, .from = 1}},
};

static void each_form_is_decoded(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(instructions); i++) {
    const opc_conversion_t *want = &instructions[i].conversion;
    opc_conversion_t got;
    if (!opc_conversion_decode((const unsigned char *)instructions[i].code, instructions[i].size, &got))
      fail_msg("%zu, %s, is not decoded", i, want->name);
    assert_string_equal(got.name, want->name);
    assert_int_equal(got.length, instructions[i].size);
    if (got.lanes != want->lanes || got.bits != want->bits || got.from_double != want->from_double ||
        got.truncates != want->truncates || got.to_unsigned != want->to_unsigned || got.to_vector != want->to_vector)
      fail_msg("%zu, %s: %d lanes of %d bits", i, want->name, got.lanes, got.bits);
    if (got.to != want->to || got.from != want->from || got.mask != want->mask ||
        got.from_memory != want->from_memory || got.repeats != want->repeats)
      fail_msg("%zu, %s: from %d to %d", i, want->name, got.from, got.to);
    if (!want->from_memory) continue;
    assert_int_equal(got.operand.base, want->operand.base);
    assert_int_equal(got.operand.index, want->operand.index);
    if (got.operand.index >= 0) assert_int_equal(got.operand.scale, want->operand.scale);
    assert_int_equal(got.operand.displacement, want->operand.displacement);
    assert_int_equal(got.operand.segment, want->operand.segment);
  }
}

static void a_part_of_an_instruction_is_none(void **state) {
  (void)state;
  opc_conversion_t got;
  for (size_t i = 0; i < COUNT(instructions); i++)
    for (size_t size = 0; size < instructions[i].size; size++)
      assert_false(opc_conversion_decode((const unsigned char *)instructions[i].code, size, &got));
}

static void other_instructions_are_none(void **state) {
  (void)state;
  static const struct {
    const char *name, *code;
    size_t size;
  } others[] = {
      {"cvttps2pi", "\x0f\x2c\xc1", 3},
      {"cvtsi2ss", "\xf3\x0f\x2a\xc0", 4},
      {"vcvtudq2ps", "\x62\xf1\x7f\x48\x7a\xd1", 6},
      {"cvtdq2ps", "\x0f\x5b\xd1", 3},
      {"vcvtph2ps", "\xc4\xe2\x79\x13\xd1", 5},
      {"cvtps2pd", "\x0f\x5a\xd1", 3},
      {"divss", "\xf3\x0f\x5e\xd1", 4},
      {"prefixes without end", "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x0f\x5b\xd1", 17},
  };
  opc_conversion_t got;
  for (size_t i = 0; i < COUNT(others); i++)
    if (opc_conversion_decode((const unsigned char *)others[i].code, others[i].size, &got))
      fail_msg("%s is taken for %s", others[i].name, got.name);
}

/* ---- numbers ---- */

static void numbers_fit_up_to_the_limits(void **state) {
  (void)state;
  const opc_conversion_t int32 = {.bits = 32, .truncates = true}, rounded = {.bits = 32};
  const opc_conversion_t int64 = {.bits = 64, .truncates = true};
  const opc_conversion_t uint32 = {.bits = 32, .truncates = true, .to_unsigned = true};
  const opc_conversion_t uint64 = {.bits = 64, .truncates = true, .to_unsigned = true};
  assert_true(opc_conversion_fits(&int32, 2147483647.9) && opc_conversion_fits(&int32, -2147483648.9));
  assert_false(opc_conversion_fits(&int32, 2147483648.0) || opc_conversion_fits(&int32, -2147483649.0));
  assert_true(opc_conversion_fits(&rounded, 2147483647.4) && opc_conversion_fits(&rounded, -2147483648.4));
  assert_false(opc_conversion_fits(&rounded, 2147483647.5) || opc_conversion_fits(&rounded, -2147483648.6));
  assert_true(opc_conversion_fits(&int64, -0x1p63) && opc_conversion_fits(&int64, 0x1.fffffffffffffp62));
  assert_false(opc_conversion_fits(&int64, 0x1p63) || opc_conversion_fits(&int64, -0x1.0000000000001p63));
  assert_true(opc_conversion_fits(&uint32, 4294967295.9) && opc_conversion_fits(&uint32, -0.9));
  assert_false(opc_conversion_fits(&uint32, 4294967296.0) || opc_conversion_fits(&uint32, -1.0));
  assert_true(opc_conversion_fits(&uint64, 0x1.fffffffffffffp63));
  assert_false(opc_conversion_fits(&uint64, 0x1p64));
  assert_false(opc_conversion_fits(&int32, (double)NAN) || opc_conversion_fits(&uint64, (double)NAN) ||
               opc_conversion_fits(&int64, (double)INFINITY));
}

static void another_integer_is_never_that_of_the_instruction(void **state) {
  (void)state;
  const double numbers[] = {1e300, -1e300, (double)NAN, (double)INFINITY, -(double)INFINITY};
  for (int bits = 32; bits <= 64; bits += 32)
    for (int to_unsigned = 0; to_unsigned < 2; to_unsigned++) {
      const opc_conversion_t conversion = {.bits = (uint8_t)bits, .truncates = true, .to_unsigned = to_unsigned};
      for (size_t i = 0; i < COUNT(numbers); i++)
        assert_true(opc_conversion_other(&conversion, numbers[i]) != opc_conversion_indefinite(&conversion));
    }
  const opc_conversion_t int32 = {.bits = 32}, uint32 = {.bits = 32, .to_unsigned = true};
  assert_int_equal(opc_conversion_indefinite(&int32), 0x80000000U);
  assert_int_equal(opc_conversion_other(&int32, 1e300), 0x7fffffff);
  assert_true((int32_t)(uint32_t)opc_conversion_other(&int32, -1e300) < -2000000000);
  assert_int_equal(opc_conversion_other(&int32, (double)NAN), 0);
  assert_int_equal(opc_conversion_other(&uint32, -1e300), 0);
  assert_string_equal(opc_conversion_type(&uint32), "uint32");
}

/* clang 14 -O2: uint64_t f(double x) { return (uint64_t)x; }  and the loop over float and uint32_t. */
static const char of_uint64[] =
    "\xf2\x48\x0f\x2c\xc8\x48\x89\xca\x48\xc1\xfa\x3f\xf2\x0f\x5c\x05\x00\x00\x00\x00\xf2\x48\x0f\x2c\xc0\x48\x21\xd0"
    "\x48\x09\xc8\xc3";
static const char of_uint32s[] =
    "\xf3\x0f\x5b\xd9\x66\x0f\x6f\xe3\x66\x0f\x72\xe4\x1f\x0f\x5c\xc8\xf3\x0f\x5b\xc9\x66\x0f\xdb\xcc\x66\x0f\xeb\xcb";

static bool is_of_unsigned(const char *code, size_t size, size_t at, double number) {
  opc_conversion_t conversion;
  const opc_code_window_t window = {.code = (const unsigned char *)code, .size = size, .at = at};
  assert_true(opc_conversion_decode((const unsigned char *)code + at, size - at, &conversion));
  return opc_conversion_is_of_unsigned(&conversion, number, &window);
}

static void conversions_to_unsigned_types_are_known(void **state) {
  (void)state;
  const size_t scalar = sizeof of_uint64 - 1, vector = sizeof of_uint32s - 1;
  assert_true(is_of_unsigned(of_uint64, scalar, 0, 0x1.8p63));
  assert_true(is_of_unsigned(of_uint32s, vector, 0, 3e9));
  /* What fits in no unsigned type either. */
  assert_false(is_of_unsigned(of_uint64, scalar, 0, 1e300) || is_of_unsigned(of_uint64, scalar, 0, -1e300));
  assert_false(is_of_unsigned(of_uint32s, vector, 0, 5e9) || is_of_unsigned(of_uint32s, vector, 0, (double)NAN));
  /* One conversion alone. */
  assert_false(is_of_unsigned(of_uint64, 12, 0, 0x1.8p63) || is_of_unsigned(of_uint32s, 13, 0, 3e9));
  /* Two that have nothing to do with a sign. */
  assert_false(is_of_unsigned("\xf2\x48\x0f\x2c\xc8\xf2\x48\x0f\x2c\xc0", 10, 0, 0x1.8p63));
}

static bool is_tested(const char *code, size_t size) {
  opc_conversion_t conversion;
  const opc_code_window_t window = {.code = (const unsigned char *)code, .size = size};
  assert_true(opc_conversion_decode((const unsigned char *)code, size, &conversion));
  return opc_conversion_is_tested(&conversion, &window);
}

/* gcc 12: if (i == INT_MIN); and _mm_cmpeq_epi32, for SSE and AVX. */
static void code_that_tests_the_integer_is_known(void **state) {
  (void)state;
  assert_true(is_tested("\xf3\x0f\x2c\xc0\x3d\x00\x00\x00\x80\x74\x02", 11));
  assert_true(is_tested("\xf3\x0f\x2c\xd0\x81\xfa\x00\x00\x00\x80", 10));
  assert_true(is_tested("\xf3\x0f\x5b\xcd\x66\x0f\x6f\xc1\x66\x0f\x76\xc4", 12));
  assert_true(is_tested("\xc5\xfa\x5b\x04\x87\xc5\xf9\x76\xd4", 9));
  /* Compared with another number, or not at all; what is cut off; the 64-bit integer. */
  assert_false(is_tested("\xf3\x0f\x2c\xc0\x3d\x00\x00\x00\x40\x74\x02", 11));
  assert_false(is_tested("\xf3\x0f\x2c\xc0\x3d\x00\x00\x00\x80", 8));
  assert_false(is_tested("\xf3\x0f\x5b\xcd\x66\x0f\x6f\xc1\x66\x0f\xfe\xc4", 12));
  assert_false(is_tested("\xf3\x48\x0f\x2c\xc0\x3d\x00\x00\x00\x80", 10));
}

/* ---- the trap ---- */

#if defined(__x86_64__)

#include <immintrin.h>

static volatile sig_atomic_t faults, lost_signals;

static void on_signal(int number, siginfo_t *info, void *context) {
  opc_conversion_site_t *site;
  faults++;
  if (opc_conversion_fault(number, info, context, &site)) return;
  lost_signals++;
  signal(number, SIG_DFL);
}

/* Inside a test, because cmocka sets handlers of its own before each. */
static void arm(uint64_t replaced) {
  static bool noted;
  const int numbers[] = {SIGFPE, SIGTRAP, SIGSEGV};
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  if (!noted) opc_heap_guard_note_loaded(true);
  noted = true;
  for (size_t i = 0; i < COUNT(numbers); i++) assert_int_equal(sigaction(numbers[i], &action, NULL), 0);
  assert_null(opc_conversion_trap_missing());
  faults = lost_signals = 0;
  opc_conversion_trap_arm(replaced);
}

static size_t disarm(const opc_conversion_site_t **out) {
  opc_conversion_trap_disarm();
  assert_int_equal(lost_signals, 0);
  return opc_conversion_sites(out);
}

__attribute__((noinline)) static int32_t to_int32(const volatile double *number) {
  return _mm_cvttsd_si32(_mm_set_sd(*number));
}

__attribute__((noinline)) static void to_int32s(const float *numbers, int32_t *out) {
  _mm_storeu_si128((__m128i *)out, _mm_cvttps_epi32(_mm_loadu_ps(numbers)));
}

__attribute__((noinline, target("avx"))) static void to_int32s_of_avx(const float *numbers, int32_t *out) {
  __m256i integers;
  __asm__("vcvttps2dq %1, %0" : "=x"(integers) : "m"(*(const __m256 *)numbers));
  _mm256_storeu_si256((__m256i *)out, integers);
}

static void a_number_that_does_not_fit_is_recorded(void **state) {
  (void)state;
  const volatile double large = 1e10, fine = 7;
  const opc_conversion_site_t *sites;
  arm(0);
  const int32_t first = to_int32(&large), second = to_int32(&fine), third = to_int32(&large);
  assert_int_equal(disarm(&sites), 1);
  assert_int_equal(first, INT32_MIN);
  assert_int_equal(second, 7);
  assert_int_equal(third, INT32_MIN);
  assert_int_equal(sites[0].times, 2);
  assert_true(sites[0].number == 1e10);
  assert_int_equal(sites[0].conversion.bits, 32);
  assert_int_equal(faults, 4);
  (void)to_int32(&large); /* masked again */
  assert_int_equal(faults, 4);
}

static void only_misfits_are_replaced(void **state) {
  (void)state;
  const volatile double large = 1e10, fine = 7, small = -1e10, nan_number = (double)NAN;
  const opc_conversion_site_t *sites;
  arm(0);
  (void)to_int32(&large);
  assert_int_equal(disarm(&sites), 1);
  const uint64_t address = sites[0].address;
  arm(address);
  assert_int_equal(to_int32(&large), INT32_MAX);
  assert_int_equal(to_int32(&fine), 7);
  assert_int_equal(to_int32(&small), INT32_MIN + 4096);
  assert_int_equal(to_int32(&nan_number), 0);
  assert_int_equal(disarm(&sites), 1);
  arm(address + 1);
  assert_int_equal(to_int32(&large), INT32_MIN);
  (void)disarm(&sites);
}

static void lanes_are_replaced_one_by_one(void **state) {
  (void)state;
  const float numbers[] = {1.5F, 3e10F, -7.5F, (float)NAN};
  int32_t got[COUNT(numbers)];
  const opc_conversion_site_t *sites;
  arm(0);
  to_int32s(numbers, got);
  assert_int_equal(disarm(&sites), 1);
  assert_true(sites[0].number == (double)3e10F);
  assert_int_equal(got[1], INT32_MIN);
  const uint64_t address = sites[0].address;
  arm(address);
  to_int32s(numbers, got);
  (void)disarm(&sites);
  assert_int_equal(got[0], 1);
  assert_int_equal(got[1], INT32_MAX);
  assert_int_equal(got[2], -7);
  assert_int_equal(got[3], 0);
}

static void lanes_of_avx_are_replaced_from_memory(void **state) {
  (void)state;
  const _Alignas(32) float numbers[] = {1.5F, 2, 3, 4, 5, 3e10F, -7.5F, -INFINITY};
  int32_t got[COUNT(numbers)];
  const opc_conversion_site_t *sites;
  if (!__builtin_cpu_supports("avx")) skip();
  arm(0);
  to_int32s_of_avx(numbers, got);
  assert_int_equal(disarm(&sites), 1);
  assert_int_equal(got[5], INT32_MIN);
  assert_string_equal(sites[0].conversion.name, "vcvttps2dq");
  const uint64_t address = sites[0].address;
  arm(address);
  to_int32s_of_avx(numbers, got);
  (void)disarm(&sites);
  const int32_t want[] = {1, 2, 3, 4, 5, INT32_MAX, -7, INT32_MIN + 4096};
  assert_memory_equal(got, want, sizeof want);
}

/* Sixteen numbers in zmm20, of which `lanes` says which are converted, into zmm30. */
__attribute__((noinline, target("avx512f"))) static void to_uint32s_of_avx512(const float *numbers, uint32_t lanes,
                                                                              uint32_t *out) {
  __asm__ volatile(
      "kmovw %k1, %%k3\n\tvmovups (%0), %%zmm20\n\tvpxord %%zmm30, %%zmm30, %%zmm30\n\t"
      "vcvttps2udq %%zmm20, %%zmm30%{%%k3%}\n\tvmovdqu32 %%zmm30, (%2)"
      :
      : "r"(numbers), "r"(lanes), "r"(out)
      : "memory", "k3", "xmm20", "xmm30");
}

/* One number in memory for eight lanes; the address has a base, an index and a displacement in units of the number. */
__attribute__((noinline, target("avx512f"))) static void to_int32s_of_one(const double *numbers, int32_t *out) {
  __asm__ volatile("vcvttpd2dq 16(%0,%1,8)%{1to8%}, %%ymm5\n\tvmovups %%ymm5, (%2)"
                   :
                   : "r"(numbers), "r"((uint64_t)1), "r"(out)
                   : "memory", "xmm5");
}

static void masked_lanes_of_avx512_are_left_out(void **state) {
  (void)state;
  float numbers[16] = {[1] = -5, [9] = 5e9F, [15] = 5e9F};
  uint32_t got[COUNT(numbers)];
  const uint32_t lanes = 0x83ff; /* not 10 to 14, which would not fit */
  const opc_conversion_site_t *sites;
  if (!__builtin_cpu_supports("avx512f")) skip();
  for (size_t i = 10; i < 15; i++) numbers[i] = -7;
  arm(0);
  to_uint32s_of_avx512(numbers, lanes, got);
  assert_int_equal(disarm(&sites), 1);
  assert_string_equal(sites[0].conversion.name, "vcvttps2udq");
  assert_true(sites[0].number == -5.0);
  assert_int_equal(got[1], UINT32_MAX);
  const uint64_t address = sites[0].address;
  arm(address);
  to_uint32s_of_avx512(numbers, lanes, got);
  (void)disarm(&sites);
  const uint32_t want[COUNT(numbers)] = {[9] = UINT32_MAX - 4096, [15] = UINT32_MAX - 4096};
  assert_memory_equal(got, want, sizeof want);
  arm(0);
  to_uint32s_of_avx512(numbers, lanes & 0x7c00, got); /* none is converted */
  assert_int_equal(disarm(&sites), 0);
}

static void one_number_for_all_lanes_is_read_from_memory(void **state) {
  (void)state;
  const double numbers[] = {1, 2, 3, -1e100};
  int32_t got[8];
  const opc_conversion_site_t *sites;
  if (!__builtin_cpu_supports("avx512f")) skip();
  arm(0);
  to_int32s_of_one(numbers, got);
  assert_int_equal(disarm(&sites), 1);
  assert_true(sites[0].number == -1e100);
  const uint64_t address = sites[0].address;
  arm(address);
  to_int32s_of_one(numbers, got);
  (void)disarm(&sites);
  for (size_t i = 0; i < COUNT(got); i++) assert_int_equal(got[i], INT32_MIN + 4096);
}

static void other_invalid_operations_go_on(void **state) {
  (void)state;
  const volatile double zero = 0;
  const volatile double large = 1e10;
  const opc_conversion_site_t *sites;
  arm(0);
  double sum = 0;
  for (int i = 0; i < 2000; i++) sum += isnan(zero / zero) ? 1 : 0;
  (void)to_int32(&large); /* masked by then */
  assert_int_equal(disarm(&sites), 0);
  assert_true(sum == 2000.0);
  assert_in_range(faults, 1000, 1100);
}

static void *convert_in_thread(void *number) {
  const int32_t integer = to_int32(number);
  return (void *)(intptr_t)integer;
}

static void a_thread_that_is_started_meanwhile_is_watched(void **state) {
  (void)state;
  static const volatile double large = 1e10;
  const opc_conversion_site_t *sites;
  pthread_t thread;
  void *result = NULL;
  arm(0);
  const int failed = pthread_create(&thread, NULL, convert_in_thread, (void *)(uintptr_t)&large);
  if (!failed) pthread_join(thread, &result);
  assert_int_equal(disarm(&sites), 1);
  assert_int_equal(failed, 0);
  assert_int_equal((intptr_t)result, INT32_MIN);
}

static int unmasked;
static void *unmasked_later(void *wait) {
  const volatile double large = 1e10;
  pthread_barrier_wait(wait);
  pthread_barrier_wait(wait);
  unmasked = to_int32(&large);
  return NULL;
}

static void a_thread_that_stays_is_not_stopped(void **state) {
  (void)state;
  const opc_conversion_site_t *sites;
  pthread_barrier_t wait;
  pthread_t thread;
  pthread_barrier_init(&wait, NULL, 2);
  arm(0);
  const int failed = pthread_create(&thread, NULL, unmasked_later, &wait);
  if (!failed) pthread_barrier_wait(&wait);
  assert_int_equal(disarm(&sites), 0);
  assert_int_equal(failed, 0);
  pthread_barrier_wait(&wait);
  pthread_join(thread, NULL);
  assert_int_equal(lost_signals, 0);
  assert_int_equal(unmasked, INT32_MIN);
  assert_int_equal(opc_conversion_sites(&sites), 0);
}

static void a_handler_of_the_library_is_left_alone(void **state) {
  (void)state;
  const opc_conversion_site_t *sites;
  arm(0);
  (void)disarm(&sites);
  signal(SIGFPE, SIG_IGN);
  assert_non_null(opc_conversion_trap_missing());
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_form_is_decoded),
    cmocka_unit_test(a_part_of_an_instruction_is_none),
    cmocka_unit_test(other_instructions_are_none),
    cmocka_unit_test(numbers_fit_up_to_the_limits),
    cmocka_unit_test(another_integer_is_never_that_of_the_instruction),
    cmocka_unit_test(conversions_to_unsigned_types_are_known),
    cmocka_unit_test(code_that_tests_the_integer_is_known),
#if defined(__x86_64__)
    cmocka_unit_test(a_number_that_does_not_fit_is_recorded),
    cmocka_unit_test(only_misfits_are_replaced),
    cmocka_unit_test(lanes_are_replaced_one_by_one),
    cmocka_unit_test(lanes_of_avx_are_replaced_from_memory),
    cmocka_unit_test(masked_lanes_of_avx512_are_left_out),
    cmocka_unit_test(one_number_for_all_lanes_is_read_from_memory),
    cmocka_unit_test(other_invalid_operations_go_on),
    cmocka_unit_test(a_thread_that_is_started_meanwhile_is_watched),
    cmocka_unit_test(a_thread_that_stays_is_not_stopped),
    cmocka_unit_test(a_handler_of_the_library_is_left_alone),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
