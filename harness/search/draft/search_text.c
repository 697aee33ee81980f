/* Parses a rejection's message: which arguments it names, which ranks, dtypes, shapes and numbers it wants, and which
 * it found. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "search/draft/search_inside.h"

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* ---- cleaning ---- */

/* What follows the substance of a message: frames, advice, other backends. */
static const char *const endings[] = {"Exception raised from", "\nFound the following", ", please report a bug",
                                      "\n\nBacktrace", "C++ CapturedTraceback"};

/* The first place of a suffix, which begins with a dot, between `from` and `end`; NULL: it is not there. */
static const char *suffix_find(const char *from, const char *end, const char *suffix) {
  const size_t length = strlen(suffix);
  while (from && strncasecmp(from, suffix, length) != 0)
    from = from + 1 < end ? memchr(from + 1, '.', (size_t)(end - from - 1)) : NULL;
  return from;
}

/* Length of a token that is a source location ("/a/b/file.cpp:123", "file.h":12), 0 for any other. */
static size_t place_length(const char *token) {
  size_t length = strcspn(token, " \t\n,;)");
  const char *dot = memchr(token, '.', length);
  bool slash = memchr(token, '/', length);
  static const char *const suffixes[] = {".cpp", ".h", ".cc", ".cu", ".hpp", ".cuh", ".c"};
  if (!dot) return 0;
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
    const char *found = suffix_find(dot, token + length, suffixes[i]);
    if (!found) continue;
    char after = found[strlen(suffixes[i])];
    if (after == ':' || after == '"' || (slash && !is_word(after))) return length;
  }
  return 0;
}

static void clean(const char *message, char out[OPC_CLUE_TEXT]) {
  size_t length = 0;
  static const char assertion[] = "INTERNAL ASSERT FAILED";
  const char *end = message + strlen(message);
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    const char *found = strstr(message, endings[i]);
    if (found && found > message && found < end) end = found;
  }
  for (const char *c = message; c < end && length < OPC_CLUE_TEXT - 1;) {
    bool start = c == message || !is_word(c[-1]);
    size_t skip = start ? place_length(c) : 0;
    if (start && strncmp(c, assertion, sizeof assertion - 1) == 0) skip = sizeof assertion - 1;
    if (skip == 0) out[length++] = *c == '\n' ? ' ' : *c;
    c += skip > 0 ? skip : 1;
  }
  out[length] = '\0';
}

/* ---- dtypes ---- */

typedef struct dtype_word {
  const char *word;
  opc_dtype_t dtype;
  bool loose; /* also an ordinary word: counts only next to a word about types */
} dtype_word_t;

/* Besides a dtype's own names: "int64" and "Long", and those with a "k" before them. */
static const dtype_word_t dtype_words[] = {{"int64_t", OPC_DTYPE_INT64, false},
                                           {"int32_t", OPC_DTYPE_INT32, false},
                                           {"int16_t", OPC_DTYPE_INT16, false},
                                           {"int8_t", OPC_DTYPE_INT8, false},
                                           {"uint8_t", OPC_DTYPE_UINT8, false},
                                           {"boolean", OPC_DTYPE_BOOL, false},
                                           {"fp16", OPC_DTYPE_FLOAT16, false},
                                           {"bf16", OPC_DTYPE_BFLOAT16, false},
                                           {"fp32", OPC_DTYPE_FLOAT32, false},
                                           {"fp64", OPC_DTYPE_FLOAT64, false},
                                           {"complex", OPC_DTYPE_COMPLEX64, false},
                                           {"half", OPC_DTYPE_FLOAT16, true},
                                           {"short", OPC_DTYPE_INT16, true},
                                           {"integer", OPC_DTYPE_INT64, true},
                                           {"integral", OPC_DTYPE_INT64, true},
                                           {"integers", OPC_DTYPE_INT64, true},
                                           {"floating", OPC_DTYPE_FLOAT32, true},
                                           {"fp8", OPC_DTYPE_FLOAT8_E4M3FN, false},
                                           {"float8", OPC_DTYPE_FLOAT8_E4M3FN, false},
                                           {"fp8_e4m3", OPC_DTYPE_FLOAT8_E4M3FN, false},
                                           {"float8_e4m3", OPC_DTYPE_FLOAT8_E4M3FN, false},
                                           {"fp8e4m3", OPC_DTYPE_FLOAT8_E4M3FN, false},
                                           {"e4m3", OPC_DTYPE_FLOAT8_E4M3FN, false},
                                           {"e4m3fn", OPC_DTYPE_FLOAT8_E4M3FN, false},
                                           {"fp8_e5m2", OPC_DTYPE_FLOAT8_E5M2, false},
                                           {"fp8e5m2", OPC_DTYPE_FLOAT8_E5M2, false},
                                           {"e5m2", OPC_DTYPE_FLOAT8_E5M2, false},
                                           {"e8m0", OPC_DTYPE_FLOAT8_E8M0FNU, false},
                                           {"ue8m0", OPC_DTYPE_FLOAT8_E8M0FNU, false},
                                           {"e8m0fnu", OPC_DTYPE_FLOAT8_E8M0FNU, false}};
