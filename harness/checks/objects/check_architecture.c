/* architecture: the GPU code in a library's file is compared with the GPUs that the installed libtorch supports and
 * with the devices here. Reads files, calls nothing. */
#include <limits.h>
#include <string.h>

#include "bridge/api/prepare.h"
#include "checks/cuda_log/cuda_analysis.h"
#include "checks/framework/check.h"
#include "inspect/facts.h"
#include "model/json/json_write.h"

typedef struct library {
  opc_elf_file_t *file;
  opc_facts_t facts;
  opc_gpu_codes_t torch; /* of libtorch_cuda; empty: there is no such file, or it is unreadable */
} library_t;

/* It has many symbols, and none are needed: only this section is read. */
static void read_torch(opc_gpu_codes_t *out) {
  char path[PATH_MAX];
  opc_elf_file_t *file = NULL;
  size_t size = 0;
  const char *folder = opc_bridge_torch_folder();
  if (!folder || snprintf(path, sizeof path, "%s/libtorch_cuda.so", folder) >= (int)sizeof path ||
      opc_elf_open(path, &file, NULL) != OPC_OK)
    return;
  const unsigned char *bytes = opc_elf_section(file, ".nv_fatbin", &size);
  if (bytes) opc_fatbin_read(bytes, size, out);
  opc_elf_close(file);
}

/* An architecture that can be simulated and has code; NULL: none. */
static const char *to_simulate(const library_t *library) {
  for (size_t i = 0; i < OPC_SIMULATED_ARCHITECTURES; i++) {
    const opc_simulated_architecture_t *simulated = &opc_simulated_architectures[i];
    if (opc_gpu_codes_serve(&library->facts.gpu, simulated->number)) return simulated->name;
  }
  return NULL;
}

/* Looks for a device here, real or simulated, without code for it. */
static void check_devices_here(const library_t *library, const char *has, opc_finding_t *finding) {
  const opc_launch_api_t *launch = opc_launch();
  opc_cuda_limits_t limits;
  for (int i = 0; launch && i < launch->device_count(); i++) {
    if (!launch->limits(i, &limits) ||
        opc_gpu_codes_serve(&library->facts.gpu, (unsigned)(limits.major * 10 + limits.minor)))
      continue;
    const bool simulated = launch->mode == OPC_LAUNCH_SIMULATED;
    const char *other = simulated ? to_simulate(library) : NULL;
    opc_finding_fail(finding, OPC_RULE_architecture_no_image,
                     "it has code for %s, but none of it runs on device %d%s, which is %s: every launch there ends "
                     "with error 209%s%s",
                     has, i, simulated ? " (simulated)" : "", limits.architecture,
                     other ? "; one that it has code for is simulated by --cuda-arch " : "", other ? other : "");
    return;
  }
}

static void check_torch(const library_t *library, const char *has, opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t missing = {0};
  if (opc_gpu_codes_missing(&library->facts.gpu, &library->torch, &missing) > 0)
    opc_finding_fail(finding, OPC_RULE_architecture_missing,
                     "it has code for %s: none of it runs on %s, where libtorch's own kernels architecture_run", has,
                     opc_text_c(&missing));
}

/* ---- kernels with less code than the others ---- */

enum { KERNELS_NAMED = 3, KERNELS_AS_EVIDENCE = 64 };

static void missing_of(const library_t *library, const opc_uneven_kernel_t *kernel, opc_text_t *out) {
  opc_text_reset(out);
  (void)opc_gpu_codes_missing(&kernel->codes, &library->facts.gpu, out);
}

/* One finding for all kernels that lack the same as kernel `first`; none if an earlier kernel lacks it too. */
static void report_like(const library_t *library, const opc_uneven_t *uneven, size_t first, opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t lacks = {0}, other = {0}, names = {0}, has = {0};
  char name[256];
  size_t count = 0;
  missing_of(library, &uneven->items[first], &lacks);
  for (size_t i = 0; i < uneven->count; i++) {
    missing_of(library, &uneven->items[i], &other);
    if (strcmp(opc_text_c(&lacks), opc_text_c(&other)) != 0) continue;
    if (i < first) return;
    if (count < KERNELS_NAMED)
      opc_text_addf(&names, "%s%s", count ? ", " : "", opc_cuda_kernel_name(uneven->items[i].name, name, sizeof name));
    count++;
  }
  if (count > KERNELS_NAMED) opc_text_addf(&names, " and %zu more", count - KERNELS_NAMED);
  opc_gpu_codes_words(&uneven->items[first].codes, &has);
  opc_finding_fail(
      finding, OPC_RULE_architecture_uneven,
      "kernel%s %s: there is code for %s but none that runs on %s, where other kernels of the library architecture_run",
      count > 1 ? "s" : "", opc_text_c(&names), opc_text_c(&has), opc_text_c(&lacks));
}

static void check_uneven_kernels(const library_t *library, opc_finding_t *finding) {
  OPC_SCOPED(opc_uneven_clear) opc_uneven_t uneven = {0};
  size_t size = 0;
  const unsigned char *bytes = opc_elf_section(library->file, ".nv_fatbin", &size);
  if (bytes) opc_uneven_read(bytes, size, &library->facts.gpu, &uneven);
  json_auto_t *kernels = json_array();
  for (size_t i = 0; i < uneven.count; i++) {
    report_like(library, &uneven, i, finding);
    if (i < KERNELS_AS_EVIDENCE) json_array_append_new(kernels, opc_json_text(uneven.items[i].name));
  }
  if (uneven.count > 0) opc_finding_evidence(finding, "kernels", json_incref(kernels));
}

static void library_clear(library_t *library) {
  opc_facts_clear(&library->facts);
  opc_elf_close(library->file);
}

static void check_code(const library_t *library, const char *has, opc_finding_t *finding) {
  if (library->facts.gpu.damaged) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "its GPU code cannot be read completely");
    return;
  }
  check_devices_here(library, has, finding);
  check_torch(library, has, finding);
  check_uneven_kernels(library, finding);
  if (!opc_gpu_codes_have_lasting_ptx(&library->facts.gpu))
    opc_finding_fail(finding, OPC_RULE_architecture_no_ptx, "it has code for %s, but no PTX for GPUs newer than sm_%u",
                     has, opc_gpu_codes_newest(&library->facts.gpu));
}

static opc_status_t architecture_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(library_clear) library_t library = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t has = {0};
  size_t size = 0;
  opc_error_t unreadable;
  if (opc_elf_open(context->op->library, &library.file, &unreadable) != OPC_OK ||
      !opc_elf_section(library.file, ".nv_fatbin", &size) || size == 0)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "there is no GPU code in it");
  if (opc_facts_read(library.file, &library.facts, error) != OPC_OK)
    return opc_finding_error(finding, OPC_RULE_harness, "%s cannot be read: %s", context->op->library, error->message);
  read_torch(&library.torch);
  opc_gpu_codes_words(&library.facts.gpu, &has);
  check_code(&library, opc_text_c(&has), finding);
  if (library.facts.gpu_runtime == OPC_GPU_RUNTIME_STATIC)
    opc_finding_fail(finding, OPC_RULE_architecture_static_runtime,
                     "it has its own CUDA runtime linked into it, in addition to libtorch's");
  opc_finding_evidence(finding, "code", json_string(opc_text_c(&has)));
  if (!library.facts.gpu.damaged) opc_finding_pass(finding, "it has code for %s", opc_text_c(&has));
  return OPC_OK;
}

const opc_check_t opc_check_architecture = {.name = "architecture", .run = architecture_run};
