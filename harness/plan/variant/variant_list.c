/* Enumerates a sample's variants: every row of variant.def on every tensor that it reaches. A name is proposed,
 * applied, and kept if its arguments are new. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "plan/variant/variant_table.h"

enum { TENSORS_ALONE_MAX = 8, TENSORS_ALIKE_MAX = 2 };

/* The combinations tried: a kernel may handle two things alone and still fail on both at once. */
static const char *const combinations[][2] = {{"sliced", "offset"},
                                              {"transposed", "offset"},
                                              {"transposed", "sliced"},
                                              {"padded", "size1_strides"},
                                              {"sliced", "size1_strides"}};
enum { COMBINATION_COUNT = sizeof combinations / sizeof combinations[0] };

typedef struct enumeration {
  const opc_sample_t *sample;
  const opc_operator_t *op;
  opc_variant_emit_t *emit;
  void *context;
  const opc_variant_tensors_t *tensors;
  uint64_t *seen; /* digests of the emitted samples, the sample itself first */
  size_t seen_count;
  bool stopped;
  opc_status_t status;
  opc_error_t *error;
} enumeration_t;

static uint64_t variant_list_mix(uint64_t digest, const void *data, size_t size) {
  return XXH3_64bits_withSeed(data, size, digest);
}

static void digest_tensor(const char *path, opc_value_t *value, void *context) {
  uint64_t digest = *(uint64_t *)context;
  const opc_tensor_spec_t *spec = value->tensor;
  if (!spec) return;
  const int64_t fields[] = {
      spec->ndim, spec->storage_offset,     spec->storage_size,          (int64_t)spec->dtype,         spec->conj,
      spec->neg,  (int64_t)spec->fill.kind, (int64_t)spec->fill.special, (int64_t)spec->fill.filled_as};
  digest = variant_list_mix(digest, path, strlen(path));
  digest = variant_list_mix(digest, fields, sizeof fields);
  digest = variant_list_mix(digest, spec->sizes, (size_t)spec->ndim * sizeof spec->sizes[0]);
  digest = variant_list_mix(digest, spec->strides, (size_t)spec->ndim * sizeof spec->strides[0]);
  if (spec->identity) digest = variant_list_mix(digest, spec->identity, strlen(spec->identity));
  /* Integers may follow a size of another tensor. */
  for (size_t i = 0; spec->fill.kind == OPC_FILL_VALUES && i < spec->fill.value_count; i++)
    if (spec->fill.values[i].kind == OPC_NUMBER_INT)
      digest = variant_list_mix(digest, &spec->fill.values[i].i, sizeof spec->fill.values[i].i);
  *(uint64_t *)context = digest;
}

static uint64_t digest_plain(const opc_value_t *value, uint64_t digest) {
  digest = variant_list_mix(digest, &value->kind, sizeof value->kind);
  if (value->kind == OPC_VALUE_INT) return variant_list_mix(digest, &value->integer, sizeof value->integer);
  if (value->kind == OPC_VALUE_BOOL) return variant_list_mix(digest, &value->boolean, sizeof value->boolean);
  if (value->kind == OPC_VALUE_FLOAT) return variant_list_mix(digest, &value->floating, sizeof value->floating);
  if (value->kind == OPC_VALUE_STRING) return variant_list_mix(digest, value->string, strlen(value->string));
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    digest = digest_plain(&value->list.items[i], digest);
  return digest;
}

/* Digest of everything that transformations can change: enough to see that two variants are the same. */
static uint64_t digest_sample(const opc_sample_t *sample, const opc_operator_t *op) {
  uint64_t digest = 0;
  for (size_t i = 0; i < sample->argument_count; i++) {
    opc_value_visit_tensors(op->arguments[i].name, &sample->arguments[i], digest_tensor, &digest);
    int64_t count = sample->arguments[i].kind == OPC_VALUE_LIST ? (int64_t)sample->arguments[i].list.count : -1;
    if (sample->absent && sample->absent[i]) count = -2;
    digest = digest_plain(&sample->arguments[i], variant_list_mix(digest, &count, sizeof count));
  }
  return digest;
}

/* True when these arguments are new. */
static bool variant_list_is_new(enumeration_t *e, uint64_t digest) {
  for (size_t i = 0; i < e->seen_count; i++) {
    if (e->seen[i] == digest) return false;
  }
  if (!OPC_ARRAY_GROW(e->seen, e->seen_count)) {
    e->status = opc_error_set(e->error, OPC_ERR_MEMORY, "out of memory for the variants of a sample");
    return false;
  }
  e->seen[e->seen_count++] = digest;
  return true;
}

