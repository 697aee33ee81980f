/* Repairs of everything but shapes: dtypes, numbers, lists, strings, optional arguments. */
#include <stdlib.h>
#include <string.h>

#include "search/repair/search_repair.h"

/* ---- dtypes ---- */

/* Tensors of the dtype that the text says it found; of any unwanted dtype if it names none. */
static bool has_found_dtype(const opc_repair_t *r, size_t slot) {
  if (!opc_repair_is_tensor(r, slot)) return false;
  return r->clue->dtype_found_count == 0 || opc_repair_spec(r, slot)->dtype == r->clue->dtype_found[0];
}

void opc_repair_scalar_type(opc_repair_t *r) {
  const opc_clue_t *clue = r->clue;
  for (size_t k = 0; k < clue->dtype_wanted_count; k++) {
    bool changed = false;
    for (size_t i = 0; i < r->count; i++) {
      /* The found dtype says more than a name: the name may be a local variable's. */
      if (!has_found_dtype(r, i) || (clue->dtype_found_count == 0 && !opc_repair_is_meant(r, i))) continue;
      if (!opc_repair_begin(r)) return;
      opc_repair_end(r, opc_edit_dtype(r->copy[i].value, clue->dtype_wanted[k]));
    }
    if (!opc_repair_begin(r)) return;
    for (size_t i = 0; i < r->count; i++)
      changed |= has_found_dtype(r, i) && opc_edit_dtype(r->copy[i].value, clue->dtype_wanted[k]);
    opc_repair_end(r, changed);
  }
}

void opc_repair_not_implemented(opc_repair_t *r) {
  static const opc_dtype_t dtypes[] = {OPC_DTYPE_FLOAT32,   OPC_DTYPE_INT64,   OPC_DTYPE_INT32,
                                       OPC_DTYPE_BOOL,      OPC_DTYPE_UINT8,   OPC_DTYPE_FLOAT64,
                                       OPC_DTYPE_COMPLEX64, OPC_DTYPE_FLOAT16, OPC_DTYPE_BFLOAT16};
  const opc_clue_t *clue = r->clue;
  if (!opc_clue_has(clue, "not implemented|not support|unsupported|only support|unexpected")) return;
  opc_dtype_t refused = clue->dtype_found_count > 0 ? clue->dtype_found[0] : OPC_DTYPE_OTHER;
  if (refused == OPC_DTYPE_OTHER && clue->dtype_wanted_count > 0) refused = clue->dtype_wanted[0];
  for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++) {
    if (dtypes[k] == refused) continue;
    if (!opc_repair_begin(r)) return;
    bool changed = false;
    for (size_t i = 0; i < r->count; i++) {
      bool fits = opc_repair_is_tensor(r, i) && (refused == OPC_DTYPE_OTHER || opc_repair_spec(r, i)->dtype == refused);
      if (fits) changed |= opc_edit_dtype(r->copy[i].value, dtypes[k]);
    }
    opc_repair_end(r, changed);
  }
}

/* The quantised tensor is the only one beside the numbers that it is made of. A kernel that refuses a dtype names the
 * given one; float8 appears at most in the name of its dispatch. */
void opc_repair_float8(opc_repair_t *r) {
  const opc_clue_t *clue = r->clue;
  bool says_so = opc_clue_has(clue, "fp8|float8|e4m3|e5m2"), refuses = opc_clue_has(clue, "not implemented for");
  opc_dtype_t refused =
      refuses && clue->dtype_wanted_count > 0 ? clue->dtype_wanted[clue->dtype_wanted_count - 1] : OPC_DTYPE_OTHER;
  if ((!says_so && !refuses) || opc_dtype_is_float8(refused)) return;
  for (int fits = 1; fits >= (refuses ? 1 : 0); fits--) {
    for (size_t i = 0; i < r->count; i++) {
      if (!opc_repair_is_tensor(r, i) ||
          (refuses ? opc_repair_spec(r, i)->dtype == refused : opc_repair_is_meant(r, i)) != fits)
        continue;
      if (!opc_repair_begin(r)) return;
      opc_repair_end(r, opc_edit_dtype(r->copy[i].value, OPC_DTYPE_FLOAT8_E4M3FN));
    }
  }
}

