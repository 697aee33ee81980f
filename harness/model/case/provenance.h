/* The provenance of a case: who vouches for its input, and what the variant changed in it. Reports show it as
 * "SOURCE/CHANGE"; catalogue/severity.h says for which provenances a finding can be an error.
 *
 * Threads: any. Ownership: texts are constant. */
#pragma once

#include <stdbool.h>

#define OPC_SOURCES(X) \
  X(NONE, "") X(DECLARED, "declared") X(RECORDED, "recorded") X(RECIPE, "recipe") X(SEARCHED, "searched")
#define OPC_INPUT_CHANGES(X) X(SAME_VALUES, "same_values") X(RELATED, "related") X(ALONE, "alone")

/* Who says that the base sample is valid. */
typedef enum opc_source {
#define X(constant, text) OPC_SOURCE_##constant,
  OPC_SOURCES(X)
#undef X
      OPC_SOURCE_COUNT
} opc_source_t;

/* What a variant changed. SAME_VALUES: at most layout, offset or bits. RELATED: values or sizes, and every known
 * relation between the arguments still holds. ALONE: not covered by known relations. */
typedef enum opc_input_change {
#define X(constant, text) OPC_INPUT_##constant,
  OPC_INPUT_CHANGES(X)
#undef X
      OPC_INPUT_CHANGE_COUNT
} opc_input_change_t;

const char *opc_input_change_name(opc_input_change_t change); /* "same_values", "related", "alone" */

typedef struct opc_provenance {
  opc_source_t source; /* NONE: the case has no input */
  opc_input_change_t change;
  bool plain; /* the unmodified sample, not a variant; not part of the text */
} opc_provenance_t;

enum { OPC_PROVENANCE_SIZE = 32 };

/* "declared/same_values"; "" if the case has no input. */
void opc_provenance_format(const opc_provenance_t *provenance, char out[OPC_PROVENANCE_SIZE]);
/* The reverse; false: not a provenance. Sets `plain` to false. */
bool opc_provenance_parse(const char *text, opc_provenance_t *out);

/* The input comes from a person or a real program, and the variant kept all known relations. */
bool opc_provenance_is_valid(const opc_provenance_t *provenance);

/* 0: the best. A failure at one rank says nothing about inputs of a better rank. Cases without input have rank 0. */
enum { OPC_PROVENANCE_RANKS = 7 };
int opc_provenance_rank(const opc_provenance_t *provenance);
