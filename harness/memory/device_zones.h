/* CUDA device memory with a red zone of known bytes before and after each allocation, and filled with a known byte.
 * Out-of-bounds writes of a kernel are detected afterwards, and so are elements that it never writes. Out-of-bounds
 * reads are not detected.
 *
 * The red zones are on the device; the tracker is on the host. The zone after an allocation begins at its first byte
 * out of bounds, whatever the alignment. Ownership: release memory from opc_device_zones_allocate with
 * opc_device_zones_release. Threads: any. CUDA is called through function pointers, so that tests can use host
 * memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPC_DEVICE_ZONE = 4096, OPC_DEVICE_ZONE_HITS = 32 };

/* Return values as in CUDA: 0 is success. */
typedef struct opc_device_calls {
  int (*allocate)(void **out, size_t bytes);
  int (*release)(void *memory);
  int (*fill)(void *memory, int byte, size_t bytes);
  int (*read)(void *host, const void *memory, size_t bytes); /* synchronous */
  int (*wait)(void);                                         /* for all work on the device */
  /* (optional) Of the memory at `base`, kernels may access only these bytes. */
  void (*bound)(const void *base, const void *data, size_t bytes);
} opc_device_calls_t;

/* Changed bytes in a red zone. */
typedef struct opc_device_zone_hit {
  const void *data; /* the allocation, as returned by the allocator */
  size_t bytes;
  long long offset; /* of the first changed byte: negative before the allocation, 0 or more past its end */
  size_t count;     /* changed bytes in the zone */
} opc_device_zone_hit_t;

void opc_device_zones_begin(const opc_device_calls_t *calls); /* the table must outlive all use */
/* NULL: bytes is 0, or the device is out of memory. */
void *opc_device_zones_allocate(size_t bytes);
/* Checks the red zones first. Other pointers are passed on to the device unchanged. */
void opc_device_zones_release(void *data);
/* New memory is filled with this byte from now on; initially 0xa5. */
void opc_device_zones_poison(unsigned char byte);
/* Waits for the device and checks the red zones of live allocations: of the 32 oldest and the 32 newest, and of one in
 * 16 of the others, by turns. Restores changed bytes, so that each hit is reported once. */
void opc_device_zones_verify(void);
/* Hits since the last reset, from verify and release; *out stays valid until the next call of any of these
 * functions. */
size_t opc_device_zones_hits(const opc_device_zone_hit_t **out);
void opc_device_zones_reset(void);
/* True: the address is in such an allocation or its red zones. For signal handlers: false if another call holds the
 * lock. */
bool opc_device_zones_hold(uint64_t address);
