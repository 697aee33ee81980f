/* What guard.c and guard_access.c share: one mapping with its guards. Not for others. */
#ifndef OPC_MEMORY_GUARD_SLOT_H
#define OPC_MEMORY_GUARD_SLOT_H

#include "memory/guard.h"

/* How far a region that should be closed was opened by an access. */
typedef enum opc_guard_open { OPC_CLOSED = 0, OPC_OPEN_READ, OPC_OPEN_WRITE } opc_guard_open_t;

/* Guard, accessible pages (slack, data, slack), guard. */
typedef struct opc_guard_slot {
  unsigned char *data; /* first member: the key of the tree */
  size_t bytes;
  uint64_t number;
  unsigned char *mapping, *pages;
  size_t mapping_bytes, page_bytes;
  unsigned char poison; /* of the slack, and of what is read where nothing is */
  char label[OPC_GUARD_LABEL];
  bool live, freed; /* neither: a spare; freed: in quarantine */
  bool keyed;       /* the pages carry the key of write_key.h */
  bool read_only;
  bool closed_by_key; /* read-only by that; otherwise by mprotect */
  bool damaged;       /* noted already */
  bool touched;       /* one of the three below is not what it should be */
  opc_guard_open_t before, behind, inside;
  struct opc_guard_slot *next, *previous; /* of all mapped */
} opc_guard_slot_t;

/* With the lock held. */
extern opc_guard_slot_t *opc_guard_slots; /* all that are mapped */
extern size_t opc_guard_closed;           /* how many the key closes now */
void opc_guard_lock(void);
void opc_guard_unlock(void);
bool opc_guard_try_lock(
    void); /* for a signal handler: false where the holder does not let go, which may be the interrupted code itself */

/* The slot as others see it. */
opc_guard_block_t opc_guard_slot_block(const opc_guard_slot_t *slot);
/* Notes damage of the slack; with the lock held. */
void opc_guard_slot_look(opc_guard_slot_t *slot);
/* Puts the guards back, and what is inside as it should be. */
void opc_guard_slot_close(opc_guard_slot_t *slot);
/* What is inside can be read only. False: the system refuses. */
bool opc_guard_slot_close_to_writes(opc_guard_slot_t *slot);
/* What is inside is writable again. */
bool opc_guard_slot_lift(opc_guard_slot_t *slot);
/* The pages are as others, with this protection (PROT_...). Async-signal-safe. */
bool opc_guard_slot_unkey(opc_guard_slot_t *slot, int protection);

#endif
