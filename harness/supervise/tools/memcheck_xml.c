#include "supervise/tools/memcheck.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "memory/cpu_memory.h"
#include "memory/valgrind_requests.h"
#include "supervise/evidence/xml_node.h"

enum { TENSORS_MAX = 256 };

/* The tensors announced since the case began. The newest comes first in a search: memory may be used again. */
typedef struct announced {
  uint64_t number; /* of the case */
  struct {
    char path[96];
    uint64_t data, bytes;
  } items[TENSORS_MAX];
  size_t count;
} announced_t;

typedef struct scan {
  opc_memcheck_errors_t *errors;
  announced_t *announced;
} scan_t;

uint64_t opc_memcheck_key(const char *what, const uint64_t *addresses, size_t count) {
  return XXH64(addresses, count * sizeof *addresses, XXH64(what, strlen(what), 0));
}

void opc_memcheck_stack_add(opc_memcheck_stack_t *stack, uint64_t address) {
  bool again = stack->count > 0 && stack->addresses[stack->count - 1] == address;
  if (!again && stack->count < OPC_MEMCHECK_FRAMES) stack->addresses[stack->count++] = address;
}

/* ---- one error ---- */

/* <what>TEXT</what>, or <xwhat> with <text>TEXT</text> among other things. */
static void copy_words(const xmlNode *node, char *out, size_t size) {
  const xmlNode *inner = opc_xml_child(node, "text");
  opc_xml_text(inner ? inner : node, out, size);
}

static void memcheck_xml_read_stack(const xmlNode *node, opc_memcheck_stack_t *out) {
  bool own = true; /* only Valgrind's frames so far */
  for (const xmlNode *frame = node->children; frame; frame = frame->next) {
    char text[256];
    if (!opc_xml_is(frame, "frame")) continue;
    opc_xml_text(opc_xml_child(frame, "ip"), text, sizeof text);
    opc_memcheck_stack_add(out, strtoull(text, NULL, 16));
    opc_xml_text(opc_xml_child(frame, "obj"), text, sizeof text);
    own = own && strstr(text, "/vgpreload_");
    if (!own) continue;
    if (out->skip == 0) opc_xml_text(opc_xml_child(frame, "fn"), out->replaced, sizeof out->replaced);
    out->skip = out->count;
  }
}

static void find_tensor(const announced_t *announced, opc_memcheck_error_t *error) {
  uint64_t address;
  if (error->aux_count == 0 || sscanf(error->aux[0].text, "Address 0x%" SCNx64, &address) != 1) return;
  for (size_t i = announced->count; i-- > 0;) {
    uint64_t data = announced->items[i].data, bytes = announced->items[i].bytes;
    if (bytes == 0 || address + OPC_RED_ZONE < data || address >= data + bytes + OPC_RED_ZONE)
      continue; /* an empty tensor has no memory */
    memcpy(error->tensor.path, announced->items[i].path, sizeof error->tensor.path);
    error->tensor.data = data;
    error->tensor.bytes = bytes;
    return;
  }
}

/* A stack belongs to the words before it: the first to <what>, each further one to an <auxwhat>. */
static void read_error(const xmlNode *node, const announced_t *announced, opc_memcheck_error_t *out) {
  opc_memcheck_stack_t *stack = &out->stack;
  for (const xmlNode *at = node->children; at; at = at->next) {
    if (opc_xml_is(at, "kind")) {
      opc_xml_text(at, out->kind, sizeof out->kind);
    } else if (opc_xml_is(at, "what") || opc_xml_is(at, "xwhat")) {
      copy_words(at, out->what, sizeof out->what);
    } else if (opc_xml_is(at, "auxwhat") || opc_xml_is(at, "xauxwhat")) {
      stack = NULL;
      if (out->aux_count == OPC_MEMCHECK_AUX) continue;
      copy_words(at, out->aux[out->aux_count].text, sizeof out->aux[0].text);
      stack = &out->aux[out->aux_count++].stack;
    } else if (opc_xml_is(at, "stack") && stack) {
      memcheck_xml_read_stack(at, stack);
      stack = NULL;
    }
  }
  out->number = announced->number;
  out->key = opc_memcheck_key(out->what, out->stack.addresses, out->stack.count);
  find_tensor(announced, out);
}

static bool keep_error(scan_t *scan, const xmlNode *node) {
  opc_memcheck_errors_t *errors = scan->errors;
  if (errors->count == OPC_MEMCHECK_ERRORS_MAX) return true;
  if (!OPC_ARRAY_GROW(errors->items, errors->count)) return false;
  opc_memcheck_error_t *error = &errors->items[errors->count++];
  memset(error, 0, sizeof *error);
  read_error(node, scan->announced, error);
  return true;
}

