/* A stream that a person reads: colours where they are wanted, a width, and no control character from anybody's
 * message.
 *
 * Ownership: the stream stays the caller's. Threads: one. Errors: those of the stream, for the caller to ask it. */
#pragma once

#include "base/text.h"

typedef struct opc_screen {
  FILE *stream;
  bool colour;
  bool many_colours; /* 256, which no theme changes */
  int width;         /* 0: lines are not wrapped */
} opc_screen_t;

typedef enum opc_tone {
  OPC_TONE_PLAIN = 0,
  OPC_TONE_BOLD,
  OPC_TONE_DIM,
  OPC_TONE_RED,
  OPC_TONE_GREEN,
  OPC_TONE_YELLOW
} opc_tone_t;

/* No colour if NO_COLOR is set (no-color.org); colour if CLICOLOR_FORCE is set, and not 0; else on a terminal whose
 * TERM is not "dumb", unless CLICOLOR is 0 (bixense.com/clicolors). Width from COLUMNS, else of the terminal, else
 * none. */
opc_screen_t opc_screen_of(FILE *stream);
/* Text from outside, one line or many, made harmless. */
void opc_screen_text(const opc_screen_t *screen, opc_tone_t tone, const char *text);
/* "      label       text", wrapped at the width with a hanging indent; nothing for an empty text. */
void opc_screen_field(const opc_screen_t *screen, const char *label, const char *text);
/* The same on so many lines at most, with "…" where text was left out; its lines are one paragraph. */
void opc_screen_brief(const opc_screen_t *screen, const char *label, const char *text, int lines);
/* The same, never wrapped: a line to paste. */
void opc_screen_line(const opc_screen_t *screen, const char *label, const char *text);

/* Text that any XML 1.0 reader accepts, from any bytes. libxml2's writer lets control characters through, so
 * everything passes here first.
 *
 * Terminal sequences (ECMA-48) are removed; control characters, bytes that are not UTF-8 and characters that XML
 * forbids are shown as \x1b or \uFFFE; CR LF becomes LF. Markup characters are left alone: the writer escapes them.
 * Ownership: the caller's opc_text_t. Threads: pure functions. */

enum { OPC_XML_MESSAGE_LIMIT = 512 /* characters */, OPC_XML_HEAD = 16 * 1024, OPC_XML_TAIL = 48 * 1024 /* bytes */ };

/* Appends the bytes, made harmless. */
void opc_xml_text_add(opc_text_t *out, const char *bytes, size_t length);
/* As above for an attribute: one line, blanks collapsed, cut after OPC_XML_MESSAGE_LIMIT characters. */
void opc_xml_text_message(opc_text_t *out, const char *bytes, size_t length);
/* As opc_xml_text_add for a stream: OPC_XML_HEAD bytes from its beginning and OPC_XML_TAIL from its end, with a line
 * between them that says how much was left out. */
void opc_xml_text_stream(opc_text_t *out, const char *bytes, size_t length);
/* How many of the bytes may be kept: `limit`, or fewer, so that no character is cut. */
size_t opc_xml_text_cut(const char *bytes, size_t length, size_t limit);
