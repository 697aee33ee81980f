/* The result of a try: at which place it ended, what that suggests, whether the tuple is kept. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "search/engine/search_state.h"

enum {
  TIMEOUT_COSTS = 8,  /* crashes: a timeout is the most expensive event */
  SPOKEN_A_CRASH = 4, /* aborts with a message help like exceptions: so many cost as much as one crash */
  NO_KERNELS_MAX = 6,
  HOPELESS_MAX = 8
};

/* ---- results of a try ---- */

static int depth_of(const opc_search_t *search) {
  return search->parent < OPC_SITES_MAX ? search->sites[search->parent].depth : 0;
}

/* The site of an outcome, new or known. NULL: no room. */
static opc_site_t *visit(opc_search_t *search, uint64_t id, const char *message, bool *out_new) {
  *out_new = false;
  for (size_t i = 0; i < search->site_count; i++) {
    if (search->sites[i].id != id) continue;
    search->sites[i].hits++;
    return &search->sites[i];
  }
  if (search->site_count == OPC_SITES_MAX) return NULL;
  opc_site_t *site = &search->sites[search->site_count];
  *site = (opc_site_t){.id = id, .hits = 1, .depth = depth_of(search) + (search->parent < OPC_SITES_MAX)};
  site->line = opc_clue_line(message);
  site->message = opc_string_copy(message ? message : "");
  if (!site->message || opc_sample_copy(&search->current, &site->sample, NULL) != OPC_OK) {
    free(site->message);
    return NULL;
  }
  search->site_count++;
  search->progress_at = search->tries;
  *out_new = true;
  return site;
}

/* Repairs are made when a place is new, and again now and then: later hits have other arguments and other numbers in
 * the text. */
static bool is_due(int hits) { return hits == 1 || hits == 3 || hits == 9 || hits == 27 || hits == 81; }

/* Many places use the same words: the place of the throw tells them apart. */
static uint64_t search_outcome_place_of(const char *where) {
  return where && where[0] ? XXH3_64bits(where, strlen(where)) : 0;
}

/* Which access, of which argument, how far out of bounds: the same for the same defect. */
static uint64_t overrun_of(const opc_try_access_t *access) {
  const int64_t fields[] = {access->beyond, access->write};
  if (!access->argument) return 0;
  return search_outcome_place_of(access->argument) ^
         XXH3_64bits_withSeed(fields, sizeof fields, search_outcome_place_of(access->place));
}

static void tell_rejected(opc_search_t *search, const char *message, const char *where) {
  bool is_new;
  search->wants_cuda |= opc_clue_wants_cuda(message);
  if (opc_clue_is_hopeless(search->op->name, message) && ++search->hopeless >= HOPELESS_MAX &&
      search->kept_count == 0 && 2 * search->hopeless > search->tries) {
    search->over = search->impossible = true;
  }
  opc_site_t *site = visit(search, opc_clue_site(message) ^ search_outcome_place_of(where), message, &is_new);
  if (!site) return;
  if (is_new) search->moved[search->family]++;
  if (!is_due(site->hits)) return;
  if (!is_new) {
    opc_sample_t copy;
    char *text = opc_string_copy(message ? message : "");
    if (!text || opc_sample_copy(&search->current, &copy, NULL) != OPC_OK) {
      free(text);
      return;
    }
    opc_sample_clear(&site->sample);
    free(site->message);
    site->sample = copy;
    site->message = text;
  }
  opc_candidates_clear(&site->candidates);
  opc_repair_message(search->op, &site->sample, site->message, &search->rng, &site->candidates);
}

/* The text suggests no edit: calmer arguments are tried, as after a crash. */
static void tell_unclean(opc_search_t *search, const char *message) {
  bool is_new;
  opc_site_t *site = visit(search, opc_clue_site(message), message, &is_new);
  if (!site) return;
  if (is_new) search->moved[search->family]++;
  if (!is_due(site->hits)) return;
  opc_candidates_clear(&site->candidates);
  opc_repair_crash(search->op, &search->current, &site->candidates);
}

