#include "reports/problems/problem_merge.h"

#include <string.h>
#include <xxhash.h>

/* Frames of the access that the rule is about, else of any access, else of the crash. */
static const opc_code_frames_t *frames_of(const opc_case_result_t *result) {
  const opc_code_frames_t *found = NULL;
  for (size_t i = 0; i < result->access_count; i++) {
    const opc_result_access_t *access = &result->accesses[i];
    if (access->frames.count == 0) continue;
    if (access->rule == result->rule) return &access->frames;
    if (!found) found = &access->frames;
  }
  return found ? found : &result->frames;
}

/* "kernel" for "void (anonymous namespace)::kernel<float>(at::Tensor const&)". */
static void function_name(const char *symbol, char *out, size_t size) {
  static const char anonymous[] = "(anonymous namespace)::";
  size_t length = 0;
  int depth = 0;
  for (const char *at = symbol; *at; at++) {
    if (strncmp(at, anonymous, sizeof anonymous - 1) == 0) {
      at += sizeof anonymous - 2;
      continue;
    }
    if (*at == '<') depth++;
    else if (*at == '>' && depth > 0) depth--;
    else if (depth > 0) continue;
    else if ((*at == '(' || *at == '[') && length > 0) break;
    else if (*at == ' ') length = 0; /* the text so far was the return type */
    else if (length + 1 < size) out[length++] = *at;
  }
  out[length] = '\0';
}

/* Code of libtorch or the C++ library that was compiled into the operator's code: many operators share it. */
static bool is_foreign(const char *function, const char *file) {
  static const char *const spaces[] = {"at::", "c10::", "std::", "torch::", "__gnu_cxx::", "caffe2::"};
  static const char *const folders[] = {"/ATen/",        "/c10/",    "/torch/csrc/", "/torch/headeronly/",
                                        "/include/c++/", "/lib/gcc/"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
    if (strstr(file, folders[i])) return true;
  for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
    if (strncmp(function, spaces[i], strlen(spaces[i])) == 0) return true;
  return false;
}

static uint64_t code_place_key_of(const char *module, const char *function, const char *file, const char *where) {
  char text[1024];
  int length = snprintf(text, sizeof text, "%s\n%s\n%s\n%s", module, *file || !*where ? function : "", file, where);
  uint64_t key = XXH3_64bits(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
  return key ? key : 1;
}

/* The first function with a name that called the code in frame `index`: a stripped library has few. */
static void code_place_caller_of(const opc_code_frames_t *frames, size_t index, char *out, size_t size) {
  *out = '\0';
  for (size_t i = index + 1; i < frames->count && !*out; i++) {
    function_name(frames->items[i].symbol, out, size);
    if (*out && is_foreign(out, frames->items[i].file)) *out = '\0';
  }
}

/* A line of the file, else an offset in the module. */
static const char *code_place_where(const opc_code_frame_t *frame, char out[32]) {
  if (!*frame->file) return frame->offset;
  snprintf(out, 32, "%d", frame->line);
  return out;
}

/* "below kernel (ops.cpp:33)"; before: "" or "below ". */
static void code_place_tell(const opc_code_frame_t *frame, const char *before, const char *name,
                            opc_code_place_t *out) {
  char where[32];
  snprintf(out->text, sizeof out->text, "%s%s (%.120s%s%.30s)", before, name,
           opc_base_name(*frame->file ? frame->file : frame->module),
           *frame->file     ? ":"
           : *frame->offset ? "+"
                            : "",
           code_place_where(frame, where));
  snprintf(out->file, sizeof out->file, "%s", frame->file);
  out->line = frame->line;
}

static bool code_place_of_kernel(const opc_code_frame_t *kernel, opc_code_place_t *out) {
  *out = (opc_code_place_t){0};
  if (!*kernel->symbol) return false;
  function_name(kernel->symbol, out->function, sizeof out->function);
  code_place_tell(kernel, "", out->function, out);
  return true;
}

uint64_t opc_code_function_key(const opc_code_place_t *place) {
  return code_place_key_of("", place->function, "function", opc_base_name(place->file));
}

bool opc_code_place_of(const opc_case_result_t *result, const char *library, opc_code_place_t *out) {
  *out = (opc_code_place_t){0};
  if (!library) return false;
  /* One block of TORCH_LIBRARY registers many operators: a fault that all of them have is one mistake. */
  if (opc_rule_is_of(result->rule, "registration")) {
    snprintf(out->function, sizeof out->function, "registration");
    out->key = code_place_key_of(opc_base_name(library), "", "", opc_rule_name(result->rule));
    return true;
  }
  const opc_code_frames_t *frames = frames_of(result);
  for (size_t i = 0; i < frames->count; i++) {
    const opc_code_frame_t *frame = &frames->items[i];
    const char *module = opc_base_name(frame->module);
    if (strcmp(module, opc_base_name(library)) != 0) continue;
    function_name(frame->symbol, out->function, sizeof out->function);
    if (is_foreign(out->function, frame->file)) continue;
    char caller[sizeof out->function] = "", where[32];
    if (!*out->function) code_place_caller_of(frames, i, caller, sizeof caller);
    const char *name = *out->function ? out->function : *caller ? caller : "code";
    code_place_tell(frame, *caller ? "below " : "", name, out);
    out->key = code_place_key_of(module, out->function, frame->file, code_place_where(frame, where));
    return true;
  }
  return code_place_of_kernel(&result->kernel, out);
}
