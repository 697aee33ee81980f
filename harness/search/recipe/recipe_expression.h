/* Integer expressions of recipes: "B+1", "(H + 2*pad_h - KH) / stride_h + 1", and conditions such as "C % G == 0".
 *
 * Names, integers, + - * / % (rounded towards minus infinity), min(a, b), max(a, b), parentheses; one comparison (== !=
 * < <= > >=) at the top, which is 1 or 0. Ownership: borrows everything. Threads: pure functions. */
#ifndef OPC_SEARCH_RECIPE_RECIPE_EXPRESSION_H
#define OPC_SEARCH_RECIPE_RECIPE_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum opc_expression_end {
  OPC_EXPRESSION_VALUE = 0,
  OPC_EXPRESSION_SYNTAX,     /* no expression */
  OPC_EXPRESSION_NAME,       /* a name has no value */
  OPC_EXPRESSION_ARITHMETIC, /* division by 0, or a number beyond 64 bits */
} opc_expression_end_t;

/* The value of a name; false: it has none. */
typedef bool opc_expression_name_t(const char *name, int64_t *out, void *context);
/* *out is set with VALUE alone; why (size bytes) says what is wrong otherwise, but for NAME, where it holds the name.
 */
opc_expression_end_t opc_expression_value(const char *text, opc_expression_name_t *value_of, void *context,
                                          int64_t *out, char *why, size_t size);

#endif
