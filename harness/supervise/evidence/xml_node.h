/* The few questions that are asked of a part of an XML file that libxml2 has read. Private to readers of XML. */
#ifndef OPC_SUPERVISE_EVIDENCE_XML_NODE_H
#define OPC_SUPERVISE_EVIDENCE_XML_NODE_H

#include <libxml/tree.h>
#include <stdbool.h>
#include <stddef.h>

bool opc_xml_is(const xmlNode *node, const char *name);
const xmlNode *opc_xml_child(const xmlNode *node, const char *name); /* NULL: none, or of NULL */
/* Cut to size, without the blanks at its end; "" of NULL. */
void opc_xml_text(const xmlNode *node, char *out, size_t size);

#endif
