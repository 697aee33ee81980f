#include "inspect/gpu_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/image/kernel_image.h"

typedef struct kernels_reading {
  opc_gpu_kernels_t *out;
  size_t image, first; /* the current fat binary, and the first of its kernels */
  bool no_memory;
} kernels_reading_t;

static opc_gpu_kernel_t *gpu_kernel_add(kernels_reading_t *reading, const char *name) {
  opc_gpu_kernels_t *out = reading->out;
  char *copy = strdup(name);
  if (!copy || !OPC_ARRAY_GROW(out->items, out->count)) {
    free(copy);
    reading->no_memory = true;
    return NULL;
  }
  opc_gpu_kernel_t *kernel = &out->items[out->count++];
  *kernel = (opc_gpu_kernel_t){.name = copy, .image = reading->image};
  return kernel;
}

static void see_ptx(kernels_reading_t *reading, const opc_ptx_module_t *module, unsigned architecture) {
  for (size_t i = 0; i < opc_ptx_kernel_count(module) && !reading->no_memory; i++) {
    opc_gpu_kernel_t *kernel = gpu_kernel_add(reading, opc_ptx_kernel_name(module, i));
    if (!kernel) return;
    opc_ptx_program_t *program = opc_ptx_program_make(module, i, &kernel->problem);
    kernel->ptx = architecture;
    kernel->runs = program;
    kernel->exact = program && opc_ptx_program_exactness(program) == OPC_PTX_EXACT;
    kernel->instructions = program ? opc_ptx_program_size(program) : 0;
    opc_ptx_program_free(program);
  }
}

static void read_ptx(kernels_reading_t *reading, const opc_fatbin_image_t *image) {
  opc_gpu_kernels_t *out = reading->out;
  opc_ptx_problem_t problem = {.message = "the image cannot be unpacked"};
  unsigned char *unpacked;
  size_t size;
  if (!image->bytes) return;
  const unsigned char *plain = opc_fatbin_image_plain(image, &size, &unpacked);
  opc_ptx_module_t *module = plain ? opc_ptx_module_read((const char *)plain, size, &problem) : NULL;
  if (module) see_ptx(reading, module, image->architecture);
  else if (out->unread++ == 0) out->problem = problem;
  opc_ptx_module_free(module);
  opc_image_unpacked_free(unpacked, size);
}

static void see_machine_code(const char *name, void *context) {
  kernels_reading_t *reading = context;
  for (size_t i = reading->first; i < reading->out->count; i++)
    if (strcmp(reading->out->items[i].name, name) == 0) return;
  (void)gpu_kernel_add(reading, name);
}

static void gpu_kernels_see(const opc_fatbin_t *fatbin, void *context) {
  kernels_reading_t *reading = context;
  unsigned char *unpacked;
  size_t size;
  reading->image++;
  reading->first = reading->out->count;
  read_ptx(reading, &fatbin->ptx);
  if (!fatbin->machine.bytes) return;
  const unsigned char *plain = opc_fatbin_image_plain(&fatbin->machine, &size, &unpacked);
  if (plain) (void)opc_cubin_visit(plain, size, see_machine_code, reading);
  opc_image_unpacked_free(unpacked, size);
}

opc_status_t opc_gpu_kernels_read(const unsigned char *bytes, size_t size, opc_gpu_kernels_t *out, opc_error_t *error) {
  kernels_reading_t reading = {.out = out};
  *out = (opc_gpu_kernels_t){0};
  (void)opc_fatbin_visit(bytes, size, gpu_kernels_see, &reading);
  if (!reading.no_memory) return OPC_OK;
  opc_gpu_kernels_clear(out);
  return opc_out_of_memory(error);
}

void opc_gpu_kernels_clear(opc_gpu_kernels_t *kernels) {
  for (size_t i = 0; i < kernels->count; i++) free(kernels->items[i].name);
  free(kernels->items);
  *kernels = (opc_gpu_kernels_t){0};
}
