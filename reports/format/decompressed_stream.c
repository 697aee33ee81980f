#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "reports/format/report.h"

enum { INPUT_SIZE = 1 << 16 };

typedef struct decompressor {
  gzFile plain;       /* gzip, or not compressed at all: zlib sees that itself */
  FILE *source;       /* Zstandard */
  ZSTD_DCtx *zstd;    /* of source */
  ZSTD_inBuffer left; /* of input */
  size_t wanted;      /* 0: a frame is complete, and the file may end */
  char input[INPUT_SIZE];
} decompressor_t;

static ssize_t read_zstd(decompressor_t *reader, char *data, size_t size) {
  ZSTD_outBuffer output = {data, size, 0};
  while (output.pos == 0) {
    if (reader->left.pos == reader->left.size) {
      reader->left = (ZSTD_inBuffer){reader->input, fread(reader->input, 1, INPUT_SIZE, reader->source), 0};
      if (reader->left.size == 0) break;
    }
    reader->wanted = ZSTD_decompressStream(reader->zstd, &output, &reader->left);
    if (ZSTD_isError(reader->wanted)) break;
  }
  if (output.pos > 0 || (!ferror(reader->source) && reader->wanted == 0)) return (ssize_t)output.pos;
  errno = ferror(reader->source) ? errno : EBADMSG;
  return -1;
}

static ssize_t decompressor_read(void *cookie, char *data, size_t size) {
  decompressor_t *reader = cookie;
  if (reader->zstd) return read_zstd(reader, data, size);
  const int got = gzread(reader->plain, data, (unsigned)(size < INT32_MAX ? size : INT32_MAX));
  int cause = Z_OK;
  if (got <= 0) gzerror(reader->plain, &cause);
  if (got == 0 && cause == Z_OK) return 0;
  if (got <= 0 && cause != Z_ERRNO) errno = EBADMSG;
  return got > 0 ? got : -1;
}

static int decompressor_close(void *cookie) {
  decompressor_t *reader = cookie;
  if (reader->plain) gzclose(reader->plain);
  if (reader->source) fclose(reader->source);
  ZSTD_freeDCtx(reader->zstd);
  free(reader);
  return 0;
}

static bool begins_as_zstd(FILE *source) {
  static const unsigned char magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
  unsigned char own[sizeof magic];
  const bool is = fread(own, 1, sizeof own, source) == sizeof own && memcmp(own, magic, sizeof magic) == 0;
  rewind(source);
  return is;
}

static bool decompressor_open(decompressor_t *reader, const char *path) {
  reader->source = fopen(path, "re");
  if (!reader->source) return false;
  if (begins_as_zstd(reader->source)) return (reader->zstd = ZSTD_createDCtx());
  fclose(reader->source);
  reader->source = NULL;
  return (reader->plain = gzopen(path, "re"));
}

opc_compression_t opc_compression_in(const char *path) {
  static const unsigned char gzip[2] = {0x1f, 0x8b};
  unsigned char own[sizeof gzip];
  OPC_SCOPED(opc_scope_fclose) FILE *source = fopen(path, "re");
  if (!source) return OPC_COMPRESSION_NONE;
  if (begins_as_zstd(source)) return OPC_COMPRESSION_ZSTD;
  const bool is = fread(own, 1, sizeof own, source) == sizeof own && memcmp(own, gzip, sizeof gzip) == 0;
  return is ? OPC_COMPRESSION_GZIP : OPC_COMPRESSION_NONE;
}

FILE *opc_decompressed_stream(const char *path) {
  decompressor_t *reader = calloc(1, sizeof *reader);
  if (!reader) return NULL;
  errno = 0;
  FILE *stream =
      decompressor_open(reader, path)
          ? fopencookie(reader, "r", (cookie_io_functions_t){.read = decompressor_read, .close = decompressor_close})
          : NULL;
  const int cause = errno ? errno : ENOMEM;
  if (!stream) decompressor_close(reader);
  errno = cause;
  return stream;
}
