/* Counts of large tensors that lose their upper bits: in a kernel's parameter of 4 bytes, or in the number of blocks.
 */
#include <inttypes.h>
#include <string.h>

#include "base/system.h"
#include "checks/cuda_log/cuda_analysis.h"

enum { DISTINCTIVE = 1 << 16, PER_THREAD_MAX = 16, TYPES = 64 };

/* ---- the types of a kernel's parameters ---- */

typedef enum word { WORD_UNKNOWN = 0, WORD_INT, WORD_UNSIGNED, WORD_OTHER } word_t;

static word_t type_word(const char *type, size_t length) {
  static const char unsigned_int[] = "unsigned int";
  while (length && *type == ' ') type++, length--;
  if (length == 3 && strncmp(type, "int", 3) == 0) return WORD_INT;
  return length == strlen(unsigned_int) && strncmp(type, unsigned_int, length) == 0 ? WORD_UNSIGNED : WORD_OTHER;
}

/* The parenthesis that the last character closes; NULL: none. */
static const char *opening(const char *text) {
  size_t length = strlen(text);
  int depth = 0;
  if (!length || text[length - 1] != ')') return NULL;
  for (const char *at = text + length - 1; at >= text; at--) {
    depth += (*at == ')') - (*at == '(');
    if (depth == 0) return at;
  }
  return NULL;
}

/* Returns the number of types in "(int, std::array<int, 3>)". */
static size_t words_split(const char *list, word_t out[TYPES]) {
  size_t count = 0;
  int depth = 0;
  const char *begin = list + 1;
  for (const char *at = begin; *at; at++) {
    const bool last = depth == 0 && *at == ')';
    if (last || (depth == 0 && *at == ',')) {
      if (count < TYPES) out[count] = type_word(begin, (size_t)(at - begin));
      count++;
      begin = at + 1;
    }
    if (last) break;
    if (strchr("(<{[", *at)) depth++;
    else if (strchr(")>}]", *at)) depth--;
  }
  return count;
}

/* From a mangled name. A kernel of C has none: WORD_UNKNOWN. */
static void type_words(const opc_cuda_call_t *call, word_t out[TYPES]) {
  OPC_SCOPED(opc_scope_free) char *plain = opc_demangle(call->kernel);
  const char *list = plain ? opening(plain) : NULL;
  const size_t count = list ? words_split(list, out) : 0;
  if (count != call->parameter_count) memset(out, 0, TYPES * sizeof *out);
}

/* ---- parameters ---- */

/* Near 0 or the ends of int, a number may be anything. */
static bool is_distinctive(uint32_t bits) {
  const uint32_t low = bits & INT32_MAX;
  return low >= DISTINCTIVE && low <= INT32_MAX - DISTINCTIVE;
}

static bool loses_bits(int64_t number, word_t word) { return number > (word == WORD_INT ? INT32_MAX : UINT32_MAX); }

static int64_t as_kernel_reads(uint32_t bits, word_t word) {
  return word == WORD_INT ? (int64_t)(int32_t)bits : (int64_t)bits;
}

/* A kernel that gets its work in pieces is launched several times. */
static bool is_split(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call, uint32_t parameter, word_t word,
                     int64_t number) {
  int64_t sum = 0;
  for (size_t i = 0; i < facts->log.count; i++) {
    const opc_cuda_call_t *other = &facts->log.calls[i];
    if (other->kind != OPC_CUDA_LAUNCH || strcmp(other->kernel, call->kernel) != 0) continue;
    for (size_t k = 0; k < other->number_count; k++)
      if (other->numbers[k].parameter == parameter) sum += as_kernel_reads(other->numbers[k].value, word);
  }
  return sum == number;
}

