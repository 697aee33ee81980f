/* A function that was inlined has a frame and a line of its own, and its caller the line of the call: read from this
 * program's debug information. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervise/symbols/symbolise.h"
#include "unit.h"

/* A stack has this address: of the code behind the call of this function. */
__attribute__((noinline)) static uint64_t here(void) { return (uint64_t)(uintptr_t)__builtin_return_address(0); }

static int visit_line, segments_line;

static inline __attribute__((always_inline)) uint64_t visit(void) {
  visit_line = __LINE__ + 1;
  const uint64_t address = here();
  __asm__ volatile("");
  return address;
}

__attribute__((noinline)) static uint64_t segments(void) {
  segments_line = __LINE__ + 1;
  const uint64_t address = visit();
  __asm__ volatile("");
  return address;
}

static void assert_frame(const json_t *frame, const char *symbol, int line) {
  assert_string_equal(json_string_value(json_object_get(frame, "symbol")), symbol);
  assert_string_equal(opc_base_name(json_string_value(json_object_get(frame, "file"))), "test_frames.c");
  assert_int_equal(json_integer_value(json_object_get(frame, "line")), line);
}

static void an_inlined_function_has_a_frame_of_its_own(void **state) {
  (void)state;
  const uint64_t address = segments();
  opc_symboliser_t *symboliser = NULL;
  opc_maps_t maps = {0};
  opc_error_t error = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_frames_t *frames = malloc(sizeof *frames);
  assert_non_null(frames);
  assert_int_equal(opc_symboliser_new(&symboliser, &error), OPC_OK);
  assert_int_equal(opc_maps_read(&maps, getpid(), &error), OPC_OK);
  opc_frames_resolve(symboliser, &maps, "/proc/self/exe", &address, 1, false, frames);
  json_auto_t *list = opc_frames_json(frames);
  opc_frames_say(frames, &text);
  assert_int_equal(json_array_size(list), 2);
  assert_frame(json_array_get(list, 0), "visit", visit_line);
  assert_frame(json_array_get(list, 1), "segments", segments_line);
  assert_non_null(strstr(opc_text_c(&text), " in visit (test_frames.c:"));
  free(frames);
  opc_maps_clear(&maps);
  opc_symboliser_free(symboliser);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(an_inlined_function_has_a_frame_of_its_own)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
