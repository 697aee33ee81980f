#include "supervise/jobs/search_rounds.h"

#include <stdlib.h>
#include <string.h>

#include "plan/cases/planner.h"
#include "supervise/jobs/turns.h"

/* The operators that a round of a search looks at: entries of session->found. */
typedef struct looked_at {
  size_t *entries; /* NULL: not known yet */
  size_t count;
  bool last; /* of the round after the usual ones, which has fewer */
} looked_at_t;

struct opc_search_rounds {
  opc_session_t *session;
  const opc_operator_t *const *operators;
  size_t operator_count;
  size_t declared;              /* samples of files and recordings: the first ones of session->samples */
  looked_at_t *looked_at;       /* one per entry of session->found */
  const opc_operator_t **batch; /* whose next round can begin */
  size_t batch_next, batch_count;
  size_t running;   /* searches */
  int pass, passes; /* of --seeds */
  bool over;
};

bool opc_search_rounds_has_sample(const opc_session_t *session, const opc_operator_t *op) {
  for (size_t i = 0; i < session->samples.count; i++)
    if (strcmp(session->samples.samples[i].operator_name, op->name) == 0) return true;
  return false;
}

/* The operators, and after them the classes' constructors: in the order of session->found. */
static size_t all_count(const opc_session_t *session) {
  return session->loaded.operator_count + session->loaded.class_operator_count;
}

static const opc_operator_t *nth(const opc_session_t *session, size_t index) {
  const opc_loaded_t *loaded = &session->loaded;
  return index < loaded->operator_count ? &loaded->operators[index]
                                        : &loaded->class_operators[index - loaded->operator_count];
}

/* Finding them compares the operator with all others. */
static opc_status_t look(opc_search_rounds_t *rounds, size_t index, int round, opc_error_t *error) {
  const opc_search_library_t *library = rounds->session->library;
  const opc_operator_t *op = nth(rounds->session, index);
  looked_at_t *at = &rounds->looked_at[index];
  const bool last = round > OPC_SEARCH_ROUNDS;
  if (at->entries && at->last == last) return OPC_OK;
  size_t helpers[OPC_HELPERS_MAX], makers[OPC_MAKERS_MAX];
  const size_t helper_count = opc_search_helpers(library, op, round, helpers),
               maker_count = opc_search_makers(library, op, makers);
  free(at->entries);
  *at = (looked_at_t){.entries = calloc(helper_count + maker_count + 1, sizeof *at->entries), .last = last};
  if (!at->entries) return opc_out_of_memory(error);
  for (size_t i = 0; i < helper_count; i++) at->entries[at->count++] = helpers[i];
  for (size_t i = 0; i < maker_count; i++) at->entries[at->count++] = makers[i];
  return OPC_OK;
}

/* True if its helpers are as far as its next round needs; otherwise requests that. It does not wait for helpers that
 * have found everything or never will. */
static opc_status_t is_ready(opc_search_rounds_t *rounds, size_t index, int round, bool *out_ready,
                             bool *out_wants_more, opc_error_t *error) {
  *out_ready = true;
  if (round == 1) return OPC_OK;
  OPC_RETURN_IF_ERROR(look(rounds, index, round, error));
  const looked_at_t *at = &rounds->looked_at[index];
  for (size_t i = 0; i < at->count; i++) {
    opc_searched_t *helper = &rounds->session->found[at->entries[i]];
    if (helper->over || helper->rounds >= round - 1) continue;
    *out_ready = false;
    if (helper->rounds_wanted >= round - 1) continue;
    helper->rounds_wanted = round - 1;
    *out_wants_more = true;
  }
  return OPC_OK;
}

/* The operators that can be searched now. */
static opc_status_t next_batch(opc_search_rounds_t *rounds, opc_error_t *error) {
  const opc_session_t *session = rounds->session;
  bool more = true;
  rounds->batch_next = rounds->batch_count = 0;
  while (more && rounds->batch_count == 0) {
    more = false;
    for (size_t i = 0; i < all_count(session); i++) {
      const opc_searched_t *found = &session->found[i];
      bool ready;
      if (found->over || found->running || found->rounds >= found->rounds_wanted) continue;
      OPC_RETURN_IF_ERROR(is_ready(rounds, i, found->rounds + 1, &ready, &more, error));
      if (ready) rounds->batch[rounds->batch_count++] = nth(session, i);
    }
  }
  return OPC_OK;
}

