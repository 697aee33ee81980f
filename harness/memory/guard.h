/* Guarded memory: an allocation between inaccessible pages, so that the first out-of-bounds read or write is caught at
 * its instruction.
 *
 * The data end at a guard page (OPC_GUARD_BEHIND) or start right after one (OPC_GUARD_BEFORE): two runs cover both
 * sides. Alignment and page size leave slack between data and guard. The slack holds the poison: a result that depends
 * on the poison shows a read of it, and a write is detected when the allocation is released or checked. The pages of an
 * allocation can be made read-only. Those of a released one stay inaccessible during quarantine. A new mapping costs 23
 * us (measured): small ones are reused.
 *
 * A forbidden access reaches the process's SIGSEGV handler, which calls opc_guard_fault. That records the access and
 * opens the page, and the operator goes on, so that one call shows all its accesses. The first read and the first write
 * are recorded for each guard, and for each protected and each released allocation. Ownership: the caller releases;
 * pointers of another allocator are recognised (opc_guard_release returns false). Threads: any; read and reset the
 * accesses only while no operator runs. Fork: the child has a copy. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum opc_guard_side { OPC_GUARD_BEHIND = 0, OPC_GUARD_BEFORE } opc_guard_side_t;

typedef struct opc_guard_policy {
  opc_guard_side_t side;
  size_t alignment;     /* of the data's address, a power of two; 1: the data end exactly at the guard after them, after
                           `bytes` bytes */
  unsigned char poison; /* fills the data and the slack; of blocks over 256 MiB, 64 MiB at both ends */
  bool fixed_slack;     /* the slack, and a guard that is read, contain OPC_GUARD_SLACK instead of the poison */
  bool heap;            /* from malloc or new, not a tensor's storage */
  bool to_protect;      /* will be made read-only at times: needs no system call if the processor has protection keys */
} opc_guard_policy_t;

enum { OPC_GUARD_SLACK = 0xa5 };
enum {
  OPC_GUARD_SPAN = 128 << 10
}; /* inaccessible bytes on each side, at least: also catches an index that is wrong by a row or two */

/* NULL: bytes is 0, or the system gives no more memory or mappings (vm.max_map_count). */
void *opc_guard_allocate(size_t bytes, const opc_guard_policy_t *policy);
/* False: the pointer is not from opc_guard_allocate; nothing is done. */
bool opc_guard_release(void *data);

enum { OPC_GUARD_LABEL = 64 };

/* An allocation, live or in quarantine. */
typedef struct opc_guard_block {
  const void *data;
  size_t bytes;
  uint64_t number; /* allocation number in this process, from 1: distinguishes allocations at the same address */
  bool freed;
  bool heap;                   /* as in the policy */
  char label[OPC_GUARD_LABEL]; /* "": no label: memory that the operator allocated */
} opc_guard_block_t;
/* The allocation that contains the address (first to last byte). False: none does. */
bool opc_guard_find(const void *address, opc_guard_block_t *out);

/* Names the allocation that starts at `data`, for findings about it. */
void opc_guard_label(const void *data, const char *label);
/* Number and size of all live allocations that are tensors' storages. */
void opc_guard_live(size_t *out_blocks, size_t *out_bytes);

/* Makes the pages of the allocation that starts at `data` read-only, or writable even while others are read-only (use
 * that for allocations that the operator may write, before it runs). False: no such allocation, or the system
 * refuses. */
bool opc_guard_protect(const void *data, bool read_only);
/* On: released memory stays inaccessible until this is switched off, as far as there is room. */
void opc_guard_quarantine(bool on);

/* ---- recorded accesses ---- */

typedef enum opc_access_kind {
  OPC_ACCESS_OUTSIDE = 0, /* in a guard or in the slack: out of bounds */
  OPC_ACCESS_READ_ONLY,   /* written while protected */
  OPC_ACCESS_FREED,       /* inside a released allocation */
  OPC_ACCESS_INSIDE       /* by a kernel, inside its memory, and wrong for another reason: device->kind */
} opc_access_kind_t;

