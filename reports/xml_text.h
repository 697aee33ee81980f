/* Text that any XML 1.0 reader accepts, from any bytes. libxml2's writer lets control characters through, so everything
 * passes here first.
 *
 * Terminal sequences (ECMA-48) are removed; control characters, bytes that are not UTF-8 and characters that XML
 * forbids are shown as \x1b or \uFFFE; CR LF becomes LF. Markup characters are left alone: the writer escapes them.
 * Ownership: the caller's opc_text_t. Threads: pure functions. */
#pragma once

#include "base/text.h"

enum { OPC_XML_MESSAGE_LIMIT = 512 /* characters */, OPC_XML_HEAD = 16 * 1024, OPC_XML_TAIL = 48 * 1024 /* bytes */ };

/* Appends the bytes, made harmless. */
void opc_xml_text_add(opc_text_t *out, const char *bytes, size_t length);
/* As above for an attribute: one line, blanks collapsed, cut after OPC_XML_MESSAGE_LIMIT characters. */
void opc_xml_text_message(opc_text_t *out, const char *bytes, size_t length);
/* As opc_xml_text_add for a stream: OPC_XML_HEAD bytes from its beginning and OPC_XML_TAIL from its end, with a line
 * between them that says how much was left out. */
void opc_xml_text_stream(opc_text_t *out, const char *bytes, size_t length);
