/* Other values for the arguments that an accepted call left unchanged: an operator's mistakes rarely show in its
 * shortest call alone. */
#include "search/engine/search_state.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
  TRIES_MAX = 80,
  FEW_TRIES_MAX = 40,  /* beside samples */
  TURN_TRIES_MAX = 16, /* of one argument, repairs among them */
  CRASHES_MAX = 2,     /* each costs a process */
  DRAWS = 4
};

static const char unknown_word[] = "?";

void opc_options_clear(opc_options_t *options) {
  opc_sample_clear(&options->all.sample);
  for (size_t i = 0; i < options->mode_count; i++) opc_sample_clear(&options->modes[i].sample);
  opc_sample_clear(&options->data.sample);
  opc_sample_clear(&options->pattern.sample);
  opc_sample_clear(&options->crashing);
  opc_candidates_clear(&options->candidates);
  opc_candidates_clear(&options->repairs);
  *options = (opc_options_t){0};
}

/* ---- the values of one argument ---- */

static size_t index_of(const opc_options_t *options) { return options->turn - OPC_OPTION_ARGUMENTS; }
/* After all arguments: a crash with far values must not cost the arguments their turn. */
bool opc_options_at_integers(const opc_options_t *options) {
  return options->turn == OPC_OPTION_ARGUMENTS + options->all.sample.argument_count + 1;
}
bool opc_options_at_patterns(const opc_options_t *options) {
  return options->turn == OPC_OPTION_ARGUMENTS + options->all.sample.argument_count;
}
static bool is_at_values(const opc_options_t *options) {
  return opc_options_at_integers(options) || opc_options_at_patterns(options);
}
static bool search_options_is_argument(const opc_options_t *options) {
  return options->turn >= OPC_OPTION_ARGUMENTS && !is_at_values(options);
}
static const opc_argument_t *search_options_argument_of(const opc_options_t *options, const opc_operator_t *op) {
  return &op->arguments[index_of(options)];
}

static const opc_value_t *given_value(const opc_options_t *options) {
  const opc_sample_t *sample = &options->all.sample;
  size_t index = index_of(options);
  return sample->absent[index] || sample->arguments[index].kind == OPC_VALUE_NONE ? NULL : &sample->arguments[index];
}

/* Takes ownership of the value. */
static void search_options_offer(opc_options_t *options, opc_value_t *value) {
  opc_sample_t *copy = opc_candidates_add(&options->candidates, &options->all.sample, OPC_FAMILY_OPTION);
  if (!copy) {
    opc_value_clear(value);
    return;
  }
  opc_value_clear(&copy->arguments[index_of(options)]);
  copy->arguments[index_of(options)] = *value;
  copy->absent[index_of(options)] = false;
}

/* A mask or a factor of zeros hides everything else. Integers may be indices and stay. Floating values may be indices,
 * too: they only become values between 0 and 1. */
static bool make_visible(opc_value_t *tensor) {
  const opc_fill_t *fill = &tensor->tensor->fill;
  opc_dtype_class_t class_ = opc_dtype_class(tensor->tensor->dtype);
  bool hides = fill->kind == OPC_FILL_ZEROS || fill->kind == OPC_FILL_FULL;
  return hides && class_ != OPC_CLASS_SIGNED && class_ != OPC_CLASS_UNSIGNED &&
         opc_edit_fill(tensor, class_ == OPC_CLASS_BOOLEAN ? OPC_FILL_NORMAL : OPC_FILL_UNIFORM);
}

static void offer_drawn(opc_options_t *options, const opc_operator_t *op, const opc_type_t *type, int draws) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  size_t count = opc_slots_of(&options->all.sample, slots);
  opc_argument_t argument = *search_options_argument_of(options, op);
  argument.type = *type;
  for (int draw = 0; draw < draws; draw++) {
    opc_seed_t seed;
    opc_value_t value = {0};
    opc_seed_begin(&seed, &options->rng);
    for (size_t i = 0; i < count; i++) {
      if (slots[i].value->kind != OPC_VALUE_TENSOR) continue;
      opc_seed_follow(&seed, slots[i].value->tensor);
      break;
    }
    if (!opc_seed_value(&seed, &argument, &value)) continue;
    if (value.kind == OPC_VALUE_TENSOR) (void)make_visible(&value);
    search_options_offer(options, &value);
  }
}