static void variant_list_offer(enumeration_t *e, const char *name) {
  opc_sample_t variant;
  if (e->stopped || e->status != OPC_OK) return;
  opc_status_t status = opc_variant_apply(e->sample, e->op, name, &variant, e->error);
  if (status == OPC_ERR_NOT_FOUND) return;
  e->status = status;
  if (status != OPC_OK) return;
  if (variant_list_is_new(e, digest_sample(&variant, e->op))) e->stopped = !e->emit(name, &variant, e->context);
  opc_sample_clear(&variant);
}

static void offerf(enumeration_t *e, const char *format, ...) OPC_PRINTF(2, 3);
static void offerf(enumeration_t *e, const char *format, ...) {
  char name[OPC_VARIANT_NAME_SIZE];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  if (length > 0 && (size_t)length < sizeof name) variant_list_offer(e, name);
}

typedef struct offered_text {
  enumeration_t *e;
  const char *path, *name;
} offered_text_t;

static void offer_text(const char *text, void *context) {
  const offered_text_t *offered = context;
  offerf(offered->e, "%s.%s%s", offered->path, offered->name, text);
}

typedef struct round {
  offered_text_t offered;
  size_t wanted, count; /* texts of this argument */
} round_t;

static void offer_wanted(const char *text, void *context) {
  round_t *round = context;
  if (round->count++ == round->wanted) offer_text(text, &round->offered);
}

/* The next value of each number, and the next word of each string, in turn: a limited number of neighbours reaches all
 * arguments. */
static void offer_values_in_turn(enumeration_t *e, unsigned families) {
  bool more = true;
  for (size_t wanted = 0; more; wanted++) {
    more = false;
    for (size_t i = 0; i < opc_transformation_count; i++) {
      const opc_transformation_t *row = &opc_transformations[i];
      const bool is_value = row->parameter == OPC_PARAMETER_VALUE, is_word = row->parameter == OPC_PARAMETER_WORD;
      if (!(families & row->family) || !(row->reach & OPC_REACH_ARGUMENT) || !(is_value || is_word)) continue;
      for (size_t argument = 0; argument < e->sample->argument_count; argument++) {
        round_t round = {.offered = {.e = e, .path = e->op->arguments[argument].name, .name = row->name},
                         .wanted = wanted};
        if (is_value) opc_neighbour_values(e->sample, e->op, argument, offer_wanted, &round);
        else opc_neighbour_words(e->sample, e->op, argument, offer_wanted, &round);
        more |= round.count > wanted;
      }
    }
  }
}

/* The parameter values worth trying on an argument of any type. */
static void offer_for_argument(enumeration_t *e, const opc_transformation_t *row, size_t argument) {
  const opc_variant_tensors_t *tensors = e->tensors;
  offered_text_t offered = {.e = e, .path = e->op->arguments[argument].name, .name = row->name};
  char size[24];
  switch (row->parameter) {
    case OPC_PARAMETER_NONE:
      offer_text("", &offered);
      break;
    case OPC_PARAMETER_PATH:
      for (size_t i = 0; i < tensors->count && i < TENSORS_ALIKE_MAX; i++) offer_text(tensors->items[i].path, &offered);
      break;
    case OPC_PARAMETER_SIZE:
      for (size_t i = 0; i < tensors->count && i < TENSORS_ALIKE_MAX; i++) {
        const opc_tensor_spec_t *spec = tensors->items[i].value->tensor;
        for (int dim = spec->ndim; dim-- > 0;) {
          snprintf(size, sizeof size, "%lld", (long long)spec->sizes[dim]);
          offer_text(size, &offered);
        }
      }
      break;
    case OPC_PARAMETER_DIMENSION:
    case OPC_PARAMETER_DTYPE:
    case OPC_PARAMETER_VALUE: /* in turn with those of other arguments */
    case OPC_PARAMETER_WORD:
      break;
  }
}