/* Two words of one number, side by side. */
static bool is_low_word(const opc_cuda_call_t *call, const opc_cuda_number_t *low, word_t word, int64_t number) {
  for (size_t i = 0; i < call->number_count && word != WORD_INT; i++) {
    const opc_cuda_number_t *high = &call->numbers[i];
    const bool beside = high->parameter + 1 == low->parameter || high->parameter == low->parameter + 1;
    if (beside && high->value == (uint64_t)number >> 32) return true;
  }
  return false;
}

static const opc_cuda_count_t *truncated_count(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call,
                                               const opc_cuda_number_t *given, word_t word) {
  for (size_t i = 0; i < facts->count_count && word != WORD_OTHER && is_distinctive(given->value); i++) {
    const opc_cuda_count_t *count = &facts->counts[i];
    if (!loses_bits(count->number, word) || (uint32_t)count->number != given->value) continue;
    if (is_low_word(call, given, word, count->number)) continue;
    return is_split(facts, call, given->parameter, word, count->number) ? NULL : count;
  }
  return NULL;
}

static bool analyse_numbers(const opc_cuda_facts_t *facts, size_t index, opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[index];
  word_t words[TYPES] = {0};
  char name[256];
  bool found = false;
  if (call->number_count) type_words(call, words);
  for (size_t i = 0; i < call->number_count; i++) {
    const opc_cuda_number_t *given = &call->numbers[i];
    const word_t word = given->parameter < TYPES ? words[given->parameter] : WORD_UNKNOWN;
    const opc_cuda_count_t *count = truncated_count(facts, call, given, word);
    if (!count) continue;
    opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_truncated_count, index, index,
                       "%s is given %" PRId64 " in parameter %u, of 4 bytes: all that is left of %s, %" PRId64,
                       opc_cuda_call_name(call, name, sizeof name), as_kernel_reads(given->value, word),
                       given->parameter + 1, count->of, count->number);
    found = true;
  }
  return found;
}

/* ---- blocks ---- */

static int64_t blocks_for(int64_t count, int64_t per_block) { return count / per_block + (count % per_block != 0); }

/* Blocks in x of all launches of the kernel. */
static int64_t blocks_launched(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call) {
  int64_t sum = 0;
  for (size_t i = 0; i < facts->log.count; i++) {
    const opc_cuda_call_t *other = &facts->log.calls[i];
    if (other->kind == OPC_CUDA_LAUNCH && strcmp(other->kernel, call->kernel) == 0) sum += other->grid[0];
  }
  return sum;
}

static bool is_for_rest(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call, int64_t count, int64_t per_block) {
  return blocks_for((uint32_t)count, per_block) == call->grid[0] &&
         blocks_launched(facts, call) < blocks_for(count, per_block);
}

/* A number of blocks that was computed from a count's lower 32 bits. One block takes as many elements as it has
 * threads, or a few for each. */
static void analyse_blocks(const opc_cuda_facts_t *facts, size_t index, opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[index];
  char name[256];
  if (call->grid[0] < DISTINCTIVE) return;
  for (size_t i = 0; i < facts->count_count; i++) {
    const opc_cuda_count_t *count = &facts->counts[i];
    for (int64_t each = 1; each <= PER_THREAD_MAX && count->number > UINT32_MAX; each *= 2) {
      const int64_t per_block = (int64_t)call->block[0] * each;
      if (!is_for_rest(facts, call, count->number, per_block)) continue;
      opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_truncated_count, index, index,
                         "%s is launched with %u blocks, enough for %u elements: all that 32 bits keep of %s, %" PRId64,
                         opc_cuda_call_name(call, name, sizeof name), call->grid[0], (uint32_t)count->number, count->of,
                         count->number);
      return;
    }
  }
}

void opc_cuda_analyse_counts(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out) {
  for (size_t i = 0; i < facts->log.count && !facts->log.dropped; i++) {
    const opc_cuda_call_t *call = &facts->log.calls[i];
    if (call->kind != OPC_CUDA_LAUNCH || call->code || !opc_cuda_is_own(facts, call)) continue;
    if (!analyse_numbers(facts, i, out)) analyse_blocks(facts, i, out);
  }
}