enum { DTYPE_WORDS = sizeof dtype_words / sizeof dtype_words[0] };

static bool is_same_word(const char *one, const char *word, size_t length) {
  return tolower((unsigned char)*one) == tolower((unsigned char)*word) && strlen(one) == length &&
         strncasecmp(one, word, length) == 0;
}

static opc_dtype_t dtype_named(const char *word, size_t length) {
  for (int i = OPC_DTYPE_OTHER + 1; i < OPC_DTYPE_COUNT; i++) {
    opc_dtype_t dtype = (opc_dtype_t)i;
    if (is_same_word(opc_dtype_name(dtype), word, length) || is_same_word(opc_dtype_scalar_type(dtype), word, length))
      return dtype;
  }
  return OPC_DTYPE_OTHER;
}

static dtype_word_t dtype_word_look_up(const char *word, size_t length) {
  for (int i = 0; i < DTYPE_WORDS; i++)
    if (is_same_word(dtype_words[i].word, word, length)) return dtype_words[i];
  dtype_word_t found = {.dtype = dtype_named(word, length)};
  if (found.dtype == OPC_DTYPE_OTHER && length > 1 && (*word == 'k' || *word == 'K'))
    found.dtype = dtype_named(word + 1, length - 1);
  return found;
}

/* Asked of every word of every message, and most words come again. */
static bool dtype_word_find(const char *word, size_t length, dtype_word_t *out) {
  static struct {
    char word[24];
    size_t length; /* 0: free */
    dtype_word_t found;
  } known[1024];
  if (length == 0 || length > sizeof known[0].word) {
    *out = dtype_word_look_up(word, length);
    return out->dtype != OPC_DTYPE_OTHER;
  }
  const size_t place = XXH3_64bits(word, length) % (sizeof known / sizeof known[0]);
  if (known[place].length != length || memcmp(known[place].word, word, length) != 0) {
    memcpy(known[place].word, word, length);
    known[place].length = length;
    known[place].found = dtype_word_look_up(word, length);
  }
  *out = known[place].found;
  return out->dtype != OPC_DTYPE_OTHER;
}

/* ---- direction: after such a word stands what the operator was given ---- */

static const char *const found_words[] = {"got",      "gets",  "found", "but",    "has", "instead",
                                          "received", "given", "had",   "actual", "vs"};
static const char *const wanted_words[] = {"expected", "expect", "expects", "must",     "should", "requires",
                                           "require",  "needs",  "need",    "computed", "only",   "valid"};

static bool one_of(const char *word, size_t length, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strlen(words[i]) == length && strncmp(words[i], word, length) == 0) return true;
  }
  return false;
}
#define ONE_OF(word, length, words) one_of(word, length, words, sizeof words / sizeof words[0])

static void add_rank(opc_clue_t *clue, int64_t rank, bool found) {
  size_t *count = found ? &clue->ranks_found_count : &clue->ranks_wanted_count;
  int *ranks = found ? clue->ranks_found : clue->ranks_wanted;
  if (rank < 0 || rank > 8 || *count >= OPC_CLUE_RANKS) return;
  for (size_t i = 0; i < *count; i++) {
    if (ranks[i] == (int)rank) return;
  }
  ranks[(*count)++] = (int)rank;
}

