/* The kernels and variables that libraries register, for either mode. They are found by the address of the host
 * function (or variable) that represents them, and by the handles that the runtime returned for them. libtorch
 * registers 21,504 at once, so registering is cheap and all other work waits for a kernel's first launch. */
#include <string.h>
#include <sys/mman.h>

#include "cuda/state/cudart_table.h"

enum { MODULES_MAX = 1 << 16, KERNELS_MAX = 1 << 20, VARIABLES_MAX = 1 << 16, MAP_FIRST = 1 << 12 };

static opc_module_t *modules;
static opc_cuda_kernel_t *kernels;
static opc_variable_t *variables;
static size_t module_count, kernel_count, variable_count;

/* Maps addresses to kernel numbers, with open addressing, at most half full. */
static struct map {
  struct map_entry {
    const void *key;
    uint32_t kernel;
  } * entries;
  size_t size, used;
} map;

static bool tables_ready(void) {
  const int open = PROT_READ | PROT_WRITE;
  if (!modules) modules = opc_reserve(MODULES_MAX * sizeof *modules, open);
  if (!kernels) kernels = opc_reserve(KERNELS_MAX * sizeof *kernels, open);
  if (!variables) variables = opc_reserve(VARIABLES_MAX * sizeof *variables, open);
  return modules && kernels && variables;
}

static struct map_entry *map_entry(const struct map *in, const void *key) {
  size_t i = (size_t)(((uint64_t)(uintptr_t)key >> 3) * 0x9e3779b97f4a7c15u >> 20) & (in->size - 1);
  while (in->entries[i].key && in->entries[i].key != key) i = (i + 1) & (in->size - 1);
  return &in->entries[i];
}

static bool map_grow(void) {
  struct map larger = {.size = map.size ? map.size * 4 : MAP_FIRST, .used = map.used};
  larger.entries = opc_reserve(larger.size * sizeof *larger.entries, PROT_READ | PROT_WRITE);
  if (!larger.entries) return false;
  for (size_t i = 0; i < map.size; i++)
    if (map.entries[i].key) *map_entry(&larger, map.entries[i].key) = map.entries[i];
  if (map.entries) munmap(map.entries, map.size * sizeof *map.entries);
  map = larger;
  return true;
}

static void map_put(const void *key, size_t kernel) {
  if (!key || (map.used * 2 >= map.size && !map_grow())) return;
  struct map_entry *entry = map_entry(&map, key);
  if (!entry->key) map.used++;
  *entry = (struct map_entry){.key = key, .kernel = (uint32_t)kernel};
}

/* ---- modules ---- */

opc_module_t *opc_module_add(const void *wrapper, void **handle) {
  opc_module_t *module = NULL;
  pthread_mutex_lock(&opc_lock_kernels);
  if (tables_ready() && module_count < MODULES_MAX) {
    module = &modules[module_count++];
    *module = (opc_module_t){.wrapper = wrapper, .handle = handle ? handle : (void **)module, .live = true};
    module->first_kernel = module->end_kernel = kernel_count;
    module->first_variable = module->end_variable = variable_count;
  }
  pthread_mutex_unlock(&opc_lock_kernels);
  return module;
}

opc_module_t *opc_module_find(void **handle) {
  opc_module_t *found = NULL, *own = (opc_module_t *)(void *)handle;
  pthread_mutex_lock(&opc_lock_kernels);
  if (modules && own >= modules && own < modules + module_count) { /* simulated: the handle is the module */
    found = own->live ? own : NULL;
  } else {
    for (size_t i = module_count; i-- > 0 && !found;) /* the most recently registered module is the likely one */
      if (modules[i].live && modules[i].handle == handle) found = &modules[i];
  }
  pthread_mutex_unlock(&opc_lock_kernels);
  return found;
}

void opc_module_end(opc_module_t *module) {
  if (!module) return;
  pthread_mutex_lock(&opc_lock_kernels);
  module->live = false;
  for (size_t i = module->first_kernel; i < module->end_kernel; i++)
    if (kernels[i].module == module) {
      kernels[i].module = NULL;
      if (!atomic_load(&kernels[i].image_read)) kernels[i].name = ""; /* the name was in the library's memory */
    }
  for (size_t i = module->first_variable; i < module->end_variable; i++)
    if (variables[i].module == module) variables[i].host = NULL;
  pthread_mutex_unlock(&opc_lock_kernels);
}

/* ---- kernels ---- */

void opc_kernel_add(opc_module_t *module, const void *host, const char *name) {
  pthread_mutex_lock(&opc_lock_kernels);
  if (module && kernel_count < KERNELS_MAX) {
    kernels[kernel_count] = (opc_cuda_kernel_t){.host = host, .module = module, .name = name ? name : ""};
    map_put(host, kernel_count++);
    module->end_kernel = kernel_count;
  }
  pthread_mutex_unlock(&opc_lock_kernels);
}

