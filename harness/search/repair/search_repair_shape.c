/* Repairs of shapes: ranks, sizes, and their relations. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "search/repair/search_repair.h"

/* Changes one size and refills the values that depend on it. */
static void set_dim(opc_repair_t *r, size_t slot, int dim, int64_t size) {
  if (!opc_repair_begin(r)) return;
  bool changed = opc_edit_dim(r->copy[slot].value, dim, size);
  if (changed) opc_repair_refill(r, slot);
  opc_repair_end(r, changed);
}

/* ---- ranks ---- */

static void set_rank(opc_repair_t *r, size_t slot, int wanted) {
  for (int front = 1; front >= 0; front--) {
    if (!opc_repair_begin(r)) return;
    bool changed = opc_edit_rank(r->copy[slot].value, wanted, front);
    if (changed) opc_repair_refill(r, slot);
    opc_repair_end(r, changed);
  }
}

/* Tensors of the rank that the text says it found; of any rank if it names none. */
static bool has_found_rank(const opc_repair_t *r, size_t slot) {
  const opc_clue_t *clue = r->clue;
  bool fits = clue->ranks_found_count == 0;
  for (size_t i = 0; i < clue->ranks_found_count; i++) fits |= opc_repair_spec(r, slot)->ndim == clue->ranks_found[i];
  return fits;
}

static void repair_rank(opc_repair_t *r) {
  for (size_t k = 0; k < r->clue->ranks_wanted_count; k++) {
    int wanted = r->clue->ranks_wanted[k];
    for (int meant = 1; meant >= 0; meant--) {
      for (size_t i = 0; i < r->count; i++) {
        if (!opc_repair_is_tensor(r, i) || opc_repair_is_meant(r, i) != (meant == 1)) continue;
        if (has_found_rank(r, i)) set_rank(r, i, wanted);
      }
    }
    if (!opc_repair_begin(r)) return;
    bool changed = false;
    for (size_t i = 0; i < r->count; i++)
      changed |= opc_repair_is_tensor(r, i) && opc_edit_rank(r->copy[i].value, wanted, true);
    opc_repair_end(r, changed);
  }
}

void opc_repair_rank_from_to(opc_repair_t *r) {
  if (r->clue->ranks_found_count > 0) repair_rank(r);
}

void opc_repair_rank_wanted(opc_repair_t *r) {
  if (r->clue->ranks_found_count == 0) repair_rank(r);
}

/* ---- sizes that the text states ---- */

/* Replaces a run of sizes by another one. */
static bool replace_run(opc_value_t *tensor, const opc_tuple_t *from, const opc_tuple_t *to) {
  int64_t sizes[OPC_MAX_DIMS];
  const opc_tensor_spec_t *spec = tensor->tensor;
  size_t bytes = (size_t)from->count * sizeof sizes[0];
  if (spec->ndim == from->count && memcmp(spec->sizes, from->sizes, bytes) == 0)
    return opc_edit_shape(tensor, to->count, to->sizes);
  if (from->count != to->count) return false;
  for (int start = spec->ndim - from->count; start >= 0; start--) {
    if (memcmp(spec->sizes + start, from->sizes, bytes) != 0) continue;
    memcpy(sizes, spec->sizes, sizeof sizes);
    memcpy(sizes + start, to->sizes, bytes);
    return opc_edit_shape(tensor, spec->ndim, sizes);
  }
  return false;
}

void opc_repair_shape_pair(opc_repair_t *r) {
  const opc_tuple_t *tuples = r->clue->tuples;
  if (r->clue->tuple_count < 2 || tuples[0].has_letter || tuples[1].has_letter) return;
  for (int reverse = 0; reverse < 2; reverse++) {
    for (size_t i = 0; i < r->count; i++) {
      if (!opc_repair_is_tensor(r, i)) continue;
      if (!opc_repair_begin(r)) return;
      opc_repair_end(r, replace_run(r->copy[i].value, &tuples[reverse], &tuples[!reverse]));
    }
  }
}

