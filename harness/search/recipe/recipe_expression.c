#include "search/recipe/recipe_inside.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64, DEPTH_MAX = 64 };

typedef struct parser {
  const char *at;
  opc_expression_name_t *value_of;
  void *context;
  opc_expression_end_t end; /* the first error; every value is 0 after it */
  char *why;
  size_t size;
  int depth;
} parser_t;

static int64_t recipe_expression_fail(parser_t *parser, opc_expression_end_t end, const char *why, const char *what) {
  if (parser->end != OPC_EXPRESSION_VALUE) return 0;
  parser->end = end;
  snprintf(parser->why, parser->size, "%s%.40s", why, what);
  return 0;
}

static void skip_space(parser_t *parser) {
  while (*parser->at == ' ') parser->at++;
}

static bool recipe_expression_take(parser_t *parser, const char *word) {
  skip_space(parser);
  size_t length = strlen(word);
  if (strncmp(parser->at, word, length) != 0) return false;
  parser->at += length;
  return true;
}

static int64_t recipe_expression_apply(parser_t *parser, char how, int64_t left, int64_t right) {
  int64_t result = 0;
  bool beyond = false;
  switch (how) {
    case '+':
      beyond = __builtin_add_overflow(left, right, &result);
      break;
    case '-':
      beyond = __builtin_sub_overflow(left, right, &result);
      break;
    case '*':
      beyond = __builtin_mul_overflow(left, right, &result);
      break;
    default: /* '/' and '%' */
      if (right == 0) return recipe_expression_fail(parser, OPC_EXPRESSION_ARITHMETIC, "a division by 0", "");
      beyond = right == -1 && left == INT64_MIN;
      if (beyond) break;
      result = how == '/' ? left / right : left % right;
      if (left % right != 0 && (left < 0) != (right < 0)) result += how == '/' ? -1 : right;
      break;
  }
  return beyond ? recipe_expression_fail(parser, OPC_EXPRESSION_ARITHMETIC, "a number that is too large", "") : result;
}

static int64_t sum(parser_t *parser);

static int64_t number(parser_t *parser) {
  char *rest;
  errno = 0;
  int64_t value = strtoll(parser->at, &rest, 10);
  parser->at = rest;
  return errno == ERANGE ? recipe_expression_fail(parser, OPC_EXPRESSION_SYNTAX, "a number that is too large", "")
                         : value;
}

static int64_t choice(parser_t *parser, bool larger) {
  int64_t left = sum(parser);
  if (!recipe_expression_take(parser, ","))
    return recipe_expression_fail(parser, OPC_EXPRESSION_SYNTAX, "expected a comma before ", parser->at);
  int64_t right = sum(parser);
  if (!recipe_expression_take(parser, ")"))
    return recipe_expression_fail(parser, OPC_EXPRESSION_SYNTAX, "expected a ) before ", parser->at);
  return (left < right) == larger ? right : left;
}

static int64_t name(parser_t *parser) {
  char word[NAME_SIZE];
  size_t length = 0;
  int64_t value = 0;
  while (isalnum((unsigned char)parser->at[length]) || parser->at[length] == '_') length++;
  if (length >= sizeof word)
    return recipe_expression_fail(parser, OPC_EXPRESSION_SYNTAX, "a name that is too long: ", parser->at);
  memcpy(word, parser->at, length);
  word[length] = '\0';
  parser->at += length;
  bool larger = strcmp(word, "max") == 0;
  if ((larger || strcmp(word, "min") == 0) && recipe_expression_take(parser, "(")) return choice(parser, larger);
  if (parser->end == OPC_EXPRESSION_VALUE && !parser->value_of(word, &value, parser->context))
    return recipe_expression_fail(parser, OPC_EXPRESSION_NAME, word, "");
  return value;
}

static int64_t factor(parser_t *parser) {
  int64_t value = 0;
  skip_space(parser);
  if (++parser->depth > DEPTH_MAX) {
    parser->at += strlen(parser->at);
    return recipe_expression_fail(parser, OPC_EXPRESSION_SYNTAX, "too many brackets", "");
  }
  if (recipe_expression_take(parser, "-")) {
    value = recipe_expression_apply(parser, '-', 0, factor(parser));
  } else if (recipe_expression_take(parser, "(")) {
    value = sum(parser);
    if (!recipe_expression_take(parser, ")"))
      recipe_expression_fail(parser, OPC_EXPRESSION_SYNTAX, "expected a ) before ", parser->at);
  } else if (isdigit((unsigned char)*parser->at)) {
    value = number(parser);
  } else if (isalpha((unsigned char)*parser->at) || *parser->at == '_') {
    value = name(parser);
  } else {
    recipe_expression_fail(parser, OPC_EXPRESSION_SYNTAX,
                           *parser->at ? "expected a name or a number, not " : "expected a name or a number at its end",
                           parser->at);
  }
  parser->depth--;
  return value;
}

static int64_t product(parser_t *parser) {
  int64_t value = factor(parser);
  for (skip_space(parser); *parser->at && strchr("*/%", *parser->at); skip_space(parser)) {
    char how = *parser->at++;
    value = recipe_expression_apply(parser, how, value, factor(parser));
  }
  return value;
}

static int64_t sum(parser_t *parser) {
  int64_t value = product(parser);
  for (skip_space(parser); *parser->at == '+' || *parser->at == '-'; skip_space(parser)) {
    char how = *parser->at++;
    value = recipe_expression_apply(parser, how, value, product(parser));
  }
  return value;
}

static int64_t comparison(parser_t *parser) {
  int64_t left = sum(parser);
  if (recipe_expression_take(parser, "==")) return left == sum(parser);
  if (recipe_expression_take(parser, "!=")) return left != sum(parser);
  if (recipe_expression_take(parser, "<=")) return left <= sum(parser);
  if (recipe_expression_take(parser, ">=")) return left >= sum(parser);
  if (recipe_expression_take(parser, "<")) return left < sum(parser);
  if (recipe_expression_take(parser, ">")) return left > sum(parser);
  return left;
}

opc_expression_end_t opc_expression_value(const char *text, opc_expression_name_t *value_of, void *context,
                                          int64_t *out, char *why, size_t size) {
  parser_t parser = {.at = text, .value_of = value_of, .context = context, .why = why, .size = size};
  int64_t value = comparison(&parser);
  skip_space(&parser);
  if (*parser.at) recipe_expression_fail(&parser, OPC_EXPRESSION_SYNTAX, "expected an operator before ", parser.at);
  if (parser.end == OPC_EXPRESSION_VALUE) *out = value;
  return parser.end;
}
