/* Names of call kinds and runtime errors, for people who read a log. */
#include <stdio.h>
#include <string.h>

#include "cuda/log/cuda_log.h"

const char *opc_cuda_kind_word(opc_cuda_kind_t kind) {
  static const char *const words[] = {
#define OPC_CUDA_KIND(name, word, what) word,
#include "cuda/log/cuda_call.def"
  };
  return (unsigned)kind < OPC_CUDA_KIND_COUNT ? words[kind] : "";
}

const char *opc_cuda_error_name(int code) {
  static _Thread_local char unknown[32];
  static const struct {
    int code;
    const char *name;
  } rows[] = {
#define OPC_CUDA_ERROR(code, name, message) {code, name},
#include "cuda/log/cuda_errors.def"
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].code == code) return rows[i].name;
  snprintf(unknown, sizeof unknown, "cudaError %d", code);
  return unknown;
}

int opc_cuda_error_thrown(const char *text) {
  static const char begin[] = "CUDA error: ";
  static const struct {
    int code;
    const char *message;
  } rows[] = {
#define OPC_CUDA_ERROR(code, name, message) {code, message},
#include "cuda/log/cuda_errors.def"
  };
  const char *message = strncmp(text, begin, sizeof begin - 1) == 0 ? text + sizeof begin - 1 : "";
  const size_t length = strcspn(message, "\n");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strlen(rows[i].message) == length && strncmp(message, rows[i].message, length) == 0) return rows[i].code;
  return 0;
}