/* "shape '[1, 2, 1, 1]' is invalid for input of size 4": a tensor with 4 elements gets 2. */
void opc_repair_view(opc_repair_t *r) {
  const opc_clue_t *clue = r->clue;
  static const char words[] = "' is invalid for input of size ";
  const char *mark = strstr(clue->lower, words);
  int64_t wanted = 1, found = mark ? strtoll(mark + strlen(words), NULL, 10) : -1;
  if (!mark || clue->tuple_count == 0) return;
  for (int i = 0; i < clue->tuples[0].count; i++) {
    if (clue->tuples[0].sizes[i] < 1) return;
    wanted *= clue->tuples[0].sizes[i];
  }
  for (size_t i = 0; i < r->count; i++) {
    if (!opc_repair_is_tensor(r, i) || opc_tensor_spec_numel(opc_repair_spec(r, i)) != found) continue;
    const opc_tensor_spec_t *spec = opc_repair_spec(r, i);
    for (int dim = 0; dim < spec->ndim; dim++) {
      int64_t others = spec->sizes[dim] > 0 ? found / spec->sizes[dim] : 0;
      if (others > 0 && wanted % others == 0) set_dim(r, i, dim, wanted / others);
    }
    if (!opc_repair_begin(r)) return;
    opc_repair_end(r, opc_edit_shape(r->copy[i].value, 1, &wanted));
  }
}

/* The dimension that the text names ("shape[1]", "size(1)", "dimension 1"); -1: none. */
static int dimension_in(const char *lower) {
  static const char *const marks[] = {"shape[", "size(", "sizes[", "sizes()[", "dimension ", "dim "};
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
    const char *found = strstr(lower, marks[i]);
    if (found && isdigit((unsigned char)found[strlen(marks[i])])) return found[strlen(marks[i])] - '0';
  }
  return -1;
}

void opc_repair_got_expected(opc_repair_t *r) {
  const opc_clue_t *clue = r->clue;
  int named_dim = dimension_in(clue->lower);
  if (clue->expected == INT64_MIN) return;
  for (size_t i = 0; i < r->count && named_dim >= 0; i++) {
    if (!opc_repair_is_tensor(r, i) || !opc_repair_is_meant(r, i) || named_dim >= opc_repair_spec(r, i)->ndim) continue;
    if (clue->got_expected && opc_repair_spec(r, i)->sizes[named_dim] != clue->got) continue;
    set_dim(r, i, named_dim, clue->expected);
  }
  for (size_t i = 0; i < r->count && clue->got_expected; i++) {
    if (opc_repair_is_tensor(r, i)) {
      for (int dim = 0; dim < opc_repair_spec(r, i)->ndim; dim++) {
        if (opc_repair_spec(r, i)->sizes[dim] == clue->got) set_dim(r, i, dim, clue->expected);
      }
    } else if (opc_repair_is_integer(r, i) && r->slots[i].value->integer == clue->got) {
      opc_repair_set_number(r, i, clue->expected);
    }
  }
}

/* A shape as the text writes it. A name keeps the tensor's size there, and equal names are equal. */
static bool apply_literal(opc_value_t *tensor, const opc_tuple_t *literal) {
  int64_t sizes[OPC_MAX_DIMS], letters['Z' + 1] = {0};
  const opc_tensor_spec_t *spec = tensor->tensor;
  for (int i = 0; i < literal->count; i++) {
    sizes[i] = literal->sizes[i];
    if (sizes[i] >= 0) continue;
    int64_t *letter = &letters[-sizes[i] <= 'Z' ? -sizes[i] : 'Z'];
    if (*letter == 0) *letter = i < spec->ndim && spec->sizes[i] > 0 ? spec->sizes[i] : 3;
    sizes[i] = *letter;
  }
  return opc_edit_shape(tensor, literal->count, sizes);
}

void opc_repair_shape_literal(opc_repair_t *r) {
  const opc_clue_t *clue = r->clue;
  for (size_t k = 0; k < clue->tuple_count; k++) {
    if (!clue->tuples[k].has_letter && !opc_clue_has(clue, "shape|size|tensor|dim")) continue;
    for (size_t i = 0; i < r->count; i++) {
      if (!opc_repair_is_tensor(r, i) || !opc_repair_is_meant(r, i)) continue;
      if (!opc_repair_begin(r)) return;
      bool changed = apply_literal(r->copy[i].value, &clue->tuples[k]);
      if (changed) opc_repair_refill(r, i);
      opc_repair_end(r, changed);
    }
  }
}

void opc_repair_square(opc_repair_t *r) {
  if (!opc_clue_has(r->clue, "square")) return;
  for (size_t i = 0; i < r->count; i++) {
    if (!opc_repair_is_tensor(r, i) || !opc_repair_is_meant(r, i) || opc_repair_spec(r, i)->ndim < 2) continue;
    set_dim(r, i, -1, opc_repair_spec(r, i)->sizes[opc_repair_spec(r, i)->ndim - 2]);
  }
}

/* ---- relations ---- */

typedef struct term {
  size_t slot;
  int dim;
} term_t;

