/* The state of a search: past tries, how far they got, the next try, and the tuples kept. */
#include "search/engine/search.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "model/sample/relations.h"
#include "search/engine/search_state.h"

enum {
  FIRST_SEEDS = 12,     /* tries with fewer repairs: they show which places exist */
  RESTART_PERCENT = 35, /* of the tries that are no repair: measured, fewer restarts lose operators */
  REPAIR_PERCENT = 65,
  CRASHES_BASE = 40, /* crashes that end a search, and one more per so many tries of its budget: each costs a process */
  TRIES_A_CRASH = 20,
  REDRAW_FROM = 100,     /* the first try with redraws: before it hardly any tuple has got far enough */
  REDRAW_PERCENT = 25,   /* of the mutations */
  REPEATS_MAX = 60,      /* draws of tuples already tried: nothing else is left */
  AFTER_FOUND_MAX = 120, /* tries for a richer tuple */
  IDLE_MAX = 900,   /* tries that end at known places, after which a later round is over. Measured: of 460 operators of
                       ATen that are found, 377 is the longest such wait; one of fbgemm-gpu-cpu waits for more than
                       450, two of ATen and zentorch for more than 600 */
  IDLE_AT_ONE = 500 /* the same, while every try has ended at one place: one of zentorch waits for more than 250 */
};

/* True when these arguments were not tried before; remembers them. */
static bool search_remember(opc_search_t *search, const opc_sample_t *sample) {
  uint64_t digest = opc_search_digest(sample, false);
  for (size_t i = 0; i < search->seen_count; i++) {
    if (search->seen[i] == digest) return false;
  }
  if (!OPC_ARRAY_GROW(search->seen, search->seen_count)) return false;
  search->seen[search->seen_count++] = digest;
  return true;
}

/* Arguments that the recipe describes stay drawn from it: a fresh draw, or that of the edited tuple (parent; NULL:
 * none). False: nothing new. */
static bool search_settle(opc_search_t *search, const opc_sample_t *parent, opc_sample_t *sample) {
  const opc_recipe_t *recipe = search->recipe;
  if (recipe && parent && !opc_recipe_restore(recipe, parent, sample)) return false;
  if (recipe && !parent && !opc_recipe_draw(recipe, &search->rng, sample, NULL, 0)) return false;
  if (opc_tabu_has(search, sample)) return false;
  return search_remember(search, sample);
}

/* ---- life ---- */

opc_status_t opc_search_new(const opc_operator_t *op, const opc_search_options_t *options, opc_search_t **out,
                            opc_error_t *error) {
  opc_search_t *search = calloc(1, sizeof *search);
  *out = search;
  if (!search) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a search");
  search->op = op;
  search->recipe = options->recipe;
  search->known = options->known;
  search->kinds_only = options->kinds_only;
  search->pass = options->pass;
  uint64_t seed =
      options->round > 1 ? options->seed ^ XXH3_64bits(&options->round, sizeof options->round) : options->seed;
  search->rng = (opc_rng_t){.seed = XXH3_64bits_withSeed(op->name, strlen(op->name), seed), .view = &search->view};
  search->budget = options->budget;
  search->round = options->round;
  search->without = options->without;
  search->earlier = options->earlier;
  search->parent = OPC_SITES_MAX;
  OPC_RETURN_IF_ERROR(opc_search_view_make(options->library, op, options->round, &search->view, error));
  opc_search_view_backward(&search->view, op, &search->rng, &search->derived);
  const opc_argument_t *impossible = opc_seed_impossible(op, &search->view);
  if (impossible || !op->schema || op->is_vararg) {
    search->impossible = search->over = true;
    if (impossible)
      opc_text_addf(&search->detail, "argument '%s' is of type %s, which the harness cannot make", impossible->name,
                    impossible->type_text);
    else opc_text_add(&search->detail, op->schema ? "the schema has variable arguments" : "the operator has no schema");
  }
  return OPC_OK;
}

void opc_search_free(opc_search_t *search) {
  if (!search) return;
  for (size_t i = 0; i < search->site_count; i++) {
    opc_sample_clear(&search->sites[i].sample);
    opc_candidates_clear(&search->sites[i].candidates);
    free(search->sites[i].message);
  }
  for (size_t i = 0; i < search->kept_count; i++) opc_sample_clear(&search->kept[i].sample);
  opc_sample_clear(&search->uninitialised.best.sample);
  opc_sample_clear(&search->leaves.best.sample);
  opc_sample_clear(&search->crashing.sample);
  opc_candidates_clear(&search->derived);
  opc_candidates_clear(&search->endings);
  opc_sample_clear(&search->current);
  opc_options_clear(&search->options);
  opc_kinds_clear(&search->kinds);
  opc_text_clear(&search->detail);
  opc_text_clear(&search->no_kernel);
  opc_search_view_clear(&search->view);
  free(search->seen);
  free(search->forms);
  free(search);
}

