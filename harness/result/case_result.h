/* The result of one case, as data: what decisions need has a field of its own; what is only shown is in `message` and
 * `evidence`.
 *
 * Ownership: opc_case_result_free. Texts of `frames` and `accesses` belong to `evidence`. Threads: one thread per
 * value. */
#pragma once

#include "catalogue/rules.h"

/* What an operator did with an argument that it does not check (rule memory.unchecked_arguments). */
#define OPC_EFFECTS(X) \
  X(NONE, "")          \
  X(WRITE, "write") X(CRASH, "crash") X(READ, "read") X(HANG, "hang") X(MEMORY, "memory") X(CONVERSION, "conversion")
typedef enum opc_effect {
#define X(constant, text) OPC_EFFECT_##constant,
  OPC_EFFECTS(X)
#undef X
      OPC_EFFECT_COUNT
} opc_effect_t;
opc_effect_t opc_effect_find(const char *name); /* OPC_EFFECT_NONE: no such effect */
const char *opc_effect_name(opc_effect_t effect);

/* Whether the finding showed again when its case was run again. */
typedef enum opc_confirmed { OPC_CONFIRMED_UNKNOWN = 0, OPC_CONFIRMED_NO, OPC_CONFIRMED_YES } opc_confirmed_t;

/* One place in the code, from an access, a crash or a kernel. Absent texts are "". */
typedef struct opc_code_frame {
  const char *module, *symbol, *file, *offset;
  int line;
} opc_code_frame_t;

typedef struct opc_code_frames {
  opc_code_frame_t *items;
  size_t count;
} opc_code_frames_t;

/* An access outside of tensors that the operator made. */
typedef struct opc_result_access {
  opc_rule_id_t rule;
  const char *argument; /* the tensor next to it; "" if it is none of the arguments */
  bool write;
  opc_code_frames_t frames;
} opc_result_access_t;

/* A further finding of the same case. External tools make them too. */
typedef struct opc_also {
  opc_rule_id_t rule;
  char *message;
  opc_severity_t severity;
  bool severity_stated; /* false: it is the usual one of the rule */
  json_t *rest;         /* its other fields, for display; NULL: none */
} opc_also_t;

typedef struct opc_also_list {
  opc_also_t *items;
  size_t count;
} opc_also_list_t;

typedef struct opc_case_result {
  char case_id[OPC_CASE_ID_SIZE]; /* the text of `id` */
  opc_case_id_t id;
  opc_verdict_kind_t verdict;
  opc_skip_reason_t reason; /* of a skip */
  opc_rule_id_t rule;       /* of a finding */
  opc_severity_t severity;  /* of a finding */
  opc_provenance_t provenance;
  double seconds;
  bool suspect;    /* in a journal: not confirmed yet, or skipped because of a finding that is not confirmed yet */
  bool taken_over; /* of the report of an earlier run (--since) */
  char *message;
  char *repro;      /* the command line that repeats it; NULL: none */
  json_t *evidence; /* an object: all evidence that has no field below */

  opc_also_list_t also;

  /* What judging asks. */
  bool every_input;     /* every accepted input shows it: no argument is to blame */
  bool uneven_lists;    /* the arguments' lists of tensors have different lengths */
  bool lone_tensor;     /* the arguments are one tensor and no number */
  bool fits;            /* nothing suggests that a searched sample's arguments do not fit together */
  bool unasked_dtype;   /* the dtype is not the sample's, and the operator may not be meant for it */
  bool index_beyond;    /* another layout of the sample shows that an index is too large for the sizes */
  bool clean_reference; /* the reference stays in bounds with the arguments, and gives the same result again */
  char *depends_on;     /* the case after which it shows, in the same process; NULL: it shows alone */
  char *control;        /* the case with the same values in plain layout; NULL: none was needed */
  bool control_held;    /* that case is clean */
  char *broken_base;    /* the case on the unmodified sample, which is broken too; NULL: it is not, or did not run */

  /* Of rule memory.unchecked_arguments. */
  opc_effect_t effect;
  opc_rule_id_t effect_rule; /* the rule that the finding would have on valid arguments */
  char *argument;            /* the argument that a finding is about; NULL: not a single one */

  /* How it came about. */
  opc_confirmed_t confirmed;
  char *confirmed_after; /* the case that was confirmed in the same process before; NULL: it ran alone */
  char *crashed_before;  /* skipped: the check in which the same arguments crashed; NULL: they did not */
  bool check_given_up;   /* skipped: the check crashed too often */
  bool had_returned;     /* the process ended after the operator had returned */
  bool witnessed;        /* an external tool saw it: it needs no second run */
  bool own_variants;     /* the check itself called the operator with variants of the sample */

  /* Places in the code. Filled in by opc_case_result_decode. */
  opc_code_frames_t frames; /* of a crash */
  opc_code_frame_t
      kernel; /* the kernel that the case looks at, whose definition is on that line; without symbol: unknown */
  opc_result_access_t *accesses;
  size_t access_count;
} opc_case_result_t;

