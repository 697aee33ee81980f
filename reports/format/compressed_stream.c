#include "reports/format/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { GZIP_FORMAT = 15 + 16, GZIP_MEMORY = 8, OUTPUT_SIZE = 1 << 16 };

typedef struct compressor {
  FILE *target;
  ZSTD_CCtx *zstd; /* NULL: gzip */
  z_stream gzip;
  char output[OUTPUT_SIZE];
} compressor_t;

opc_compression_t opc_compression_of(const char *file) {
  const char *dot = strrchr(file, '.');
  if (dot && strcmp(dot, ".gz") == 0) return OPC_COMPRESSION_GZIP;
  return dot && strcmp(dot, ".zst") == 0 ? OPC_COMPRESSION_ZSTD : OPC_COMPRESSION_NONE;
}

static bool put_output(compressor_t *compressor, size_t length) {
  return fwrite(compressor->output, 1, length, compressor->target) == length;
}

static bool compress_gzip(compressor_t *compressor, const char *data, size_t size, bool end) {
  z_stream *gzip = &compressor->gzip;
  gzip->next_in = (z_const Bytef *)data;
  gzip->avail_in = (uInt)size;
  do {
    gzip->next_out = (Bytef *)compressor->output;
    gzip->avail_out = OUTPUT_SIZE;
    deflate(gzip, end ? Z_FINISH : Z_NO_FLUSH);
    if (!put_output(compressor, OUTPUT_SIZE - gzip->avail_out)) return false;
  } while (gzip->avail_out == 0);
  return true;
}

static bool compress_zstd(compressor_t *compressor, const char *data, size_t size, bool end) {
  ZSTD_inBuffer input = {data, size, 0};
  for (;;) {
    ZSTD_outBuffer output = {compressor->output, OUTPUT_SIZE, 0};
    const size_t left = ZSTD_compressStream2(compressor->zstd, &output, &input, end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left)) {
      errno = ENOMEM; /* what else can fail here is a mistake of the caller */
      return false;
    }
    if (!put_output(compressor, output.pos)) return false;
    if (end ? left == 0 : input.pos == input.size) return true;
  }
}

static bool compress_data(compressor_t *compressor, const char *data, size_t size, bool end) {
  return compressor->zstd ? compress_zstd(compressor, data, size, end) : compress_gzip(compressor, data, size, end);
}

static ssize_t stream_write(void *cookie, const char *data, size_t size) {
  return compress_data(cookie, data, size, false) ? (ssize_t)size : 0;
}

static int stream_close(void *cookie) {
  compressor_t *compressor = cookie;
  const bool done = compress_data(compressor, "", 0, true);
  const int cause = errno;
  if (compressor->zstd) ZSTD_freeCCtx(compressor->zstd);
  else deflateEnd(&compressor->gzip);
  free(compressor);
  errno = cause;
  return done ? 0 : EOF;
}

static bool start(compressor_t *compressor, opc_compression_t compression) {
  if (compression == OPC_COMPRESSION_ZSTD) return (compressor->zstd = ZSTD_createCCtx());
  return deflateInit2(&compressor->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_FORMAT, GZIP_MEMORY,
                      Z_DEFAULT_STRATEGY) == Z_OK;
}

FILE *opc_compressed_stream(FILE *target, opc_compression_t compression) {
  compressor_t *compressor = calloc(1, sizeof *compressor);
  if (!compressor || !start(compressor, compression)) {
    free(compressor);
    return NULL;
  }
  compressor->target = target;
  FILE *stream = fopencookie(compressor, "w", (cookie_io_functions_t){.write = stream_write, .close = stream_close});
  if (!stream) stream_close(compressor);
  return stream;
}
