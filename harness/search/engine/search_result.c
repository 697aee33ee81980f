/* What a search has found so far. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "search/engine/search_state.h"

const char *opc_search_state_name(opc_search_state_t state) {
  static const char *const names[] = {
#define X(constant, text) text,
      OPC_SEARCH_STATES(X)
#undef X
  };
  return state < OPC_SEARCH_STATE_COUNT ? names[state] : "?";
}

/* ---- what was accepted ---- */

bool opc_search_is_contradicted(const opc_search_t *search) {
  for (size_t i = 0; i < search->kept_count; i++)
    if (!search->kept[i].contradicted) return false;
  return search->kept_count > 0;
}

/* Mistakes need a few elements: two zeros among others, say. */
static int worth_of(const opc_kept_t *kept) {
  enum { FEW = 4 };
  return 4 * kept->depends_on_values + 2 * kept->rich + (kept->numel >= FEW);
}

/* Accepted tuples that differ in shape, at most `limit`: the richest first; among equals, the smallest. Those that the
 * Meta kernel refuses count only if there are no others. */
static size_t search_result_choose(const opc_search_t *search, size_t chosen[], size_t limit) {
  const bool contradicted = opc_search_is_contradicted(search);
  size_t count = 0;
  while (count < limit) {
    size_t best = OPC_KEPT_MAX;
    for (size_t i = 0; i < search->kept_count; i++) {
      const opc_kept_t *kept = &search->kept[i];
      bool taken = false;
      for (size_t k = 0; k < count; k++) taken |= search->kept[chosen[k]].shape == kept->shape;
      if (taken || kept->contradicted != contradicted) continue;
      const opc_kept_t *other = best < OPC_KEPT_MAX ? &search->kept[best] : NULL;
      const int rank = worth_of(kept), other_rank = other ? worth_of(other) : -1;
      if (!other || rank > other_rank || (rank == other_rank && kept->numel < other->numel)) best = i;
    }
    if (best == OPC_KEPT_MAX) break;
    chosen[count++] = best;
  }
  return count;
}

bool opc_search_has_tensors(const opc_operator_t *op) {
  if (op->kind == OPC_OPERATOR_CLASS) return false; /* what an object makes of them cannot be seen */
  for (size_t i = 0; i < op->argument_count; i++) {
    if (opc_type_may_hold_tensor(&op->arguments[i].type)) return true;
  }
  return false;
}

/* Enough: two shapes whose results have some size and depend on what is computed (if any did). */
bool opc_search_is_rich(const opc_search_t *search, bool with_values) {
  size_t chosen[OPC_SEARCH_SHAPES_MAX], count = search_result_choose(search, chosen, OPC_SEARCH_SHAPES_MAX), rich = 0;
  if (opc_search_is_contradicted(search)) return false;
  for (size_t i = 0; i < count; i++)
    rich += search->kept[chosen[i]].rich && (!with_values || search->kept[chosen[i]].depends_on_values);
  return rich >= 2 || (rich == 1 && search->op->argument_count == 0);
}

const opc_kept_t *opc_search_varied(const opc_search_t *search) {
  size_t chosen[2], count = search_result_choose(search, chosen, 2);
  return count > 0 ? &search->kept[chosen[count - 1]] : NULL;
}

/* ---- for the caller ---- */

/* The place that was hardest to reach. */
static const opc_site_t *deepest(const opc_search_t *search) {
  const opc_site_t *best = NULL;
  for (size_t i = 0; i < search->site_count; i++) {
    if (!best || search->sites[i].depth > best->depth) best = &search->sites[i];
  }
  return best;
}

/* Whether they prove a fault of the operator, whatever the arguments: several shapes, and the same mistake each time.
 * */
static bool are_convincing(const opc_doubtful_t *doubtful) {
  bool several =
      doubtful->shape_count == sizeof doubtful->shapes / sizeof doubtful->shapes[0] && !doubtful->places_differ;
  return doubtful->best.sample.arguments && (doubtful->lone || several);
}

/* The tries that show the operator's fault, if nothing better was found; NULL: none. */
static const opc_doubtful_t *convincing(const opc_search_t *search) {
  if (search->kept_count > 0) return NULL;
  if (are_convincing(&search->uninitialised)) return &search->uninitialised;
  return are_convincing(&search->leaves) ? &search->leaves : NULL;
}