/* ---- messages of the worker's child in between ---- */

static void read_message(const xmlNode *node, scan_t *scan) {
  static const char new_failed[] = "new/new[] failed";
  announced_t *announced = scan->announced;
  char text[256];
  uint64_t data, bytes;
  int path = 0;
  const xmlNode *words = opc_xml_child(node, "text");
  opc_xml_text(words, text, sizeof text);
  text[strcspn(text, "\n")] = '\0';
  scan->errors->new_failed |= strncmp(text, new_failed, sizeof new_failed - 1) == 0;
  if (strncmp(text, OPC_VALGRIND_CASE_WORDS, sizeof OPC_VALGRIND_CASE_WORDS - 1) == 0) {
    announced->number = strtoull(text + sizeof OPC_VALGRIND_CASE_WORDS - 1, NULL, 10);
    announced->count = 0;
  } else if (sscanf(text, OPC_VALGRIND_TENSOR_WORDS "0x%" SCNx64 " %" SCNu64 " %n", &data, &bytes, &path) == 2 &&
             path > 0) {
    if (announced->count == TENSORS_MAX)
      memmove(&announced->items[0], &announced->items[1], (--announced->count) * sizeof announced->items[0]);
    snprintf(announced->items[announced->count].path, sizeof announced->items[0].path, "%.95s", text + path);
    announced->items[announced->count].data = data;
    announced->items[announced->count++].bytes = bytes;
  }
}

/* ---- the file ---- */

static void read_state(const xmlNode *node, scan_t *scan) {
  char state[16];
  opc_xml_text(opc_xml_child(node, "state"), state, sizeof state);
  scan->errors->finished |= strcmp(state, "FINISHED") == 0;
}

/* False: out of memory. */
static bool read_element(const xmlNode *node, void *context) {
  scan_t *scan = context;
  if (opc_xml_is(node, "error")) return keep_error(scan, node);
  if (opc_xml_is(node, "clientmsg")) read_message(node, scan);
  else if (opc_xml_is(node, "status")) read_state(node, scan);
  return true;
}

/* Loads the file up to the end of its last complete element, and adds the end tag of the root. A reader that meets an
 * unexpected end of file drops what it has not returned yet. */
static opc_status_t load_file(const char *path, opc_text_t *out, opc_error_t *error) {
  enum { FILE_MAX = 256 << 20 };
  static const char *const ends[] = {"\n</error>\n", "\n</clientmsg>\n", "\n</status>\n"};
  char buffer[1 << 16];
  size_t complete = 0, got;
  FILE *file = fopen(path, "re");
  if (!file) return opc_error_set(error, OPC_ERR_IO, "cannot read %s: %s", path, strerror(errno));
  while (out->length < FILE_MAX && (got = fread(buffer, 1, sizeof buffer, file)) > 0)
    opc_text_add_bytes(out, buffer, got);
  fclose(file);
  if (out->failed) return opc_out_of_memory(error);
  for (size_t i = 0; i < sizeof ends / sizeof ends[0] && out->length > 0; i++) {
    size_t size = strlen(ends[i]);
    for (size_t at = out->length; at-- > complete;) {
      if (at + size > out->length || memcmp(out->data + at, ends[i], size) != 0) continue;
      complete = at + size;
      break;
    }
  }
  if (out->length > 0) out->data[out->length = complete] = '\0';
  opc_text_add(out, "</valgrindoutput>");
  return out->failed || complete > INT_MAX / 2 ? opc_out_of_memory(error) : OPC_OK;
}

opc_status_t opc_memcheck_xml_read(const char *path, opc_memcheck_errors_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  out->count = 0;
  out->finished = out->new_failed = false;
  scan_t scan = {.errors = out, .announced = calloc(1, sizeof *scan.announced)};
  OPC_SCOPED(opc_scope_free) void *announced = scan.announced;
  if (!announced) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(load_file(path, &text, error));
  /* A truncated file ends the list. */
  xmlTextReader *reader = xmlReaderForMemory(text.data, (int)text.length, NULL, NULL, OPC_XML_OPTIONS | XML_PARSE_HUGE);
  return opc_xml_read(reader, "valgrindoutput", read_element, &scan) == OPC_XML_MEMORY ? opc_out_of_memory(error)
                                                                                       : OPC_OK;
}

void opc_memcheck_errors_clear(opc_memcheck_errors_t *errors) {
  free(errors->items);
  *errors = (opc_memcheck_errors_t){0};
}