/* Keeps one, in case every try crashes. */
static void search_outcome_keep_crashing(opc_search_t *search) {
  size_t tensors, empty;
  int64_t numel = opc_sample_elements(&search->current, &tensors, &empty);
  opc_kept_t kept = {.numel = numel, .rich = empty == 0}, *best = &search->crashing;
  bool better = search->crashes == 0 || (kept.rich != best->rich ? kept.rich : numel < best->numel);
  if (!better || opc_sample_copy(&search->current, &kept.sample, NULL) != OPC_OK) return;
  opc_sample_clear(&best->sample);
  *best = kept;
}

/* An operator that aborts where it should throw says as much about its arguments. */
static bool speaks(const opc_tried_t *tried) {
  return tried->outcome == OPC_TRY_CRASHED && tried->said && tried->said[0];
}

static void tell_crashed(opc_search_t *search, const opc_tried_t *tried) {
  bool is_new;
  char name[64];
  bool hung = tried->outcome == OPC_TRY_TIMEOUT, spoke = speaks(tried);
  if (!hung) search_outcome_keep_crashing(search);
  search->crashes += !hung;
  search->hangs += hung;
  if (!spoke || search->spoken++ % SPOKEN_A_CRASH == 0) search->crash_cost += hung ? TIMEOUT_COSTS : 1;
  /* If the place is unknown, the depth that the arguments reached is used. */
  bool placed = tried->site && tried->site[0];
  int id = snprintf(name, sizeof name, "crash %d %d", (int)tried->outcome, placed ? 0 : depth_of(search));
  uint64_t words = spoke ? opc_clue_site(tried->said) : 0;
  opc_site_t *site = visit(search, XXH3_64bits(name, (size_t)id) ^ search_outcome_place_of(tried->site) ^ words,
                           spoke ? tried->said : tried->message, &is_new);
  if (!site) return;
  if (is_new && spoke) search->moved[search->family]++;
  site->crash = true;
  site->spoke = spoke;
  if (hung && search->endings.next >= search->endings.count) {
    opc_candidates_clear(&search->endings);
    opc_repair_hang(&search->current, &search->endings);
  }
  if (!is_due(site->hits)) return;
  opc_candidates_clear(&site->candidates);
  if (spoke) opc_repair_message(search->op, &search->current, tried->said, &search->rng, &site->candidates);
  opc_repair_crash(search->op, &search->current, &site->candidates);
}

static opc_kept_t kept_of(const opc_search_t *search, const opc_tried_t *tried, bool empties, int64_t numel) {
  return (opc_kept_t){.shape = opc_search_digest(&search->current, opc_search_has_tensors(search->op)),
                      .numel = numel,
                      .results = tried->output_numel,
                      .rich = !empties && (tried->output_numel >= 2 || !opc_search_has_tensors(search->op)),
                      .depends_on_values = tried->depends_on_values,
                      .contradicted = tried->refused_on_meta,
                      .digest = opc_tried_digest(tried)};
}

static size_t count_numbers(const opc_value_t *value) {
  size_t count = value->kind == OPC_VALUE_INT;
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    count += count_numbers(&value->list.items[i]);
  return count;
}

/* One tensor, and no number that could refer to its size: an operator that accepts it must stay inside it. */
static bool is_lone_tensor(const opc_search_t *search, size_t tensors) {
  size_t numbers = 0;
  for (size_t i = 0; i < search->current.argument_count; i++)
    if (!search->current.absent || !search->current.absent[i]) numbers += count_numbers(&search->current.arguments[i]);
  return tensors == 1 && numbers == 0;
}