enum { OPC_ACCESS_FRAMES = 24, OPC_ACCESSES_MAX = 32 };

typedef struct opc_access {
  opc_access_kind_t kind;
  bool write;
  uint64_t address;                   /* of the first byte there that the instruction accessed */
  opc_guard_block_t block;            /* at the time of the access */
  int64_t offset;                     /* of the address from the block's first byte; negative: before the block */
  uint32_t frame_count;               /* 0: found later, from changed bytes in the slack */
  uint64_t frames[OPC_ACCESS_FRAMES]; /* the first is the address of the instruction, the others are return addresses */
  const struct opc_device_fault *device; /* by a kernel on a simulated GPU (cuda/log/cuda_log.h); NULL: by host code */
} opc_access_t;

/* For a SIGSEGV or SIGBUS handler; async-signal-safe. False: the address is not in guarded memory, or there were too
 * many accesses to record: let the process crash. True: the page is open, retry the instruction; the caller fills in
 * the frames of *out_access unless it is NULL (another thread came first). */
bool opc_guard_fault(uint64_t address, bool write, opc_access_t **out_access);
/* Also checks the slack of every allocation. *out is valid until the next call of this function or the next. */
size_t opc_guard_accesses(const opc_access_t **out);
/* Adds one that something else saw; lost if there are too many. */
void opc_guard_access_add(const opc_access_t *access);
/* Discards the accesses, closes the pages that they opened, and restores the slack. */
void opc_guard_accesses_reset(void);

/* Guarded memory for blocks that an operator's own code takes from malloc and new: a kernel's vectors, buffers and
 * objects.
 *
 * Blocks are given only while this is on, only to code that was noted, and only as many and as large as is cheap; all
 * others come from glibc. A block that is kept (a static cache) stays guarded until it is freed. Contents are as
 * cpu_memory.h promises: OPC_SCRATCH_MEMORY_USUAL, or the byte that is set here.
 *
 * The program's malloc calls the functions below "for malloc"; if no malloc does (an interpreter has its own), nothing
 * is guarded, and nothing under Valgrind, which watches such blocks itself. Threads: any may allocate and free; note
 * code and switch only while no operator runs. */

/* own: notes the code of the objects that were loaded since the last call (of all, in the first call), false: skips
 * them. */
void opc_heap_guard_note_loaded(bool own);
/* Bytes of noted code from this address to the end of its segment; 0: it is in no code that was noted. */
size_t opc_heap_guard_code_after(const void *address);
bool opc_heap_guard_has_code(void);

typedef enum opc_heap_guard_depth {
  OPC_HEAP_DIRECT = 0, /* blocks that the noted code asks for itself */
  OPC_HEAP_THROUGH /* also through a function of another library, as std::vector<float>, of which libtorch has a copy:
                      costs a look at the stack for each block */
} opc_heap_guard_depth_t;
/* Guards such blocks from now on, filled with `byte`, or no new ones. */
void opc_heap_guard(opc_guard_side_t side, unsigned char byte, opc_heap_guard_depth_t depth);
void opc_heap_guard_off(void);

/* ---- for malloc ---- */

enum { OPC_HEAP_ALIGNMENT = 16 }; /* of malloc and new */

/* The program has a malloc that calls these functions, in place of glibc's. */
void opc_heap_guard_present(void);
/* NULL: take the block from glibc. caller: the return address of the call of malloc. */
void *opc_heap_guard_give(size_t bytes, size_t alignment, const void *caller);
/* False: the block is not from opc_heap_guard_give; free it. */
bool opc_heap_guard_take(void *data);
/* Of a block from opc_heap_guard_give; false: it is not. */
bool opc_heap_guard_size(const void *data, size_t *out_bytes);