/* ---- JSON: case_result_json.c ---- */

/* Reads a "result" message of a worker, or a "result" or "suspect" line of a journal. OPC_ERR_INPUT names the case and
 * the field that is wrong. The record is not changed. */
opc_status_t opc_case_result_decode(const json_t *record, opc_case_result_t **out, opc_error_t *error) OPC_CHECKED;
/* The line for the journal (reports/journal/journal_reader.h). New reference; NULL: out of memory. */
json_t *opc_case_result_encode(const opc_case_result_t *result);
/* All of the line's evidence, for display. New reference; NULL: out of memory. */
json_t *opc_case_result_evidence(const opc_case_result_t *result);
/* evidence.also of these findings. New reference. */
json_t *opc_also_list_json(const opc_also_list_t *list);
/* A result that the supervisor makes. Its message may contain any bytes. Takes the reference to evidence,
 * an object as in a message; NULL: none. */
opc_status_t opc_case_result_new(const char *case_id, opc_verdict_kind_t verdict, opc_rule_id_t rule,
                                 const char *message, json_t *evidence, opc_case_result_t **out,
                                 opc_error_t *error) OPC_CHECKED;
opc_status_t opc_case_result_copy(const opc_case_result_t *result, opc_case_result_t **out,
                                  opc_error_t *error) OPC_CHECKED;

/* ---- the value: case_result.c ---- */

void opc_case_result_free(opc_case_result_t *result); /* NULL is accepted */
void opc_scope_case_result(opc_case_result_t **result);

/* A failure or an error, with any severity. */
bool opc_case_result_is_finding(const opc_case_result_t *result);
/* It says something about the operator. A skip does not, unless the operator was called (it refused the sample, or the
 * finding is turned off); nor does what only a search for inputs saw. */
bool opc_case_result_is_verdict(const opc_case_result_t *result);
/* Replaces the message by a copy. */
void opc_case_result_say(opc_case_result_t *result, const char *message);
/* Appends text to the message. */
void opc_case_result_add(opc_case_result_t *result, const char *text);
/* Replaces a text field (depends_on, control…) by a copy. */
void opc_case_result_put(char **field, const char *text);

/* Adds a further finding; takes message and rest. */
opc_status_t opc_also_add(opc_also_list_t *list, opc_also_t also, opc_error_t *error) OPC_CHECKED;
void opc_also_clear(opc_also_t *also);
void opc_also_list_clear(opc_also_list_t *list);

/* Which severity a finding has, and under which rule it is reported: a function of the result and the options alone.
 * catalogue/rules.h says what each rule claims.
 *
 * Threads: any. */

/* For a failure or an error, before it is counted and written; any other result stays as it is. The most severe of the
 * rule and those in `also` becomes the rule. A finding that would be an error only on valid input becomes
 * memory.unchecked_arguments, with its effect, its own rule, and the argument that was varied (NULL: not a single one).
 * untrusted_input: arguments that are not checked are an error (--untrusted-input). */
void opc_case_result_judge(opc_case_result_t *result, bool untrusted_input);

/* What a project has chosen for a rule (severities of .opcheck-c.json). OFF: its findings become skips. WARNING: never
 * more than that. ERROR: an error where it is a warning only because its table says so; what nobody vouches for stays a
 * warning (catalogue/rules.h). */
typedef enum opc_rule_choice {
  OPC_CHOICE_NONE = 0,
  OPC_CHOICE_OFF,
  OPC_CHOICE_WARNING,
  OPC_CHOICE_ERROR
} opc_rule_choice_t;
/* opc_case_result_judge with choices by opc_rule_id_t (OPC_RULE_END of them; NULL: none). evidence.chosen says what a
 * choice has changed. */
void opc_case_result_judge_chosen(opc_case_result_t *result, bool untrusted_input, const opc_rule_choice_t *choices);