/* The parameter values worth trying on one target (NULL: all tensors together). */
static void offer_parameters(enumeration_t *e, const opc_transformation_t *row, const char *path,
                             const opc_tensor_spec_t *spec, bool lone) {
  const opc_variant_tensors_t *tensors = e->tensors;
  int ndim = spec ? spec->ndim : 0;
  switch (row->parameter) {
    case OPC_PARAMETER_NONE:
      offerf(e, "%s.%s", path, row->name);
      break;
    case OPC_PARAMETER_DIMENSION:
      for (size_t i = 0; !spec && i < tensors->count; i++) {
        if (tensors->items[i].value->tensor->ndim > ndim) ndim = tensors->items[i].value->tensor->ndim;
      }
      if ((row->reach & OPC_REACH_FIRST_DIMENSION) && !lone && ndim > 1) ndim = 1;
      for (int dim = 0; dim < ndim; dim++) offerf(e, "%s.%s%d", path, row->name, dim);
      break;
    case OPC_PARAMETER_SIZE: /* in order of first appearance; a size of only one tensor does not apply */
      for (size_t i = 0; i < tensors->count; i++) {
        const opc_tensor_spec_t *own = tensors->items[i].value->tensor;
        for (int dim = 0; dim < own->ndim; dim++) offerf(e, "%s.%s%lld", path, row->name, (long long)own->sizes[dim]);
      }
      break;
    case OPC_PARAMETER_PATH: /* the first tensor that fits */
      for (size_t i = 0, before = e->seen_count; i < tensors->count && e->seen_count == before; i++) {
        if (strcmp(tensors->items[i].path, path) == 0) break;
        offerf(e, "%s.%s%s", path, row->name, tensors->items[i].path);
      }
      break;
    case OPC_PARAMETER_DTYPE: /* the first other dtype of its class */
      for (int dtype = 1, before = (int)e->seen_count; dtype < OPC_DTYPE_COUNT && (int)e->seen_count == before;
           dtype++) {
        offerf(e, "%s.%s", path, opc_dtype_name((opc_dtype_t)dtype));
      }
      break;
    case OPC_PARAMETER_VALUE: /* only of arguments that are no tensors */
    case OPC_PARAMETER_WORD:
      break;
  }
}

static void offer_row(enumeration_t *e, const opc_transformation_t *row, size_t own) {
  const opc_variant_tensors_t *tensors = e->tensors;
  bool lone = own == 1;
  size_t alone = 0;
  if (row->reach & OPC_REACH_BY_NAME) return;
  for (size_t i = 0; i < tensors->count; i++) {
    const opc_variant_tensor_t *tensor = &tensors->items[i];
    if (tensor->twin != i || !((row->reach & OPC_REACH_EACH) || ((row->reach & OPC_REACH_LONE) && lone))) continue;
    /* A list of a hundred tensors would give a thousand variants that show the same. */
    if (alone++ < TENSORS_ALONE_MAX) offer_parameters(e, row, tensor->path, tensor->value->tensor, lone);
  }
  for (size_t i = 0; (row->reach & OPC_REACH_ARGUMENT) && i < e->sample->argument_count; i++)
    offer_for_argument(e, row, i);
  for (size_t i = 0; (row->reach & OPC_REACH_LIST) && i < e->sample->argument_count; i++) {
    offer_parameters(e, row, e->op->arguments[i].name, NULL, lone);
  }
  /* With one tensor "all" is that tensor: only transformations with no other name. */
  if ((row->reach & OPC_REACH_ALL) && own > 0 && (!lone || !(row->reach & (OPC_REACH_EACH | OPC_REACH_LONE)))) {
    offer_parameters(e, row, "all", NULL, lone);
  }
}

opc_status_t opc_variants_of(const opc_sample_t *sample, const opc_operator_t *op, unsigned families,
                             opc_variant_emit_t *emit, void *context, opc_error_t *error) {
  OPC_SCOPED(opc_variant_tensors_clear) opc_variant_tensors_t tensors = {0};
  enumeration_t e = {.sample = sample, .op = op, .emit = emit, .context = context, .tensors = &tensors, .error = error};
  /* Collecting takes no const because other callers change what it finds. */
  opc_status_t status = opc_variant_tensors_collect((opc_sample_t *)sample, op, &tensors, error);
  if (status != OPC_OK) return status;
  size_t own = 0;
  const char *lone_path = "all";
  for (size_t i = 0; i < tensors.count; i++) own += tensors.items[i].twin == i;
  if (own == 1) lone_path = tensors.items[0].path;

  if (families & OPC_VARIANT_PLAIN) variant_list_offer(&e, "plain");
  else (void)variant_list_is_new(&e, digest_sample(sample, op));
  bool in_turn = false;
  for (size_t i = 0; i < opc_transformation_count; i++) {
    const opc_transformation_t *row = &opc_transformations[i];
    if (!(families & row->family)) continue;
    if (!in_turn && (row->parameter == OPC_PARAMETER_VALUE || row->parameter == OPC_PARAMETER_WORD)) {
      offer_values_in_turn(&e, families);
      in_turn = true;
    }
    offer_row(&e, row, own);
  }
  for (int i = 0; (families & OPC_VARIANT_LAYOUT) && own > 0 && i < COMBINATION_COUNT; i++) {
    offerf(&e, "%s.%s+%s.%s", lone_path, combinations[i][0], lone_path, combinations[i][1]);
  }
  status = e.status;
  free(e.seen);
  return status;
}