/* Tensors like those of the tuple, and a row as long as one of their dimensions. */
static void offer_alike(opc_options_t *options) {
  enum { ALIKE = 2, ROWS = 4 };
  opc_slot_t slots[OPC_SLOTS_MAX];
  size_t count = opc_slots_of(&options->all.sample, slots);
  int offered = 0;
  for (size_t i = 0; i < count && offered < ALIKE; i++) {
    opc_value_t value = {0};
    if (slots[i].value->kind != OPC_VALUE_TENSOR || opc_value_copy(slots[i].value, &value, NULL) != OPC_OK) continue;
    search_options_offer(options, &value);
    offered++;
  }
  int64_t lengths[ROWS];
  int rows = 0;
  for (size_t i = 0; i < count; i++) {
    const opc_tensor_spec_t *spec = slots[i].value->kind == OPC_VALUE_TENSOR ? slots[i].value->tensor : NULL;
    for (int dim = 0; spec && dim < spec->ndim && rows < ROWS; dim++) {
      bool known = false;
      for (int k = 0; k < rows; k++) known |= lengths[k] == spec->sizes[dim];
      if (known) continue;
      lengths[rows++] = spec->sizes[dim];
      opc_value_t value = {.kind = OPC_VALUE_TENSOR, .tensor = opc_tensor_spec_new(spec->dtype, 1, &spec->sizes[dim])};
      if (!value.tensor) return;
      opc_seed_fill("", value.tensor);
      search_options_offer(options, &value);
    }
  }
}

static void offer_numbers(opc_options_t *options, const opc_operator_t *op) {
  static const double numbers[] = {2, 0.5, 1, 0, -1}; /* values without effect come last */
  const opc_argument_t *argument = search_options_argument_of(options, op);
  const opc_value_t *given = given_value(options);
  bool real = argument->type.kind == OPC_TYPE_FLOAT || argument->type.kind == OPC_TYPE_SCALAR;
  double now = argument->default_text ? strtod(argument->default_text, NULL) : 0;
  if (given) now = given->kind == OPC_VALUE_FLOAT ? given->floating : (double)given->integer;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    bool whole = numbers[i] == (double)(int64_t)numbers[i];
    if (numbers[i] == now || (!real && !whole)) continue;
    opc_value_t value = {.kind = OPC_VALUE_INT, .integer = (int64_t)numbers[i]};
    if (argument->type.kind == OPC_TYPE_FLOAT || !whole)
      value = (opc_value_t){.kind = OPC_VALUE_FLOAT, .floating = numbers[i]};
    search_options_offer(options, &value);
  }
}

/* A word that no operator knows: the rejection names the known ones. */
static void offer_words(opc_options_t *options, const opc_operator_t *op, const opc_type_t *type) {
  opc_value_t value = {.kind = OPC_VALUE_STRING, .string = opc_string_copy(unknown_word)};
  if (value.string) search_options_offer(options, &value);
  offer_drawn(options, op, type, DRAWS);
}

/* A list of sizes: those that a tensor has already. The operator then has nothing to do, and often returns its
 * argument. */
static void offer_own_sizes(opc_options_t *options) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  const opc_value_t *given = given_value(options);
  size_t count = opc_slots_of(&options->all.sample, slots);
  for (size_t i = 0; given && given->kind == OPC_VALUE_LIST && i < count; i++) {
    opc_value_t value = {0};
    if (slots[i].value->kind != OPC_VALUE_TENSOR) continue;
    const opc_tensor_spec_t *spec = slots[i].value->tensor;
    size_t length = given->list.count;
    if ((size_t)spec->ndim < length || opc_value_copy(given, &value, NULL) != OPC_OK) return;
    for (size_t k = 0; k < length; k++) value.list.items[k].integer = spec->sizes[(size_t)spec->ndim - length + k];
    search_options_offer(options, &value);
    return;
  }
}

static void offer_none(opc_options_t *options) {
  opc_value_t none = {.kind = OPC_VALUE_NONE};
  search_options_offer(options, &none);
}

