/* Small helpers for nodes of an XML file parsed by libxml2. Private to readers of XML. */
#pragma once

#include <libxml/tree.h>
#include <stdbool.h>
#include <stddef.h>

bool opc_xml_is(const xmlNode *node, const char *name);
const xmlNode *opc_xml_child(const xmlNode *node, const char *name); /* NULL: none, or node is NULL */
/* Truncated to size, without trailing blanks; "" if node is NULL. */
void opc_xml_text(const xmlNode *node, char *out, size_t size);
