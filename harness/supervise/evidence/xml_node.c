#include "supervise/evidence/xml_node.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool opc_xml_is(const xmlNode *node, const char *name) {
  return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

const xmlNode *opc_xml_child(const xmlNode *node, const char *name) {
  for (const xmlNode *at = node ? node->children : NULL; at; at = at->next) {
    if (opc_xml_is(at, name)) return at;
  }
  return NULL;
}

void opc_xml_text(const xmlNode *node, char *out, size_t size) {
  xmlChar *text = node ? xmlNodeGetContent(node) : NULL;
  snprintf(out, size, "%s", text ? (const char *)text : "");
  for (size_t length = strlen(out); length > 0 && isspace((unsigned char)out[length - 1]); length--)
    out[length - 1] = '\0';
  xmlFree(text);
}

static opc_xml_end_t read_elements(xmlTextReader *reader, const char *root,
                                   bool (*visit)(const xmlNode *node, void *context), void *context) {
  bool rooted = false;
  int more = xmlTextReaderRead(reader);
  while (more == 1) {
    const int type = xmlTextReaderNodeType(reader), depth = xmlTextReaderDepth(reader);
    const xmlNode *node = NULL;
    if (type == XML_READER_TYPE_DOCUMENT_TYPE) return OPC_XML_FOREIGN;
    if (type == XML_READER_TYPE_ELEMENT && depth == 0) {
      rooted = xmlStrEqual(xmlTextReaderConstName(reader), (const xmlChar *)root) == 1;
      if (!rooted) return OPC_XML_FOREIGN;
    } else if (type == XML_READER_TYPE_ELEMENT && depth == 1) {
      node = xmlTextReaderExpand(reader);
      if (!node) return OPC_XML_CUT;
      if (!visit(node, context)) return OPC_XML_MEMORY;
    }
    more = node ? xmlTextReaderNext(reader) : xmlTextReaderRead(reader);
  }
  if (!rooted) return OPC_XML_FOREIGN;
  return more < 0 ? OPC_XML_CUT : OPC_XML_COMPLETE;
}

opc_xml_end_t opc_xml_read(xmlTextReader *reader, const char *root, bool (*visit)(const xmlNode *node, void *context),
                           void *context) {
  const opc_xml_end_t end = reader ? read_elements(reader, root, visit, context) : OPC_XML_MEMORY;
  xmlFreeTextReader(reader);
  return end;
}