/* The tensor that a variable of the text is named after: the longest argument name that it begins with. count: none. */
static size_t tensor_called(const opc_repair_t *r, const char *start, const char *end) {
  size_t best = r->count, best_length = 0;
  for (size_t i = 0; i < r->count; i++) {
    size_t length = strlen(opc_repair_name(r, i));
    if (!opc_repair_is_tensor(r, i) || length <= best_length || length > (size_t)(end - start)) continue;
    if (strncasecmp(start, opc_repair_name(r, i), length) != 0) continue;
    best = i;
    best_length = length;
  }
  return best;
}

/* The terms of "weight_c.size(1) * groups == input_c.size(1)". */
static size_t read_terms(const opc_repair_t *r, term_t *terms, size_t limit) {
  static const char *const marks[] = {".size(", ".shape[", ".sizes()[", ".sym_size("};
  size_t count = 0;
  for (const char *c = r->clue->lower; *c && count < limit; c++) {
    size_t length = 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0] && length == 0; i++) {
      if (strncmp(c, marks[i], strlen(marks[i])) == 0) length = strlen(marks[i]);
    }
    if (length == 0 || !isdigit((unsigned char)c[length])) continue;
    const char *start = c;
    while (start > r->clue->lower && (isalnum((unsigned char)start[-1]) || start[-1] == '_')) start--;
    term_t term = {tensor_called(r, start, c), c[length] - '0'};
    if (term.slot < r->count && term.dim < opc_repair_spec(r, term.slot)->ndim) terms[count++] = term;
  }
  return count;
}

void opc_repair_expression(opc_repair_t *r) {
  enum { TERMS_MAX = 4 };
  term_t terms[TERMS_MAX];
  size_t count = read_terms(r, terms, TERMS_MAX);
  for (size_t to = 0; to < count; to++) {
    for (size_t from = 0; from < count; from++) {
      if (from == to) continue;
      if (!opc_repair_begin(r)) return;
      int64_t size = opc_repair_spec(r, terms[from].slot)->sizes[terms[from].dim];
      bool changed = opc_edit_dim(r->copy[terms[to].slot].value, terms[to].dim, size);
      /* Arguments that are factors of the expression (groups) have no effect at 1. */
      for (size_t i = 0; i < r->count; i++) {
        bool factor = opc_repair_is_integer(r, i) && (r->named[i] > 0 || opc_seed_is_group(opc_repair_name(r, i)));
        if (factor) changed |= opc_edit_number(r->copy[i].value, 1);
      }
      opc_repair_end(r, changed);
    }
  }
}

/* "all dimensions must be multiples of 16" */
static void all_multiples(opc_repair_t *r, int64_t factor) {
  bool changed = false;
  if (!opc_repair_begin(r)) return;
  for (size_t i = 0; i < r->count; i++) {
    for (int dim = 0; opc_repair_is_tensor(r, i) && dim < opc_repair_spec(r, i)->ndim; dim++) {
      int64_t size = opc_repair_spec(r, i)->sizes[dim];
      changed |= opc_edit_dim(r->copy[i].value, dim, size > 0 ? (size + factor - 1) / factor * factor : factor);
    }
  }
  opc_repair_end(r, changed);
}

void opc_repair_divisible(opc_repair_t *r) {
  if (!opc_clue_has(r->clue, "divisible|dividable|multiple of|multiples of|divide")) return;
  if (opc_repair_begin(r)) { /* everything is a multiple of 1 */
    bool changed = false;
    for (size_t i = 0; i < r->count; i++) {
      changed |= opc_repair_is_integer(r, i) && r->slots[i].value->integer > 1 && opc_edit_number(r->copy[i].value, 1);
    }
    opc_repair_end(r, changed);
  }
  int64_t factors[] = {0, 4, 8, 12};
  if (r->clue->number_count > 0) factors[0] = r->clue->numbers[r->clue->number_count - 1];
  if (factors[0] > 1 && opc_clue_has(r->clue, "dimensions|dims|sizes|shapes")) all_multiples(r, factors[0]);
  for (size_t k = 0; k < sizeof factors / sizeof factors[0]; k++) {
    for (size_t i = 0; i < r->count && factors[k] > 0; i++) {
      if (!opc_repair_is_meant(r, i)) continue;
      for (int dim = 0; opc_repair_is_tensor(r, i) && dim < opc_repair_spec(r, i)->ndim; dim++)
        set_dim(r, i, dim, factors[k]);
      if (opc_repair_is_integer(r, i)) opc_repair_set_number(r, i, factors[k]);
    }
  }
}

typedef enum share { SHARE_SHAPE, SHARE_FIRST, SHARE_SECOND, SHARE_LAST, SHARE_COUNT } share_t;

