#include "supervise/symbols/symbolise.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SHOWN = 80 }; /* the name of a lambda in a template fills a screen: the module is shown instead */

/* The function that contains the lambda: "kernel<float>" for
 * "at::parallel_for<kernel<float>(at::Tensor)::{lambda(long)#1}>(…)". False: the name has no lambda. */
static bool enclosing_name(const char *symbol, char *out, size_t size) {
  const char *lambda = strstr(symbol, "::{lambda("), *end = lambda;
  int depth = 0;
  while (end && end > symbol && end[-1] != ')') end--; /* a "const" */
  if (!end || end == symbol) return false;
  do {
    end--;
    depth += *end == ')' ? 1 : *end == '(' ? -1 : 0;
  } while (end > symbol && depth > 0);
  const char *start = end;
  depth = 0;
  while (start > symbol) {
    const char at = start[-1];
    if (depth == 0 && (at == '<' || at == ',' || at == ' ' || at == '(' || (at == ':' && start - 1 > symbol))) break;
    depth += at == '>' ? 1 : at == '<' ? -1 : 0;
    start--;
  }
  if (start == end) return false;
  snprintf(out, size, "%.*s", (int)(end - start), start);
  return true;
}

/* "kernel<float>" for "void (anonymous namespace)::kernel<float>(at::Tensor const&)". The debug information's own name
 * is used if there is one. */
static void short_name(const opc_frame_t *frame, char *out, size_t size) {
  static const char anonymous[] = "(anonymous namespace)::";
  char plain[sizeof frame->symbol];
  size_t length = 0, start = 0;
  int depth = 0;
  const bool lambda = strcmp(frame->function, "operator()") == 0;
  if (frame->function[0] != '\0' && !lambda) {
    snprintf(out, size, "%.*s", (int)strcspn(frame->function, "."), frame->function);
    return;
  }
  if (enclosing_name(frame->symbol, out, size)) return;

  for (const char *at = frame->symbol; *at != '\0';) {
    if (strncmp(at, anonymous, sizeof anonymous - 1) == 0) {
      at += sizeof anonymous - 1;
      continue;
    }
    if (*at == '<') depth++;
    else if (*at == '>') depth--;
    else if (*at == '(' && depth == 0 && length > 0) break;
    else if (*at == ' ' && depth == 0) start = length + 1;
    plain[length++] = *at++;
  }
  plain[length] = '\0';
  snprintf(out, size, "%.200s", start < length ? plain + start : frame->symbol);
}

/* Functions by which abort() ends a process: their caller is more informative. */
static bool ends_process(const opc_frame_t *frame) {
  static const char *const symbols[] = {"__pthread_kill_implementation",
                                        "__pthread_kill_internal",
                                        "pthread_kill",
                                        "__pthread_kill",
                                        "raise",
                                        "__GI_raise",
                                        "gsignal",
                                        "abort",
                                        "__GI_abort"};
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
    if (strcmp(frame->symbol, symbols[i]) == 0) return true;
  return false;
}

/* An operator that a Python module registers belongs to no file that is known: its code is in a library of the module's
 * folder. */
static bool is_of_module(const char *file, const char *module) {
  char folder[PATH_MAX];
  if (!module || *module == '\0' || strchr(module, '/')) return false;
  snprintf(folder, sizeof folder, "/%.*s/", (int)strcspn(module, "."), module);
  return strstr(file, folder);
}

void opc_frames_resolve(opc_symboliser_t *symboliser, const opc_maps_t *maps, const char *library,
                        const uint64_t *addresses, size_t count, bool first_is_instruction, opc_frames_t *out) {
  char real[PATH_MAX];
  memset(out, 0, sizeof *out);
  if (!library || !realpath(library, real)) real[0] = '\0';
  for (size_t i = 0; i < count && out->count < OPC_FRAMES_SHOWN; i++) {
    opc_frame_t *frame = &out->frames[out->count++];
    /* The harness called the library's code: its own files and lines say nothing about the operator. */
    opc_symboliser_frame(symboliser, maps, addresses[i], !(i == 0 && first_is_instruction), out->own, frame);
    if ((real[0] == '\0' || strcmp(frame->module, real) != 0) && !is_of_module(frame->module, library)) continue;
    if (!out->own || (opc_is_library_header(out->own->file) && !opc_is_library_header(frame->file))) out->own = frame;
  }
  for (size_t i = 0; i < out->count && !out->own; i++) {
    if (out->frames[i].symbol[0] != '\0' && !ends_process(&out->frames[i])) out->own = &out->frames[i];
  }
}

void opc_frame_place(const opc_frame_t *frame, char *out, size_t size) {
  snprintf(out, size, "%s+0x%" PRIx64, opc_base_name(frame->module), frame->offset);
}

