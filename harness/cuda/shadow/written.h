/* Which bytes of device memory were written since they were allocated, by a kernel or by the host, and what was freed.
 *
 * Ownership: the caller's. Threads: none at the same time. Memory that was not named here counts as written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_written opc_written_t;

opc_written_t *opc_written_make(void); /* NULL: out of memory */
void opc_written_free(opc_written_t *written);

/* A new allocation, of which nothing is written yet. What was remembered of these addresses is forgotten. */
void opc_written_allocated(opc_written_t *written, uint64_t begin, uint64_t size);
/* The allocation that begins there is gone; an access to it is one after it was freed until the addresses are used
 * again. */
void opc_written_freed(opc_written_t *written, uint64_t begin);
/* The host, a copy or a memset has written there. */
void opc_written_by_host(opc_written_t *written, uint64_t begin, uint64_t size);
/* Copied from memory that may not be written: what is missing there is missing in the copy. */
void opc_written_copied(opc_written_t *written, uint64_t to, uint64_t from, uint64_t size);

/* Bit i: the byte at address + i is not written. At most 32 bytes. */
uint32_t opc_written_missing(const opc_written_t *written, uint64_t address, uint32_t bytes);
/* A store of bytes of which some have no defined value: bit i of `missing`. At most 32 bytes. */
void opc_written_store(opc_written_t *written, uint64_t address, uint32_t bytes, uint32_t missing);
/* How many bytes of a range are not written. */
uint64_t opc_written_count_missing(const opc_written_t *written, uint64_t begin, uint64_t size);
/* Whether everything that was ever allocated is written: then there is nothing to ask. */
bool opc_written_everything(const opc_written_t *written);
/* The freed allocation that held an address. */
bool opc_written_was_freed(const opc_written_t *written, uint64_t address, uint64_t *out_begin, uint64_t *out_size);

#ifdef __cplusplus
}
#endif