/* Keeps one, in case there will be no clean try. */
static void keep_doubtful(opc_search_t *search, const opc_tried_t *tried, opc_doubtful_t *doubtful) {
  size_t tensors, empty;
  int64_t numel = opc_sample_elements(&search->current, &tensors, &empty);
  opc_kept_t kept = kept_of(search, tried, empty > 0, numel), *best = &doubtful->best;
  uint64_t place = overrun_of(&tried->access);
  bool lone = is_lone_tensor(search, tensors), known = false;
  if (tensors > 0 && empty == tensors) return;
  for (size_t i = 0; i < doubtful->shape_count; i++) known |= doubtful->shapes[i] == kept.shape;
  if (!known && doubtful->shape_count < sizeof doubtful->shapes / sizeof doubtful->shapes[0])
    doubtful->shapes[doubtful->shape_count++] = kept.shape;
  if (doubtful->first_at == 0) doubtful->place = place;
  doubtful->places_differ |= place != doubtful->place;
  bool better = doubtful->first_at == 0 || (lone != doubtful->lone    ? lone
                                            : kept.rich != best->rich ? kept.rich
                                                                      : numel < best->numel);
  doubtful->lone |= lone;
  if (doubtful->first_at == 0) doubtful->first_at = search->tries;
  if (!better || opc_sample_copy(&search->current, &kept.sample, NULL) != OPC_OK) return;
  opc_sample_clear(&best->sample);
  *best = kept;
}

/* The first pattern on accepted arguments: it is more credible than the result of any other try. */
static void keep_forgotten(opc_search_t *search) {
  opc_doubtful_t *uninitialised = &search->uninitialised;
  opc_sample_t copy = {0};
  if (search->pattern_uninitialised || opc_sample_copy(&search->current, &copy, NULL) != OPC_OK) return;
  search->pattern_uninitialised = true;
  opc_sample_clear(&uninitialised->best.sample);
  uninitialised->best.sample = copy;
  if (uninitialised->first_at == 0) uninitialised->first_at = search->tries;
}

static int rank_of(const opc_kept_t *kept) {
  return kept->rich + 2 * kept->depends_on_values + 4 * !kept->contradicted;
}

static void search_outcome_keep(opc_search_t *search, const opc_tried_t *tried, bool empties, int64_t numel) {
  opc_kept_t kept = kept_of(search, tried, empties, numel);
  const bool first = search->kept_count == 0 || (!kept.contradicted && opc_search_is_contradicted(search));
  size_t place = search->kept_count;
  for (size_t i = 0; i < search->kept_count; i++) {
    const opc_kept_t *other = &search->kept[i];
    if (other->shape != kept.shape) continue;
    if (rank_of(&kept) <= rank_of(other)) return;
    place = i;
  }
  if (place == OPC_KEPT_MAX) return;
  if (opc_sample_copy(&search->current, &kept.sample, NULL) != OPC_OK) return;
  if (place < search->kept_count) opc_sample_clear(&search->kept[place].sample);
  else search->kept_count++;
  search->kept[place] = kept;
  if (first) {
    search->found_at = search->tries;
    search->found_by = search->family;
  }
  search->accepted[search->family]++;
  if (kept.contradicted) return;
  if (numel > OPC_SEARCH_LARGE &&
      (search->shrunk == 0 || numel < search->shrunk / 2)) { /* a much smaller tuple is shrunk again */
    search->shrunk = numel;
    opc_candidates_clear(&search->derived);
    opc_derive_smaller(&search->current, &search->derived);
  }
  if (search->derived.next >=
      search->derived.count) { /* the shapes of the first tuple, and of a later one when those are used up */
    opc_candidates_clear(&search->derived);
    opc_derive_shapes(search->op, &search->current, &search->derived);
  }
}

static void tell_returned(opc_search_t *search, const opc_tried_t *tried) {
  size_t tensors, empty;
  int64_t numel = opc_sample_elements(&search->current, &tensors, &empty);
  if (tried->effect && (tensors == 0 || empty < tensors)) {
    search_outcome_keep(search, tried, empty > 0, numel);
    if (tried->refused_on_meta) tell_rejected(search, tried->refused_on_meta, "the Meta kernel");
    return;
  }
  bool is_new;
  search->trivial = true;
  opc_site_t *site = visit(search, 1, "", &is_new);
  if (!site) return;
  site->trivial = true;
  if (!is_due(site->hits)) return;
  opc_candidates_clear(&site->candidates);
  opc_repair_empty(search->op, &search->current, &site->candidates);
  opc_derive_shapes(search->op, &search->current, &site->candidates);
}