/* One tensor takes the shape, or one size, of another. */
static void share(opc_repair_t *r, share_t what, size_t from, size_t to) {
  const opc_tensor_spec_t *source = opc_repair_spec(r, from);
  if (what == SHARE_SHAPE) {
    if (!opc_repair_begin(r)) return;
    bool changed = opc_edit_shape(r->copy[to].value, source->ndim, source->sizes);
    if (changed) opc_repair_refill(r, to);
    opc_repair_end(r, changed);
  } else {
    int dim = what == SHARE_FIRST ? 0 : what == SHARE_SECOND ? 1 : source->ndim - 1;
    if (dim >= 0 && dim < source->ndim) set_dim(r, to, what == SHARE_LAST ? -1 : dim, source->sizes[dim]);
  }
}

/* Every tensor has the shape of the first, or (batch) its first size. */
static void all_like_first(opc_repair_t *r, bool batch) {
  size_t first = r->count;
  bool changed = false;
  for (size_t i = 0; i < r->count; i++) /* in the sample's order, not the text's */
    if (opc_repair_is_tensor(r, i) && (first == r->count || r->order[i] < r->order[first])) first = i;
  if (first == r->count || (batch && opc_repair_spec(r, first)->ndim == 0) || !opc_repair_begin(r)) return;
  const opc_tensor_spec_t *spec = opc_repair_spec(r, first);
  for (size_t i = 0; i < r->count; i++) {
    if (!opc_repair_is_tensor(r, i) || i == first) continue;
    bool edited = batch ? opc_repair_spec(r, i)->ndim > 1 && opc_edit_dim(r->copy[i].value, 0, spec->sizes[0])
                        : opc_edit_shape(r->copy[i].value, spec->ndim, spec->sizes);
    if (edited) opc_repair_refill(r, i);
    changed |= edited;
  }
  opc_repair_end(r, changed);
}

void opc_repair_same_shape(opc_repair_t *r) {
  enum { TENSORS_MAX = 6 }; /* more tensors make too many pairs */
  size_t tensors[TENSORS_MAX], count = 0;
  if (!opc_clue_has(
          r->clue,
          "same|match|equal|broadcast|consisten|incompatible|must agree|differ|size|length of|shape|should be"))
    return;
  if (opc_clue_has(r->clue, "batch")) all_like_first(r, true);
  if (opc_clue_has(r->clue, "same shape|same size|shapes")) all_like_first(r, false);
  for (size_t i = 0; i < r->count && count < TENSORS_MAX; i++) {
    if (opc_repair_is_tensor(r, i)) tensors[count++] = i;
  }
  for (int what = 0; what < SHARE_COUNT; what++) {
    for (size_t to = 0; to < count; to++) {
      for (size_t from = 0; from < count; from++) {
        bool meant =
            opc_repair_is_meant(r, tensors[to]) && (opc_repair_is_meant(r, tensors[from]) || what != SHARE_SHAPE);
        if (from != to && meant) share(r, (share_t)what, tensors[from], tensors[to]);
      }
    }
  }
}

/* ---- numbers of the text as sizes ---- */

/* "size of tensor a (3) must match tensor b (4)": every 3 becomes 4, and the reverse. */
void opc_repair_number_swap(opc_repair_t *r) {
  enum { PAIRS_MAX = 4 };
  for (size_t k = 0; k + 1 < r->clue->number_count && k < PAIRS_MAX; k++) {
    for (int reverse = 0; reverse < 2; reverse++) {
      int64_t from = r->clue->numbers[k + (size_t)reverse], to = r->clue->numbers[k + (size_t)!reverse];
      for (size_t i = 0; i < r->count; i++) {
        for (int dim = 0; opc_repair_is_tensor(r, i) && dim < opc_repair_spec(r, i)->ndim; dim++) {
          if (opc_repair_spec(r, i)->sizes[dim] == from) set_dim(r, i, dim, to);
        }
        if (opc_repair_is_integer(r, i) && r->slots[i].value->integer == from) opc_repair_set_number(r, i, to);
      }
    }
  }
}

void opc_repair_number_set(opc_repair_t *r) {
  for (size_t k = 0; k < r->clue->number_count; k++) {
    for (size_t i = 0; i < r->count; i++) {
      if (!opc_repair_is_meant(r, i)) continue;
      for (int dim = 0; opc_repair_is_tensor(r, i) && dim < opc_repair_spec(r, i)->ndim; dim++)
        set_dim(r, i, dim, r->clue->numbers[k]);
      if (opc_repair_is_number(r, i)) opc_repair_set_number(r, i, r->clue->numbers[k]);
    }
  }
}