/* Lists of tensors. A list that already holds only tensors gets a null. Some are drawn. */
static void offer_lists(opc_options_t *options, const opc_operator_t *op) {
  opc_value_t lists[OPC_OPTION_LISTS_MAX];
  const opc_type_t *type = &search_options_argument_of(options, op)->type;
  const opc_value_t *given = given_value(options);
  const size_t count = opc_option_lists_make(op, &options->all.sample, index_of(options), lists);
  for (size_t i = 0; i < count; i++) search_options_offer(options, &lists[i]);
  opc_type_t tensor = {.kind = OPC_TYPE_TENSOR}, tensors = {.kind = OPC_TYPE_LIST, .element = &tensor};
  if (!given || !opc_option_list_is_full(given)) offer_drawn(options, op, &tensors, DRAWS);
  if (given && type->kind == OPC_TYPE_OPTIONAL) offer_none(options);
}

static void offer_optional(opc_options_t *options, const opc_operator_t *op) {
  const opc_type_t *element = search_options_argument_of(options, op)->type.element;
  if (given_value(options)) {
    offer_none(options);
    return;
  }
  switch (element->kind) {
    case OPC_TYPE_TENSOR:
      offer_alike(options);
      break;
    case OPC_TYPE_STRING:
      offer_words(options, op, element);
      return;
    case OPC_TYPE_INT:
    case OPC_TYPE_SYMINT:
    case OPC_TYPE_FLOAT:
    case OPC_TYPE_BOOL:
    case OPC_TYPE_SCALAR:
    case OPC_TYPE_DTYPE:
    case OPC_TYPE_LIST:
    case OPC_TYPE_ANY:
      break;
    default: /* devices, layouts, generators: other checks cover them, or nothing can be made up */
      return;
  }
  offer_drawn(options, op, element, DRAWS);
}

static void offer_values(opc_options_t *options, const opc_operator_t *op) {
  const opc_argument_t *argument = search_options_argument_of(options, op);
  const opc_value_t *given = given_value(options);
  const opc_type_t *type = &argument->type;
  if (type->kind == OPC_TYPE_BOOL) {
    bool now = given ? given->boolean : argument->default_text && strcmp(argument->default_text, "True") == 0;
    opc_value_t other = {.kind = OPC_VALUE_BOOL, .boolean = !now};
    search_options_offer(options, &other);
  } else if (opc_option_lists_are(type)) {
    offer_lists(options, op);
  } else if (type->kind == OPC_TYPE_OPTIONAL) {
    offer_optional(options, op);
  } else if (type->kind == OPC_TYPE_STRING) {
    offer_words(options, op, type);
  } else if (type->kind == OPC_TYPE_ANY) {
    if (!given || given->kind != OPC_VALUE_TENSOR) offer_alike(options);
    offer_drawn(options, op, type, DRAWS);
  } else if (argument->has_default && (opc_type_is_integer(type) || opc_type_is_real(type))) {
    offer_numbers(options, op);
  } else if (type->kind == OPC_TYPE_LIST && opc_type_is_integer(type->element)) {
    offer_own_sizes(options);
  }
}

static void offer_visible(opc_options_t *options) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  bool changed = false;
  opc_sample_t *copy = opc_candidates_add(&options->candidates, &options->all.sample, OPC_FAMILY_OPTION);
  if (!copy) return;
  size_t count = opc_slots_of(copy, slots);
  for (size_t i = 0; i < count; i++)
    changed |= slots[i].value->kind == OPC_VALUE_TENSOR && make_visible(slots[i].value);
  if (!changed) opc_candidates_drop_last(&options->candidates);
}

/* Operators accept integers and zeros where floating numbers are meant. These hide much: gradients, rounding, NaN. */
static void offer_floating(opc_options_t *options) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  opc_dtype_t dtype = OPC_DTYPE_OTHER;
  bool changed = false;
  opc_sample_t *copy = opc_candidates_add(&options->candidates, &options->all.sample, OPC_FAMILY_OPTION);
  if (!copy) return;
  size_t count = opc_slots_of(copy, slots);
  for (size_t i = 0; i < count && dtype == OPC_DTYPE_OTHER; i++) {
    if (slots[i].value->kind == OPC_VALUE_TENSOR &&
        opc_dtype_class(slots[i].value->tensor->dtype) == OPC_CLASS_FLOATING)
      dtype = slots[i].value->tensor->dtype;
  }
  for (size_t i = 0; i < count; i++) {
    if (slots[i].value->kind != OPC_VALUE_TENSOR) continue;
    opc_dtype_class_t class_ = opc_dtype_class(slots[i].value->tensor->dtype);
    bool integers = class_ == OPC_CLASS_SIGNED || (dtype == OPC_DTYPE_OTHER && class_ != OPC_CLASS_COMPLEX);
    if (integers && opc_edit_dtype(slots[i].value, dtype == OPC_DTYPE_OTHER ? OPC_DTYPE_FLOAT32 : dtype)) {
      changed = true;
      if (slots[i].value->tensor->fill.kind == OPC_FILL_NORMAL) (void)opc_edit_fill(slots[i].value, OPC_FILL_UNIFORM);
    }
    changed |= make_visible(slots[i].value);
  }
  if (!changed) opc_candidates_drop_last(&options->candidates);
  offer_visible(options);
}

