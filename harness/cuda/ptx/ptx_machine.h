/* The machine's own structures: decoded instructions, a warp of 32 lanes, a block.
 *
 * Ownership: a program owns its instructions; a launch owns its blocks, and a block its warps. Threads: one launch, one
 * thread. */
#pragma once

#include "cuda/ptx/ptx_form.h"
#include "cuda/ptx/ptx_run.h"
#include "cuda/shadow/races.h"

enum { OPC_PTX_LANES = 32, OPC_PTX_SLOTS = 16, OPC_PTX_BARRIERS = 16, OPC_PTX_WARPS_MOST = 32 };
#define OPC_PTX_ALL_LANES UINT32_MAX
#define OPC_PTX_NO_SLOT UINT32_MAX

/* ---- decoded instructions ---- */

typedef struct opc_ptx_op {
  opc_ptx_run_t *run;
  opc_ptx_form_t form;
  opc_ptx_family_t *family;
  uint8_t flow; /* opc_ptx_flow_t */
  uint8_t slots;
  bool memory, copies;         /* it has an address; and a second one, `source` */
  uint16_t written, predicate; /* bit i: slot[i] is written, is a predicate */
  bool guard_negated;
  uint32_t guard;               /* a predicate, or OPC_PTX_NO_GUARD */
  uint32_t slot[OPC_PTX_SLOTS]; /* registers or predicates, in the order of the operands; vectors part by part */
  uint32_t negated;             /* bit i: slot[i] is a predicate that is read negated */
  uint32_t base;                /* of an address: a register */
  uint64_t displacement;
  uint32_t source; /* cp.async: the base of its second address, in global memory */
  uint64_t source_displacement;
  uint32_t target; /* of a branch, or its first target in the program's list */
  uint32_t targets;
  uint32_t line, file, source_line, caller_file, caller_line;
} opc_ptx_op_t;

typedef struct opc_ptx_constant {
  uint64_t bits;
  uint32_t slot;
} opc_ptx_constant_t;

struct opc_ptx_program {
  opc_ptx_arena_t arena;
  const opc_ptx_module_t *module;
  const opc_ptx_function_t *function;
  opc_ptx_list_t ops;       /* opc_ptx_op_t */
  opc_ptx_list_t targets;   /* uint32_t: of brx.idx */
  opc_ptx_list_t constants; /* opc_ptx_constant_t; bits is the value */
  opc_ptx_list_t specials;  /* the same; bits is an opc_ptx_special_t */
  uint32_t registers, predicates;
  uint32_t frame_bytes;  /* local memory of a thread */
  uint32_t shared_bytes; /* static */
  opc_ptx_exactness_t worth;
};

/* Predicates that are always there. */
enum { OPC_PTX_PREDICATE_FALSE = 0, OPC_PTX_PREDICATE_TRUE, OPC_PTX_PREDICATE_SINK, OPC_PTX_PREDICATES_FIXED };
enum { OPC_PTX_REGISTER_SINK = 0, OPC_PTX_REGISTERS_FIXED };

/* What calls of the runtime's own device functions do: __assertfail. */
opc_ptx_run_t opc_ptx_assertion;
opc_ptx_run_t opc_ptx_nothing_run;
/* Registers that change while a kernel runs. */
opc_ptx_run_t opc_ptx_clock;

/* ---- addresses ---- */

/* Generic addresses of shared memory, local memory and parameters lie where no address of the process does. */
#define OPC_PTX_SHARED_WINDOW (UINT64_C(1) << 56)
#define OPC_PTX_LOCAL_WINDOW (UINT64_C(2) << 56)
#define OPC_PTX_PARAM_WINDOW (UINT64_C(3) << 56)
#define OPC_PTX_WINDOW_MASK (UINT64_C(0xff) << 56)

/* What an instruction accesses. */
typedef struct opc_ptx_touch {
  uint64_t address[OPC_PTX_LANES];  /* in its space */
  unsigned char *at[OPC_PTX_LANES]; /* NULL after a finding */
  uint32_t global, shared, other;   /* lanes by the space where their addresses turned out to lie; those with `at` */
  uint32_t unknown;                 /* in a sampled block: lanes that read anything, and write nowhere */
  uint32_t bytes;
  opc_ptx_access_t access;
} opc_ptx_touch_t;

