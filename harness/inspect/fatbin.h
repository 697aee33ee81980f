/* The GPU code in a library: the entries of its fat binaries (section .nv_fatbin), as listed by `cuobjdump --list-elf
 * --list-ptx`.
 *
 * Ownership: the caller's array. Threads, fork: no shared state. The bytes can be anything: reading stops at damage,
 * and reports it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_gpu_code {
  unsigned architecture; /* 90 */
  char suffix;           /* 'a', 'f' or 0 */
  bool ptx;              /* PTX, compiled at load time; otherwise machine code */
  size_t count, compressed;
} opc_gpu_code_t;

enum { OPC_GPU_CODES_MAX = 64 };

typedef struct opc_gpu_codes {
  opc_gpu_code_t items[OPC_GPU_CODES_MAX]; /* machine code first, then by architecture */
  size_t count;
  size_t entries; /* total */
  bool damaged;   /* something is malformed: there may be more entries */
} opc_gpu_codes_t;

void opc_fatbin_read(const unsigned char *bytes, size_t size, opc_gpu_codes_t *out);

/* Adds the codes of `more`, keeping the order. */
void opc_gpu_codes_add(const opc_gpu_codes_t *more, opc_gpu_codes_t *out);

/* One container: nvcc's output for one source file, so that its kernels have the same codes. */
typedef struct opc_fatbin {
  opc_gpu_codes_t codes;
  const unsigned char *image;    /* its first machine code, inside `bytes`; NULL: none */
  size_t image_size, plain_size; /* size as stored (perhaps compressed); size after decompression, if compressed */
  bool lz4, zstd;                /* compression */
} opc_fatbin_t;

/* Visits each container in turn. False: something is damaged, and there may be more containers. */
bool opc_fatbin_visit(const unsigned char *bytes, size_t size, void (*visit)(const opc_fatbin_t *fatbin, void *context),
                      void *context);

#ifdef __cplusplus
}
#endif
