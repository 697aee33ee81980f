/* Shared by guard.c and guard_access.c only: one mapping with its guards. */
#pragma once

#include "memory/guard.h"

/* How far an access has opened a region that should be closed. */
typedef enum opc_guard_open { OPC_CLOSED = 0, OPC_OPEN_READ, OPC_OPEN_WRITE } opc_guard_open_t;

/* Guard, accessible pages (slack, data, slack), guard. */
typedef struct opc_guard_slot {
  unsigned char *data; /* first member: the key of the tree */
  size_t bytes;
  uint64_t number;
  unsigned char *mapping, *pages;
  size_t mapping_bytes, page_bytes;
  unsigned char poison; /* fills the slack; also read from opened guards and released memory */
  char label[OPC_GUARD_LABEL];
  bool heap;        /* as in the policy */
  bool live, freed; /* both false: free for reuse; freed: in quarantine */
  bool keyed;       /* the pages have the protection key (opc_write_key_give) */
  bool read_only;
  bool closed_by_key; /* read-only through the key; otherwise through mprotect */
  bool damaged;       /* damage was already recorded */
  bool touched;       /* one of the three fields below may not be OPC_CLOSED */
  opc_guard_open_t before, after, inside;
  struct opc_guard_slot *next, *previous; /* all mapped slots */
} opc_guard_slot_t;

/* Access these with the lock held. */
extern opc_guard_slot_t *opc_guard_slots; /* all mapped slots */
extern size_t opc_guard_closed;           /* number of slots that the key closes now */
void opc_guard_lock(void);
void opc_guard_unlock(void);
bool opc_guard_try_lock(
    void); /* for a signal handler; false: the holder keeps the lock, and may be the interrupted code itself */

/* The public description of the slot. */
opc_guard_block_t opc_guard_slot_block(const opc_guard_slot_t *slot);
/* Records damage to the slack; call with the lock held. */
void opc_guard_slot_look(opc_guard_slot_t *slot);
/* Restores the guards, and the protection of the data. */
void opc_guard_slot_close(opc_guard_slot_t *slot);
/* Makes the data read-only. False: the system refuses. */
bool opc_guard_slot_close_to_writes(opc_guard_slot_t *slot);
/* Makes the data writable again. */
bool opc_guard_slot_lift(opc_guard_slot_t *slot);
/* Removes the key from the pages and gives them this protection (PROT_...). Async-signal-safe. */
bool opc_guard_slot_unkey(opc_guard_slot_t *slot, int protection);

/* A memory protection key (pkeys(7)): write-protects the pages that have it, and opens them again, without a system
 * call and without the TLB flush of mprotect. Two mprotect calls cost 3 us and slow the operator by 4 us more; two of
 * these cost 0.1 us (measured).
 *
 * A key applies to its thread, and to threads that it starts while the key is closed; other threads can still write. So
 * use it only in a process that has one thread, now and when the key is allocated: ask each time, and use mprotect if
 * the key is refused. A signal handler runs with every key closed, for reads too: it must remove the key from pages
 * before it accesses them. Threads: one. Fork: the child has the key in the same state. */

/* False: the processor, the kernel or libc has no keys, or there were other threads before the first call. */
bool opc_write_key_present(void);
/* Adds the key to the pages, which are open to read and write. */
bool opc_write_key_give(void *pages, size_t bytes);
/* Removes the key from the pages and gives them this protection (PROT_...). Async-signal-safe. */
bool opc_write_key_take(void *pages, size_t bytes, int protection);
/* Write-protects all pages with the key. False: nothing is protected, because the process has other threads. */
bool opc_write_key_close(void);
void opc_write_key_open(void);