/* Where the lanes of an instruction read or write so many bytes each. */
void opc_ptx_touch(struct opc_ptx_warp *warp, const opc_ptx_op_t *op, uint32_t mask, uint32_t bytes,
                   opc_ptx_access_t access, opc_ptx_touch_t *out);
/* The same, at addresses of a space that are in `out` already. */
void opc_ptx_touch_at(struct opc_ptx_warp *warp, const opc_ptx_op_t *op, opc_ptx_space_t space, uint32_t mask,
                      uint32_t bytes, opc_ptx_access_t access, opc_ptx_touch_t *out);
/* An access to shared memory that a copy has not finished. */
void opc_ptx_watch_copies(struct opc_ptx_warp *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch);
/* Notes an access, before memory changes, and reports the races that it is in. `value` of each part of a vector, of
 * part_bytes each, is what is stored; NULL: nothing, or an atomic operation decides it. */
void opc_ptx_watch_races(struct opc_ptx_warp *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch,
                         const uint64_t *const *value, uint32_t part_bytes);
/* The same for values that nothing has written; after a load, before a store. The value of each part of a vector is in
 * the first slots of the instruction. */
void opc_ptx_watch_load(struct opc_ptx_warp *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch, uint32_t mask,
                        uint32_t part_bytes);
void opc_ptx_watch_store(struct opc_ptx_warp *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch,
                         uint32_t part_bytes);
/* Marks bytes as written, of which some have no value; bit i: byte i. */
void opc_ptx_mark_written(struct opc_ptx_warp *warp, const opc_ptx_touch_t *touch, unsigned lane, uint32_t missing);
/* A register of a lane is made of bytes of other lanes' addresses; bit i of `missing`: nothing has written byte i. */
void opc_ptx_watch_gathered(struct opc_ptx_warp *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch,
                            uint32_t slot, unsigned lane, uint32_t missing);
/* The bytes of a lane that nothing has written. */
uint32_t opc_ptx_missing_bytes(const struct opc_ptx_warp *warp, const opc_ptx_touch_t *touch, unsigned lane);
void opc_ptx_watch_atomic(struct opc_ptx_warp *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch);
/* The address of a module's variable; its memory belongs to the module. */
uint64_t opc_ptx_variable_address(const opc_ptx_symbol_t *symbol);
/* The variable that holds an address. */
bool opc_ptx_variable_find(const opc_ptx_module_t *module, uint64_t address, opc_ptx_range_t *out);

/* ---- running ---- */

typedef struct opc_ptx_lanes {
  uint64_t lane[OPC_PTX_LANES]; /* what is above the bits of an instruction's type is anything */
} opc_ptx_lanes_t;

typedef struct opc_ptx_barrier {
  uint32_t arrived, wanted; /* threads; wanted 0: all of the block that have not ended */
  uint32_t votes;           /* threads with a true predicate */
  bool left;                /* some came by bar.arrive and did not wait */
} opc_ptx_barrier_t;

/* Which bytes of a register have no defined value, and those of a predicate. */
typedef struct opc_ptx_shade {
  uint8_t bytes[OPC_PTX_LANES];
  uint32_t calculated; /* lanes whose value is no mere copy from global memory */
  uint32_t origin;     /* in the launch's list */
} opc_ptx_shade_t;

typedef struct opc_ptx_predicate_shade {
  uint32_t lanes, origin;
} opc_ptx_predicate_shade_t;

/* Where such a value was loaded. */
enum { OPC_PTX_ORIGINS = 64 };
typedef struct opc_ptx_origin {
  const opc_ptx_op_t *op;
  uint64_t block;
  uint32_t thread;
  opc_ptx_space_t space;
  uint64_t address;
  uint32_t bytes;
} opc_ptx_origin_t;

struct opc_ptx_block_state;

enum { OPC_PTX_COPY_BYTES = 16 };

/* A copy that is not finished. */
typedef struct opc_ptx_copy {
  const opc_ptx_op_t *op;
  uint32_t lane, group; /* group: how many its lane had committed before it */
  uint32_t to, bytes;
  uint32_t missing; /* bit i: byte i has no value */
  unsigned char contents[OPC_PTX_COPY_BYTES];
} opc_ptx_copy_t;