void opc_kernel_handle(const void *handle, opc_cuda_kernel_t *kernel) {
  pthread_mutex_lock(&opc_lock_kernels);
  map_put(handle, (size_t)(kernel - kernels));
  pthread_mutex_unlock(&opc_lock_kernels);
}

opc_cuda_kernel_t *opc_kernel_find(const void *key) {
  opc_cuda_kernel_t *found = NULL;
  pthread_mutex_lock(&opc_lock_kernels);
  if (map.size != 0 && key) {
    const struct map_entry *entry = map_entry(&map, key);
    if (entry->key) found = &kernels[entry->kernel];
  }
  pthread_mutex_unlock(&opc_lock_kernels);
  return found && found->module ? found : NULL;
}

static const char *module_library(opc_module_t *module) {
  if (!module->library) module->library = opc_log_library((uint64_t)(uintptr_t)module->wrapper);
  return module->library;
}

const char *opc_kernel_library(opc_cuda_kernel_t *kernel) {
  return kernel->module ? module_library(kernel->module) : "";
}

cudaError_t opc_kernel_fits(opc_cuda_kernel_t *kernel) {
  opc_module_t *module = kernel->module;
  if (!module) return cudaErrorInvalidDeviceFunction;
  if (!module->looked) {
    module->code = opc_image_code(module->wrapper, opc_runtime.limits.major, opc_runtime.limits.minor);
    module->runs = module->code.machine != 0 || module->code.ptx != 0;
    module->looked = true;
  }
  return module->runs ? cudaSuccess : cudaErrorNoKernelImageForDevice;
}

opc_image_code_t opc_kernel_code(const opc_cuda_kernel_t *kernel) {
  return kernel->module ? kernel->module->code : (opc_image_code_t){0};
}

const opc_kernel_image_t *opc_kernel_resources(opc_cuda_kernel_t *kernel) {
  static const char libtorch[] = "libtorch_";
  const char *library = opc_kernel_library(kernel), *slash = strrchr(library, '/');
  if (strncmp(slash ? slash + 1 : library, libtorch, sizeof libtorch - 1) == 0) return NULL;
  return opc_kernel_image(kernel);
}

const opc_kernel_image_t *opc_kernel_image(opc_cuda_kernel_t *kernel) {
  if (atomic_load_explicit(&kernel->image_read, memory_order_acquire)) return kernel->image;
  pthread_mutex_lock(&opc_lock_kernels);
  if (!atomic_load(&kernel->image_read) && kernel->module) {
    opc_kernel_image_t *image = opc_reserve(sizeof *image, PROT_READ | PROT_WRITE);
    if (image)
      opc_image_read(kernel->module->wrapper, kernel->name, opc_runtime.simulated ? opc_runtime.limits.major : 0,
                     opc_runtime.limits.minor, image);
    kernel->image = image;
    kernel->name = opc_log_intern(kernel->name);
    atomic_store_explicit(&kernel->image_read, true, memory_order_release);
  }
  pthread_mutex_unlock(&opc_lock_kernels);
  return kernel->image;
}

/* ---- variables in device code ---- */

opc_variable_t *opc_variable_add(opc_module_t *module, const void *host, const char *name, uint64_t bytes) {
  opc_variable_t *added = NULL;
  pthread_mutex_lock(&opc_lock_kernels);
  if (module && variable_count < VARIABLES_MAX) {
    added = &variables[variable_count++];
    *added = (opc_variable_t){.host = host, .module = module, .name = name ? name : "", .bytes = bytes};
    module->end_variable = variable_count;
  }
  pthread_mutex_unlock(&opc_lock_kernels);
  return added;
}

static opc_variable_t *variable_of(const void *host) {
  for (size_t i = variable_count; host && i-- > 0;)
    if (variables[i].host == host) return &variables[i];
  return NULL;
}

opc_variable_t *opc_variable_of(const void *host) {
  pthread_mutex_lock(&opc_lock_kernels);
  opc_variable_t *found = variable_of(host);
  pthread_mutex_unlock(&opc_lock_kernels);
  return found;
}

bool opc_variable_find(const void *host, int device, uint64_t *out_at, uint64_t *out_bytes) {
  pthread_mutex_lock(&opc_lock_kernels);
  opc_variable_t *found = variable_of(host);
  if (found && opc_runtime.simulated && found->at[device] == 0)
    found->at[device] = opc_device_place(OPC_CUDA_DEVICE, device, found->bytes);
  pthread_mutex_unlock(&opc_lock_kernels);
  if (!found) return false;
  *out_at = opc_runtime.simulated ? found->at[device] : (uint64_t)(uintptr_t)host;
  *out_bytes = found->bytes;
  return *out_at != 0;
}

void opc_variable_visit(const opc_module_t *module, int device,
                        void (*visit)(opc_variable_t *variable, int device, void *context), void *context) {
  for (size_t i = module->first_variable; i < module->end_variable; i++)
    if (variables[i].module == module && variables[i].at[device] != 0) visit(&variables[i], device, context);
}