/* A dimension of 1 hides strides, and the remainder of steps of two, four or eight. */
static void offer_wider(opc_options_t *options) {
  enum { WIDER = 9 };
  opc_slot_t slots[OPC_SLOTS_MAX];
  bool changed = false, fits = true;
  opc_sample_t *copy = opc_candidates_add(&options->candidates, &options->all.sample, OPC_FAMILY_OPTION);
  if (!copy) return;
  size_t count = opc_slots_of(copy, slots);
  for (size_t i = 0; i < count; i++) {
    opc_value_t *value = slots[i].value;
    for (int dim = 0; value->kind == OPC_VALUE_TENSOR && dim < value->tensor->ndim; dim++) {
      if (value->tensor->sizes[dim] != 1) continue;
      changed = true;
      fits &= opc_edit_dim(value, dim, WIDER);
    }
  }
  if (!changed || !fits) opc_candidates_drop_last(&options->candidates);
}

/* ---- where results go ---- */

/* An out argument of another size is resized, and then has no layout of its own. */
static const opc_tensor_spec_t *out_of(const opc_sample_t *sample, const opc_operator_t *op, size_t index) {
  const opc_argument_t *argument = &op->arguments[index];
  const opc_value_t *value = &sample->arguments[index];
  return argument->kwarg_only && argument->alias.is_write && !sample->absent[index] && value->kind == OPC_VALUE_TENSOR
             ? value->tensor
             : NULL;
}

/* Gives every out argument this shape; does nothing if they have it. */
static void offer_out_shape(opc_options_t *options, const opc_operator_t *op, int ndim, const int64_t *sizes) {
  bool changed = false;
  opc_sample_t *copy = opc_candidates_add(&options->candidates, &options->all.sample, OPC_FAMILY_OPTION);
  for (size_t i = 0; copy && i < copy->argument_count; i++)
    if (out_of(copy, op, i)) changed |= opc_edit_shape(&copy->arguments[i], ndim, sizes);
  if (copy && !changed) opc_candidates_drop_last(&options->candidates);
}

/* As large as the first of the other tensors, or as that without its last or its first dimension. */
static void offer_out(opc_options_t *options, const opc_operator_t *op) {
  const opc_sample_t *sample = &options->all.sample;
  int64_t sizes[OPC_MAX_DIMS];
  for (size_t i = 0; i < sample->argument_count; i++) {
    const opc_value_t *value = &sample->arguments[i];
    if (sample->absent[i] || value->kind != OPC_VALUE_TENSOR || op->arguments[i].alias.is_write) continue;
    const int ndim = value->tensor->ndim;
    memcpy(sizes, value->tensor->sizes, sizeof sizes);
    offer_out_shape(options, op, ndim, sizes);
    if (ndim > 0) offer_out_shape(options, op, ndim - 1, sizes);
    if (ndim > 1) offer_out_shape(options, op, ndim - 1, sizes + 1);
    return;
  }
}

/* Whether the out arguments were as large as the results. */
static bool fits_out(const opc_operator_t *op, const opc_sample_t *sample, int64_t numel) {
  int64_t largest = 0;
  for (size_t i = 0; i < sample->argument_count; i++) {
    const opc_tensor_spec_t *out = out_of(sample, op, i);
    if (out && opc_tensor_spec_numel(out) > largest) largest = opc_tensor_spec_numel(out);
  }
  return largest == numel;
}