typedef struct opc_ptx_copies {
  opc_ptx_copy_t *items;
  size_t count, capacity;
  uint32_t groups[OPC_PTX_LANES]; /* that each lane has committed */
} opc_ptx_copies_t;

typedef struct opc_ptx_warp {
  const opc_ptx_program_t *program;
  struct opc_ptx_block_state *block;
  opc_ptx_lanes_t *registers;
  uint32_t *predicates;
  unsigned char *frames; /* local memory, lane after lane */
  uint32_t number;       /* in the block */
  uint32_t pc[OPC_PTX_LANES];
  uint32_t live;       /* lanes that have not ended */
  uint32_t at_barrier; /* of these, lanes that wait at a barrier of the block */
  uint32_t at_lanes;   /* and lanes that wait for other lanes of the warp */
  uint8_t barrier[OPC_PTX_LANES];
  uint32_t carry; /* the carry flag of each lane */
  uint32_t turns; /* jumps back since other lanes had their turn */
  opc_races_warp_t races;
  bool shaded; /* a register or predicate may have no defined value; else there are no shades */
  opc_ptx_shade_t *shades;
  opc_ptx_predicate_shade_t *predicate_shades;
  opc_ptx_copies_t copies;
} opc_ptx_warp_t;

typedef struct opc_ptx_block_state {
  struct opc_ptx_launch_state *launch;
  uint64_t number; /* in the grid */
  uint32_t index[3];
  unsigned char *shared;
  uint32_t warp_count, threads, live; /* live: threads that have not ended */
  opc_ptx_warp_t *warps;
  opc_ptx_barrier_t barriers[OPC_PTX_BARRIERS];
  bool done;
  opc_races_block_t races;
  unsigned char *copied_to;    /* of each byte of shared memory: copies that are not finished; NULL: there are none */
  unsigned char *shared_state; /* of each byte of shared memory; NULL: values are not watched */
} opc_ptx_block_state_t;

/* Pairs of instructions of which a finding was reported. */
enum { OPC_PTX_PAIRS = 128 };
typedef struct opc_ptx_pairs {
  struct {
    const opc_ptx_op_t *one, *other;
    opc_ptx_finding_kind_t kind;
  } items[OPC_PTX_PAIRS];
  uint32_t count;
} opc_ptx_pairs_t;

typedef struct opc_ptx_launch_state {
  const opc_ptx_program_t *program;
  const opc_ptx_launch_t *launch;
  opc_ptx_outcome_t *outcome;
  uint32_t shared_bytes;    /* static and dynamic */
  uint64_t block_bytes;     /* memory of a block that runs */
  opc_ptx_range_t range[4]; /* allocations that were found last */
  uint32_t range_next;
  uint64_t chance; /* the next random number is made of it */
  uint64_t limit;  /* of lane_instructions */
  bool stop;
  uint32_t astray;    /* in a sampled block: lanes whose address of this access is unknown */
  opc_races_t *races; /* NULL: not watched */
  opc_ptx_pairs_t reported;
  opc_ptx_origin_t origins[OPC_PTX_ORIGINS];
  uint32_t origin_count;
} opc_ptx_launch_state_t;

/* Runs a warp until its lanes wait or have ended, or for `steps` instructions. Returns whether anything ran. */
bool opc_ptx_warp_run(opc_ptx_warp_t *warp, uint64_t steps);
static inline bool opc_ptx_is_sampled(const opc_ptx_launch_state_t *launch) { return launch->launch->sampled; }
/* A block's memory is made once and used for one block after another. */
bool opc_ptx_block_make(opc_ptx_block_state_t *block, opc_ptx_launch_state_t *launch);
void opc_ptx_block_begin(opc_ptx_block_state_t *block, uint64_t number);
/* Runs each of its warps for a while, in the order of the list. Returns whether anything ran; sets done. */
bool opc_ptx_block_run(opc_ptx_block_state_t *block, const uint32_t *order, uint64_t steps);
void opc_ptx_block_clear(opc_ptx_block_state_t *block);

/* While a warp is shaded: runs an instruction, and looks at the guard of one that branches or accesses memory. */
void opc_ptx_undefined_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask);
void opc_ptx_undefined_guard(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask);
void opc_ptx_undefined_begin(opc_ptx_block_state_t *block);
void opc_ptx_shades_clear(opc_ptx_warp_t *warp);

