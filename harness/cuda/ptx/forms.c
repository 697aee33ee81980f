/* Statements against the table of instructions. */
#include <string.h>

#include "cuda/ptx/ptx_form.h"

static const opc_ptx_row_t rows[] = {
#define OPC_PTX(name, words, operands, family, worth, flow) \
  {name, words, operands, opc_ptx_##family, OPC_PTX_##worth, OPC_PTX_FLOW_##flow},
#include "cuda/ptx/instructions.def"
};
enum { ROWS = sizeof rows / sizeof *rows, WORDS_MOST = 16 };

/* ---- words ---- */

enum {
  KIND_TYPE,
  KIND_ROUND,
  KIND_COMPARE,
  KIND_HALF,
  KIND_OPERATION,
  KIND_MODE,
  KIND_ORDER,
  KIND_SCOPE,
  KIND_SPACE,
  KIND_VECTOR,
  KIND_FLAG
};

static const struct {
  const char *word;
  uint8_t kind;
  uint16_t number;
} says[] = {
#define OPC_PTX_SAYS(kind, number, word) {word, KIND_##kind, OPC_PTX_##kind##_##number},
#define OPC_PTX_SAYS_SPACE(space, word) {word, KIND_SPACE, OPC_PTX_SPACE_##space},
#define OPC_PTX_SAYS_VECTOR(count, word) {word, KIND_VECTOR, count},
#define OPC_PTX_SAYS_FLAG(flag, word) {word, KIND_FLAG, OPC_PTX_FLAG_##flag},
#include "cuda/ptx/words.def"
};

static void form_add(opc_ptx_form_t *form, uint8_t kind, uint16_t number) {
  const uint8_t small = (uint8_t)number;
  if (kind == KIND_TYPE && form->types < 3) form->type[form->types++] = small;
  if (kind == KIND_ROUND) form->round = small;
  if (kind == KIND_COMPARE) form->compare = small;
  if (kind == KIND_HALF) form->half = small;
  if (kind == KIND_OPERATION) form->operation = small;
  if (kind == KIND_MODE) form->mode = small;
  if (kind == KIND_ORDER) form->order = small;
  if (kind == KIND_SCOPE) form->scope = small;
  if (kind == KIND_SPACE) form->space = small;
  if (kind == KIND_VECTOR) form->vector = small;
  if (kind == KIND_FLAG) form->flags |= number;
}

static void form_read(const opc_ptx_span_t *words, size_t count, opc_ptx_form_t *form) {
  *form = (opc_ptx_form_t){.vector = 1};
  for (size_t i = 0; i < count; i++) {
    for (size_t n = 0; n < sizeof says / sizeof *says; n++)
      if (opc_ptx_span_is(words[i], says[n].word)) form_add(form, says[n].kind, says[n].number);
  }
}

/* "name.a.b" in parts at the dots. 0: too many. */
static size_t split(opc_ptx_span_t opcode, opc_ptx_span_t *out_name, opc_ptx_span_t *words) {
  size_t count = 0;
  const char *const end = opcode.at + opcode.length;
  const char *at = opcode.at, *dot = memchr(at, '.', opcode.length);
  *out_name = (opc_ptx_span_t){at, (uint32_t)((dot ? dot : end) - at)};
  while (dot) {
    at = dot + 1;
    dot = memchr(at, '.', (size_t)(end - at));
    if (count == WORDS_MOST) return WORDS_MOST + 1;
    words[count++] = (opc_ptx_span_t){at, (uint32_t)((dot ? dot : end) - at)};
  }
  return count;
}

/* ---- patterns ---- */

/* `alternatives` ends at `end`: "a|b|c*". */
static bool word_is_one_of(opc_ptx_span_t word, const char *alternatives, const char *end) {
  while (alternatives < end) {
    const char *bar = memchr(alternatives, '|', (size_t)(end - alternatives));
    const size_t length = (size_t)((bar ? bar : end) - alternatives);
    const bool beginning = length > 0 && alternatives[length - 1] == '*';
    if (beginning ? word.length >= length - 1 && memcmp(word.at, alternatives, length - 1) == 0
                  : word.length == length && memcmp(word.at, alternatives, length) == 0)
      return true;
    alternatives += length + 1;
  }
  return false;
}

static bool words_fit(const opc_ptx_span_t *words, size_t count, const char *pattern) {
  size_t at = 0;
  while (*pattern != '\0') {
    const char *end = strchr(pattern, ' ');
    if (!end) end = pattern + strlen(pattern);
    const bool optional = end[-1] == '?';
    if (at < count && word_is_one_of(words[at], pattern, end - optional)) at++;
    else if (!optional) return false;
    pattern = *end == ' ' ? end + 1 : end;
  }
  return at == count;
}

/* ---- operands ---- */

bool opc_ptx_operand_fits(const opc_ptx_operand_t *operand, char letter, uint32_t vector) {
  const opc_ptx_operand_kind_t kind = operand->kind;
  const bool number =
      kind == OPC_PTX_OPERAND_INTEGER || kind == OPC_PTX_OPERAND_FLOAT || kind == OPC_PTX_OPERAND_DOUBLE;
  const bool value =
      number || kind == OPC_PTX_OPERAND_REGISTER || kind == OPC_PTX_OPERAND_SPECIAL || kind == OPC_PTX_OPERAND_SYMBOL;
  const bool written = kind == OPC_PTX_OPERAND_REGISTER || kind == OPC_PTX_OPERAND_SINK;
  const bool several = kind == OPC_PTX_OPERAND_VECTOR && operand->count > 0 && operand->count <= 8;
  switch (letter) {
    case 'd':
      return written;
    case 'D':
      return (vector == 1 && written) || (several && operand->count == vector);
    case 'V':
      return several;
    case 'a':
    case 'c':
      return value;
    case 'A':
      return (vector == 1 && value) || (several && operand->count == vector);
    case 'W':
      return several;
    case 'p':
      return (kind == OPC_PTX_OPERAND_PREDICATE && !operand->negated) || kind == OPC_PTX_OPERAND_SINK;
    case 'q':
      return (kind == OPC_PTX_OPERAND_PREDICATE && !operand->negated) || kind == OPC_PTX_OPERAND_PAIR;
    case 'P':
      return kind == OPC_PTX_OPERAND_PREDICATE || kind == OPC_PTX_OPERAND_INTEGER;
    case 'e':
      return written || kind == OPC_PTX_OPERAND_PAIR;
    case 'm':
    case 'M':
      return kind == OPC_PTX_OPERAND_ADDRESS;
    case 'l':
      return kind == OPC_PTX_OPERAND_LABEL;
    case 't':
      return kind == OPC_PTX_OPERAND_TARGETS;
    default:
      return false;
  }
}

static bool operands_fit(const opc_ptx_function_t *function, const opc_ptx_statement_t *statement, const char *letters,
                         uint32_t vector) {
  const opc_ptx_operand_t *operands = opc_ptx_operands_of(function, statement);
  uint32_t at = 0;
  for (; *letters != '\0'; letters++) {
    const bool optional = letters[1] == '?';
    if (at < statement->count && opc_ptx_operand_fits(&operands[at], *letters, vector)) at++;
    else if (!optional) return false;
    if (optional) letters++;
  }
  return at == statement->count;
}

const opc_ptx_row_t *opc_ptx_form_find(const opc_ptx_function_t *function, const opc_ptx_statement_t *statement,
                                       opc_ptx_form_t *out_form, opc_ptx_run_t **out_run) {
  opc_ptx_span_t name, words[WORDS_MOST];
  const size_t count = split(statement->opcode, &name, words);
  if (count > WORDS_MOST) return NULL;
  form_read(words, count, out_form);
  for (size_t i = 0; i < ROWS; i++) {
    if (!opc_ptx_span_is(name, rows[i].name) || !words_fit(words, count, rows[i].words) ||
        !operands_fit(function, statement, rows[i].operands, out_form->vector))
      continue;
    *out_run = rows[i].family(out_form);
    return *out_run ? &rows[i] : NULL;
  }
  return NULL;
}
