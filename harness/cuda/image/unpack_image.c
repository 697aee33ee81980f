#include "cuda/image/kernel_image.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static const size_t plain_most = (size_t)1 << 30;

/* ---- LZ4, https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md: literals, then a copy of earlier output,
 * repeated ---- */

static bool length_more(const unsigned char **at, const unsigned char *end, size_t *length) {
  unsigned char byte;
  if (*length != 15) return true;
  do {
    if (*at == end) return false;
    byte = *(*at)++;
    *length += byte;
  } while (byte == 255 && *length < plain_most);
  return true;
}

static bool unpack_lz4(const unsigned char *at, size_t size, unsigned char *out, size_t room, size_t *out_size) {
  const unsigned char *const end = at + size;
  size_t filled = 0;
  while (at < end) {
    const unsigned token = *at++;
    size_t length = token >> 4;
    if (!length_more(&at, end, &length) || length > (size_t)(end - at) || length > room - filled) return false;
    memcpy(out + filled, at, length);
    filled += length;
    at += length;
    if (at == end) break; /* the last sequence has literals only */
    if (end - at < 2) return false;
    const size_t back = (size_t)at[0] | (size_t)at[1] << 8;
    at += 2;
    length = token & 15;
    if (!length_more(&at, end, &length)) return false;
    length += 4;
    if (back == 0 || back > filled || length > room - filled) return false;
    for (size_t i = 0; i < length; i++, filled++) out[filled] = out[filled - back]; /* they may overlap */
  }
  *out_size = filled;
  return true;
}

/* ---- zstd: Debian's library, loaded for the first compressed image ---- */

typedef size_t decompress_t(void *to, size_t room, const void *from, size_t size);
static decompress_t *zstd_decompress;

static void zstd_load(void) {
  void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library) *(void **)&zstd_decompress = dlsym(library, "ZSTD_decompress");
}

static bool unpack_zstd(const unsigned char *packed, size_t size, unsigned char *out, size_t room, size_t *out_size) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, zstd_load);
  if (!zstd_decompress) return false;
  *out_size = zstd_decompress(out, room, packed, size);
  return *out_size <= room; /* errors are huge numbers */
}

unsigned char *opc_image_unpack(bool zstd, const unsigned char *packed, size_t size, size_t plain_size,
                                size_t *out_size) {
  *out_size = plain_size;
  if (plain_size == 0 || plain_size > plain_most) return NULL;
  unsigned char *plain =
      mmap(NULL, plain_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (plain == MAP_FAILED) return NULL;
  size_t got = 0;
  const bool sound =
      zstd ? unpack_zstd(packed, size, plain, plain_size, &got) : unpack_lz4(packed, size, plain, plain_size, &got);
  if (sound && got == plain_size) return plain;
  munmap(plain, plain_size);
  return NULL;
}

void opc_image_unpacked_free(unsigned char *plain, size_t size) {
  if (plain) munmap(plain, size);
}
