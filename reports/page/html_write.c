#include "reports/page/html_page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "reports/text/screen.h"

void opc_html_keep(opc_html_t *html, opc_status_t status) {
  if (!html->status) html->status = status;
}

static void html_written(opc_html_t *html, bool written) {
  if (!written) opc_html_keep(html, opc_error_set(html->error, OPC_ERR_IO, "cannot write the HTML report"));
}

void opc_html_put(opc_html_t *html, const char *markup) {
  if (!html->status) html_written(html, fputs(markup, html->stream) >= 0);
}

void opc_html_putf(opc_html_t *html, const char *format, ...) {
  va_list arguments;
  if (html->status) return;
  va_start(arguments, format);
  html_written(html, vfprintf(html->stream, format, arguments) >= 0);
  va_end(arguments);
}

/* Bytes of the character at `at` if it changes the direction of writing (U+202A to 202E, U+2066 to 2069), so that a
 * name or a line to paste would not be what it looks like; else 0. */
static size_t direction_length(const char *at) {
  const unsigned char *bytes = (const unsigned char *)at;
  if (bytes[0] != 0xe2 || (bytes[1] != 0x80 && bytes[1] != 0x81)) return 0;
  const bool turns = bytes[1] == 0x80 ? bytes[2] >= 0xaa && bytes[2] <= 0xae : bytes[2] >= 0xa6 && bytes[2] <= 0xa9;
  return turns ? 3 : 0;
}

void opc_html_clean(const char *text, size_t limit, opc_text_t *out) {
  OPC_SCOPED(opc_text_clear) opc_text_t plain = {0};
  const size_t length = strlen(text), kept = opc_xml_text_cut(text, length, limit);
  opc_xml_text_add(&plain, text, kept);
  for (const char *at = opc_text_c(&plain); *at;) {
    const size_t turns = direction_length(at), plainly = turns ? 0 : strcspn(at, "\xe2");
    if (turns) opc_text_addf(out, "\\u%04X", 0x2000u | (at[1] & 1u) << 6 | ((unsigned char)at[2] & 0x3fu));
    else opc_text_add_bytes(out, at, plainly ? plainly : 1);
    at += turns ? turns : plainly ? plainly : 1;
  }
  if (kept < length) opc_text_addf(out, "… (%zu bytes more)", length - kept);
}

void opc_html_escaped(opc_html_t *html, const char *text) {
  while (*text && !html->status) {
    const size_t plainly = strcspn(text, "&<>\"'");
    if (plainly) html_written(html, fwrite(text, 1, plainly, html->stream) == plainly);
    text += plainly;
    if (*text) opc_html_putf(html, "&#%d;", *text++);
  }
}

void opc_html_text(opc_html_t *html, const char *text, size_t limit) {
  OPC_SCOPED(opc_text_clear) opc_text_t clean = {0};
  opc_html_clean(text, limit, &clean);
  opc_html_escaped(html, opc_text_c(&clean));
}

void opc_html_prose(opc_html_t *html, const char *text, size_t limit) {
  OPC_SCOPED(opc_text_clear) opc_text_t clean = {0};
  opc_html_clean(text, limit, &clean);
  if (!clean.data) return;
  char *at = clean.data;
  for (char *open = strchr(at, '`'), *close; open && (close = strchr(open + 1, '`')); open = strchr(at, '`')) {
    *open = *close = '\0';
    opc_html_escaped(html, at);
    opc_html_put(html, "<code>");
    opc_html_escaped(html, open + 1);
    opc_html_put(html, "</code>");
    at = close + 1;
  }
  opc_html_escaped(html, at);
}

void opc_html_json(opc_html_t *html, json_t *value) {
  OPC_SCOPED(opc_scope_free) char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
  json_decref(value);
  if (!text) {
    opc_html_keep(html, opc_out_of_memory(html->error));
    return;
  }
  for (const char *at = text; *at && !html->status;) {
    const size_t plainly = strcspn(at, "<");
    html_written(html, fwrite(at, 1, plainly, html->stream) == plainly);
    at += plainly;
    if (*at) opc_html_put(html, "\\u003c");
    at += *at != '\0';
  }
}