/* The last round is useful only if it has something to look at. */
static int rounds_of(const opc_session_t *session, const opc_operator_t *op) {
  size_t relatives[OPC_HELPERS_MAX];
  return OPC_SEARCH_ROUNDS + (opc_search_helpers(session->library, op, OPC_SEARCH_ROUNDS + 1, relatives) > 0);
}

/* Objects are made from what a sample file says, too. */
static opc_status_t offer_declared(const opc_search_rounds_t *rounds, opc_error_t *error) {
  const opc_session_t *session = rounds->session;
  for (size_t i = 0; i < all_count(session); i++) {
    const opc_operator_t *op = nth(session, i);
    OPC_SCOPED(opc_scope_free) char *made = opc_search_class_made(op);
    for (size_t k = 0; made && k < rounds->declared; k++) {
      const opc_sample_t *sample = &session->samples.samples[k];
      if (strcmp(sample->operator_name, op->name) == 0 && opc_sample_is_callable(sample))
        OPC_RETURN_IF_ERROR(opc_search_library_add(session->library, op, 0, sample, NULL, 0, error));
    }
  }
  return OPC_OK;
}

static opc_status_t begin_pass(opc_search_rounds_t *rounds, opc_error_t *error) {
  opc_session_t *session = rounds->session;
  const opc_loaded_t *loaded = &session->loaded;
  session->search_pass = (uint64_t)rounds->pass;
  for (size_t i = 0; i < all_count(session); i++) {
    opc_searched_t *found = &session->found[i];
    found->over = !nth(session, i)->schema || opc_search_rounds_has_sample(session, nth(session, i));
    found->rounds = found->rounds_wanted = 0;
    found->earlier_tries = found->tries;
    found->wants_cuda = found->lacks_kernel = found->clean = false;
  }
  opc_search_library_free(session->library);
  session->library = NULL;
  OPC_RETURN_IF_ERROR(opc_search_library_new(&(opc_search_loaded_t){.operators = loaded->operators,
                                                                    .operator_count = loaded->operator_count,
                                                                    .classes = loaded->class_values,
                                                                    .class_count = loaded->class_count,
                                                                    .constructors = loaded->class_operators,
                                                                    .constructor_count = loaded->class_operator_count},
                                             &session->library, error));
  OPC_RETURN_IF_ERROR(offer_declared(rounds, error));
  /* Under Valgrind a try takes fifty times as long. */
  for (size_t i = 0; i < rounds->operator_count; i++)
    opc_search_found(session, rounds->operators[i])->rounds_wanted =
        session->memcheck ? 1 : rounds_of(session, rounds->operators[i]);
  return next_batch(rounds, error);
}

static opc_status_t add_distinct(opc_sample_set_t *set, opc_sample_set_t *more, opc_error_t *error) {
  for (size_t i = 0; i < more->count; i++) {
    bool known = false;
    for (size_t k = 0; k < set->count && !known; k++) known = strcmp(set->samples[k].name, more->samples[i].name) == 0;
    if (!known) OPC_RETURN_IF_ERROR(opc_sample_set_add(set, &more->samples[i], error));
  }
  opc_sample_set_clear(more);
  return OPC_OK;
}

/* Adds what this seed found to what earlier ones found. Samples that something is known against are kept only if no
 * seed found others. */
static opc_status_t merge_with_earlier(opc_searched_t *found, opc_error_t *error) {
  if (found->earlier_clean && !found->clean) opc_sample_set_clear(&found->samples);
  if (found->clean && !found->earlier_clean) opc_sample_set_clear(&found->earlier);
  if (found->clean && !found->earlier_clean) OPC_MOVE(&found->earlier_detail, found->detail);
  found->earlier_clean |= found->clean;
  return add_distinct(&found->earlier, &found->samples, error);
}

/* All searches with the present seed are over. */
static opc_status_t end_pass(opc_search_rounds_t *rounds, opc_error_t *error) {
  opc_session_t *session = rounds->session;
  rounds->pass++;
  rounds->over = rounds->pass == rounds->passes;
  if (rounds->passes == 1) return OPC_OK;
  for (size_t i = 0; i < all_count(session); i++) OPC_RETURN_IF_ERROR(merge_with_earlier(&session->found[i], error));
  if (!rounds->over) return begin_pass(rounds, error);
  for (size_t i = 0; i < all_count(session); i++) {
    opc_searched_t *found = &session->found[i];
    found->clean = found->earlier_clean;
    OPC_MOVE(&found->samples, found->earlier);
    if (!found->earlier_detail) continue;
    free(found->detail);
    OPC_MOVE(&found->detail, found->earlier_detail);
  }
  return OPC_OK;
}

