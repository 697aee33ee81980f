/* Stand-alone programs that show a finding without opcheck-c, for an issue or for git bisect (--emit). A program is
 * made of parts, which are in python_parts.py and cpp_parts.txt; shown.def says which part shows which rule. It exits
 * with 1 if the operator fails as the case did, with 0 if it does not, and with 125 if it could not tell.
 *
 * Ownership: everything that a program points to belongs to the caller. Threads: one. No libtorch. */
#pragma once

#include "plan/variant/variant.h"
#include "result/case_result.h"

typedef enum opc_language { OPC_LANGUAGE_NONE = 0, OPC_LANGUAGE_PYTHON, OPC_LANGUAGE_CPP } opc_language_t;

/* OPC_LANGUAGE_NONE: no language has this name ("python", "cpp"). */
opc_language_t opc_language_find(const char *name);
const char *opc_language_name(opc_language_t language);

/* How a rule is shown; for a test of the table. */
typedef struct opc_shown {
  const char *rule; /* its name, or the beginning of its name up to a dot */
  const char *part; /* "show_NAME" without "show_"; NULL: not at all */
  const char *fact;
  const char *reason; /* why not; NULL if part is given */
} opc_shown_t;
extern const opc_shown_t opc_shown[];
extern const size_t opc_shown_count;
/* NULL: the table does not have the rule. */
const opc_shown_t *opc_shown_of(opc_rule_id_t rule);
/* True if the language has the part that shows the rule. Otherwise `why` (may be NULL) gets the reason, a sentence
 * without full stop. */
bool opc_program_is_possible(opc_rule_id_t rule, opc_language_t language, opc_text_t *why);
/* The same before any case has run: some rule of the check can be shown. Cases of each check may crash, which `call`
 * shows. */
bool opc_program_check_is_possible(const char *check, opc_language_t language, opc_text_t *why);

/* What a program loads, in this order. */
typedef struct opc_program_library {
  const char *path;
  bool module, preload; /* a Python module; a library that only others need */
} opc_program_library_t;

typedef struct opc_program {
  opc_language_t language;
  const opc_operator_t *op;
  const opc_sample_t *sample; /* as the case calls it: with its variant, in its dtype; NULL: it calls nothing */
  const opc_case_result_t *result;
  opc_rule_id_t rule; /* which the program shows */
  const opc_program_library_t *libraries;
  size_t library_count;
  const char *repro, *version, *torch;
  uint64_t seed;
  int seconds; /* after which a call hangs */
} opc_program_t;

/* False: the file exists, has something in it, and does not begin as programs do: it is somebody's. */
bool opc_program_may_replace(const char *file);
/* Writes it beside the file and renames. OPC_ERR_IO: the file keeps what it held. */
opc_status_t opc_program_write(const char *file, const opc_text_t *text, opc_error_t *error) OPC_CHECKED;

/* OPC_ERR_UNSUPPORTED: the arguments cannot be written down; the message says which and why. */
opc_status_t opc_program_text(const opc_program_t *program, opc_text_t *out, opc_error_t *error) OPC_CHECKED;
