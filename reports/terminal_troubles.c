#include <inttypes.h>
#include <string.h>

#include "reports/terminal.h"

static bool visit_failed_library(const json_t *record, void *context) {
  const opc_screen_t *screen = context;
  if (strcmp(opc_record_text(record, "status"), "failed") != 0) return true;
  const json_t *cause = json_object_get(record, "error");
  opc_screen_text(screen, OPC_TONE_RED, "LOAD");
  fputs("  ", screen->stream);
  opc_screen_text(screen, OPC_TONE_BOLD, opc_record_text(record, "path"));
  fputs(" could not be loaded\n", screen->stream);
  opc_screen_field(screen, "kind", opc_record_text(cause, "kind"));
  opc_screen_field(screen, "what", opc_record_text(cause, "message"));
  fputc('\n', screen->stream);
  return true;
}

typedef struct notes {
  const opc_screen_t *screen;
  size_t seen, shown;
} notes_t;

static bool terminal_troubles_visit_note(const json_t *record, void *context) {
  notes_t *notes = context;
  const opc_screen_t *screen = notes->screen;
  if (notes->seen++ >= notes->shown) return true;
  fputs("note: ", screen->stream);
  opc_screen_text(screen, OPC_TONE_PLAIN, opc_record_text(record, "message"));
  fputc('\n', screen->stream);
  return true;
}

opc_status_t opc_terminal_troubles(opc_journal_reader_t *journal, const opc_screen_t *screen, size_t notes_shown,
                                   opc_error_t *error) {
  opc_journal_summary_t summary;
  opc_journal_reader_summary(journal, &summary);
  if (!summary.complete) {
    opc_screen_text(screen, OPC_TONE_RED, "INCOMPLETE");
    if (summary.damaged)
      fprintf(screen->stream,
              "  %" PRIu64 " line%s of the journal %s damaged: what was found there is missing here\n\n",
              summary.damaged, summary.damaged == 1 ? "" : "s", summary.damaged == 1 ? "is" : "are");
    else fputs("  the run stopped early: this is what was found until then\n\n", screen->stream);
  }
  notes_t notes = {.screen = screen, .shown = notes_shown};
  OPC_RETURN_IF_ERROR(opc_journal_reader_each(journal, "library", visit_failed_library, (void *)screen, error));
  OPC_RETURN_IF_ERROR(opc_journal_reader_each(journal, "note", terminal_troubles_visit_note, &notes, error));
  if (notes.seen > notes_shown)
    fprintf(screen->stream, "and %zu more notes: --verbose shows them\n", notes.seen - notes_shown);
  if (notes.seen) fputc('\n', screen->stream);
  return OPC_OK;
}