static void add_dtype(opc_clue_t *clue, opc_dtype_t dtype, bool found) {
  size_t *count = found ? &clue->dtype_found_count : &clue->dtype_wanted_count;
  opc_dtype_t *dtypes = found ? clue->dtype_found : clue->dtype_wanted;
  if (*count < 4) dtypes[(*count)++] = dtype;
}

static void add_number(opc_clue_t *clue, int64_t number) {
  for (size_t i = 0; i < clue->number_count; i++) {
    if (clue->numbers[i] == number) return;
  }
  if (clue->number_count < OPC_CLUE_NUMBERS) clue->numbers[clue->number_count++] = number;
}

/* True when a number at c is the rank of something: "4D", "4-dimensional", "3 dims", "dim() == 4", "ndimension() == 4".
 */
static bool is_rank(const char *text, const char *number, const char *after) {
  const char *rest = after + (*after == '-' || *after == ' ');
  if ((rest[0] == 'd' && !is_word(rest[1])) || strncmp(rest, "dim", 3) == 0) {
    return strncmp(rest, "dimension of", 12) != 0; /* "in 1 dimension of" is not a rank */
  }
  const char *before = number;
  while (before > text && strchr(" =<>:", before[-1])) before--;
  static const char *const marks[] = {"dim()", "ndimension()", "ndim", "rank", "dims", "dimensions", "dimensionality"};
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
    size_t length = strlen(marks[i]);
    if ((size_t)(before - text) >= length && strncmp(before - length, marks[i], length) == 0) return true;
  }
  return false;
}

/* True for the 1 of "size(1)", "shape[1]", "dimension 1", "dim 1": it selects a dimension and is no size. */
static bool is_dimension(const char *text, const char *number) {
  static const char *const marks[] = {"size(",      "shape[", "sizes[",      "sizes()[",
                                      "dimension ", "dim ",   "dimension: ", "index "};
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
    size_t length = strlen(marks[i]);
    if ((size_t)(number - text) >= length && strncmp(number - length, marks[i], length) == 0) return true;
  }
  return false;
}

/* The position of a pass over a text. */
typedef struct reading {
  bool found_side;  /* after "got", before the next "expected" */
  bool after_found; /* directly after it */
  bool expects;     /* "expected" was seen */
  bool about_types;
} reading_t;

static const char *search_text_read_number(opc_clue_t *clue, const reading_t *reading, const char *c) {
  char *after;
  int64_t number = strtoll(c, &after, 10);
  /* "expected 1 dims but tensor has 3": the unit appears once. */
  bool same_unit = reading->after_found && clue->ranks_wanted_count > 0 && clue->expected == INT64_MIN;
  bool fraction = *after == '.' && isdigit((unsigned char)after[1]);
  if (same_unit || is_rank(clue->lower, c, after)) {
    add_rank(clue, number, reading->found_side);
  } else if (!fraction && !is_dimension(clue->lower, c)) {
    add_number(clue, number);
    if (reading->found_side && clue->got == INT64_MIN) clue->got = number;
    if (reading->expects && !reading->found_side && clue->expected == INT64_MIN) clue->expected = number;
  }
  return after;
}

/* "expected Half": c10's name, and no ordinary word. */
static bool is_proper_name(const opc_clue_t *clue, const char *lower) {
  const char *c = clue->text + (lower - clue->lower);
  return isupper((unsigned char)*c) && c - clue->text > 1 && c[-1] == ' ' && !strchr(".:!?", c[-2]);
}

