/* The GPU code in a library: the entries of its fat binaries (section .nv_fatbin), as `cuobjdump --list-elf --list-ptx`
 * lists them.
 *
 * Ownership: the caller's array. Threads, fork: no shared state. The bytes may be anything: damage ends the
 * reading, and is reported. */
#ifndef OPC_INSPECT_FATBIN_H
#define OPC_INSPECT_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_gpu_code {
  unsigned architecture; /* 90 */
  char suffix;           /* 'a', 'f' or 0 */
  bool ptx;              /* compiled when it is loaded; otherwise machine code */
  size_t count, compressed;
} opc_gpu_code_t;

enum { OPC_GPU_CODES_MAX = 64 };

typedef struct opc_gpu_codes {
  opc_gpu_code_t items[OPC_GPU_CODES_MAX]; /* machine code first, then by architecture */
  size_t count;
  size_t entries; /* in all */
  bool damaged;   /* something is not as it should be: there may be more */
} opc_gpu_codes_t;

void opc_fatbin_read(const unsigned char *bytes, size_t size, opc_gpu_codes_t *out);

/* Those of `more` too, in order. */
void opc_gpu_codes_add(const opc_gpu_codes_t *more, opc_gpu_codes_t *out);

/* One container: what nvcc makes of one source file, so that its kernels have the same codes. */
typedef struct opc_fatbin {
  opc_gpu_codes_t codes;
  const unsigned char *image;    /* the first machine code in it, in place; NULL: there is none */
  size_t image_size, plain_size; /* packed or not; and unpacked, where it is packed */
  bool lz4, zstd;                /* how it is packed */
} opc_fatbin_t;

/* Each container in turn. False: something is damaged, and there may be more. */
bool opc_fatbin_visit(const unsigned char *bytes, size_t size, void (*visit)(const opc_fatbin_t *fatbin, void *context),
                      void *context);

#ifdef __cplusplus
}
#endif
#endif
