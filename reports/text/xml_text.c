#include "reports/text/screen.h"

#include <stdint.h>
#include <string.h>

/* Length of the UTF-8 sequence at bytes (RFC 3629: no overlong forms, no surrogates); 0 if there is none. */
static size_t utf8_decode(const unsigned char *bytes, size_t length, uint32_t *out) {
  static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
  unsigned char lead = bytes[0];
  size_t size = lead < 0x80 ? 1 : (lead & 0xe0) == 0xc0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : (lead & 0xf8) == 0xf0 ? 4 : 0;
  if (size == 0 || size > length) return 0;
  uint32_t code = size == 1 ? lead : lead & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; i++) {
    if ((bytes[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (bytes[i] & 0x3fu);
  }
  if (code < smallest[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return 0;
  *out = code;
  return size;
}

/* Length of the terminal sequence that an ESC begins; 0 if the ESC stands alone. An unfinished sequence is cut at the
 * end of the line. */
static size_t escape_length(const unsigned char *bytes, size_t length) {
  if (length < 2) return 0;
  unsigned char kind = bytes[1];
  size_t at = 2;
  if (kind == '[') { /* CSI: parameters, intermediates, a final byte */
    while (at < length && bytes[at] >= 0x20 && bytes[at] <= 0x3f) at++;
    return at < length && bytes[at] >= 0x40 && bytes[at] <= 0x7e ? at + 1 : at;
  }
  if (kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_') { /* strings: to BEL or ESC \ */
    for (; at < length && bytes[at] != '\n'; at++) {
      if (bytes[at] == 0x07) return at + 1;
      if (bytes[at] == 0x1b && at + 1 < length && bytes[at + 1] == '\\') return at + 2;
    }
    return at;
  }
  if (kind >= 0x20 && kind <= 0x2f) { /* intermediates, then a final byte: ESC ( B */
    while (at < length && bytes[at] >= 0x20 && bytes[at] <= 0x2f) at++;
    return at < length && bytes[at] >= 0x30 && bytes[at] <= 0x7e ? at + 1 : at;
  }
  return kind >= 0x30 && kind <= 0x7e ? 2 : 0;
}

void opc_xml_text_add(opc_text_t *out, const char *bytes, size_t length) {
  const unsigned char *at = (const unsigned char *)bytes, *end = at + length;
  while (at < end) {
    size_t left = (size_t)(end - at), size;
    uint32_t code = 0;
    if (*at == 0x1b && (size = escape_length(at, left)) > 0) {
      at += size;
      continue;
    }
    size = utf8_decode(at, left, &code);
    if (size == 0) {
      opc_text_addf(out, "\\x%02X", *at);
      size = 1;
    } else if (code == '\r') {
      if (left < 2 || at[1] != '\n') opc_text_add(out, "\n");
    } else if ((code < 0x20 && code != '\t' && code != '\n') || (code >= 0x7f && code <= 0x9f)) {
      opc_text_addf(out, "\\x%02x", (unsigned)code);
    } else if (code == 0xfffe || code == 0xffff) {
      opc_text_addf(out, "\\u%04X", (unsigned)code);
    } else {
      opc_text_add_bytes(out, (const char *)at, size);
    }
    at += size;
  }
}

void opc_xml_text_message(opc_text_t *out, const char *bytes, size_t length) {
  OPC_SCOPED(opc_text_clear) opc_text_t clean = {0};
  opc_xml_text_add(&clean, bytes, length);
  size_t characters = 0;
  bool blank = false, begun = false;
  for (const char *at = opc_text_c(&clean); *at; at++) {
    bool continues = ((unsigned char)*at & 0xc0) == 0x80;
    if (*at == ' ' || *at == '\t' || *at == '\n') {
      blank = begun;
      continue;
    }
    if (!continues && characters + (blank ? 2 : 1) > OPC_XML_MESSAGE_LIMIT - 1) {
      opc_text_add(out, "…");
      break;
    }
    if (blank) {
      opc_text_add(out, " ");
      characters++;
      blank = false;
    }
    opc_text_add_bytes(out, at, 1);
    if (!continues) characters++;
    begun = true;
  }
}

size_t opc_xml_text_cut(const char *bytes, size_t length, size_t limit) {
  enum { CONTINUATIONS = 3 }; /* more of them are not UTF-8 */
  size_t kept = limit;
  if (length <= limit) return length;
  while (kept > 0 && limit - kept < CONTINUATIONS && ((unsigned char)bytes[kept] & 0xc0) == 0x80) kept--;
  return kept;
}

void opc_xml_text_stream(opc_text_t *out, const char *bytes, size_t length) {
  OPC_SCOPED(opc_text_clear) opc_text_t clean = {0};
  opc_xml_text_add(&clean, bytes, length);
  const char *text = opc_text_c(&clean);
  if (clean.length <= OPC_XML_HEAD + OPC_XML_TAIL) {
    opc_text_add_bytes(out, text, clean.length);
  } else {
    /* Both cuts move to the beginning of a character, so that more is left out. */
    size_t head = opc_xml_text_cut(text, clean.length, OPC_XML_HEAD), tail = clean.length - OPC_XML_TAIL;
    while (((unsigned char)text[tail] & 0xc0) == 0x80) tail++;
    opc_text_add_bytes(out, text, head);
    opc_text_addf(out, "\n[… %zu bytes left out …]\n", tail - head);
    opc_text_add_bytes(out, text + tail, clean.length - tail);
  }
}
