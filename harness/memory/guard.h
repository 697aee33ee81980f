/* Guarded memory: an allocation between inaccessible pages, so that the first byte read or written beside it is seen at
 * the instruction that does it.
 *
 * The data end flush at a guard (OPC_GUARD_BEHIND) or start right after one (OPC_GUARD_BEFORE): two runs see both
 * sides. What alignment and page size leave over between data and guard is slack: it holds the poison, so a read of it
 * shows as a result that follows the poison, and a write to it is counted when the allocation ends or is asked for.
 * Pages of an allocation can be made read-only, and those of an ended one stay inaccessible while a quarantine lasts.
 * To map one anew costs 23 us (measured): small ones are used again.
 *
 * An access that the pages forbid ends in the process's SIGSEGV handler, which calls opc_guard_fault: it notes the
 * access and opens the page, and the operator goes on, so that one call shows all that it does. Of each guard, of a
 * protected and of an ended allocation the first read and the first write are noted. Ownership: the caller releases; a
 * pointer of another allocator is recognised (opc_guard_release is false). Threads: any; the accesses are looked at and
 * forgotten while no operator runs. Fork: the child has a copy. */
#ifndef OPC_MEMORY_GUARD_H
#define OPC_MEMORY_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum opc_guard_side { OPC_GUARD_BEHIND = 0, OPC_GUARD_BEFORE } opc_guard_side_t;

typedef struct opc_guard_policy {
  opc_guard_side_t side;
  size_t alignment;     /* a power of two, of the data's address; 1: nothing but `bytes` stands between the data and the
                           guard behind it */
  unsigned char poison; /* fills the data and the slack */
  bool fixed_slack;     /* the slack, and a guard that is read, holds OPC_GUARD_SLACK instead, whatever the poison */
  bool to_protect; /* will be read-only now and then: that costs no system call where the processor has protection keys
                    */
} opc_guard_policy_t;

enum { OPC_GUARD_SLACK = 0xa5 };
enum {
  OPC_GUARD_SPAN = 128 << 10
}; /* inaccessible bytes on each side, at least: an index that is wrong by a row or two falls in, too */

/* NULL: bytes is 0, or the system gives no more memory or mappings (vm.max_map_count). */
void *opc_guard_allocate(size_t bytes, const opc_guard_policy_t *policy);
/* False, and nothing is done: the pointer is not of opc_guard_allocate. */
bool opc_guard_release(void *data);

enum { OPC_GUARD_LABEL = 64 };

/* An allocation, or one in quarantine. */
typedef struct opc_guard_block {
  const void *data;
  size_t bytes;
  uint64_t number; /* counts allocations of the process, from 1: tells one from a later one at the same address */
  bool freed;
  char label[OPC_GUARD_LABEL]; /* "" where nobody gave one: memory that the operator asked for */
} opc_guard_block_t;
/* The one that the address lies in (first to last byte). False: in none. */
bool opc_guard_find(const void *address, opc_guard_block_t *out);

/* Names the allocation that starts at `data`, for what is found about it. */
void opc_guard_label(const void *data, const char *label);
/* All that is allocated now. */
void opc_guard_live(size_t *out_blocks, size_t *out_bytes);

/* The pages of the allocation that starts at `data` become read-only; or writable, whatever others are (say so of those
 * that the operator may write, before it runs). False: no such allocation, or the system refuses. */
bool opc_guard_protect(const void *data, bool read_only);
/* On: what is released stays inaccessible, as far as there is room, until it is switched off. */
void opc_guard_quarantine(bool on);

/* ---- what was touched ---- */

typedef enum opc_access_kind {
  OPC_ACCESS_OUTSIDE = 0, /* in a guard, or in the slack: beside the allocation */
  OPC_ACCESS_READ_ONLY,   /* written while protected */
  OPC_ACCESS_FREED        /* inside an allocation that was released */
} opc_access_kind_t;

enum { OPC_ACCESS_FRAMES = 24, OPC_ACCESSES_MAX = 32 };

typedef struct opc_access {
  opc_access_kind_t kind;
  bool write;
  uint64_t address;                   /* of the first byte that the instruction touched there */
  opc_guard_block_t block;            /* as it was then */
  int64_t offset;                     /* of the address from the block's first byte; negative: before it */
  uint32_t frame_count;               /* 0: found afterwards, by the bytes it left in the slack */
  uint64_t frames[OPC_ACCESS_FRAMES]; /* the first is the instruction's address, the others are return addresses */
} opc_access_t;

/* For a SIGSEGV or SIGBUS handler, and async-signal-safe. False: the address is no business of guarded memory, or more
 * happened than can be kept: the process is to crash. Otherwise the page is open and the instruction is to be tried
 * again; the caller fills in the frames of *out_access, where it is not NULL (another thread was there first). */
bool opc_guard_fault(uint64_t address, bool write, opc_access_t **out_access);
/* Looks over the slack of every allocation too. *out is valid until the next call of these two. */
size_t opc_guard_accesses(const opc_access_t **out);
/* Forgets them, and closes what was opened. */
void opc_guard_accesses_reset(void);

#endif