/* Forgets copies that no thread has waited for. */
void opc_ptx_copies_begin(opc_ptx_block_state_t *block);
void opc_ptx_copies_clear(opc_ptx_block_state_t *block);

/* A group of lanes comes to a barrier of the block. */
void opc_ptx_barrier_arrive(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask);
/* Lanes have ended: barriers do not wait for them any more. */
void opc_ptx_barrier_check(opc_ptx_block_state_t *block);

/* A new finding for a lane; the caller fills in the rest. Never NULL: what is not kept is written to a spare one. */
opc_ptx_finding_t *opc_ptx_finding_add(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane,
                                       opc_ptx_finding_kind_t kind);
/* Whether a finding of this kind about two instructions is new. */
bool opc_ptx_finding_is_new(opc_ptx_launch_state_t *launch, const opc_ptx_op_t *one, const opc_ptx_op_t *other,
                            opc_ptx_finding_kind_t kind);
/* Fills in an access. */
void opc_ptx_finding_access(opc_ptx_launch_state_t *launch, opc_ptx_finding_t *finding, opc_ptx_space_t space,
                            uint64_t address, uint32_t bytes, opc_ptx_access_t access);
/* Where a thread of a block ran an instruction. */
opc_ptx_side_t opc_ptx_side_of(const opc_ptx_launch_state_t *launch, const opc_ptx_op_t *op, uint64_t block,
                               uint32_t thread);
/* The place of a block in the grid. */
void opc_ptx_block_index(const opc_ptx_launch_t *launch, uint64_t number, uint32_t out[3]);

static inline uint64_t *opc_ptx_out(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned i) {
  return warp->registers[op->slot[i]].lane;
}

static inline const uint64_t *opc_ptx_in(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned i) {
  return warp->registers[op->slot[i]].lane;
}

/* A predicate that is read, as a mask of lanes. */
static inline uint32_t opc_ptx_in_mask(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned i) {
  const uint32_t value = warp->predicates[op->slot[i]];
  return (op->negated >> i & 1) != 0 ? ~value : value;
}

static inline void opc_ptx_out_mask(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned i, uint32_t mask,
                                    uint32_t value) {
  uint32_t *at = &warp->predicates[op->slot[i]];
  *at = (*at & ~mask) | (value & mask);
}

/* Runs a statement for each lane of the mask, as `l`; without a mask the compiler makes vectors of it. */
#define OPC_PTX_EACH(mask, ...)                                \
  do {                                                         \
    if ((mask) == OPC_PTX_ALL_LANES) {                         \
      for (unsigned l = 0; l < OPC_PTX_LANES; l++) __VA_ARGS__ \
    } else {                                                   \
      for (unsigned l = 0; l < OPC_PTX_LANES; l++)             \
        if (((mask) >> l & 1) != 0) __VA_ARGS__                \
    }                                                          \
  } while (0)

/* Code for instructions with one, two or three values of a type; the result is converted to `unsigned_type`, then to 64
 * bits. x, y, z are the values. */
#define OPC_PTX_UNARY(name, type, unsigned_type, expression)                      \
  static void name(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) { \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                 \
    const uint64_t *const a = opc_ptx_in(warp, op, 1);                            \
    OPC_PTX_EACH(mask, {                                                          \
      const type x = (type)a[l];                                                  \
      d[l] = (unsigned_type)(expression);                                         \
    });                                                                           \
  }

#define OPC_PTX_BINARY(name, type, unsigned_type, expression)                              \
  static void name(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {          \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                          \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2); \
    OPC_PTX_EACH(mask, {                                                                   \
      const type x = (type)a[l], y = (type)b[l];                                           \
      d[l] = (unsigned_type)(expression);                                                  \
    });                                                                                    \
  }

#define OPC_PTX_TERNARY(name, type, unsigned_type, expression)                             \
  static void name(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {          \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                          \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2), \
                          *const c = opc_ptx_in(warp, op, 3);                              \
    OPC_PTX_EACH(mask, {                                                                   \
      const type x = (type)a[l], y = (type)b[l], z = (type)c[l];                           \
      d[l] = (unsigned_type)(expression);                                                  \
    });                                                                                    \
  }