/* No try was even refused, and hangs are too expensive to repeat in every check. */
static bool only_crashes(const opc_search_t *search) {
  return search->crashes > 0 && search->crashes == search->tries && search->crashing.sample.arguments;
}

opc_search_state_t opc_search_state(const opc_search_t *search) {
  if (search->kept_count > 0) return opc_search_is_rich(search, false) ? OPC_SEARCH_RICH : OPC_SEARCH_FOUND;
  if (convincing(search)) return OPC_SEARCH_FOUND;
  if (search->impossible) return OPC_SEARCH_IMPOSSIBLE;
  if (search->trivial) return OPC_SEARCH_TRIVIAL;
  const opc_site_t *last = deepest(search);
  return last && last->crash ? OPC_SEARCH_CRASHES : OPC_SEARCH_NOT_FOUND;
}

bool opc_search_lacks_kernel(const opc_search_t *search) {
  return opc_search_state(search) == OPC_SEARCH_IMPOSSIBLE && search->no_kernels > 0;
}

/* The message of a stub function (bridge/stub/stub_library.h). */
const char *opc_search_unprovided(const opc_search_t *search) {
  static const char subject[] = "operator ";
  const char *said = strstr(opc_text_c(&search->no_kernel), "operator called ");
  return said ? said + sizeof subject - 1 : NULL;
}

static const char *tries_word(int count) { return count == 1 ? "try" : "tries"; }

/* ", 2 of them crashed, 5 hung" */
static void describe_crashes(const opc_search_t *search, opc_text_t *detail) {
  if (search->crashes > 0) opc_text_addf(detail, ", %d of them crashed", search->crashes);
  if (search->hangs > 0) opc_text_addf(detail, ", %d%s hung", search->hangs, search->crashes > 0 ? "" : " of them");
}

static bool has_cpu_kernel(const opc_operator_t *op) {
  static const char *const keys[] = {"CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const opc_kernel_t *kernel = opc_operator_kernel(op, keys[i]);
    if (kernel && !kernel->fallthrough) return true;
  }
  return false;
}

void opc_search_describe(opc_search_t *search) {
  opc_text_t *detail = &search->detail;
  opc_text_reset(detail);
  if (search->kept_count > 0) {
    opc_text_addf(detail, "found after %d %s", search->earlier + search->found_at,
                  tries_word(search->earlier + search->found_at));
    return;
  }
  const opc_doubtful_t *doubtful = convincing(search);
  if (doubtful) {
    opc_text_addf(detail, "found after %d %s; %s", search->earlier + doubtful->first_at,
                  tries_word(search->earlier + doubtful->first_at),
                  doubtful == &search->leaves ? "it touches memory outside its tensors"
                                              : "its result depends on uninitialised memory");
    return;
  }
  const opc_site_t *last = deepest(search);
  const char *called = opc_search_unprovided(search);
  if (search->impossible && search->no_kernels > 0) {
    if (called) opc_text_addf(detail, "it %.300s", called);
    else
      opc_text_add(detail, has_cpu_kernel(search->op) ? "its kernel calls operators that have none for the CPU"
                                                      : "it has no kernel for the CPU");
    return;
  }
  if (only_crashes(search)) {
    opc_text_addf(detail, "every one of %d %s crashed; the simplest is taken", search->tries,
                  tries_word(search->tries));
    return;
  }
  opc_text_addf(detail, "not found in %d %s", search->earlier + search->tries,
                tries_word(search->earlier + search->tries));
  if (search->trivial) opc_text_add(detail, "; it returned only without an effect");
  else describe_crashes(search, detail);
  if (called) opc_text_addf(detail, "; when its arguments were accepted, it %.300s", called);
  else if (last && !last->trivial) opc_text_addf(detail, "; last: %.300s", last->message);
}

static const char *const family_names[] = {
#define X(constant, text) text,
    OPC_SEARCH_FAMILIES(X)
#undef X
};

