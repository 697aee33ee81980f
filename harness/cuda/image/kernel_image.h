/* What a kernel's image in a fat binary says of it: the parameters' offsets and sizes, registers, shared memory.
 *
 * Reads the bytes that nvcc registered, in place. Ownership: none. Threads, fork: no shared state. Bytes may be
 * anything: what is damaged says nothing. */
#ifndef OPC_CUDA_IMAGE_KERNEL_IMAGE_H
#define OPC_CUDA_IMAGE_KERNEL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPC_KERNEL_PARAMETERS = 64 };

typedef struct opc_parameter {
  uint32_t offset, size;
} opc_parameter_t;

typedef struct opc_kernel_image {
  bool parameters_known;
  size_t parameter_count;
  opc_parameter_t parameters[OPC_KERNEL_PARAMETERS];
  uint32_t registers, shared_static, max_threads; /* 0: unknown, or without a bound */
} opc_kernel_image_t;

/* Which of a module's code a device runs: architectures, 0 where there is none. */
typedef struct opc_image_code {
  unsigned machine, ptx;
} opc_image_code_t;

/* `wrapper`: as given to __cudaRegisterFatBinary. */
opc_image_code_t opc_image_code(const void *wrapper, int major, int minor);
/* The parameters are those of every architecture's code; the other numbers of what a device of this architecture would
 * run. 0, 0: of none. */
void opc_image_read(const void *wrapper, const char *kernel, int major, int minor, opc_kernel_image_t *out);

bool opc_image_has(const void *wrapper, const char *kernel);

/* What the driver loads a module from (a cubin, PTX, or a container of these) as a wrapper like the above, in memory of
 * its own until opc_image_wrapped_free. NULL: it is none of these, or damaged. Behind `size` bytes lies a NUL; 0: as
 * many as it says itself. */
void *opc_image_wrap(const void *bytes, size_t size);
void opc_image_wrapped_free(void *wrapper);

/* One cubin (an ELF file), or PTX. False: the kernel is not in it. */
bool opc_cubin_read(const unsigned char *bytes, size_t size, const char *kernel, opc_kernel_image_t *out);
/* Each kernel of a cubin, by the name that it is registered by. False: this is none, or a damaged one. */
bool opc_cubin_visit(const unsigned char *bytes, size_t size, void (*visit)(const char *kernel, void *context),
                     void *context);
bool opc_ptx_read(const char *text, size_t size, const char *kernel, opc_kernel_image_t *out);

#endif
