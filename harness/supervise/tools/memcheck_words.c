#include "supervise/tools/memcheck.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory/cpu_memory.h"
#include "model/json/json_write.h"

/* ---- the kind of error ---- */

typedef struct scene {
  const opc_memcheck_error_t *error;
  opc_frames_t frames;                  /* where it happened */
  opc_frames_t about[OPC_MEMCHECK_AUX]; /* where the memory was freed, allocated… */
  char library[PATH_MAX];
} scene_t;

typedef void say_t(const scene_t *scene, opc_text_t *out);
static say_t say_read, say_write, say_branch, say_value, say_syscall, say_free, say_mismatched, say_overlap,
    say_plainly;

static const struct kind {
  const char *kind;
  opc_rule_id_t rule;
  say_t *say;
} kinds[] = {
    {"InvalidRead", OPC_RULE_memcheck_invalid_read, say_read},
    {"InvalidJump", OPC_RULE_memcheck_invalid_read, say_plainly},
    {"InvalidWrite", OPC_RULE_memcheck_invalid_write, say_write},
    {"UninitCondition", OPC_RULE_memcheck_uninitialised_branch, say_branch},
    {"UninitValue", OPC_RULE_memcheck_uninitialised_value, say_value},
    {"SyscallParam", OPC_RULE_memcheck_syscall, say_syscall},
    {"InvalidFree", OPC_RULE_memcheck_invalid_free, say_free},
    {"MismatchedFree", OPC_RULE_memcheck_mismatched_free, say_mismatched},
    {"Overlap", OPC_RULE_memcheck_overlap, say_overlap},
};
static const struct kind unknown_kind = {"", OPC_RULE_memcheck_suspicious, say_plainly};

static const struct kind *memcheck_words_kind_of(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (strcmp(kinds[i].kind, name) == 0) return &kinds[i];
  }
  return &unknown_kind;
}

opc_rule_id_t opc_memcheck_rule(const char *kind) { return memcheck_words_kind_of(kind)->rule; }

/* ---- memory ---- */

/* Where an address is, from the words "Address 0x4a430c0 is 1,024 bytes inside a block of size 8,256 alloc'd". */
typedef struct place {
  bool known, freed;
  char relation[16]; /* "inside", "after", "before" */
  uint64_t address, distance, size;
} place_t;

static bool has_symbol(const opc_frames_t *frames, const char *symbol) {
  for (size_t i = 0; i < frames->count; i++) {
    if (strcmp(frames->frames[i].symbol, symbol) == 0) return true;
  }
  return false;
}

static uint64_t plain_number(const char *text) {
  uint64_t number = 0;
  for (; *text != '\0'; text++)
    if (*text != ',') number = number * 10 + (uint64_t)(*text - '0');
  return number;
}

/* The allocator's block has a zone on each side of the tensor's memory. */
static void take_zones_off(place_t *place) {
  uint64_t at = place->distance;
  if (strcmp(place->relation, "inside") != 0 || place->size < 2 * (uint64_t)OPC_RED_ZONE) return;
  place->size -= 2 * (uint64_t)OPC_RED_ZONE;
  bool before = at < OPC_RED_ZONE, after = !before && at - OPC_RED_ZONE >= place->size;
  place->distance = before ? OPC_RED_ZONE - at : after ? at - OPC_RED_ZONE - place->size : at - OPC_RED_ZONE;
  if (before || after) snprintf(place->relation, sizeof place->relation, "%s", before ? "before" : "after");
}

/* For an argument the address gives the place. */
static void place_at_tensor(const opc_memcheck_error_t *error, place_t *place) {
  uint64_t data = error->tensor.data, bytes = error->tensor.bytes, at = place->address;
  bool before = at < data, after = at >= data + bytes;
  place->known = true;
  place->size = bytes;
  place->distance = before ? data - at : after ? at - data - bytes : at - data;
  snprintf(place->relation, sizeof place->relation, "%s", before ? "before" : after ? "after" : "inside");
}

static place_t memcheck_words_place_of(const scene_t *scene) {
  char distance[32], size[32];
  place_t place = {0};
  const opc_memcheck_error_t *error = scene->error;
  const char *text = error->aux_count > 0 ? error->aux[0].text : "", *block;
  (void)sscanf(text, "Address 0x%" SCNx64, &place.address);
  place.freed = strstr(text, " block of size ") && strstr(text, " free'd"); /* and not "(recently) free'd" */
  if (error->tensor.path[0] != '\0') {
    place_at_tensor(error, &place);
  } else if (sscanf(text, "Address 0x%*x is %31[0-9,] bytes %15s", distance, place.relation) == 2 &&
             (block = strstr(text, "block of size ")) && sscanf(block, "block of size %31[0-9,]", size) == 1) {
    place.known = true;
    place.distance = plain_number(distance);
    place.size = plain_number(size);
    if (has_symbol(&scene->about[0], "opc_red_zone_allocate") || has_symbol(&scene->about[0], "opc_red_zone_release"))
      take_zones_off(&place);
  }
  return place;
}

