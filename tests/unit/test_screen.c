/* When there is colour, and that it can be read on any background. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/text/screen.h"
#include "unit.h"

static void set(const char *name, const char *value) {
  if (value) setenv(name, value, 1);
  else unsetenv(name);
}

static void the_environment_decides(void **state) {
  (void)state;
  static const struct {
    const char *no_color, *clicolor, *force, *term;
    bool colour;
  } cases[] = {{NULL, NULL, NULL, "xterm", false}, {NULL, "1", NULL, "xterm", false}, {NULL, NULL, "1", "xterm", true},
               {NULL, "0", "1", "xterm", true},    {NULL, NULL, "1", "dumb", true},   {NULL, NULL, "0", "xterm", false},
               {NULL, NULL, "", "xterm", false},   {"1", NULL, "1", "xterm", false},  {"", NULL, "1", "xterm", true}};
  FILE *stream = tmpfile();
  assert_non_null(stream);
  for (size_t i = 0; i < COUNT(cases); i++) {
    set("NO_COLOR", cases[i].no_color);
    set("CLICOLOR", cases[i].clicolor);
    set("CLICOLOR_FORCE", cases[i].force);
    set("TERM", cases[i].term);
    if (opc_screen_of(stream).colour != cases[i].colour) fail_msg("case %zu", i);
  }
  set("TERM", "xterm-256color");
  assert_true(opc_screen_of(stream).many_colours);
  fclose(stream);
}

/* Valid until the next call. */
static const char *shown(opc_tone_t tone, bool many_colours) {
  static char text[64];
  const opc_screen_t screen = {
      .stream = fmemopen(text, sizeof text, "w"), .colour = true, .many_colours = many_colours};
  opc_screen_text(&screen, tone, "x");
  fclose(screen.stream);
  return text;
}

/* The share of a channel's light, as in WCAG 2's relative luminance. */
static double linear(int value) {
  const double share = value / 255.0;
  return share <= 0.03928 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4);
}

/* Of a colour of xterm's table of 256: a cube of 6 x 6 x 6 from 16 on, then 24 greys. */
static double luminance_of(int number) {
  static const int steps[] = {0, 95, 135, 175, 215, 255};
  if (number >= 232) return linear(8 + 10 * (number - 232));
  assert_true(number >= 16);
  const int at = number - 16;
  return 0.2126 * linear(steps[at / 36]) + 0.7152 * linear(steps[at / 6 % 6]) + 0.0722 * linear(steps[at % 6]);
}

static int number_of(const char *text) {
  const char *code = strstr(text, "38;5;");
  return code ? atoi(code + 5) : 0;
}

static void colours_stand_out_from_black_and_from_white(void **state) {
  (void)state;
  static const opc_tone_t tones[] = {OPC_TONE_DIM, OPC_TONE_RED, OPC_TONE_GREEN, OPC_TONE_YELLOW};
  for (size_t i = 0; i < COUNT(tones); i++) {
    const char *text = shown(tones[i], true);
    const double luminance = luminance_of(number_of(text));
    const double on_black = (luminance + 0.05) / 0.05, on_white = 1.05 / (luminance + 0.05);
    if (on_black < 3.9 || on_white < 3.9)
      fail_msg("tone %d: %.2f on black, %.2f on white", (int)tones[i], on_black, on_white);
    assert_non_null(strstr(text, "x\x1b[0m"));
  }
}

static void sixteen_colours_are_neither_yellow_nor_white(void **state) {
  (void)state;
  for (int tone = OPC_TONE_PLAIN; tone <= OPC_TONE_YELLOW; tone++) {
    const char *text = shown((opc_tone_t)tone, false);
    assert_null(strstr(text, "33m"));
    assert_null(strstr(text, "37m"));
    assert_null(strstr(text, "38;5"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_environment_decides),
      cmocka_unit_test(colours_stand_out_from_black_and_from_white),
      cmocka_unit_test(sixteen_colours_are_neither_yellow_nor_white),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
