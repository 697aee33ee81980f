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

typedef void opc_image_ptx_visit_t(const char *text, size_t size, unsigned architecture, void *context);
/* Visits the PTX of the newest architecture that the module has PTX for: a text for each part that was linked. Returns
 * the architecture; 0: it has no PTX, or only PTX that cannot be unpacked. */
unsigned opc_image_ptx(const void *wrapper, opc_image_ptx_visit_t *visit, void *context);

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

/* The two compression formats of fat binaries: zstd, and LZ4 blocks.
 * Ownership: the caller frees the unpacked data with opc_image_unpacked_free. Threads, fork: no shared state except
 * libzstd, which is loaded once, on demand. */

/* plain_size: from the entry's header. NULL: damaged data, or libzstd is not installed. */
unsigned char *opc_image_unpack(bool zstd, const unsigned char *packed, size_t size, size_t plain_size,
                                size_t *out_size);
void opc_image_unpacked_free(unsigned char *plain, size_t size);

/* The container of GPU code in a library (section .nv_fatbin) and in memory: entries of machine code and PTX.
 *
 * Ownership: none, everything is read in place. Threads, fork: no shared state. The input is untrusted: reading stops
 * at damaged data. Source of the layout: files written by nvcc 13, compared with the output of cuobjdump. */

enum { OPC_FAT_PTX = 1, OPC_FAT_MACHINE_CODE = 2 }; /* other kinds hold relocatable code or options */
enum { OPC_FAT_LZ4 = 0x2000, OPC_FAT_ZSTD = 0x8000, OPC_FAT_SPECIFIC = 0x100000, OPC_FAT_FAMILY = 0x200000 };
#define OPC_FAT_MAGIC UINT32_C(0xba55ed50)

/* The layout in the file. */
typedef struct opc_fat_container {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size; /* of the data after the header */
} opc_fat_container_t;

typedef struct opc_fat_header {
  uint16_t kind, version;
  uint32_t header_size;
  uint64_t size; /* of the data after the header, padded */
  uint32_t compressed_size, options;
  uint16_t minor, major;
  uint32_t architecture, name, name_size;
  uint32_t flags[2];
  uint64_t unused, plain_size; /* of compressed data; a short header ends before these fields */
} opc_fat_header_t;

typedef struct opc_fat_entry {
  opc_fat_header_t header; /* zeros where the file's header is shorter */
  uint64_t flags;          /* OPC_FAT_… */
  const unsigned char *bytes;
  size_t size; /* as stored, possibly compressed */
} opc_fat_entry_t;

/* Reads a container's header. False: these bytes have no header, or the container is longer than they are. */
bool opc_fat_container_read(const unsigned char *bytes, size_t size, opc_fat_container_t *out);

typedef enum opc_fat_end { OPC_FAT_END = 0, OPC_FAT_STOPPED, OPC_FAT_DAMAGED } opc_fat_end_t;
/* True: stop. */
typedef bool opc_fat_visit_t(const opc_fat_entry_t *entry, void *context);
/* Visits each entry of a container that opc_fat_container_read has accepted. */
opc_fat_end_t opc_fat_visit(const unsigned char *bytes, opc_fat_visit_t *visit, void *context);
