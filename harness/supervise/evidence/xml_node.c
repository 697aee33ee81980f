#include "supervise/evidence/xml_node.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool opc_xml_is(const xmlNode *node, const char *name) {
  return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

const xmlNode *opc_xml_child(const xmlNode *node, const char *name) {
  for (const xmlNode *at = node != NULL ? node->children : NULL; at != NULL; at = at->next) {
    if (opc_xml_is(at, name)) return at;
  }
  return NULL;
}

void opc_xml_text(const xmlNode *node, char *out, size_t size) {
  xmlChar *text = node != NULL ? xmlNodeGetContent(node) : NULL;
  snprintf(out, size, "%s", text != NULL ? (const char *)text : "");
  for (size_t length = strlen(out); length > 0 && isspace((unsigned char)out[length - 1]); length--)
    out[length - 1] = '\0';
  xmlFree(text);
}