static const char *read_word(opc_clue_t *clue, reading_t *reading, const char *c) {
  size_t length = 0;
  while (is_word(c[length])) length++;
  dtype_word_t dtype;
  bool is_dtype = dtype_word_find(c, length, &dtype);
  reading->after_found = ONE_OF(c, length, found_words);
  if (reading->after_found) reading->found_side = true;
  else if (ONE_OF(c, length, wanted_words)) reading->found_side = false, reading->expects = true;
  else if (is_dtype && (reading->about_types || !dtype.loose || is_proper_name(clue, c)))
    add_dtype(clue, dtype.dtype, reading->found_side);
  else if (length == 6 && strncmp(c, "vector", 6) == 0) add_rank(clue, 1, reading->found_side);
  else if (strncmp(c, "matri", 5) == 0) add_rank(clue, 2, reading->found_side);
  else if (length == 6 && strncmp(c, "scalar", 6) == 0 && strncmp(c, "scalar type", 11) != 0)
    add_rank(clue, 0, reading->found_side);
  return c + length;
}

/* One pass over the words and numbers. It tracks which side of "expected… got" it is on. */
static void read_words(opc_clue_t *clue) {
  const char *text = clue->lower;
  reading_t reading = {.about_types = strstr(text, "type") || strstr(text, "tensor") || strstr(text, "implemented")};
  for (const char *c = text; *c;) {
    bool start = c == text || !is_word(c[-1]);
    if (start && (isdigit((unsigned char)*c) || (*c == '-' && isdigit((unsigned char)c[1]))))
      c = search_text_read_number(clue, &reading, c);
    else if (start && is_word(*c)) c = read_word(clue, &reading, c);
    else c++;
  }
  clue->got_expected = clue->got != INT64_MIN && clue->expected != INT64_MIN;
}

/* "[K, 5]", "(2, 3)": numbers and single names in brackets. */
static void read_tuples(opc_clue_t *clue) {
  for (const char *c = clue->text; *c && clue->tuple_count < OPC_CLUE_TUPLES; c++) {
    opc_tuple_t tuple = {0};
    if (*c != '[' && *c != '(') continue;
    const char *item = c + 1;
    while (tuple.count < OPC_MAX_DIMS) {
      item += strspn(item, " ");
      char *after = NULL;
      int64_t size = strtoll(item, &after, 10);
      if (after == item) { /* a name: its first letter stands for the size */
        if (!isalpha((unsigned char)*item)) break;
        size = -(int64_t)toupper((unsigned char)*item);
        tuple.has_letter = true;
        after = (char *)item;
        while (is_word(*after)) after++;
      } else if (size < 0) {
        break;
      }
      tuple.sizes[tuple.count++] = size;
      item = after + strspn(after, " ");
      if (*item != ',') break;
      item++;
      if (*item == ']' || *item == ')') break;
    }
    bool closed = *item == ']' || *item == ')';
    /* "(s)" and "size(1)" are not shapes. */
    bool call = c > clue->text && is_word(c[-1]) && *c == '(';
    if (closed && tuple.count > 0 && !call && (tuple.count > 1 || !tuple.has_letter))
      clue->tuples[clue->tuple_count++] = tuple;
  }
}

void opc_clue_read(opc_clue_t *clue, const char *message) {
  memset(clue, 0, sizeof *clue);
  clue->got = clue->expected = INT64_MIN;
  clean(message ? message : "", clue->text);
  for (size_t i = 0; clue->text[i]; i++) clue->lower[i] = (char)tolower((unsigned char)clue->text[i]);
  read_words(clue);
  read_tuples(clue);
}

bool opc_clue_has(const opc_clue_t *clue, const char *words) {
  for (const char *word = words; *word;) {
    char part[48];
    size_t length = strcspn(word, "|");
    if (length < sizeof part) {
      memcpy(part, word, length);
      part[length] = '\0';
      if (strstr(clue->lower, part)) return true;
    }
    word += length + (word[length] == '|');
  }
  return false;
}

