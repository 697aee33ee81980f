#include "supervise/tools/sanitize.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervise/evidence/xml_node.h"

/* ---- one record ---- */

static void sanitize_xml_read_field(const xmlNode *node, const char *name, char *out, size_t size) {
  opc_xml_text(opc_xml_child(node, name), out, size);
}

static int sanitize_xml_read_number(const xmlNode *node, const char *name) {
  char text[32];
  sanitize_xml_read_field(node, name, text, sizeof text);
  long value = strtol(text, NULL, 0);
  return value > 0 && value <= INT32_MAX ? (int)value : 0;
}

static void read_frame(const xmlNode *node, opc_sanitize_frame_t *out) {
  if (!node) return;
  sanitize_xml_read_field(node, "func", out->function, sizeof out->function);
  sanitize_xml_read_field(node, "module", out->module, sizeof out->module);
  sanitize_xml_read_field(node, "path", out->file, sizeof out->file);
  out->line = sanitize_xml_read_number(node, "line");
}

static void sanitize_xml_read_stack(const xmlNode *node, opc_sanitize_stack_t *out) {
  for (const xmlNode *at = node ? node->children : NULL; at && out->count < OPC_SANITIZE_FRAMES; at = at->next) {
    if (opc_xml_is(at, "frame")) read_frame(at, &out->frames[out->count++]);
  }
}

static bool read_axes(const xmlNode *node, int out[3]) {
  if (!node) return false;
  out[0] = sanitize_xml_read_number(node, "x");
  out[1] = sanitize_xml_read_number(node, "y");
  out[2] = sanitize_xml_read_number(node, "z");
  return true;
}

/* "source" and each "destination" of a race. */
static void sanitize_xml_read_places(const xmlNode *what, opc_sanitize_record_t *out) {
  for (const xmlNode *at = what ? what->children : NULL; at && out->place_count < OPC_SANITIZE_PLACES; at = at->next) {
    if (!opc_xml_is(at, "source") && !opc_xml_is(at, "destination")) continue;
    sanitize_xml_read_field(at, "direction", out->places[out->place_count].direction, sizeof out->places[0].direction);
    read_frame(opc_xml_child(at, "where"), &out->places[out->place_count].where);
    out->place_count++;
  }
}

static void read_record(const xmlNode *node, opc_sanitize_record_t *out) {
  const xmlNode *what = opc_xml_child(node, "what"), *who = opc_xml_child(node, "who");
  sanitize_xml_read_field(node, "kind", out->kind, sizeof out->kind);
  sanitize_xml_read_field(node, "level", out->level, sizeof out->level);
  sanitize_xml_read_field(what, "text", out->text, sizeof out->text);
  sanitize_xml_read_field(what, "address", out->address, sizeof out->address);
  if (out->address[0] == '\0') sanitize_xml_read_field(what, "accessAddress", out->address, sizeof out->address);
  read_frame(opc_xml_child(node, "where"), &out->where);
  out->has_thread =
      read_axes(opc_xml_child(who, "threadIdx"), out->thread) && read_axes(opc_xml_child(who, "blockIdx"), out->block);
  sanitize_xml_read_places(what, out);
  sanitize_xml_read_stack(opc_xml_child(node, "deviceStack"), &out->device);
  sanitize_xml_read_stack(opc_xml_child(node, "hostStack"), &out->host);
}

static bool keep_record(const xmlNode *node, void *context) {
  opc_sanitize_records_t *records = context;
  if (!opc_xml_is(node, "record")) return true;
  if (records->count == OPC_SANITIZE_RECORDS_MAX) {
    records->dropped++;
    return true;
  }
  if (!OPC_ARRAY_GROW(records->items, records->count)) return false;
  opc_sanitize_record_t *record = &records->items[records->count++];
  memset(record, 0, sizeof *record);
  read_record(node, record);
  return true;
}

/* ---- the file ---- */

opc_status_t opc_sanitize_xml_read(const char *path, opc_sanitize_records_t *out, opc_error_t *error) {
  enum { FILE_MAX = 256 << 20 };
  struct stat about;
  out->count = out->dropped = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not blocking: it may be a pipe */
  if (fd < 0 && errno == ENOENT) return opc_error_set(error, OPC_ERR_NOT_FOUND, "there is no report %s", path);
  if (fd < 0) return opc_error_set(error, OPC_ERR_IO, "cannot read %s: %s", path, strerror(errno));
  bool sound = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 && about.st_size <= FILE_MAX;
  opc_xml_end_t end =
      sound ? opc_xml_read(xmlReaderForFd(fd, path, NULL, OPC_XML_OPTIONS), "ComputeSanitizerOutput", keep_record, out)
            : OPC_XML_FOREIGN;
  close(fd);
  switch (end) {
    case OPC_XML_MEMORY:
      return opc_out_of_memory(error);
    case OPC_XML_FOREIGN:
      return opc_error_set(error, OPC_ERR_IO, "%s is not a report of compute-sanitizer", path);
    case OPC_XML_CUT:
      return opc_error_set(error, OPC_ERR_IO, "the report %s is cut off after %zu record%s", path, out->count,
                           out->count == 1 ? "" : "s");
    case OPC_XML_COMPLETE:
      break;
  }
  return OPC_OK;
}

void opc_sanitize_records_clear(opc_sanitize_records_t *records) {
  free(records->items);
  *records = (opc_sanitize_records_t){0};
}
