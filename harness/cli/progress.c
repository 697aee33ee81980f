#include "cli/execution.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_WIDTH = 80 };

opc_progress_t opc_progress_start(void) {
  return (opc_progress_t){.screen = opc_screen_of(stderr), .enabled = isatty(STDERR_FILENO) == 1};
}

/* In steps that a reader can follow. */
static void add_time_left(opc_text_t *line, double seconds) {
  enum { STEP = 5, MINUTE = 60, HOUR = 60 * MINUTE };
  if (seconds <= 0) return;
  const char *unit = seconds > 2 * HOUR ? "h" : seconds > MINUTE ? "min" : "s";
  const double step = *unit == 'h' ? HOUR : *unit == 'm' ? MINUTE : STEP;
  const double steps = ceil(seconds / step);
  opc_text_addf(line, ", about %.0f %s left", *unit == 's' ? steps * STEP : steps, unit);
}

void opc_progress_text(const opc_run_progress_t *state, opc_text_t *line) {
  if (state->operators_total > 0) {
    opc_text_addf(line, "%" PRIu64 " of %" PRIu64 " operators", state->operators_done, state->operators_total);
    if (state->findings)
      opc_text_addf(line, ", %" PRIu64 " finding%s", state->findings, state->findings == 1 ? "" : "s");
    add_time_left(line, state->seconds_left);
  }
  if (!state->current) return;
  if (line->length > 0) opc_text_add(line, "; ");
  if (state->current_seconds >= 1) opc_text_addf(line, "%.0f s ", floor(state->current_seconds));
  if (state->searching) opc_text_add(line, "searching inputs for ");
  else if (state->current_seconds >= 1) opc_text_add(line, "on ");
  opc_text_add(line, state->current);
}

void opc_progress_show(const opc_run_progress_t *state, void *context) {
  opc_progress_t *progress = context;
  if (!progress->enabled) return;
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0}, clean = {0};
  opc_progress_text(state, &line);
  opc_xml_text_message(&clean, opc_text_c(&line), line.length);
  /* A line that wraps could not be erased again. */
  size_t width = (size_t)(progress->screen.width ? progress->screen.width : DEFAULT_WIDTH) - 1;
  fprintf(stderr, "\r%.*s\x1b[K", (int)opc_xml_text_cut(opc_text_c(&clean), clean.length, width), opc_text_c(&clean));
  fflush(stderr);
  progress->shown = true;
}

void opc_progress_clear(opc_progress_t *progress) {
  if (!progress->shown) return;
  fputs("\r\x1b[K", stderr);
  fflush(stderr);
  progress->shown = false;
}