/* ---- what next ---- */

/* Takes the next untried candidate of a list; false: the list has no more. */
static bool search_take(opc_search_t *search, opc_candidates_t *list, const opc_sample_t *parent, opc_sample_t *out) {
  while (list->next < list->count) {
    opc_candidate_t *candidate = &list->items[list->next++];
    bool fresh = opc_search_has_family(search, candidate->family) && search_settle(search, parent, &candidate->sample);
    if (fresh) *out = candidate->sample;
    else opc_sample_clear(&candidate->sample);
    candidate->sample = (opc_sample_t){0}; /* a search holds thousands of them, and nobody reads a used one again */
    if (!fresh) continue;
    search->family = candidate->family;
    return true;
  }
  return false;
}

/* How far down in its source a place is, among those with a known line: 0 to 1. Checks run in source order. */
static double line_rank(const opc_search_t *search, const opc_site_t *site) {
  int known = 0, before = 0;
  for (size_t i = 0; i < search->site_count; i++) {
    known += search->sites[i].line > 0;
    before += search->sites[i].line > 0 && search->sites[i].line < site->line;
  }
  return site->line > 0 && known > 1 ? (double)before / (known - 1) : 0;
}

/* The site with the most promising repairs: deep ones, and those rarely tried. Draws one of the best three. */
static opc_site_t *best_repairs(opc_search_t *search) {
  opc_site_t *best[3] = {NULL, NULL, NULL};
  double scores[3] = {-1e9, -1e9, -1e9};
  for (size_t i = 0; i < search->site_count; i++) {
    opc_site_t *site = &search->sites[i];
    if (site->candidates.next >= site->candidates.count) continue;
    double score = site->depth + 6 * line_rank(search, site) - 0.08 * site->used -
                   (site->crash && !site->spoke ? 1.5 : 0.0) + (site->trivial ? 3.0 : 0.0);
    for (int k = 0; k < 3; k++) {
      if (score <= scores[k]) continue;
      memmove(&best[k + 1], &best[k], (size_t)(2 - k) * sizeof best[0]);
      memmove(&scores[k + 1], &scores[k], (size_t)(2 - k) * sizeof scores[0]);
      best[k] = site;
      scores[k] = score;
      break;
    }
  }
  int count = 0;
  while (count < 3 && best[count]) count++;
  /* Half of the tries go to the best site. */
  return count == 0 ? NULL : best[opc_rng_chance(&search->rng, 50) ? 0 : opc_rng_below(&search->rng, count)];
}

static bool propose_repair(opc_search_t *search, opc_sample_t *out) {
  for (opc_site_t *site; (site = best_repairs(search));) {
    site->used++;
    if (!search_take(search, &site->candidates, &site->sample, out)) continue;
    search->parent = (size_t)(site - search->sites);
    return true;
  }
  return false;
}

static bool edit(opc_search_t *search, const char *message, opc_sample_t *out) {
  bool redraws = search->earlier + search->tries > REDRAW_FROM && opc_redraw_helps(search->op, out) &&
                 opc_search_has_family(search, OPC_FAMILY_REDRAW);
  if (redraws && opc_rng_chance(&search->rng, REDRAW_PERCENT)) {
    search->family = OPC_FAMILY_REDRAW;
    return opc_redraw(search->op, &search->rng, out);
  }
  bool library = opc_search_has_family(search, OPC_FAMILY_LIBRARY_VALUE) && opc_rng_chance(&search->rng, 20) &&
                 opc_search_view_replace(&search->view, search->op, &search->rng, out);
  search->family = library ? OPC_FAMILY_LIBRARY_VALUE : OPC_FAMILY_MUTATION;
  return library ||
         (opc_search_has_family(search, OPC_FAMILY_MUTATION) && opc_mutate(search->op, message, &search->rng, out));
}