opc_status_t opc_search_families_of(const char *names, uint64_t *out, opc_error_t *error) {
  *out = 0;
  for (size_t length; names && *names; names += length + (names[length] == ',')) {
    length = strcspn(names, ",");
    size_t i = 0;
    while (i < OPC_FAMILY_COUNT && (strlen(family_names[i]) != length || strncmp(family_names[i], names, length) != 0))
      i++;
    if (i == OPC_FAMILY_COUNT) {
      OPC_SCOPED(opc_text_clear) opc_text_t known = {0};
      for (i = 0; i < OPC_FAMILY_COUNT; i++) opc_text_addf(&known, "%s%s", i > 0 ? ", " : "", family_names[i]);
      return opc_error_set(error, OPC_ERR_USAGE, "the search has no family of tries \"%.*s\"; it has %s",
                           length < 40 ? (int)length : 40, names, opc_text_c(&known));
    }
    *out |= UINT64_C(1) << i;
  }
  return OPC_OK;
}

json_t *opc_search_to_json(const opc_search_t *search) {
  json_t *families = json_object();
  for (size_t i = 0; i < OPC_FAMILY_COUNT; i++) {
    if (search->tried[i] == 0) continue;
    json_object_set_new(families, family_names[i],
                        json_pack("[i, i, i]", search->tried[i], search->moved[i], search->accepted[i]));
  }
  return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:o, s:s*}", "state",
                   opc_search_state_name(opc_search_state(search)), "tries", search->tries, "found_at",
                   search->found_at > 0 ? search->earlier + search->found_at : 0, "crashes", search->crashes,
                   "timeouts", search->hangs, "out_of_memory", search->exhausted, "foreign_exceptions", search->foreign,
                   "places", (json_int_t)search->site_count, "families", families, "found_by",
                   search->found_at > 0 ? family_names[search->found_by] : NULL);
}

const char *opc_search_detail(const opc_search_t *search) { return opc_text_c(&search->detail); }

bool opc_search_is_clean(const opc_search_t *search) { return search->kept_count > 0; }

bool opc_search_wants_cuda(const opc_search_t *search) { return search->wants_cuda; }

static opc_status_t add_unchecked(const opc_search_t *search, const opc_sample_t *found, bool uninitialised,
                                  opc_sample_set_t *set, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_RETURN_IF_ERROR(opc_sample_copy(found, &sample, error));
  OPC_RETURN_IF_ERROR(opc_sample_name(&sample, search->op, error));
  sample.unchecked = true;
  sample.uninitialised = uninitialised;
  return opc_sample_set_add(set, &sample, error);
}

opc_status_t opc_search_unchecked(const opc_search_t *search, opc_sample_set_t *set, opc_error_t *error) {
  if (search->leaves.first_at > 0 && !convincing(search))
    OPC_RETURN_IF_ERROR(add_unchecked(search, &search->leaves.best.sample, false, set, error));
  if (search->uninitialised.best.sample.arguments && !convincing(search))
    OPC_RETURN_IF_ERROR(add_unchecked(search, &search->uninitialised.best.sample, true, set, error));
  if (search->options.crashed) OPC_RETURN_IF_ERROR(add_unchecked(search, &search->options.crashing, false, set, error));
  return OPC_OK;
}

static opc_status_t search_result_add_sample(const opc_search_t *search, const opc_sample_t *found, bool varied,
                                             opc_sample_set_t *set, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_RETURN_IF_ERROR(opc_sample_copy(found, &sample, error));
  sample.varied = varied;
  OPC_RETURN_IF_ERROR(opc_sample_name(&sample, search->op, error));
  return opc_sample_set_add(set, &sample, error);
}

/* ---- beside known samples ---- */

/* The word or flag that an argument has, also where it is left out; NULL: it has none. */
static const char *word_of(const opc_sample_t *sample, const opc_operator_t *op, size_t index) {
  const opc_value_t *value = &sample->arguments[index];
  const opc_type_kind_t kind = opc_type_given(&op->arguments[index].type)->kind;
  if (kind != OPC_TYPE_BOOL && kind != OPC_TYPE_STRING) return NULL;
  if (sample->absent[index]) return op->arguments[index].default_text;
  if (value->kind == OPC_VALUE_BOOL) return value->boolean ? "True" : "False";
  return value->kind == OPC_VALUE_STRING ? value->string : "None";
}

static void add_kind(const char *path, opc_value_t *tensor, void *context) {
  const int64_t fields[] = {tensor->tensor->ndim, (int64_t)tensor->tensor->dtype};
  uint64_t *kind = context;
  (void)path;
  *kind = XXH3_64bits_withSeed(fields, sizeof fields, *kind);
}

