/* A stream whose text is compressed into another stream (gzip by zlib, Zstandard by libzstd).
 *
 * Ownership: fclose ends the compressed data and frees the stream; the target stays open and the caller's. Threads:
 * one. Errors: a write that fails is an error of the stream (ferror), or fclose returns EOF; errno says why. */
#pragma once

#include <stdio.h>

typedef enum opc_compression { OPC_COMPRESSION_NONE = 0, OPC_COMPRESSION_GZIP, OPC_COMPRESSION_ZSTD } opc_compression_t;

/* By the end of a file's name: ".gz", ".zst". */
opc_compression_t opc_compression_of(const char *file);
/* NULL: out of memory. */
FILE *opc_compressed_stream(FILE *target, opc_compression_t compression);