static bool propose_mutation(opc_search_t *search, opc_sample_t *out) {
  double total = 0, weights[OPC_SITES_MAX];
  for (size_t i = 0; i < search->site_count; i++) {
    const opc_site_t *site = &search->sites[i];
    weights[i] = (1.0 + 0.6 * site->depth) * (1.0 + 3.0 * line_rank(search, site)) / (1.0 + 0.12 * site->hits) *
                 (site->crash && !site->spoke ? 0.35 : 1.0) * (site->trivial ? 3.0 : 1.0);
    total += weights[i];
  }
  double draw = (double)opc_rng_below(&search->rng, 1 << 20) / (double)(1 << 20) * total;
  for (size_t i = 0; i < search->site_count; i++) {
    draw -= weights[i];
    if (draw > 0 && i + 1 < search->site_count) continue;
    if (opc_sample_copy(&search->sites[i].sample, out, NULL) != OPC_OK) return false;
    search->parent = i;
    if (edit(search, search->sites[i].message, out) && search_settle(search, &search->sites[i].sample, out))
      return true;
    opc_sample_clear(out);
    return false;
  }
  return false;
}

static bool propose_seed(opc_search_t *search, opc_sample_t *out) {
  search->family = OPC_FAMILY_SEED;
  search->parent = OPC_SITES_MAX;
  if (!opc_seed_sample(search->op, &search->rng, out)) return false;
  if (search_settle(search, NULL, out)) return true;
  opc_sample_clear(out);
  return false;
}

static bool propose_library(opc_search_t *search, opc_sample_t *out) {
  search->family = OPC_FAMILY_LIBRARY;
  search->parent = OPC_SITES_MAX;
  search->from_library++;
  if (!opc_search_view_tuple(&search->view, search->op, &search->rng, out)) return false;
  if (search_settle(search, NULL, out)) return true;
  opc_sample_clear(out);
  return false;
}

static bool propose(opc_search_t *search, opc_sample_t *out) {
  search->parent = OPC_SITES_MAX;
  if (search_take(search, &search->endings, NULL, out) || search_take(search, &search->derived, NULL, out)) return true;
  /* Tuples that others accept come first, and now and then later. */
  bool library = search->view.count > 0 && opc_search_has_family(search, OPC_FAMILY_LIBRARY) &&
                 3 * search->from_library < search->budget;
  if (library && opc_rng_chance(&search->rng, search->tries < FIRST_SEEDS ? 70 : 25) && propose_library(search, out))
    return true;
  /* When a third of the tries crash, the same crashing tuples are edited again and again: fresh ones avoid that. */
  bool crashing = 3 * search->crash_cost > search->tries + FIRST_SEEDS;
  int repair_percent = crashing ? REPAIR_PERCENT / 2 : REPAIR_PERCENT,
      restart_percent = crashing ? 2 * RESTART_PERCENT : RESTART_PERCENT;
  /* The first few tuples are all fresh, except for their repairs: they show which places exist. */
  bool early = search->tries < FIRST_SEEDS;
  if (opc_rng_chance(&search->rng, early ? repair_percent / 2 : repair_percent) && propose_repair(search, out))
    return true;
  if (!early && search->site_count > 0 && !opc_rng_chance(&search->rng, restart_percent) &&
      propose_mutation(search, out))
    return true;
  return propose_seed(search, out);
}

/* A known sample's arguments, without what its file promises. */
static bool copy_arguments(const opc_search_t *search, const opc_sample_t *sample, opc_sample_t *out) {
  if (opc_sample_init(out, search->op, NULL) != OPC_OK) return false;
  out->source = OPC_SAMPLE_SEARCHED;
  for (size_t i = 0; i < sample->argument_count && i < out->argument_count; i++) {
    out->absent[i] = sample->absent[i];
    if (opc_value_copy(&sample->arguments[i], &out->arguments[i], NULL) == OPC_OK) continue;
    opc_sample_clear(out);
    return false;
  }
  return true;
}

static void note_sharing(const char *path, opc_value_t *tensor, void *context) {
  (void)path;
  if (tensor->tensor->storage) *(bool *)context = true;
}

/* Tensors with the same memory would need the same change. */
static bool search_shares_storage(const opc_search_t *search, const opc_sample_t *sample) {
  bool shares = false;
  for (size_t i = 0; i < sample->argument_count; i++)
    opc_value_visit_tensors(search->op->arguments[i].name, &sample->arguments[i], note_sharing, &shares);
  return shares;
}

