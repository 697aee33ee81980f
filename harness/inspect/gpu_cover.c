#include "inspect/fatbin.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "inspect/elf_file.h"

static unsigned major(unsigned architecture) { return architecture / 10; }

static bool serves(const opc_gpu_code_t *code, unsigned architecture) {
  if (code->suffix == 'a') return code->architecture == architecture;
  if (code->ptx && code->suffix == '\0') return code->architecture <= architecture;
  return major(code->architecture) == major(architecture) && code->architecture <= architecture;
}

bool opc_gpu_codes_serve(const opc_gpu_codes_t *codes, unsigned architecture) {
  for (size_t i = 0; i < codes->count; i++) {
    if (serves(&codes->items[i], architecture)) return true;
  }
  return false;
}

bool opc_gpu_codes_have_lasting_ptx(const opc_gpu_codes_t *codes) {
  for (size_t i = 0; i < codes->count; i++) {
    if (codes->items[i].ptx && codes->items[i].suffix == '\0') return true;
  }
  return false;
}

bool opc_gpu_library_has_ptx(const char *file) {
  static char known[PATH_MAX];
  static bool answer;
  opc_elf_file_t *elf = NULL;
  size_t size = 0;
  if (!file || strlen(file) >= sizeof known) return false;
  if (strcmp(file, known) == 0) return answer;
  snprintf(known, sizeof known, "%s", file);
  const bool opened = opc_elf_open(file, &elf, NULL) == OPC_OK;
  answer = !opened && strcmp(file, OPC_LIBTORCH) != 0;
  if (!opened) return answer;
  opc_gpu_codes_t codes = {0};
  const unsigned char *bytes = opc_elf_section(elf, ".nv_fatbin", &size);
  if (bytes) opc_fatbin_read(bytes, size, &codes);
  for (size_t i = 0; i < codes.count; i++) answer = answer || codes.items[i].ptx;
  opc_elf_close(elf);
  return answer;
}

unsigned opc_gpu_codes_newest(const opc_gpu_codes_t *codes) {
  unsigned newest = 0;
  for (size_t i = 0; i < codes->count; i++) {
    if (!codes->items[i].ptx && codes->items[i].architecture > newest) newest = codes->items[i].architecture;
  }
  return newest;
}

static const char *before(size_t index, size_t count) { return index == 0 ? "" : index + 1 == count ? " and " : ", "; }

void opc_gpu_codes_words(const opc_gpu_codes_t *codes, opc_text_t *out) {
  for (size_t i = 0; i < codes->count; i++) {
    const opc_gpu_code_t *code = &codes->items[i];
    opc_text_addf(out, "%s%s%u%.1s", before(i, codes->count), code->ptx ? "PTX compute_" : "sm_", code->architecture,
                  &code->suffix);
  }
}

static bool is_missing(const opc_gpu_codes_t *codes, const opc_gpu_code_t *wanted) {
  return !wanted->ptx && wanted->suffix == '\0' && !opc_gpu_codes_serve(codes, wanted->architecture);
}

size_t opc_gpu_codes_missing(const opc_gpu_codes_t *codes, const opc_gpu_codes_t *wanted, opc_text_t *out) {
  size_t count = 0, listed = 0;
  for (size_t i = 0; i < wanted->count; i++) count += is_missing(codes, &wanted->items[i]);
  for (size_t i = 0; i < wanted->count; i++) {
    if (!is_missing(codes, &wanted->items[i])) continue;
    if (out) opc_text_addf(out, "%ssm_%u", before(listed, count), wanted->items[i].architecture);
    listed++;
  }
  return count;
}

const opc_simulated_architecture_t opc_simulated_architectures[OPC_SIMULATED_ARCHITECTURES] = {
#define OPC_ARCHITECTURE(name, major, minor, ...) {name, (major)*10 + (minor)},
#include "cuda/image/architectures.def"
};
