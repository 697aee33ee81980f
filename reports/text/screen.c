#include "reports/text/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LABEL_INDENT = 6, TEXT_INDENT = 18, NARROWEST = 60, LONGEST_TEXT = 4096, BRIEF_WIDTH = 100 };

/* What a theme makes of the sixteen colours nobody knows, and yellow and green are often too pale for a white
 * background. The others stand out from black and from white alike (tests/unit/test_screen.c measures the contrast). */
static const char *const tones[] = {"", "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[32m", "\x1b[1;35m"};
static const char *const many_tones[] = {
    "", "\x1b[1m", "\x1b[38;5;243m", "\x1b[1;38;5;196m", "\x1b[38;5;28m", "\x1b[1;38;5;130m"};

static bool screen_is_set(const char *name) {
  const char *value = getenv(name);
  return value && *value;
}

static bool screen_is_zero(const char *name) {
  const char *value = getenv(name);
  return value && strcmp(value, "0") == 0;
}

static bool wants_colour(bool terminal) {
  const char *kind = getenv("TERM");
  if (screen_is_set("NO_COLOR")) return false;
  if (screen_is_set("CLICOLOR_FORCE") && !screen_is_zero("CLICOLOR_FORCE")) return true;
  return terminal && !screen_is_zero("CLICOLOR") && !(kind && strcmp(kind, "dumb") == 0);
}

opc_screen_t opc_screen_of(FILE *stream) {
  opc_screen_t screen = {.stream = stream};
  bool terminal = isatty(fileno(stream)) == 1;
  const char *kind = getenv("TERM"), *columns = getenv("COLUMNS");
  screen.colour = wants_colour(terminal);
  screen.many_colours = screen_is_set("COLORTERM") || (kind && strstr(kind, "256color"));
  struct winsize size = {0};
  if (columns) screen.width = atoi(columns);
  else if (terminal && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0) screen.width = size.ws_col;
  if (screen.width > 0 && screen.width < NARROWEST) screen.width = NARROWEST;
  if (screen.width < 0) screen.width = 0;
  return screen;
}

void opc_screen_text(const opc_screen_t *screen, opc_tone_t tone, const char *text) {
  OPC_SCOPED(opc_text_clear) opc_text_t clean = {0};
  opc_xml_text_add(&clean, text, strlen(text));
  bool coloured = screen->colour && tone != OPC_TONE_PLAIN;
  fprintf(screen->stream, "%s%s%s", coloured ? (screen->many_colours ? many_tones : tones)[tone] : "",
          opc_text_c(&clean), coloured ? "\x1b[0m" : "");
}

static int columns_of(const char *text, size_t length) {
  int columns = 0;
  for (size_t i = 0; i < length; i++) columns += ((unsigned char)text[i] & 0xc0) != 0x80;
  return columns;
}

/* Prints one paragraph from the present column on. Words that do not fit move to the next line. */
static void screen_wrap(const opc_screen_t *screen, const char *text, size_t length) {
  int column = TEXT_INDENT;
  bool first = true;
  while (length > 0) {
    size_t word = strcspn(text, " ");
    if (word > length) word = length;
    int columns = columns_of(text, word);
    if (!first && screen->width > 0 && column + 1 + columns > screen->width) {
      fprintf(screen->stream, "\n%*s", TEXT_INDENT, "");
      column = TEXT_INDENT;
    } else if (!first) {
      fputc(' ', screen->stream);
      column++;
    }
    fwrite(text, 1, word, screen->stream);
    column += columns;
    first = false;
    size_t step = word < length ? word + 1 : word;
    text += step;
    length -= step;
  }
}

static void screen_field(const opc_screen_t *screen, const char *label, const char *text, bool wrapped) {
  if (!text || !*text) return;
  OPC_SCOPED(opc_text_clear) opc_text_t clean = {0};
  opc_xml_text_add(&clean, text, strlen(text));
  if (clean.length > LONGEST_TEXT) {
    const size_t kept = opc_xml_text_cut(clean.data, clean.length, LONGEST_TEXT), left_out = clean.length - kept;
    clean.data[kept] = '\0';
    clean.length = kept;
    opc_text_addf(&clean, " [… %zu bytes more, in the JSON report]", left_out);
  }
  fprintf(screen->stream, "%*s", LABEL_INDENT, "");
  opc_screen_text(screen, OPC_TONE_DIM, label);
  int gap = TEXT_INDENT - LABEL_INDENT - columns_of(label, strlen(label));
  fprintf(screen->stream, "%*s", gap > 1 ? gap : 1, "");
  opc_screen_t unlimited = *screen;
  if (!wrapped) unlimited.width = 0;
  for (const char *at = opc_text_c(&clean); at;) {
    const char *end = strchr(at, '\n');
    screen_wrap(&unlimited, at, end ? (size_t)(end - at) : strlen(at));
    at = end && end[1] ? end + 1 : NULL;
    if (at) fprintf(screen->stream, "\n%*s", TEXT_INDENT, "");
  }
  fputc('\n', screen->stream);
}

/* The end of the text that fits: after a word that leaves room for " …". *out_cut: something is left out. */
static size_t fitting(const char *text, int width, int lines, bool *out_cut) {
  int column = TEXT_INDENT, line = 1;
  size_t end = 0;
  *out_cut = false;
  for (size_t at = 0; text[at];) {
    size_t word = strcspn(text + at, " ");
    int columns = columns_of(text + at, word), gap = at ? 1 : 0;
    if (at && column + gap + columns > width) {
      line++;
      column = TEXT_INDENT;
      gap = 0;
    }
    if (line > lines) {
      *out_cut = true;
      return end;
    }
    column += gap + columns;
    if (line < lines || column + 2 <= width || !text[at + word]) end = at + word;
    at += word + (text[at + word] == ' ');
  }
  return end;
}

void opc_screen_brief(const opc_screen_t *screen, const char *label, const char *text, int lines) {
  if (!text || !*text) return;
  OPC_SCOPED(opc_text_clear) opc_text_t clean = {0};
  bool cut;
  opc_xml_text_add(&clean, text, strlen(text));
  for (size_t i = 0; i < clean.length; i++)
    if (clean.data[i] == '\n') clean.data[i] = ' ';
  size_t end = fitting(opc_text_c(&clean), screen->width > 0 ? screen->width : BRIEF_WIDTH, lines, &cut);
  if (cut) {
    clean.length = end;
    clean.data[end] = '\0';
    opc_text_add(&clean, " …");
  }
  opc_screen_t own = *screen;
  if (own.width == 0) own.width = BRIEF_WIDTH;
  screen_field(&own, label, opc_text_c(&clean), true);
}

void opc_screen_field(const opc_screen_t *screen, const char *label, const char *text) {
  screen_field(screen, label, text, true);
}
void opc_screen_line(const opc_screen_t *screen, const char *label, const char *text) {
  screen_field(screen, label, text, false);
}