/* The library's own code in a stack; NULL: none. */
static const opc_frame_t *own_frame(const scene_t *scene, const opc_frames_t *frames) {
  return frames->own && scene->library[0] != '\0' && strcmp(frames->own->module, scene->library) == 0 ? frames->own
                                                                                                      : NULL;
}

/* " from make_scratch (conv.cpp:34)"; nothing if the memory is the harness's or libtorch's. */
static void say_source(const scene_t *scene, size_t about, opc_text_t *out) {
  opc_frames_t *own = calloc(1, sizeof *own); /* only that frame: its calls to get memory are of no interest */
  const opc_frame_t *frame = about < scene->error->aux_count ? own_frame(scene, &scene->about[about]) : NULL;
  if (own && frame) {
    own->frames[0] = *frame;
    own->count = 1;
    own->own = &own->frames[0];
    opc_frames_say(own, out);
  }
  free(own);
}

static void say_place(const scene_t *scene, const place_t *place, opc_text_t *out) {
  const char *path = scene->error->tensor.path;
  bool tensor =
      has_symbol(&scene->about[0], "opc_red_zone_allocate") || has_symbol(&scene->about[0], "opc_red_zone_release");
  if (strcmp(place->relation, "inside") == 0) opc_text_addf(out, " at byte %" PRIu64 " of", place->distance);
  else if (strcmp(place->relation, "before") == 0)
    opc_text_addf(out, ", %" PRIu64 " before the start of", place->distance);
  else if (place->distance == 0) opc_text_add(out, " past the end of");
  else opc_text_addf(out, ", %" PRIu64 " past the end of", place->distance);
  if (path[0] != '\0') opc_text_addf(out, " %s (%" PRIu64 " bytes)", path, place->size);
  else opc_text_addf(out, " a %s of %" PRIu64 " bytes", tensor ? "tensor" : "block", place->size);
  if (place->freed) opc_text_add(out, ", which is freed");
}

/* "reads 4 bytes past the end of x (64 bytes)" */
static void say_access(const scene_t *scene, const char *verb, opc_text_t *out) {
  uint64_t size = 0;
  const char *about = scene->error->aux_count > 0 ? scene->error->aux[0].text : "", *is = strstr(about, " is ");
  place_t place = memcheck_words_place_of(scene);
  (void)sscanf(scene->error->what, "Invalid %*s of size %" SCNu64, &size);
  opc_text_addf(out, "%s %" PRIu64 " byte%s", verb, size, size == 1 ? "" : "s");
  if (place.known) {
    say_place(scene, &place, out);
    OPC_SCOPED(opc_text_clear) opc_text_t source = {0};
    say_source(scene, place.freed ? 1 : 0, &source);
    if (scene->error->tensor.path[0] == '\0' && source.length > 0) opc_text_addf(out, " (made%s)", opc_text_c(&source));
  } else {
    opc_text_addf(out, " at 0x%" PRIx64, place.address);
    if (is) opc_text_addf(out, ", which%s", is);
  }
}

static void say_read(const scene_t *scene, opc_text_t *out) { say_access(scene, "reads", out); }
static void say_write(const scene_t *scene, opc_text_t *out) { say_access(scene, "writes", out); }

/* " (a tensor made in f (f.cpp:3))" */
static void say_origin(const scene_t *scene, opc_text_t *out) {
  OPC_SCOPED(opc_text_clear) opc_text_t source = {0};
  const opc_memcheck_error_t *error = scene->error;
  const char *text = "";
  for (size_t i = 0; i < error->aux_count; i++) {
    if (!strstr(error->aux[i].text, "was created by")) continue;
    text = error->aux[i].text;
    say_source(scene, i, &source);
  }
  const char *what = strstr(text, "stack allocation")  ? "a local variable"
                     : strstr(text, "heap allocation") ? "memory of malloc or new, allocated"
                                                       : "a tensor made";
  if (source.length > 0) opc_text_addf(out, " (%s%s)", what, opc_text_c(&source));
}

static void say_branch(const scene_t *scene, opc_text_t *out) {
  opc_text_add(out, "branches on an uninitialised value");
  say_origin(scene, out);
}

static void say_value(const scene_t *scene, opc_text_t *out) {
  opc_text_add(out, "uses an uninitialised value as an address or an index");
  say_origin(scene, out);
}

static void say_syscall(const scene_t *scene, opc_text_t *out) {
  static const char prefix[] = "Syscall param ";
  const char *what = scene->error->what;
  if (strncmp(what, prefix, sizeof prefix - 1) == 0) what += sizeof prefix - 1;
  opc_text_addf(out, "a system call gets an invalid argument: %s", what);
  say_origin(scene, out);
}

