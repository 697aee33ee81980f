/* The standing of a case: who vouches for its input, and what the variant changed in it. Reports show it as
 * "SOURCE/CHANGE"; catalogue/severity.h says for which standings a finding can be an error.
 *
 * Threads: any. Ownership: texts are constant. */
#pragma once

#include <stdbool.h>

#define OPC_VOUCHERS(X) \
  X(NONE, "") X(DECLARED, "declared") X(RECORDED, "recorded") X(RECIPE, "recipe") X(SEARCHED, "searched")
#define OPC_INPUT_CHANGES(X) X(SAME_VALUES, "same_values") X(RELATED, "related") X(ALONE, "alone")

/* Who says that the base sample is valid. */
typedef enum opc_voucher {
#define X(constant, text) OPC_VOUCHER_##constant,
  OPC_VOUCHERS(X)
#undef X
      OPC_VOUCHER_COUNT
} opc_voucher_t;

/* What a variant changed. SAME_VALUES: at most layout, offset or bits. RELATED: values or sizes, and every known
 * relation between the arguments still holds. ALONE: not covered by known relations. */
typedef enum opc_input_change {
#define X(constant, text) OPC_INPUT_##constant,
  OPC_INPUT_CHANGES(X)
#undef X
      OPC_INPUT_CHANGE_COUNT
} opc_input_change_t;

const char *opc_input_change_name(opc_input_change_t change); /* "same_values", "related", "alone" */

typedef struct opc_standing {
  opc_voucher_t voucher; /* NONE: the case has no input */
  opc_input_change_t change;
  bool plain; /* the unmodified sample, not a variant; not part of the text */
} opc_standing_t;

enum { OPC_STANDING_SIZE = 32 };

/* "declared/same_values"; "" if the case has no input. */
void opc_standing_format(const opc_standing_t *standing, char out[OPC_STANDING_SIZE]);
/* The reverse; false: not a standing. Sets `plain` to false. */
bool opc_standing_parse(const char *text, opc_standing_t *out);

/* The input comes from a person or a real program, and the variant kept all known relations. */
bool opc_standing_is_valid(const opc_standing_t *standing);

/* 0: the best. A failure at one rank says nothing about inputs of a better rank. Cases without input have rank 0. */
enum { OPC_STANDING_RANKS = 7 };
int opc_standing_rank(const opc_standing_t *standing);