static size_t count_floating(const opc_sample_t *sample) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  size_t count = opc_slots_of(sample, slots), floating = 0;
  for (size_t i = 0; i < count; i++) {
    const opc_tensor_spec_t *spec = slots[i].value->kind == OPC_VALUE_TENSOR ? slots[i].value->tensor : NULL;
    /* A tensor of zeros hides as much as one of integers. */
    floating += spec && opc_dtype_class(spec->dtype) == OPC_CLASS_FLOATING && spec->fill.kind != OPC_FILL_ZEROS &&
                spec->fill.kind != OPC_FILL_FULL;
  }
  return floating;
}

/* ---- one after the other ---- */

static void take_turn(opc_options_t *options, const opc_operator_t *op, size_t turn) {
  opc_candidates_clear(&options->candidates);
  opc_candidates_clear(&options->repairs);
  options->turn = turn;
  options->turn_tries = 0;
  options->given = false;
  options->place_count = 0;
  if (turn == OPC_OPTION_DTYPES) offer_floating(options);
  else if (turn == OPC_OPTION_SIZES) offer_wider(options);
  else if (turn == OPC_OPTION_OUT) offer_out(options, op);
  else if (opc_options_at_patterns(options))
    opc_option_patterns_begin(&options->all.sample, options->hangs, &options->candidates);
  else if (opc_options_at_integers(options)) opc_option_integers_begin(op, &options->all.sample, &options->candidates);
  else offer_values(options, op);
}

bool opc_options_begin(opc_options_t *options, const opc_operator_t *op, const opc_search_view_t *view,
                       const opc_sample_t *base, uint64_t digest, uint64_t pass) {
  options->begun = true;
  /* A separate stream: the search's own findings must not depend on what comes after it. */
  options->rng = (opc_rng_t){.seed = XXH3_64bits_withSeed(op->name, strlen(op->name), OPC_FAMILY_OPTION ^ pass << 8),
                             .view = view};
  options->all.digest = digest;
  options->over = opc_sample_copy(base, &options->all.sample, NULL) != OPC_OK;
  if (!options->over) take_turn(options, op, options->arguments_only ? OPC_OPTION_ARGUMENTS : OPC_OPTION_DTYPES);
  return !options->over;
}

const opc_sample_t *opc_options_next(opc_options_t *options, const opc_operator_t *op) {
  while (!options->over) {
    opc_candidates_t *list = options->repairs.next < options->repairs.count ? &options->repairs : &options->candidates;
    const int tries_max = options->arguments_only ? FEW_TRIES_MAX : TRIES_MAX;
    if (options->tries >= tries_max || options->crashes >= CRASHES_MAX ||
        (options->arguments_only && is_at_values(options))) {
      options->over = true;
    } else if (list->next < list->count && options->turn_tries < TURN_TRIES_MAX) {
      options->tries++;
      options->turn_tries++;
      return &list->items[list->next++].sample;
    } else if (opc_options_at_integers(options)) {
      options->over = true;
    } else {
      take_turn(options, op, options->turn + 1);
    }
  }
  return NULL;
}

static bool differs_here_alone(const opc_options_t *options, const opc_sample_t *candidate) {
  const opc_sample_t *base = &options->all.sample;
  for (size_t i = 0; i < base->argument_count; i++) {
    if (i == index_of(options)) continue;
    if (base->absent[i] != candidate->absent[i]) return false;
    if (!base->absent[i] &&
        opc_search_digest_value(&base->arguments[i], false) != opc_search_digest_value(&candidate->arguments[i], false))
      return false;
  }
  return true;
}

static bool is_new_place(opc_options_t *options, const char *message) {
  uint64_t place = opc_clue_site(message);
  for (size_t i = 0; i < options->place_count; i++)
    if (options->places[i] == place) return false;
  if (options->place_count < sizeof options->places / sizeof options->places[0])
    options->places[options->place_count++] = place;
  return true;
}