int opc_clue_names(const opc_clue_t *clue, const char *argument_name) {
  size_t length = strlen(argument_name);
  const opc_tensor_hint_t *hint = opc_seed_hint(argument_name);
  bool synonym = false;
  for (const char *c = clue->text; *c; c++) {
    if ((c > clue->text && is_word(c[-1])) || !is_word(*c)) continue;
    size_t size = 0;
    while (is_word(c[size])) size++;
    /* Local variables are named after the argument: "input_c", "weight_". One letter is a name only in quotes or as an
     * object. */
    bool tail = size == length || (size > length && c[length] == '_' && size <= length + 3);
    if (length > 0 && size >= length && tail && strncasecmp(c, argument_name, length) == 0) {
      bool quoted = c > clue->text && strchr("'\"`", c[-1]);
      if (length > 1 || quoted || c[size] == '.' || !strchr(" )", c[size])) return 2;
    }
    char word[48];
    if (hint && !synonym && size > 2 && size < sizeof word) {
      memcpy(word, c, size);
      word[size] = '\0';
      synonym = opc_seed_hint_is_of(hint, word);
    }
    c += size - 1;
  }
  return synonym ? 1 : 0;
}

uint64_t opc_clue_site(const char *message) {
  char text[OPC_CLUE_TEXT], out[OPC_CLUE_TEXT];
  size_t length = 0;
  clean(message ? message : "", text);
  for (const char *c = text; *c;) {
    size_t size = 0;
    dtype_word_t dtype;
    while (is_word(c[size])) size++;
    if (size > 0 &&
        dtype_word_find(c, size, &dtype)) { /* before numbers, otherwise each int width would be a separate place */
      out[length++] = '@';
      c += size;
    } else if (isdigit((unsigned char)*c)) {
      out[length++] = '#';
      while (isdigit((unsigned char)*c)) c++;
    } else {
      out[length++] = *c++;
    }
  }
  return XXH3_64bits(out, length);
}

int opc_clue_line(const char *message) {
  for (const char *c = message ? message : ""; *c; c++) {
    size_t length = c == message || !is_word(c[-1]) ? place_length(c) : 0;
    const char *colon = length > 0 ? memrchr(c, ':', length) : NULL;
    if (colon && isdigit((unsigned char)colon[1])) return atoi(colon + 1);
    if (length > 0) c += length - 1;
  }
  return 0;
}

static bool says_one_of(const char *message, const char *const *texts, size_t count) {
  for (size_t i = 0; message && i < count; i++) {
    if (strcasestr(message, texts[i])) return true;
  }
  return false;
}

bool opc_clue_wants_cuda(const char *message) {
  static const char *const words[] = {"CUDA", "CPU", "GPU"}; /* each text below has one of them, most messages none */
  static const char *const texts[] = {
      "only available on CUDA", "requires CUDA",         "must be a CUDA",        "must be on CUDA",
      "must be on a CUDA",      "must be on GPU",        "must be on the GPU",    "must be a GPU",
      "not available on CPU",   "non-CUDA DeviceType",   "is_cuda() to be true",  "not supported by CPU",
      "not supported on CPU",   "not supported for CPU", "does not support CPU",  "CPU is not supported",
      "CPU tensors are not",    "CPU tensors are never", "no CPU implementation", "No implementation for CPU"};
  return says_one_of(message, words, sizeof words / sizeof words[0]) &&
         says_one_of(message, texts, sizeof texts / sizeof texts[0]);
}

/* "f is deprecated": a warning would not refuse the call. */
static bool says_it_is_deprecated(const char *operator_name, const char *message) {
  const char *colons = strstr(operator_name, "::"), *base = colons ? colons + 2 : operator_name;
  const size_t length = strcspn(base, ".");
  for (const char *at = message; at && (at = strstr(at, " is deprecated")); at++)
    if ((size_t)(at - message) >= length && strncmp(at - length, base, length) == 0) return true;
  return false;
}

bool opc_clue_is_hopeless(const char *operator_name, const char *message) {
  static const char *const texts[] = {"NVIDIA driver",
                                      "CUDA driver",
                                      "not compiled with CUDA",
                                      "CUDA is not available",
                                      "Cannot initialize CUDA",
                                      "all symbols must have a namespace" /* of a Dimname, which is a str in a schema:
                                                                             no tensor here has named dimensions */
                                      ,
                                      "no compiled ",
                                      "recompile with" /* for this architecture, or not at all */};
  return opc_clue_wants_cuda(message) || says_one_of(message, texts, sizeof texts / sizeof texts[0]) ||
         says_it_is_deprecated(operator_name, message);
}
