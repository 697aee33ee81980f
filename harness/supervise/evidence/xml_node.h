/* Small helpers for nodes of an XML file parsed by libxml2. Private to readers of XML. */
#pragma once

#include <libxml/xmlreader.h>
#include <stdbool.h>
#include <stddef.h>

bool opc_xml_is(const xmlNode *node, const char *name);
const xmlNode *opc_xml_child(const xmlNode *node, const char *name); /* NULL: none, or node is NULL */
/* Truncated to size, without trailing blanks; "" if node is NULL. */
void opc_xml_text(const xmlNode *node, char *out, size_t size);

typedef enum opc_xml_end { OPC_XML_COMPLETE = 0, OPC_XML_CUT, OPC_XML_FOREIGN, OPC_XML_MEMORY } opc_xml_end_t;
enum { OPC_XML_OPTIONS = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING };
/* Passes each element below the root to `visit`, which returns false if it is out of memory; then frees the reader
 * (NULL: out of memory). FOREIGN: another root, or a document type, whose entities can grow without limit. */
opc_xml_end_t opc_xml_read(xmlTextReader *reader, const char *root, bool (*visit)(const xmlNode *node, void *context),
                           void *context);
