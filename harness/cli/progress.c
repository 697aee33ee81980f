#include "cli/execution.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_WIDTH = 80 };

opc_progress_t opc_progress_start(void) {
  return (opc_progress_t){.screen = opc_screen_of(stderr), .enabled = isatty(STDERR_FILENO) == 1};
}

void opc_progress_show(const opc_run_progress_t *state, void *context) {
  opc_progress_t *progress = context;
  if (!progress->enabled) return;
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0}, clean = {0};
  opc_text_addf(&line, "[%" PRIu64 "/%" PRIu64 "] %" PRIu64 " cases", state->operators_done, state->operators_total,
                state->cases_done);
  if (state->findings)
    opc_text_addf(&line, ", %" PRIu64 " finding%s", state->findings, state->findings == 1 ? "" : "s");
  if (state->current) opc_text_addf(&line, "  %s", state->current);
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
