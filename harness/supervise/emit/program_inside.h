/* For the files of this folder.
 *
 * Ownership: texts are the caller's. */
#pragma once

#include "supervise/emit/program.h"

/* In the comments that a program begins with. */
#define OPC_PROGRAM_FOUND " found it with libtorch "

/* The texts of the parts, made from the files of these names. */
extern const char opc_python_parts[], opc_cpp_parts[];

/* Appends the lines that make the tensors of the arguments, one variable for each, with `indent` before each. names:
 * receives the variables' names in the order of the tensors; the caller frees each and the list, on errors too. */
opc_status_t opc_program_tensors(const opc_program_t *program, const char *indent, char ***names, size_t *name_count,
                                 opc_text_t *out, opc_error_t *error) OPC_CHECKED;
/* Appends a value as an expression of the language. *next: the index in `names` of the next tensor. */
opc_status_t opc_program_value(const opc_program_t *program, const opc_value_t *value, const opc_type_t *type,
                               char *const *names, size_t *next, opc_text_t *out, opc_error_t *error) OPC_CHECKED;
/* Appends a string literal; both languages read it alike. */
void opc_program_string(opc_text_t *out, const char *string);
/* Appends the part "case": the operator, its arguments, and the constants that `body`, the other parts, mentions. */
opc_status_t opc_program_case(const opc_program_t *program, const opc_shown_t *shown, opc_text_t *out,
                              opc_error_t *error) OPC_CHECKED;