/* "Inconsistency of tensor type: weight": the text does not say which type it should be. */
void opc_repair_dtype_unsaid(opc_repair_t *r) {
  static const opc_dtype_t dtypes[] = {OPC_DTYPE_UINT8,   OPC_DTYPE_FLOAT8_E4M3FN, OPC_DTYPE_INT32, OPC_DTYPE_FLOAT16,
                                       OPC_DTYPE_FLOAT32, OPC_DTYPE_BFLOAT16,      OPC_DTYPE_INT64, OPC_DTYPE_INT8};
  const opc_clue_t *clue = r->clue;
  if (r->certainty < 2 || clue->dtype_wanted_count + clue->dtype_found_count > 0 ||
      !opc_clue_has(clue, "dtype|scalar type|data type|tensor type|scalar_type"))
    return;
  for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++) {
    for (size_t i = 0; i < r->count; i++) {
      if (!opc_repair_is_tensor(r, i) || !opc_repair_is_meant(r, i)) continue;
      if (!opc_repair_begin(r)) return;
      opc_repair_end(r, opc_edit_dtype(r->copy[i].value, dtypes[k]));
    }
  }
}

/* A dtype argument states the dtype of a tensor: one of the two is changed to match the other. */
static void match_dtype_argument(opc_repair_t *r, size_t argument) {
  const opc_value_t *said = &r->sample->arguments[argument];
  for (size_t i = 0; i < r->count; i++) { /* tensors named by the text come first */
    if (!opc_repair_is_tensor(r, i) || opc_repair_spec(r, i)->dtype == said->dtype || !opc_repair_is_meant(r, i))
      continue;
    if (!opc_repair_begin(r)) return;
    opc_repair_sample(r)->arguments[argument].dtype = opc_repair_spec(r, i)->dtype;
    opc_repair_end(r, true);
    if (!opc_repair_begin(r)) return;
    opc_repair_end(r, opc_edit_dtype(r->copy[i].value, said->dtype));
  }
}

/* "only fp16 and bf16 are supported" */
static void say_dtype_wanted(opc_repair_t *r, size_t argument) {
  for (size_t k = 0; k < r->clue->dtype_wanted_count; k++) {
    if (r->sample->arguments[argument].dtype == r->clue->dtype_wanted[k]) continue;
    if (!opc_repair_begin(r)) return;
    opc_repair_sample(r)->arguments[argument].dtype = r->clue->dtype_wanted[k];
    opc_repair_end(r, true);
  }
}

void opc_repair_dtype_argument(opc_repair_t *r) {
  for (size_t k = 0; k < r->sample->argument_count; k++) {
    if (!r->sample->absent[k] && r->sample->arguments[k].kind == OPC_VALUE_DTYPE) say_dtype_wanted(r, k);
  }
  if (!opc_clue_has(r->clue, "dtype|type()|scalar_type|data type|scalar type")) return;
  for (size_t k = 0; k < r->sample->argument_count; k++) {
    if (!r->sample->absent[k] && r->sample->arguments[k].kind == OPC_VALUE_DTYPE) match_dtype_argument(r, k);
  }
}

void opc_repair_same_dtype(opc_repair_t *r) {
  if (!opc_clue_has(r->clue, "dtype|same type|data type|scalar type|same data|types")) return;
  for (size_t from = 0; from < r->count; from++) {
    if (!opc_repair_is_tensor(r, from)) continue;
    if (!opc_repair_begin(r)) return;
    bool changed = false;
    for (size_t i = 0; i < r->count; i++) {
      changed |= opc_repair_is_tensor(r, i) && opc_edit_dtype(r->copy[i].value, opc_repair_spec(r, from)->dtype);
    }
    opc_repair_end(r, changed);
  }
}

/* ---- numbers ---- */

/* Sets every int, or only those below `below`, to the number. */
static void set_integers(opc_repair_t *r, int64_t below, int64_t number) {
  if (!opc_repair_begin(r)) return;
  bool changed = false;
  for (size_t i = 0; i < r->count; i++) {
    bool chosen = opc_repair_is_integer(r, i) && r->slots[i].value->integer < below;
    if (chosen) changed |= opc_edit_number(r->copy[i].value, number);
  }
  opc_repair_end(r, changed);
}

/* A size is never negative: it was computed from a wrong number ("computed output dims: (4, -3)"). */
static bool has_negative(const opc_clue_t *clue) {
  bool negative = false;
  for (size_t i = 0; i < clue->number_count; i++) negative |= clue->numbers[i] < 0;
  return negative;
}

