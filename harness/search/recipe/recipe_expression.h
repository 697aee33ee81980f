/* Integer expressions in recipes: "B+1", "(H + 2*pad_h - KH) / stride_h + 1", and conditions such as "C % G == 0".
 *
 * Names, integers, + - * / % (rounded towards minus infinity), min(a, b), max(a, b), parentheses; at top level one
 * comparison (== != < <= > >=), which is 1 or 0. Ownership: borrows everything. Threads: pure functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum opc_expression_end {
  OPC_EXPRESSION_VALUE = 0,
  OPC_EXPRESSION_SYNTAX,     /* not an expression */
  OPC_EXPRESSION_NAME,       /* a name has no value */
  OPC_EXPRESSION_ARITHMETIC, /* division by 0, or a number of more than 64 bits */
} opc_expression_end_t;

/* The value of a name; false: unknown name. */
typedef bool opc_expression_name_t(const char *name, int64_t *out, void *context);
/* Sets *out only for VALUE. Otherwise why (size bytes) gets the reason; for NAME it gets the name. */
opc_expression_end_t opc_expression_value(const char *text, opc_expression_name_t *value_of, void *context,
                                          int64_t *out, char *why, size_t size);