/* The known samples themselves, until the operator accepts one. */
static bool next_known(opc_search_t *search, opc_sample_t *out) {
  enum { KNOWN_MAX = 4 };
  while (search->kept_count == 0 && search->known_tried < search->known->count && search->tries < KNOWN_MAX) {
    const opc_sample_t *sample = &search->known->samples[search->known_tried++];
    if (sample->expect.rejects || sample->unchecked || sample->brief || search_shares_storage(search, sample)) continue;
    search->family = OPC_FAMILY_KNOWN;
    search->base = sample;
    return copy_arguments(search, sample, out);
  }
  return false;
}

/* Nothing has changed for a long time. The first round sees everything once. */
static bool is_idle(const opc_search_t *search) {
  const int most = search->site_count == 1 ? IDLE_AT_ONE : IDLE_MAX;
  return search->round > 1 && search->kept_count == 0 && search->tries - search->progress_at >= most;
}

/* A tuple that might be richer than those found. */
static bool next_found(opc_search_t *search, opc_sample_t *out) {
  if (search->known) return !search->over && next_known(search, out);
  if (search->over || search->tries >= search->budget || is_idle(search) ||
      search->crash_cost >= CRASHES_BASE + search->budget / TRIES_A_CRASH)
    return false;
  bool shrinking = search->shrunk > 0 && search->derived.next < search->derived.count;
  if (opc_search_is_rich(search, true) && !shrinking) return false;
  /* What the Meta kernel refuses is probably not what the operator is for. */
  const bool found = search->found_at > 0 && !opc_search_is_contradicted(search);
  int since_found = found ? search->tries - search->found_at : 0;
  bool values_hopeless = since_found > AFTER_FOUND_MAX / 3 || !opc_search_has_tensors(search->op);
  if ((values_hopeless && opc_search_is_rich(search, false)) || since_found > AFTER_FOUND_MAX) return false;
  while (!propose(search, out)) {
    if (++search->repeats > REPEATS_MAX) return false;
  }
  search->repeats = 0;
  return true;
}

/* A known sample says, or trying has shown, what holds for its arguments. */
static bool keeps_relations(const opc_search_t *search, const opc_sample_t *sample) {
  const opc_relations_t *relations = search->known ? search->base->relations : NULL;
  return !relations || opc_relations_hold(relations, sample, search->op, NULL, NULL, NULL, 0);
}

/* Other options of the tuples found. Arguments that a recipe describes follow the recipe here, too. */
static bool next_option(opc_search_t *search, opc_sample_t *out) {
  const opc_kept_t *varied = opc_search_varied(search);
  if (search->over || search->recipe || search->kinds_only || !varied ||
      !opc_search_has_family(search, OPC_FAMILY_OPTION))
    return false;
  search->options.hangs = search->hangs > 0;
  search->options.arguments_only = search->known;
  if (!search->options.begun &&
      !opc_options_begin(&search->options, search->op, &search->view, &varied->sample, varied->digest, search->pass))
    return false;
  const opc_sample_t *next;
  while ((next = opc_options_next(&search->options, search->op))) {
    if (opc_tabu_has(search, next) || !keeps_relations(search, next) || !search_remember(search, next)) continue;
    search->family = OPC_FAMILY_OPTION;
    search->parent = OPC_SITES_MAX;
    return opc_sample_copy(next, out, NULL) == OPC_OK;
  }
  return false;
}

/* Other numbers of dimensions, and other dtypes, of a known sample. */
static bool next_kind(opc_search_t *search, opc_sample_t *out) {
  const opc_sample_t *next;
  if (search->over || !search->known || search->kept_count == 0) return false;
  if (!search->kinds.begun) opc_kinds_begin(&search->kinds, &search->kept[0], !search->kinds_only);
  while ((next = opc_kinds_next(search))) {
    search->family = opc_kinds_family(&search->kinds);
    search->parent = OPC_SITES_MAX;
    if (opc_search_has_family(search, search->family) && search_remember(search, next))
      return opc_sample_copy(next, out, NULL) == OPC_OK;
    (void)opc_kinds_report(&search->kinds, &(opc_tried_t){.outcome = OPC_TRY_REJECTED}, false);
  }
  return false;
}

bool opc_search_next(opc_search_t *search, opc_sample_t *out) {
  *out = (opc_sample_t){0};
  bool found = !search->options.begun && !search->kinds.begun && next_found(search, out);
  if (!found && !(!search->kinds.begun && next_option(search, out)) && !next_kind(search, out)) return false;
  search->tries++;
  search->tried[search->family]++;
  opc_sample_clear(&search->current);
  if (opc_sample_copy(out, &search->current, NULL) != OPC_OK)
    search->over = true; /* out of memory: this try is the last */
  return true;
}
