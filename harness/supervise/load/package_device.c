/* The device that a package was compiled for, and the device that it will run on. */
#include <stdlib.h>
#include <string.h>

#include "inspect/fatbin.h"
#include "supervise/common/devices.h"
#include "supervise/load/load.h"

static bool is_for_cuda(const opc_package_model_t *model) { return strncmp(model->device, "cuda", 4) == 0; }

static bool any_for_cuda(const opc_package_t *package) {
  bool cuda = false;
  for (size_t i = 0; i < package->count; i++) cuda |= is_for_cuda(&package->models[i]);
  return cuda;
}

/* 90 for "90" and "sm_90"; 0: unknown. */
static int number_of(const char *capability) { return atoi(capability + (strncmp(capability, "sm_", 3) == 0 ? 3 : 0)); }

/* A kernel's machine code runs on devices of the same major number and the same or a higher minor number. */
static bool runs_on(const opc_package_model_t *model, int capability) {
  int wanted = number_of(model->capability);
  return !model->kernels || wanted == 0 || (wanted / 10 == capability / 10 && wanted <= capability);
}

static bool fits_simulated(const opc_package_model_t *model, const char *architecture, opc_library_error_t *out) {
  const char *simulated = architecture ? architecture : OPC_CUDA_ARCHITECTURE_USUAL;
  int wanted = number_of(model->capability);
  if (runs_on(model, number_of(simulated))) return true;
  opc_library_error_set(out, "device",
                        "it brings kernels for CUDA devices of compute capability %d.%d, and the simulated device is "
                        "%s: give --cuda-arch sm_%d",
                        wanted / 10, wanted % 10, simulated, wanted);
  return false;
}

static bool fits_real(const opc_package_model_t *model, opc_library_error_t *out) {
  opc_cuda_devices_t found;
  int wanted = number_of(model->capability);
  opc_cuda_devices_probe(&found);
  if (found.count == 0) {
    opc_library_error_set(out, "device",
                          "compiled for CUDA, but there is no CUDA device here: %s. Run it on a machine with one, with "
                          "--device cuda-sim on a simulated one "
                          "(where its kernels are launched and do not run), or export the model for the CPU",
                          found.detail);
    return false;
  }
  const struct opc_cuda_device *first = &found.devices[0];
  if (runs_on(model, first->major * 10 + first->minor)) return true;
  opc_library_error_set(out, "device",
                        "it brings kernels for CUDA devices of compute capability %d.%d, and %s has %d.%d: export it "
                        "again on this machine",
                        wanted / 10, wanted % 10, first->name, first->major, first->minor);
  return false;
}

static bool fits(const opc_package_model_t *model, const opc_package_target_t *target, bool any_cuda,
                 opc_library_error_t *out) {
  bool cuda = is_for_cuda(model), on_cpu = strcmp(target->device, OPC_MODE_CPU) == 0;
  if (model->device[0] == '\0') return true;
  if (!cuda && strcmp(model->device, "cpu") != 0) {
    opc_library_error_set(
        out, "device",
        "compiled for the device %s, but opcheck-c runs packages on cpu and cuda: export it for one of these",
        model->device);
  } else if (cuda && on_cpu) {
    opc_library_error_set(out, "device",
                          "compiled for CUDA, but --device cpu was given: leave it out, give --device cuda-sim if "
                          "there is no CUDA device, or export the "
                          "model for the CPU");
  } else if (!any_cuda && !on_cpu) {
    opc_library_error_set(out, "device",
                          "compiled for the CPU, but --device %s was given: leave it out, or export the model with "
                          "its inputs on a CUDA device",
                          target->device);
  } else if (cuda) {
    return strcmp(target->device, OPC_MODE_SIMULATED) == 0 ? fits_simulated(model, target->architecture, out)
                                                           : fits_real(model, out);
  } else {
    return true;
  }
  return false;
}

bool opc_package_fits(const opc_package_t *package, const opc_package_target_t *target, opc_library_error_t *out) {
  bool good = true, any_cuda = any_for_cuda(package);
  for (size_t i = 0; good && i < package->count; i++) good = fits(&package->models[i], target, any_cuda, out);
  return good;
}

static const char *architecture_of(const opc_package_model_t *model) {
  for (size_t i = 0; i < OPC_SIMULATED_ARCHITECTURES; i++)
    if (opc_simulated_architectures[i].number == (unsigned)number_of(model->capability))
      return opc_simulated_architectures[i].name;
  return NULL;
}

opc_package_target_t opc_package_target(const char *path) {
  opc_package_target_t target = {.device = OPC_MODE_CPU};
  opc_package_t package;
  if (opc_package_read(path, &package, NULL) != OPC_OK) return target;
  if (any_for_cuda(&package)) target.device = OPC_MODE_CUDA;
  for (size_t i = 0; i < package.count && !target.architecture; i++)
    if (is_for_cuda(&package.models[i])) target.architecture = architecture_of(&package.models[i]);
  opc_package_clear(&package);
  return target;
}