void opc_frames_say(const opc_frames_t *frames, opc_text_t *out) {
  char name[256];
  const opc_frame_t *own = frames->own, *first = frames->frames;
  const size_t start = out->length;
  if (!own) return;
  while (first != own && ends_process(first)) first++;
  if (first != own && first->symbol[0] != '\0') {
    short_name(first, name, sizeof name);
    opc_text_addf(out, " in %s, called from", strlen(name) <= NAME_SHOWN ? name : opc_base_name(first->module));
  } else {
    opc_text_add(out, " in");
  }
  if (own->symbol[0] != '\0') {
    short_name(own, name, sizeof name);
    if (strlen(name) > NAME_SHOWN) memcpy(name + NAME_SHOWN, "...", sizeof "...");
    opc_text_addf(out, " %s", name);
  } else {
    opc_text_addf(out, " %s+0x%" PRIx64, opc_base_name(own->module), own->offset);
  }
  if (own->file[0] != '\0') opc_text_addf(out, " (%s:%d)", opc_base_name(own->file), own->line);
  if (out->length > start) opc_words_out(out->data + start);
}

/* Of libtorch's dispatcher: what its name says, all in template arguments, the frames before and after it say too. */
static bool is_glue(const opc_frame_t *frame) {
  static const char *const names[] = {"c10::impl::make_boxed_from_unboxed_functor<",
                                      "c10::impl::wrap_kernel_functor_unboxed_<"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(frame->symbol, names[i], strlen(names[i])) == 0) return true;
  return false;
}

static bool is_harness(const opc_frame_t *frame) {
  return strstr(opc_base_name(frame->module), "opcheck-worker") || strstr(frame->symbol, "__libc_start");
}

/* Without what called the operator, which is the harness; all of them if nothing else is there. */
static size_t frames_until_harness(const opc_frames_t *frames) {
  size_t count = frames->count;
  while (count > 0 && is_harness(&frames->frames[count - 1])) count--;
  return count > 0 ? count : frames->count;
}

static void add_frame_of(json_t *list, const opc_frame_t *frame, const char *symbol, const char *file, int line) {
  char offset[32];
  snprintf(offset, sizeof offset, "0x%" PRIx64, frame->offset);
  json_t *object = json_pack("{s:s, s:s}", "module", frame->module, "offset", offset);
  if (*symbol) json_object_set_new(object, "symbol", json_string(symbol));
  if (*file) {
    json_object_set_new(object, "file", json_string(file));
    json_object_set_new(object, "line", json_integer(line));
  }
  json_array_append_new(list, object);
}

json_t *opc_frames_json(const opc_frames_t *frames) {
  json_t *list = json_array();
  const size_t count = frames_until_harness(frames);
  for (size_t i = 0; i < count; i++) {
    const opc_frame_t *frame = &frames->frames[i];
    /* Two functions and two lines: what was inlined, and where. */
    const bool inlined_own = frame->inlined && !opc_is_library_header(frame->file);
    if (inlined_own) add_frame_of(list, frame, frame->function, frame->file, frame->line);
    if (is_glue(frame)) continue;
    if (inlined_own) add_frame_of(list, frame, frame->symbol, frame->outer_file, frame->outer_line);
    else add_frame_of(list, frame, frame->symbol, frame->file, frame->line);
  }
  return list;
}

/* ---- findings ---- */

static void resolve_access(json_t *access, opc_symboliser_t *symboliser, const opc_maps_t *maps, const char *library,
                           opc_text_t *place) {
  uint64_t addresses[OPC_FRAMES_SHOWN];
  size_t count = 0;
  json_t *raw = json_object_get(access, "raw_frames");
  for (size_t i = 0; i < json_array_size(raw) && count < OPC_FRAMES_SHOWN; i++) {
    const char *text = json_string_value(json_array_get(raw, i));
    if (text) addresses[count++] = strtoull(text, NULL, 16);
  }
  if (count == 0) return;
  opc_frames_t *frames = malloc(sizeof *frames);
  if (!frames) return; /* then only names are missing */
  opc_frames_resolve(symboliser, maps, library, addresses, count, true, frames);
  opc_frames_say(frames, place);
  json_object_set_new(access, "frames", opc_frames_json(frames));
  json_object_del(access, "raw_frames");
  free(frames);
}

/* Adds the place and the remark to the text of the rule, if no other access has added them yet. */
static void frames_add_place(json_t *holder, json_t *told, const char *rule, const opc_text_t *place,
                             const char *remark) {
  const char *own = json_string_value(json_object_get(holder, "rule")),
             *message = json_string_value(json_object_get(holder, "message"));
  if (!own || !message || strcmp(own, rule) != 0 || json_object_get(told, rule)) return;
  json_object_set_new(holder, "message",
                      json_sprintf("%s%s%s%s", message, place->length > 0 ? "," : "", opc_text_c(place), remark));
  json_object_set_new(told, rule, json_true());
}

void opc_frames_name_accesses(json_t *result, opc_symboliser_t *symboliser, const opc_maps_t *maps,
                              const char *library) {
  json_t *evidence = json_object_get(result, "evidence"), *access, *also;
  size_t i, k;
  json_auto_t *told = json_object();
  json_array_foreach(json_object_get(evidence, "accesses"), i, access) {
    OPC_SCOPED(opc_text_clear) opc_text_t place = {0};
    const char *rule = json_string_value(json_object_get(access, "rule"));
    if (json_is_object(access)) resolve_access(access, symboliser, maps, library, &place);
    const char *remark = json_string_value(json_object_get(access, "remark"));
    if (rule) {
      frames_add_place(result, told, rule, &place, remark ? remark : "");
      json_array_foreach(json_object_get(evidence, "also"), k, also)
          frames_add_place(also, told, rule, &place, remark ? remark : "");
    }
  }
}
