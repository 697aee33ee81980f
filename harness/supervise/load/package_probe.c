#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "supervise/load/load.h"

/* ---- instructions ---- */

/* AOTInductor's names of instruction sets (torch/_inductor/cpu_vec_isa.py), and the processor flags of each. */
static const struct {
  const char *name, *flags;
} instruction_sets[] = {{"AVX512", "avx512f avx512dq avx512vl avx512bw fma"},
                        {"AVX512_VNNI", "avx512_vnni avx512vl"},
                        {"AMX_TILE", "amx_tile"},
                        {"AVX2", "avx2 fma"},
                        {"SVE256", "sve"},
                        {"NEON", "asimd"}};

/* Reads the processor's flags, with a blank before and after each. False: not known. */
static bool read_flags(char *out, size_t size) {
  char line[16384];
  bool found = false;
  FILE *file = fopen("/proc/cpuinfo", "re");
  while (file && !found && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    found = colon && (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0);
    if (found) snprintf(out, size, " %.*s ", (int)strcspn(colon + 1, "\n"), colon + 1);
  }
  if (file) fclose(file);
  return found;
}

static bool has_flag(const char *flags, const char *word, size_t length) {
  char wanted[64];
  snprintf(wanted, sizeof wanted, " %.*s ", (int)length, word);
  return strstr(flags, wanted);
}

/* The first missing flag of the set `name`; NULL: all are present, or the set is unknown. */
static const char *missing_flag(const char *flags, const char *name, size_t length, char out[32]) {
  for (size_t i = 0; i < sizeof instruction_sets / sizeof *instruction_sets; i++) {
    if (strlen(instruction_sets[i].name) != length || strncasecmp(instruction_sets[i].name, name, length) != 0)
      continue;
    for (const char *at = instruction_sets[i].flags; *at != '\0';) {
      size_t word = strcspn(at, " ");
      snprintf(out, 32, "%.*s", (int)word, at);
      if (!has_flag(flags, at, word)) return out;
      at += word + strspn(at + word, " ");
    }
  }
  return NULL;
}

static bool check_instructions(const opc_package_model_t *model, opc_library_error_t *out) {
  char flags[16384], missing[32];
  if (!read_flags(flags, sizeof flags)) return true;
  for (const char *at = model->instructions; *at != '\0';) {
    size_t length = strcspn(at, " ");
    if (missing_flag(flags, at, length, missing)) {
      opc_library_error_set(out, "instruction_set",
                            "compiled with %s instructions, but this processor has no %s: run it on one that has, or "
                            "export it again on this machine, or with "
                            "ATEN_CPU_CAPABILITY=avx2 or =default in the environment",
                            model->instructions, missing);
      return false;
    }
    at += length + strspn(at + length, " ");
  }
  return true;
}

/* ---- the machine ---- */

static bool check_machine(const opc_package_model_t *model, opc_library_error_t *out) {
  struct utsname here;
  if (uname(&here) != 0) return true;
  bool arm = strcmp(here.machine, "aarch64") == 0 && strcmp(model->machine, "arm64") == 0;
  if (model->platform[0] != '\0' && strcmp(model->platform, "linux") != 0) {
    opc_library_error_set(out, "architecture", "compiled for %s, this is Linux: export it again on Linux",
                          model->platform);
  } else if (model->machine[0] != '\0' && strcmp(model->machine, here.machine) != 0 && !arm) {
    opc_library_error_set(out, "architecture",
                          "compiled for %s processors, this machine is %s: export it again on such a machine",
                          model->machine, here.machine);
  } else {
    return true;
  }
  return false;
}

/* ---- the file ---- */

static const char *package_probe_kind_of(opc_status_t status) {
  return status == OPC_ERR_IO ? "unreadable" : status == OPC_ERR_UNSUPPORTED ? "not_package" : "truncated";
}

bool opc_package_probe(const char *path, const opc_package_target_t *target, opc_library_error_t *out) {
  opc_package_t package;
  opc_error_t error = {0};
  memset(out, 0, sizeof *out);
  if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    opc_library_error_set(out, "not_found", "there is no such file");
    return false;
  }
  opc_status_t status = opc_package_read(path, &package, &error);
  if (status != OPC_OK) {
    opc_library_error_set(out, package_probe_kind_of(status), "%s", error.message);
    return false;
  }
  bool good = true;
  for (size_t i = 0; good && i < package.count; i++) good = check_machine(&package.models[i], out);
  if (good) good = opc_package_fits(&package, target, out);
  for (size_t i = 0; good && i < package.count; i++) good = check_instructions(&package.models[i], out);
  opc_package_clear(&package);
  return good;
}