void opc_repair_number_range(opc_repair_t *r) {
  static const int64_t choices[] = {1, 2, 4, 0};
  static const char words[] =
      "positive|greater|at least|negative|must be|>|zero|invalid|larger|less|between|smaller|range|too small|too large|"
      "should be|expected";
  if (!opc_clue_has(r->clue, words) && !has_negative(r->clue)) return;
  set_integers(r, 1, 1); /* several are often wrong at once, and the text names only the first */
  for (size_t k = 0; k < sizeof choices / sizeof choices[0]; k++) {
    for (size_t i = 0; i < r->count && r->certainty > 0; i++) {
      if (opc_repair_is_number(r, i) && opc_repair_is_meant(r, i)) opc_repair_set_number(r, i, choices[k]);
    }
    set_integers(r, INT64_MAX, choices[k]);
  }
}

void opc_repair_index_range(opc_repair_t *r) {
  if (!opc_clue_has(r->clue, "out of range|out of bounds|index|indices|dimension out")) return;
  if (opc_repair_begin(r)) {
    bool changed = false;
    for (size_t i = 0; i < r->count; i++) {
      bool integral = opc_repair_is_tensor(r, i) && opc_dtype_class(opc_repair_spec(r, i)->dtype) == OPC_CLASS_SIGNED;
      if (integral) changed |= opc_edit_fill(r->copy[i].value, OPC_FILL_ZEROS);
    }
    opc_repair_end(r, changed);
  }
  for (size_t i = 0; i < r->count; i++) {
    if (opc_repair_is_integer(r, i) && opc_repair_is_meant(r, i)) opc_repair_set_number(r, i, 0);
  }
}

/* Lengths, counts and last offsets are sizes of other tensors, or one less. */
void opc_repair_int_values(opc_repair_t *r) {
  if (!opc_clue_has(r->clue, "length|lens|sum of|sum to|max|offset|last|count|total")) return;
  for (size_t i = 0; i < r->count; i++) {
    if (!opc_tensor_holds_integers(r->slots[i].value)) continue;
    bool lengths = opc_seed_synonyms(opc_repair_name(r, i), "lengths");
    if (!opc_repair_is_meant(r, i) && !lengths) continue;
    for (int less = 0; less < 2; less++) {
      for (size_t k = 0; k < r->count; k++) {
        for (int dim = 0; k != i && opc_repair_is_tensor(r, k) && dim < opc_repair_spec(r, k)->ndim; dim++) {
          if (!opc_repair_begin(r)) return;
          opc_repair_end(r, opc_edit_full(r->copy[i].value, opc_repair_spec(r, k)->sizes[dim] - less));
        }
      }
    }
  }
}

/* ---- lists ---- */

static void set_length(opc_repair_t *r, size_t argument, size_t length) {
  if (!opc_repair_begin(r)) return;
  opc_repair_end(r, opc_edit_list_length(&opc_repair_sample(r)->arguments[argument], length));
}

static const opc_type_t *type_of(const opc_repair_t *r, size_t argument) {
  return opc_type_given(&r->op->arguments[argument].type);
}

/* The numbers of the text, then what the first tensor's rank suggests: one per dimension, one per dimension of space.
 * */
static void set_lengths(opc_repair_t *r, size_t argument) {
  for (size_t k = 0; k < r->clue->number_count; k++) {
    if (r->clue->numbers[k] > 0 && r->clue->numbers[k] <= 8) set_length(r, argument, (size_t)r->clue->numbers[k]);
  }
  for (size_t i = 0; i < r->count && !opc_type_holds_tensor(type_of(r, argument)); i++) {
    if (!opc_repair_is_tensor(r, i)) continue;
    size_t ndim = (size_t)opc_repair_spec(r, i)->ndim;
    set_length(r, argument, ndim);
    if (ndim > 2) set_length(r, argument, ndim - 2);
    break;
  }
}

/* "the lists must have the same length": all get the length of the first. */
static void set_lengths_alike(opc_repair_t *r) {
  size_t length = 0;
  bool changed = false;
  if (!opc_repair_begin(r)) return;
  opc_sample_t *sample = opc_repair_sample(r);
  for (size_t a = 0; a < r->op->argument_count; a++) {
    const opc_type_t *type = type_of(r, a);
    opc_value_t *value = &sample->arguments[a];
    if (type->kind != OPC_TYPE_LIST || type->fixed_length > 0 || sample->absent[a] || value->kind != OPC_VALUE_LIST)
      continue;
    if (length == 0) length = value->list.count;
    else changed |= opc_edit_list_length(value, length);
  }
  opc_repair_end(r, changed);
}