static void tell_option(opc_search_t *search, const opc_tried_t *tried) {
  const opc_option_sample_t *found[OPC_OPTION_SAMPLES_MAX];
  const bool patterns = opc_options_at_patterns(&search->options),
             integers = patterns || opc_options_at_integers(&search->options);
  size_t tensors, empty, before = opc_options_found(&search->options, found);
  (void)opc_sample_elements(&search->current, &tensors, &empty);
  opc_tried_t told = *tried;
  if (told.refused_on_meta && !opc_search_is_contradicted(search)) {
    told.outcome = OPC_TRY_REJECTED;
    told.message = told.refused_on_meta;
  }
  opc_options_report(&search->options, search->op, &search->current, &told,
                     tried->effect && (tensors == 0 || empty < tensors));
  search->accepted[OPC_FAMILY_OPTION] += opc_options_found(&search->options, found) > before;
  search->crashes += tried->outcome == OPC_TRY_CRASHED;
  search->hangs += tried->outcome == OPC_TRY_TIMEOUT;
  /* Integers that nobody promised to be indices: an overrun is no surprise and no fault. */
  if (tried->outcome == OPC_TRY_UNCLEAN && tried->access.argument && !integers)
    keep_doubtful(search, tried, &search->leaves);
  if (tried->outcome == OPC_TRY_UNINITIALISED && patterns) keep_forgotten(search);
}

static void tell_kind(opc_search_t *search, const opc_tried_t *tried) {
  size_t tensors, empty;
  (void)opc_sample_elements(&search->current, &tensors, &empty);
  search->accepted[search->family] +=
      opc_kinds_report(&search->kinds, tried, tried->effect && (tensors == 0 || empty < tensors));
  search->crashes += tried->outcome == OPC_TRY_CRASHED;
  search->hangs += tried->outcome == OPC_TRY_TIMEOUT;
}

void opc_search_report(opc_search_t *search, const opc_tried_t *tried) {
  if (search->kinds.begun) {
    tell_kind(search, tried);
    return;
  }
  if (search->options.begun) {
    tell_option(search, tried);
    return;
  }
  if (tried->outcome != OPC_TRY_NO_KERNEL && tried->outcome != OPC_TRY_FAKE_IN_PYTHON) search->no_kernels = 0;
  opc_tabu_note(search, tried->outcome == OPC_TRY_TIMEOUT ? OPC_TABU_DEATHS
                                                          : tried->outcome == OPC_TRY_CRASHED && !speaks(tried));
  search->exhausted += tried->outcome == OPC_TRY_OUT_OF_MEMORY;
  search->foreign += tried->outcome == OPC_TRY_FOREIGN_EXCEPTION;
  switch (tried->outcome) {
    case OPC_TRY_RETURNED:
      tell_returned(search, tried);
      break;
    case OPC_TRY_NO_KERNEL:
    case OPC_TRY_FAKE_IN_PYTHON:
      if (!opc_search_unprovided(search)) {
        opc_text_reset(&search->no_kernel);
        opc_text_add(&search->no_kernel, tried->message);
      }
      if (++search->no_kernels < NO_KERNELS_MAX) break;
      search->over = true;
      search->impossible = search->kept_count == 0;
      break;
    case OPC_TRY_REJECTED:
    case OPC_TRY_INTERNAL_ASSERT:
    case OPC_TRY_OUT_OF_MEMORY:
    case OPC_TRY_FOREIGN_EXCEPTION:
    case OPC_TRY_UNCONVERTIBLE:
      tell_rejected(search, tried->message, tried->site);
      break;
    case OPC_TRY_UNINITIALISED:
      keep_doubtful(search, tried, &search->uninitialised);
      tell_unclean(search, tried->message);
      break;
    case OPC_TRY_UNCLEAN:
      if (tried->access.argument) keep_doubtful(search, tried, &search->leaves);
      tell_unclean(search, tried->message);
      break;
    case OPC_TRY_CRASHED:
    case OPC_TRY_TIMEOUT:
      tell_crashed(search, tried);
      break;
    case OPC_TRY_OUTCOME_COUNT:
      break;
  }
  opc_search_describe(search);
}