/* ---- allocations ---- */

static void say_free(const scene_t *scene, opc_text_t *out) {
  place_t place = memcheck_words_place_of(scene);
  if (!place.known) {
    opc_text_addf(out, "frees 0x%" PRIx64 ", which is not a block of malloc or new", place.address);
    return;
  }
  OPC_SCOPED(opc_text_clear) opc_text_t freed = {0};
  say_source(scene, 0, &freed);
  if (place.freed && place.distance == 0)
    opc_text_addf(out, "frees a block of %" PRIu64 " bytes a second time", place.size);
  else
    opc_text_addf(out, "frees a pointer to byte %" PRIu64 " of a block of %" PRIu64 " bytes", place.distance,
                  place.size);
  if (place.freed && freed.length > 0) opc_text_addf(out, " (the first time%s)", opc_text_c(&freed));
}

/* "operator new[](unsigned long)" without its parameters. */
static void say_function(const opc_memcheck_stack_t *stack, opc_text_t *out) {
  opc_text_add_utf8(out, stack->replaced, strcspn(stack->replaced, "("));
  if (stack->replaced[0] == '\0') opc_text_add(out, "?");
}

static void say_mismatched(const scene_t *scene, opc_text_t *out) {
  opc_text_add(out, "a block allocated by ");
  say_function(&scene->error->aux[0].stack, out);
  opc_text_add(out, " is freed by ");
  say_function(&scene->error->stack, out);
}

/* "Source and destination overlap in memcpy(0x1, 0x2, 21)": the addresses are useless to a reader. */
static void say_overlap(const scene_t *scene, opc_text_t *out) {
  static const char words[] = "overlap in ";
  const char *function = strstr(scene->error->what, words), *last = strrchr(scene->error->what, ' ');
  if (!function || !strchr(function, '(')) {
    opc_text_add(out, scene->error->what);
    return;
  }
  function += sizeof words - 1;
  opc_text_addf(out, "source and destination of %.*s overlap", (int)strcspn(function, "("), function);
  uint64_t bytes;
  bool counted = strchr(function, ',') && last > strrchr(function, ',') && sscanf(last, " %" SCNu64 ")", &bytes) == 1;
  if (counted) opc_text_addf(out, " (%" PRIu64 " bytes)", bytes);
}

static void say_plainly(const scene_t *scene, opc_text_t *out) {
  opc_text_add(out, scene->error->what);
  if (scene->error->aux_count > 0) opc_text_addf(out, ". %s", scene->error->aux[0].text);
}

/* ---- all of it ---- */

static void resolve(const opc_memcheck_view_t *view, const opc_memcheck_stack_t *stack, opc_frames_t *out) {
  size_t skip = stack->skip < stack->count ? stack->skip : 0;
  opc_frames_resolve(view->symboliser, view->maps, view->library, stack->addresses + skip, stack->count - skip, true,
                     out);
}

static void memcheck_words_read_scene(const opc_memcheck_error_t *error, const opc_memcheck_view_t *view,
                                      scene_t *scene) {
  scene->error = error;
  if (!view->library || !realpath(view->library, scene->library)) scene->library[0] = '\0';
  resolve(view, &error->stack, &scene->frames);
  for (size_t i = 0; i < error->aux_count; i++) resolve(view, &error->aux[i].stack, &scene->about[i]);
}

opc_also_t opc_memcheck_describe(const opc_memcheck_error_t *error, const opc_memcheck_view_t *view) {
  const struct kind *kind = memcheck_words_kind_of(error->kind);
  OPC_SCOPED(opc_scope_free) scene_t *scene = calloc(1, sizeof *scene);
  if (!scene) return (opc_also_t){0};
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0}, shown = {0};
  memcheck_words_read_scene(error, view, scene);
  kind->say(scene, &message);
  if (scene->frames.own) opc_text_add(&message, ",");
  opc_frames_say(&scene->frames, &message);
  opc_text_add_utf8(&shown, opc_text_c(&message), message.length);

  json_t *about = json_array(), *rest = json_object();
  for (size_t i = 0; i < error->aux_count; i++) json_array_append_new(about, opc_json_string(error->aux[i].text));
  json_object_set_new(rest, "frames", opc_frames_json(&scene->frames));
  if (scene->about[0].count > 0) json_object_set_new(rest, "block", opc_frames_json(&scene->about[0]));
  json_object_set_new(rest, "valgrind",
                      json_pack("{s:o, s:o, s:o}", "kind", opc_json_string(error->kind), "what",
                                opc_json_string(error->what), "about", about));
  return (opc_also_t){.rule = kind->rule,
                      .message = opc_text_take(&shown),
                      .severity = opc_rule_of(kind->rule)->severity,
                      .rest = rest};
}