void opc_repair_list_length(opc_repair_t *r) {
  if (!opc_clue_has(r->clue, "length|number of|elements|tuple|size|dims|values|list|must contain|expected")) return;
  if (opc_clue_has(r->clue, "same|equal|match|differ")) set_lengths_alike(r);
  for (int level = 2; level >= 0; level--) { /* named ones first */
    for (size_t a = 0; a < r->op->argument_count; a++) {
      const opc_type_t *type = type_of(r, a);
      if (type->kind != OPC_TYPE_LIST || type->fixed_length > 0 || r->sample->absent[a]) continue;
      if (opc_clue_names(r->clue, r->op->arguments[a].name) == level) set_lengths(r, a);
    }
  }
}

/* ---- strings ---- */

static void set_string(opc_repair_t *r, size_t argument, const char *word, size_t length) {
  OPC_SCOPED(opc_scope_free) char *copy = opc_string_format("%.*s", (int)length, word);
  if (copy && opc_repair_begin(r)) {
    opc_sample_t *sample = opc_repair_sample(r);
    opc_value_clear(&sample->arguments[argument]);
    sample->arguments[argument] = (opc_value_t){.kind = OPC_VALUE_STRING, .string = copy};
    sample->absent[argument] = false;
    copy = NULL;
    opc_repair_end(r, true);
  }
}

typedef struct string_repair {
  opc_repair_t *repair;
  size_t argument;
} string_repair_t;

static void use_word(const char *word, size_t length, void *context) {
  const string_repair_t *of = context;
  set_string(of->repair, of->argument, word, length);
}

void opc_repair_string_word(opc_repair_t *r) {
  for (size_t a = 0; a < r->op->argument_count; a++) {
    string_repair_t of = {.repair = r, .argument = a};
    if (type_of(r, a)->kind == OPC_TYPE_STRING) opc_refusal_words(r->clue->text, use_word, &of);
  }
}

/* ---- optional arguments ---- */

void opc_repair_optional(opc_repair_t *r) {
  enum { DRAWS = 6 };
  bool said = opc_clue_has(r->clue, "none|undefined|provided|required|defined|optional|specified|null|both|either");
  for (size_t a = 0; a < r->op->argument_count; a++) {
    bool optional = r->op->arguments[a].type.kind == OPC_TYPE_OPTIONAL;
    if (!optional || (!said && opc_clue_names(r->clue, r->op->arguments[a].name) < 2)) continue;
    if (!opc_repair_begin(r)) return;
    opc_sample_t *sample = opc_repair_sample(r);
    bool given = !sample->absent[a] && sample->arguments[a].kind != OPC_VALUE_NONE, changed = given;
    if (given) opc_value_clear(&sample->arguments[a]);
    for (int draw = 0; !given && !changed && draw < DRAWS; draw++) {
      changed =
          opc_seed_again(r->op, r->rng, sample, a) && !sample->absent[a] && sample->arguments[a].kind != OPC_VALUE_NONE;
    }
    opc_repair_end(r, changed);
  }
}

/* Libtorch's words where a derivative was not prepared, and what authors say themselves. */
void opc_repair_requires_grad(opc_repair_t *r) {
  bool changed = false;
  if (!opc_clue_has(r->clue, "requires_grad|require grad|requires grad|require gradients|grad_fn|autograd_meta") ||
      !opc_repair_begin(r))
    return;
  for (size_t i = 0; i < r->count; i++) {
    const opc_value_t *value = r->copy[i].value;
    if (value->kind != OPC_VALUE_TENSOR || !opc_dtype_is_inexact(value->tensor->dtype)) continue;
    changed |= !value->tensor->requires_grad;
    value->tensor->requires_grad = true;
  }
  opc_repair_end(r, changed);
}

/* Draws the named arguments anew, and flips every switch. */
void opc_repair_named(opc_repair_t *r) {
  enum { DRAWS = 3 };
  for (size_t a = 0; a < r->op->argument_count; a++) {
    if (opc_clue_names(r->clue, r->op->arguments[a].name) < 2) continue;
    for (int draw = 0; draw < DRAWS; draw++) {
      if (!opc_repair_begin(r)) return;
      opc_repair_end(r, opc_seed_again(r->op, r->rng, opc_repair_sample(r), a));
    }
  }
  for (size_t i = 0; i < r->count; i++) {
    if (r->slots[i].value->kind != OPC_VALUE_BOOL) continue;
    if (!opc_repair_begin(r)) return;
    r->copy[i].value->boolean = !r->copy[i].value->boolean;
    opc_repair_end(r, true);
  }
}