/* Words that were not used for this argument before: their suggestions are tried at once. */
static void tell_refused(opc_options_t *options, const opc_operator_t *op, const opc_sample_t *sample,
                         const char *message) {
  opc_candidates_t repairs = {0}, fitting = {0};
  OPC_SCOPED(opc_sample_clear) opc_sample_t copy = {0};
  if (options->turn == OPC_OPTION_SIZES || options->turn == OPC_OPTION_OUT || is_at_values(options) || !message ||
      !is_new_place(options, message) || opc_sample_copy(sample, &copy, NULL) != OPC_OK)
    return;
  opc_repair_message(op, &copy, message, &options->rng, &repairs);
  for (size_t i = 0; i < repairs.count; i++) {
    if (search_options_is_argument(options) && !differs_here_alone(options, &repairs.items[i].sample)) continue;
    opc_sample_t *repair = opc_candidates_add(&fitting, &repairs.items[i].sample, OPC_FAMILY_OPTION);
    if (repair && search_options_is_argument(options) && repair->arguments[index_of(options)].kind == OPC_VALUE_TENSOR)
      (void)make_visible(&repair->arguments[index_of(options)]);
  }
  if (fitting.count > 0) {
    opc_candidates_clear(&options->repairs);
    options->repairs = fitting;
  }
  opc_candidates_clear(&repairs);
}

/* A mode, since each has its own code, or a size that leaves nothing to do. */
static bool stands_alone(const opc_type_t *type) {
  const opc_type_kind_t kind = opc_type_given(type)->kind;
  return kind == OPC_TYPE_STRING || kind == OPC_TYPE_LIST;
}

/* One is enough. The samples with zeros and ones stay as they are. */
static void tell_integers(opc_options_t *options, const opc_sample_t *sample, const opc_tried_t *tried, bool effect) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  const bool returned = tried->outcome == OPC_TRY_RETURNED, uninitialised = tried->outcome == OPC_TRY_UNINITIALISED;
  if (opc_option_integers_are_far(sample)) {
    opc_option_integers_go_on(sample, returned || uninitialised, &options->repairs);
    return;
  }
  /* Values that refer to another argument may be wrong; those of the only argument cannot be. */
  const bool another =
      returned && effect && opc_tried_digest(tried) != 0 && opc_tried_digest(tried) != options->all.digest;
  if (another || (uninitialised && opc_slots_of(sample, slots) == 1)) {
    options->data = (opc_option_sample_t){.digest = another ? opc_tried_digest(tried) : 0};
    options->has_data = opc_sample_copy(sample, &options->data.sample, NULL) == OPC_OK;
    options->turn_tries = TURN_TRIES_MAX;
  }
}

/* The first one with a different result is enough. A pattern that kills here kills with the next pattern, too. */
static void tell_pattern(opc_options_t *options, const opc_sample_t *sample, const opc_tried_t *tried, bool effect) {
  const bool killed =
      tried->outcome == OPC_TRY_CRASHED || tried->outcome == OPC_TRY_TIMEOUT || tried->outcome == OPC_TRY_OUT_OF_MEMORY;
  if (killed) options->turn_tries = TURN_TRIES_MAX;
  if (options->has_pattern || tried->outcome != OPC_TRY_RETURNED || !effect || opc_tried_digest(tried) == 0 ||
      opc_tried_digest(tried) == options->all.digest)
    return;
  options->pattern = (opc_option_sample_t){.digest = opc_tried_digest(tried)};
  options->has_pattern = opc_sample_copy(sample, &options->pattern.sample, NULL) == OPC_OK;
}

static void tell_accepted(opc_options_t *options, const opc_operator_t *op, const opc_sample_t *sample,
                          uint64_t digest) {
  enum { NULLS_TRIES_MAX = 4 };
  const opc_type_t *type = search_options_is_argument(options) ? &search_options_argument_of(options, op)->type : NULL;
  /* Of lists that may hold tensors: one that holds only tensors, and one with a null besides. */
  const bool holds = type && opc_option_lists_are(type),
             full = holds && opc_option_list_is_full(&sample->arguments[index_of(options)]);
  bool alone = type && stands_alone(type), list = alone && (holds ? !full : type->kind == OPC_TYPE_LIST);
  opc_option_sample_t found = {.digest = digest};
  if (options->turn == OPC_OPTION_DTYPES && count_floating(sample) <= count_floating(&options->all.sample)) return;
  if (type && digest != 0 && digest == options->all.digest) return; /* a synonym, or without effect here */
  if (alone && (options->given || list)) {
    for (size_t i = 0; i < options->mode_count; i++)
      if (digest != 0 && options->modes[i].digest == digest) return;
    if (options->mode_count == OPC_OPTION_MODES_MAX || opc_sample_copy(sample, &found.sample, NULL) != OPC_OK) return;
    options->modes[options->mode_count++] = found;
    if (holds) options->turn_tries = TURN_TRIES_MAX;
    return;
  }
  if (options->given || opc_sample_copy(sample, &found.sample, NULL) != OPC_OK) return;
  opc_sample_clear(&options->all.sample);
  options->all = found;
  options->varied = options->given = true;
  if (!alone) options->turn_tries = TURN_TRIES_MAX; /* one other value is enough */
  if (!holds) return;
  opc_candidates_clear(&options->candidates);
  opc_candidates_clear(&options->repairs);
  options->turn_tries = TURN_TRIES_MAX - NULLS_TRIES_MAX;
  offer_lists(options, op);
}

