/* The table of instructions: what the words after a name say, and which entry a statement has.
 *
 * Ownership: constant data. Threads, fork: no shared state. */
#pragma once

#include "cuda/ptx/ptx_text.h"

/* Types first, from 1: tables by type have OPC_PTX_TYPES items. 0: the instruction has no such word. */
typedef enum opc_ptx_says {
  OPC_PTX_NOTHING = 0,
#define OPC_PTX_SAYS(kind, number, word) OPC_PTX_##kind##_##number,
#define OPC_PTX_SAYS_SPACE(space, word)
#define OPC_PTX_SAYS_VECTOR(count, word)
#define OPC_PTX_SAYS_FLAG(flag, word)
#include "cuda/ptx/words.def"
  OPC_PTX_TYPES = OPC_PTX_TYPE_TF32 + 1
} opc_ptx_says_t;

typedef enum opc_ptx_flag {
#define OPC_PTX_SAYS(kind, number, word)
#define OPC_PTX_SAYS_SPACE(space, word)
#define OPC_PTX_SAYS_VECTOR(count, word)
#define OPC_PTX_SAYS_FLAG(flag, word) OPC_PTX_FLAG_INDEX_##flag,
#include "cuda/ptx/words.def"
  OPC_PTX_FLAGS
} opc_ptx_flag_t;

enum {
#define OPC_PTX_SAYS(kind, number, word)
#define OPC_PTX_SAYS_SPACE(space, word)
#define OPC_PTX_SAYS_VECTOR(count, word)
#define OPC_PTX_SAYS_FLAG(flag, word) OPC_PTX_FLAG_##flag = 1 << OPC_PTX_FLAG_INDEX_##flag,
#include "cuda/ptx/words.def"
};

typedef enum opc_ptx_special {
#define OPC_PTX_SPECIAL(number, name) OPC_PTX_SPECIAL_##number,
#include "cuda/ptx/special.def"
  OPC_PTX_SPECIALS
} opc_ptx_special_t;

typedef enum opc_ptx_flow {
  OPC_PTX_FLOW_NEXT = 0, /* the next instruction follows */
  OPC_PTX_FLOW_LANES,    /* waits for the lanes that its last operand names */
  OPC_PTX_FLOW_BRANCH,
  OPC_PTX_FLOW_BRANCH_INDEX,
  OPC_PTX_FLOW_RETURN, /* of the kernel: its lanes end; of a function: a branch behind the call */
  OPC_PTX_FLOW_EXIT,
  OPC_PTX_FLOW_TRAP,
  OPC_PTX_FLOW_BARRIER
} opc_ptx_flow_t;

typedef struct opc_ptx_form {
  uint8_t type[3], types; /* in their order; opc_ptx_says_t */
  uint8_t round, compare, operation, mode, half, order, scope;
  uint8_t space;  /* opc_ptx_space_t */
  uint8_t vector; /* 1, 2, 4 or 8 */
  uint16_t flags; /* OPC_PTX_FLAG_… */
} opc_ptx_form_t;

struct opc_ptx_warp;
struct opc_ptx_op;
/* Runs an instruction for the lanes in the mask. */
typedef void opc_ptx_run_t(struct opc_ptx_warp *warp, const struct opc_ptx_op *op, uint32_t mask);
/* Picks the code for a form. NULL: there is none. */
typedef opc_ptx_run_t *opc_ptx_family_t(const opc_ptx_form_t *form);

typedef struct opc_ptx_row {
  const char *name, *words, *operands;
  opc_ptx_family_t *family;
  opc_ptx_exactness_t worth;
  opc_ptx_flow_t flow;
} opc_ptx_row_t;

/* The entry of a statement, with what its words say and its code. NULL: there is none. */
const opc_ptx_row_t *opc_ptx_form_find(const opc_ptx_function_t *function, const opc_ptx_statement_t *statement,
                                       opc_ptx_form_t *out_form, opc_ptx_run_t **out_run);
/* Whether one operand fits a letter. */
bool opc_ptx_operand_fits(const opc_ptx_operand_t *operand, char letter, uint32_t vector);

#define OPC_PTX(name, words, operands, family, worth, flow) opc_ptx_family_t opc_ptx_##family;
#include "cuda/ptx/instructions.def"

/* How many registers an instruction must have, where its operands do not say; 0: they do. */
uint32_t opc_ptx_matrix_registers(const opc_ptx_form_t *form, opc_ptx_family_t *family);
uint32_t opc_ptx_type_size(opc_ptx_says_t type); /* bytes */
bool opc_ptx_type_is_float(opc_ptx_says_t type);