/* There is no time for further rounds (--budget). */
static opc_status_t cut_searches(opc_search_rounds_t *rounds, opc_error_t *error) {
  opc_session_t *session = rounds->session;
  rounds->batch_next = rounds->batch_count = 0;
  if (rounds->running > 0 || rounds->over) return OPC_OK;
  for (size_t i = 0; i < all_count(session); i++)
    session->found[i].cut |= !session->found[i].over && session->found[i].rounds < session->found[i].rounds_wanted;
  rounds->pass = rounds->passes - 1;
  return end_pass(rounds, error);
}

opc_status_t opc_search_rounds_next(opc_search_rounds_t *rounds, const opc_operator_t **out, opc_error_t *error) {
  *out = NULL;
  if (opc_turns_search_is_over(rounds->session)) return cut_searches(rounds, error);
  while (!rounds->over && rounds->batch_next == rounds->batch_count) {
    OPC_RETURN_IF_ERROR(next_batch(rounds, error));
    if (rounds->batch_count > 0) break;
    if (rounds->running > 0) return OPC_OK;
    OPC_RETURN_IF_ERROR(end_pass(rounds, error));
  }
  if (rounds->over) return OPC_OK;
  *out = rounds->batch[rounds->batch_next++];
  opc_search_found(rounds->session, *out)->running = true;
  rounds->running++;
  return OPC_OK;
}

void opc_search_rounds_ended(opc_search_rounds_t *rounds, const opc_operator_t *op) {
  opc_search_found(rounds->session, op)->running = false;
  rounds->running--;
}

bool opc_search_rounds_running(const opc_search_rounds_t *rounds) { return rounds->running > 0; }

bool opc_search_rounds_settled(const opc_search_rounds_t *rounds, const opc_operator_t *op) {
  const opc_searched_t *found = opc_search_found(rounds->session, op);
  if (rounds->passes > 1 || rounds->over) return rounds->over && !found->running;
  return !found->running && (found->over || found->rounds >= found->rounds_wanted);
}

void opc_search_rounds_free(opc_search_rounds_t *rounds) {
  if (!rounds) return;
  opc_session_t *session = rounds->session;
  for (size_t i = 0; rounds->looked_at && i < all_count(session); i++) free(rounds->looked_at[i].entries);
  free(rounds->looked_at);
  free(rounds->batch);
  free(rounds);
  opc_search_library_free(session->library);
  session->library = NULL;
  session->search_pass = 0;
}

static void scope_rounds(opc_search_rounds_t **rounds) { opc_search_rounds_free(*rounds); }

opc_status_t opc_search_rounds_new(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                                   opc_search_rounds_t **out, opc_error_t *error) {
  OPC_SCOPED(scope_rounds) opc_search_rounds_t *rounds = calloc(1, sizeof *rounds);
  if (!rounds) return opc_out_of_memory(error);
  const size_t all = all_count(session) + 1;
  *rounds = (opc_search_rounds_t){.session = session,
                                  .operators = operators,
                                  .operator_count = count,
                                  .declared = session->samples.count,
                                  .looked_at = calloc(all, sizeof *rounds->looked_at),
                                  .batch = calloc(all, sizeof(const opc_operator_t *)),
                                  .passes = session->options->seeds > 1 ? session->options->seeds : 1};
  session->found = calloc(all, sizeof *session->found);
  if (!session->found || !rounds->looked_at || !rounds->batch) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(begin_pass(rounds, error));
  OPC_MOVE(out, rounds);
  return OPC_OK;
}

void opc_searched_clear(opc_session_t *session) {
  for (size_t i = 0; session->found && i < all_count(session); i++) {
    opc_sample_set_clear(&session->found[i].samples);
    opc_sample_set_clear(&session->found[i].earlier);
    free(session->found[i].earlier_detail);
    free(session->found[i].detail);
    free(session->found[i].record);
  }
  free(session->found);
  session->found = NULL;
}