/* No number and no tensor of integers could refer to sizes. */
static bool is_all_floating(const opc_sample_t *sample) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  size_t count = opc_slots_of(sample, slots);
  for (size_t i = 0; i < count; i++) {
    bool tensor = slots[i].value->kind == OPC_VALUE_TENSOR;
    if (slots[i].value->kind == OPC_VALUE_INT ||
        (tensor && opc_dtype_class(slots[i].value->tensor->dtype) != OPC_CLASS_FLOATING))
      return false;
  }
  return true;
}

/* Keeps the first, if the option that it crashes with cannot be at fault. */
static void search_options_keep_crashing(opc_options_t *options, const opc_sample_t *sample, bool harmless) {
  if (!harmless || options->crashed) return;
  options->crashed = opc_sample_copy(sample, &options->crashing, NULL) == OPC_OK;
}

void opc_options_report(opc_options_t *options, const opc_operator_t *op, const opc_sample_t *sample,
                        const opc_tried_t *tried, bool effect) {
  const opc_value_t *value = search_options_is_argument(options) ? &sample->arguments[index_of(options)] : NULL;
  bool nonsense = value && value->kind == OPC_VALUE_STRING && strcmp(value->string, unknown_word) == 0;
  const opc_type_kind_t kind =
      search_options_is_argument(options) ? search_options_argument_of(options, op)->type.kind : OPC_TYPE_OTHER;
  const bool lists =
      search_options_is_argument(options) && opc_option_lists_are(&search_options_argument_of(options, op)->type);
  if (opc_options_at_patterns(options)) {
    tell_pattern(options, sample, tried, effect);
    return;
  }
  if (opc_options_at_integers(options)) tell_integers(options, sample, tried, effect);
  switch (tried->outcome) {
    case OPC_TRY_RETURNED:
      if (opc_options_at_integers(options)) break;
      if (options->turn == OPC_OPTION_OUT && !fits_out(op, sample, tried->output_numel)) break;
      if (effect && !nonsense) tell_accepted(options, op, sample, opc_tried_digest(tried));
      break;
    case OPC_TRY_UNINITIALISED: /* made-up tensors and numbers may be at fault; a switch never is, nor are sizes of
                                   tensors alone, nor a list of the tuple's own tensors */
      if (kind == OPC_TYPE_BOOL || kind == OPC_TYPE_STRING ||
          ((options->turn == OPC_OPTION_SIZES || lists) && is_all_floating(sample)))
        tell_accepted(options, op, sample, 0);
      break;
    case OPC_TRY_REJECTED:
    case OPC_TRY_INTERNAL_ASSERT:
      tell_refused(options, op, sample, tried->message);
      break;
    case OPC_TRY_CRASHED:
      search_options_keep_crashing(
          options, sample,
          kind == OPC_TYPE_BOOL || (kind == OPC_TYPE_STRING && !nonsense) || (lists && is_all_floating(sample)));
      options->crashes++;
      break;
    case OPC_TRY_TIMEOUT:
    case OPC_TRY_OUT_OF_MEMORY:
      options->over |= opc_options_at_integers(options); /* they are counts: these cost seconds each time */
      options->crashes++;
      break;
    default:
      break;
  }
}

size_t opc_options_found(const opc_options_t *options, const opc_option_sample_t *out[OPC_OPTION_SAMPLES_MAX]) {
  size_t count = 0;
  if (options->varied) out[count++] = &options->all;
  for (size_t i = 0; i < options->mode_count; i++) out[count++] = &options->modes[i];
  if (options->has_data) out[count++] = &options->data;
  if (options->has_pattern) out[count++] = &options->pattern;
  return count;
}
