#include <inttypes.h>
#include <string.h>

#include "reports/terminal/terminal.h"

typedef struct listing {
  opc_journal_reader_t *journal;
  const opc_screen_t *screen;
  const char *library; /* the one being listed */
  bool foreign;        /* kernels on others' operators, or operators of its own */
  uint64_t shown;
  opc_status_t status;
  opc_error_t *error;
} listing_t;

static bool of_library(const json_t *record, const char *library) {
  return strcmp(opc_record_text(record, "library"), library) == 0;
}

static void show_kernel(const opc_screen_t *screen, const json_t *kernel) {
  const char *where = opc_record_text(kernel, "registered_at");
  fprintf(screen->stream, "      %-26s", opc_record_text(kernel, "key"));
  opc_screen_text(screen, OPC_TONE_DIM, where);
  if (json_is_true(json_object_get(kernel, "fallthrough"))) fputs("  fallthrough", screen->stream);
  fputc('\n', screen->stream);
}

static bool terminal_list_visit_operator(const json_t *record, void *context) {
  listing_t *listing = context;
  const opc_screen_t *screen = listing->screen;
  bool foreign = json_is_false(json_object_get(record, "defined_here"));
  if (foreign != listing->foreign || !of_library(record, listing->library)) return true;
  if (foreign && listing->shown == 0) fputs("\n  kernels on operators that it does not define\n", screen->stream);
  listing->shown++;

  const char *schema = opc_record_text(record, "schema"), *module = opc_record_text(record, "python_module");
  fputs("\n  ", screen->stream);
  opc_screen_text(screen, OPC_TONE_BOLD, *schema ? schema : opc_record_text(record, "name"));
  fputc('\n', screen->stream);
  if (!*schema) opc_screen_field(screen, "schema", "none: no library that was loaded defines this operator");
  opc_screen_line(screen, "registered", opc_record_text(record, "registered_at"));
  size_t index;
  json_t *item;
  OPC_SCOPED(opc_text_clear) opc_text_t tags = {0};
  json_array_foreach(json_object_get(record, "tags"), index, item)
      opc_text_addf(&tags, "%s%s", index ? " " : "", json_string_value(item));
  opc_screen_line(screen, "tags", opc_text_c(&tags));
  if (*module) {
    OPC_SCOPED(opc_text_clear) opc_text_t where = {0};
    opc_text_addf(&where, "in Python module %s", module);
    opc_screen_line(screen, "fake kernel", opc_text_c(&where));
  }
  const json_t *kernels = json_object_get(record, "kernels");
  if (json_array_size(kernels) == 0) opc_screen_field(screen, "kernels", "none");
  json_array_foreach(kernels, index, item) show_kernel(screen, item);
  return true;
}

static bool terminal_list_visit_class(const json_t *record, void *context) {
  listing_t *listing = context;
  const opc_screen_t *screen = listing->screen;
  if (!of_library(record, listing->library)) return true;
  fputs("\n  class ", screen->stream);
  opc_screen_text(screen, OPC_TONE_BOLD, opc_record_text(record, "name"));
  fputc('\n', screen->stream);
  size_t index;
  json_t *method;
  json_array_foreach(json_object_get(record, "methods"), index, method) {
    const char *schema = opc_record_text(method, "schema");
    fputs("      ", screen->stream);
    opc_screen_text(screen, OPC_TONE_PLAIN, *schema ? schema : opc_record_text(method, "name"));
    fputc('\n', screen->stream);
  }
  return true;
}

static void each(listing_t *listing, const char *t, opc_record_visit_t *visit) {
  if (!listing->status) listing->status = opc_journal_reader_each(listing->journal, t, visit, listing, listing->error);
}

static bool terminal_list_visit_library(const json_t *record, void *context) {
  listing_t *listing = context;
  const opc_screen_t *screen = listing->screen;
  if (strcmp(opc_record_text(record, "status"), "loaded") != 0) return true;
  listing->library = opc_record_text(record, "path");
  json_int_t operators = json_integer_value(json_object_get(record, "operators"));
  json_int_t classes = json_integer_value(json_object_get(record, "classes"));
  opc_screen_text(screen, OPC_TONE_BOLD, listing->library);
  fprintf(screen->stream, "  %" JSON_INTEGER_FORMAT " operator%s, %" JSON_INTEGER_FORMAT " class%s\n", operators,
          operators == 1 ? "" : "s", classes, classes == 1 ? "" : "es");
  listing->shown = 0;
  listing->foreign = false;
  each(listing, "operator", terminal_list_visit_operator);
  listing->shown = 0;
  listing->foreign = true;
  each(listing, "operator", terminal_list_visit_operator);
  each(listing, "class", terminal_list_visit_class);
  fputc('\n', screen->stream);
  return !listing->status;
}

opc_status_t opc_terminal_list(opc_journal_reader_t *journal, const opc_screen_t *screen, opc_error_t *error) {
  listing_t listing = {.journal = journal, .screen = screen, .error = error};
  listing.status = opc_terminal_troubles(journal, screen, SIZE_MAX, error);
  each(&listing, "library", terminal_list_visit_library);
  return listing.status;
}

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