/* Digest of what is not sizes or numbers: which arguments are given, dtypes, numbers of dimensions, flags, words. */
static uint64_t kind_of(const opc_sample_t *sample, const opc_operator_t *op) {
  uint64_t kind = 0;
  for (size_t i = 0; i < op->argument_count; i++) {
    const char *word = word_of(sample, op, i);
    const size_t length = word ? strlen(word) : 0, quote = length > 1 && word[0] == '"';
    const bool none = sample->absent[i] || sample->arguments[i].kind == OPC_VALUE_NONE;
    kind = XXH3_64bits_withSeed(&i, sizeof i, kind);
    if (word) kind = XXH3_64bits_withSeed(word + quote, length - 2 * quote, kind);
    else if (!none || op->arguments[i].type.kind != OPC_TYPE_OPTIONAL) kind = XXH3_64bits_withSeed("given", 5, kind);
    if (!none)
      opc_value_visit_tensors(op->arguments[i].name, (opc_value_t *)(uintptr_t)&sample->arguments[i], add_kind, &kind);
  }
  return kind;
}

static bool is_known_kind(const opc_search_t *search, const opc_sample_set_t *set, size_t from,
                          const opc_sample_t *sample) {
  const uint64_t kind = kind_of(sample, search->op);
  bool known = false;
  for (size_t i = 0; i < search->known->count && !known; i++)
    known = kind_of(&search->known->samples[i], search->op) == kind;
  for (size_t i = from; i < set->count && !known; i++) known = kind_of(&set->samples[i], search->op) == kind;
  return known;
}

static opc_status_t add_beside(const opc_search_t *search, opc_sample_set_t *set,
                               uint64_t out_digests[OPC_SEARCH_SAMPLES_MAX], opc_error_t *error) {
  const opc_option_sample_t *found[OPC_OPTION_SAMPLES_MAX + OPC_KINDS_MAX];
  const size_t from = set->count;
  size_t count = opc_options_found(&search->options, found);
  for (size_t i = 0; i < search->kinds.count; i++) found[count++] = &search->kinds.found[i];
  for (size_t i = 0; i < count && set->count - from < OPC_SEARCH_SAMPLES_MAX; i++) {
    if (is_known_kind(search, set, from, &found[i]->sample)) continue;
    out_digests[set->count - from] = found[i]->digest;
    OPC_RETURN_IF_ERROR(search_result_add_sample(search, &found[i]->sample, true, set, error));
    set->samples[set->count - 1].brief = true;
  }
  return OPC_OK;
}

opc_status_t opc_search_samples(const opc_search_t *search, opc_sample_set_t *set,
                                uint64_t out_digests[OPC_SEARCH_SAMPLES_MAX], opc_error_t *error) {
  if (search->known) return add_beside(search, set, out_digests, error);
  size_t chosen[OPC_SEARCH_SHAPES_MAX], count = search_result_choose(search, chosen, OPC_SEARCH_SHAPES_MAX);
  const opc_kept_t *last_resort = NULL; /* the results of these are the finding */
  const opc_doubtful_t *doubtful = convincing(search);
  if (doubtful) last_resort = &doubtful->best;
  else if (count == 0 && only_crashes(search)) last_resort = &search->crashing;
  if (last_resort) count = 1;
  for (size_t i = 1; i < count; i++) { /* the smallest first */
    for (size_t k = i; k > 0 && search->kept[chosen[k]].numel < search->kept[chosen[k - 1]].numel; k--) {
      size_t swapped = chosen[k];
      chosen[k] = chosen[k - 1];
      chosen[k - 1] = swapped;
    }
  }
  for (size_t i = 0; i < count; i++) {
    const opc_kept_t *kept = last_resort ? last_resort : &search->kept[chosen[i]];
    out_digests[i] = kept->digest;
    OPC_RETURN_IF_ERROR(search_result_add_sample(search, &kept->sample, false, set, error));
  }
  const opc_option_sample_t *options[OPC_OPTION_SAMPLES_MAX];
  size_t option_count = opc_options_found(&search->options, options);
  for (size_t i = 0; i < option_count; i++) {
    out_digests[count + i] = options[i]->digest;
    OPC_RETURN_IF_ERROR(search_result_add_sample(search, &options[i]->sample, true, set, error));
  }
  return OPC_OK;
}
