/* The GPU code in a library: the entries of its fat binaries (section .nv_fatbin), as listed by `cuobjdump --list-elf
 * --list-ptx`.
 *
 * Ownership: the caller's array. Threads, fork: no shared state. The bytes can be anything: reading stops at damage,
 * and reports it. */
#pragma once

#include "base/text.h"
#include "inspect/elf_file.h"

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
typedef struct opc_fatbin_image {
  const unsigned char *bytes; /* inside the fat binary; NULL: there is no such image */
  size_t size, plain_size;    /* size as stored (perhaps compressed); size after decompression, if compressed */
  bool lz4, zstd;             /* compression */
  unsigned architecture;
} opc_fatbin_image_t;

typedef struct opc_fatbin {
  opc_gpu_codes_t codes;
  opc_fatbin_image_t machine; /* its first machine code */
  opc_fatbin_image_t ptx;     /* its newest PTX */
} opc_fatbin_t;

/* The image as nvcc made it. *out_unpacked is NULL or is freed with opc_image_unpacked_free(…, *out_size). NULL:
 * damaged, or there is no libzstd. */
const unsigned char *opc_fatbin_image_plain(const opc_fatbin_image_t *image, size_t *out_size,
                                            unsigned char **out_unpacked);

/* Visits each container in turn. False: something is damaged, and there may be more containers. */
bool opc_fatbin_visit(const unsigned char *bytes, size_t size, void (*visit)(const opc_fatbin_t *fatbin, void *context),
                      void *context);

/* Which GPUs can run a library's GPU code. Architectures are numbers: 86 is compute capability 8.6, sm_86.
 *
 * Ownership: the caller's. Source: CUDA programming guide, "Application compatibility" and "Feature availability".
 * Machine code runs on the same or a later minor version of its major version; with suffix 'a' only on exactly its
 * own, with 'f' within its family. PTX can be compiled for the same or a later version; PTX with a suffix has the
 * limits of such machine code. */

bool opc_gpu_codes_serve(const opc_gpu_codes_t *codes, unsigned architecture);
/* PTX without suffix, which can also be compiled for later GPUs. */
bool opc_gpu_codes_have_lasting_ptx(const opc_gpu_codes_t *codes);
/* Whether a library has any PTX, which the simulated device can run; file is opc_operator_t.library. A package or a
 * Python module may bring PTX when it runs: true. Of libtorch's own operators none has any. Remembers the last library;
 * threads: one. */
bool opc_gpu_library_has_ptx(const char *file);
unsigned opc_gpu_codes_newest(const opc_gpu_codes_t *codes); /* newest architecture with machine code; 0: none */

/* "sm_80, sm_90a and PTX compute_90" */
void opc_gpu_codes_words(const opc_gpu_codes_t *codes, opc_text_t *out);
/* Lists the architectures for which `wanted` has machine code and which `codes` does not serve: "sm_75 and sm_80".
 * Returns their number. out may be NULL. */
size_t opc_gpu_codes_missing(const opc_gpu_codes_t *codes, const opc_gpu_codes_t *wanted, opc_text_t *out);

/* Kernels that are built for fewer GPUs than the rest of their library: their source file was compiled with other
 * options than its neighbours.
 *
 * A fat binary is nvcc's output for one source file; its first machine code names the kernels in it. Code for a
 * single architecture or family (sm_90a, sm_100f) is written for it on purpose: files with only such code are
 * ignored. A kernel that is also in other files runs wherever one of them does. Ownership: opc_uneven_clear. The
 * bytes can be anything: unreadable ones are ignored. */

typedef struct opc_uneven_kernel {
  char *name; /* as registered (mangled) */
  opc_gpu_codes_t codes;
} opc_uneven_kernel_t;

typedef struct opc_uneven {
  opc_uneven_kernel_t *items; /* sorted by name */
  size_t count;
  bool incomplete; /* out of memory */
} opc_uneven_t;

/* `whole`: the codes of the whole section. */
void opc_uneven_read(const unsigned char *bytes, size_t size, const opc_gpu_codes_t *whole, opc_uneven_t *out);
void opc_uneven_clear(opc_uneven_t *uneven);

/* The GPU architectures that can be simulated: the entries of cuda/image/architectures.def, with name and number.
 *
 * Threads, fork: constant. */

typedef struct opc_simulated_architecture {
  const char *name; /* "sm_90" */
  unsigned number;  /* 90, as in opc_gpu_codes_serve */
} opc_simulated_architecture_t;

enum {
  OPC_SIMULATED_ARCHITECTURES = 0
#define OPC_ARCHITECTURE(...) +1
#include "cuda/image/architectures.def"
};
extern const opc_simulated_architecture_t opc_simulated_architectures[OPC_SIMULATED_ARCHITECTURES];

/* Names of the GPU kernels in a library, read from its file: the strings under which its initialisers register
 * kernels.
 *
 * A kernel is registered under its mangled name, which is in .rodata. An extern "C" kernel is registered under its
 * plain name, which an exported function also has. A name found this way can be a device variable or another string:
 * use names to choose, not to count. All instances of a template share one name. Ownership: opc_kernel_names_clear.
 * The file can contain anything. */

typedef struct opc_kernel_names {
  char **items; /* identifiers, without namespaces and template arguments: "copy_kernel" */
  size_t count;
} opc_kernel_names_t;

/* Adds names that are not in *out yet; a library without GPU code adds none. */
opc_status_t opc_kernel_names_read(const opc_elf_file_t *file, opc_kernel_names_t *out, opc_error_t *error) OPC_CHECKED;
void opc_kernel_names_clear(opc_kernel_names_t *names);

/* Finds the identifier in the mangled name of a function at namespace scope; *out points into `mangled`. False: it has
 * none. */
bool opc_kernel_identifier(const char *mangled, const char **out, size_t *out_length);

#ifdef __cplusplus
}
#endif
