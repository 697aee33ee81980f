/* What a kernel's image in a fat binary says about it: the parameters' offsets and sizes, registers, shared memory.
 *
 * Reads the bytes that nvcc registered, in place. Ownership: none. Threads, fork: no shared state. The input is
 * untrusted: nothing is read from damaged data. */
#pragma once

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
  uint32_t registers, shared_static, max_threads; /* 0: unknown, or no limit */
} opc_kernel_image_t;

/* The code of a module that a device runs: architecture of the machine code and of the PTX; 0: none. */
typedef struct opc_image_code {
  unsigned machine, ptx;
} opc_image_code_t;

/* `wrapper`: as given to __cudaRegisterFatBinary. */
opc_image_code_t opc_image_code(const void *wrapper, int major, int minor);
/* The parameters are the same in every architecture's code; the other numbers are of the code that a device of this
 * architecture would run. 0, 0: no device. */
void opc_image_read(const void *wrapper, const char *kernel, int major, int minor, opc_kernel_image_t *out);

bool opc_image_has(const void *wrapper, const char *kernel);

/* Copies an image that the driver loads as a module (a cubin, PTX, or a container of these) into a wrapper like the one
 * above; free it with opc_image_wrapped_free. NULL: none of these, damaged, or out of memory. A NUL follows the `size`
 * bytes; size 0: the image itself gives its size. */
void *opc_image_wrap(const void *bytes, size_t size);
void opc_image_wrapped_free(void *wrapper);

/* Reads one cubin (an ELF file), or PTX. False: the kernel is not in it. */
bool opc_cubin_read(const unsigned char *bytes, size_t size, const char *kernel, opc_kernel_image_t *out);
/* Visits each kernel of a cubin, by its registered name. False: not a cubin, or damaged. */
bool opc_cubin_visit(const unsigned char *bytes, size_t size, void (*visit)(const char *kernel, void *context),
                     void *context);
bool opc_ptx_read(const char *text, size_t size, const char *kernel, opc_kernel_image_t *out);
