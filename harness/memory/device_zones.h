/* Memory of a CUDA device with a zone of known bytes in front of each allocation and behind it, and a known byte in it
 * until it is written: what a kernel writes beside a tensor shows afterwards, and what it never writes shows too. Reads
 * beside a tensor do not show.
 *
 * The zones lie on the device; the tracker is the host's. The zone behind begins with the first byte that is not the
 * tensor's, whatever the alignment. Ownership: what opc_device_zones_allocate gave goes to opc_device_zones_release.
 * Threads: any. CUDA is called by the functions that are given, so that all of this is tested on host memory. */
#ifndef OPC_MEMORY_DEVICE_ZONES_H
#define OPC_MEMORY_DEVICE_ZONES_H

#include <stdbool.h>
#include <stddef.h>

enum { OPC_DEVICE_ZONE = 4096, OPC_DEVICE_ZONE_HITS = 32 };

/* As CUDA's: 0 is success. */
typedef struct opc_device_calls {
  int (*allocate)(void **out, size_t bytes);
  int (*release)(void *memory);
  int (*fill)(void *memory, int byte, size_t bytes);
  int (*read)(void *host, const void *memory, size_t bytes); /* waits */
  int (*wait)(void);                                         /* for all work of the device */
} opc_device_calls_t;

/* Bytes beside an allocation that are not what they were. */
typedef struct opc_device_zone_hit {
  const void *data; /* of the allocation, as the allocator gave it */
  size_t bytes;
  long long offset; /* of the first: negative before it, 0 and more behind its end */
  size_t count;     /* in the zone */
} opc_device_zone_hit_t;

void opc_device_zones_begin(const opc_device_calls_t *calls); /* the table outlives all use */
/* NULL: bytes is 0, or the device has no more. */
void *opc_device_zones_allocate(size_t bytes);
/* Looks at the zones first. What is none of these goes to the device as it is. */
void opc_device_zones_release(void *data);
/* New memory is filled with this byte from now on; 0xa5 at first. */
void opc_device_zones_poison(unsigned char byte);
/* Waits for the device and looks at the zones of all that is alive; what was hit is restored, so that it is reported
 * once. */
void opc_device_zones_verify(void);
/* What was found since the last reset, in verify and release; *out stays valid until the next call of any of these. */
size_t opc_device_zones_hits(const opc_device_zone_hit_t **out);
void opc_device_zones_reset(void);
size_t opc_device_zones_live(void); /* allocations */

#endif
