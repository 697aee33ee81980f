#include "supervise/jobs/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "plan/cases/planner.h"
#include "supervise/jobs/searching.h"

static bool search_rounds_has_sample(const opc_session_t *session, const opc_operator_t *op) {
  for (size_t i = 0; i < session->samples.count; i++)
    if (strcmp(session->samples.samples[i].operator_name, op->name) == 0) return true;
  return false;
}

/* True if its helpers are as far as its next round needs; otherwise requests that. It does not wait for helpers that
 * have found everything or never will. */
static bool is_ready(opc_session_t *session, const opc_operator_t *op, int round, bool *out_wants_more) {
  size_t helpers[OPC_HELPERS_MAX], makers[OPC_MAKERS_MAX];
  const size_t count = round > 1 ? opc_search_helpers(session->library, op, round, helpers) : 0,
               maker_count = round > 1 ? opc_search_makers(session->library, op, makers) : 0;
  bool ready = true;
  for (size_t i = 0; i < count + maker_count; i++) {
    opc_searched_t *helper = &session->found[i < count ? helpers[i] : makers[i - count]];
    if (helper->over || helper->rounds >= round - 1) continue;
    ready = false;
    if (helper->rounds_wanted >= round - 1) continue;
    helper->rounds_wanted = round - 1;
    *out_wants_more = true;
  }
  return ready;
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

/* The operators that can be searched now. */
static size_t next_batch(opc_session_t *session, const opc_operator_t **batch) {
  size_t count = 0;
  bool more = true;
  while (more && count == 0) {
    more = false;
    for (size_t i = 0; i < all_count(session); i++) {
      const opc_searched_t *found = &session->found[i];
      const opc_operator_t *op = nth(session, i);
      if (found->over || found->rounds >= found->rounds_wanted) continue;
      if (is_ready(session, op, found->rounds + 1, &more)) batch[count++] = op;
    }
  }
  return count;
}

/* The last round is useful only if it has something to look at. */
static int rounds_of(const opc_session_t *session, const opc_operator_t *op) {
  size_t relatives[OPC_HELPERS_MAX];
  return OPC_SEARCH_ROUNDS + (opc_search_helpers(session->library, op, OPC_SEARCH_ROUNDS + 1, relatives) > 0);
}

/* Objects are made from what a sample file says, too. */
static opc_status_t offer_declared(opc_session_t *session, opc_error_t *error) {
  for (size_t i = 0; i < all_count(session); i++) {
    const opc_operator_t *op = nth(session, i);
    OPC_SCOPED(opc_scope_free) char *made = opc_search_class_made(op);
    for (size_t k = 0; made && k < session->samples.count; k++) {
      const opc_sample_t *sample = &session->samples.samples[k];
      if (strcmp(sample->operator_name, op->name) == 0 && opc_sample_is_callable(sample))
        OPC_RETURN_IF_ERROR(opc_search_library_add(session->library, op, 0, sample, NULL, 0, error));
    }
  }
  return OPC_OK;
}

static opc_status_t search_rounds_begin(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                                        opc_error_t *error) {
  const opc_loaded_t *loaded = &session->loaded;
  for (size_t i = 0; i < all_count(session); i++) {
    opc_searched_t *found = &session->found[i];
    found->over = !nth(session, i)->schema || search_rounds_has_sample(session, nth(session, i));
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
  OPC_RETURN_IF_ERROR(offer_declared(session, error));
  /* Under Valgrind a try takes fifty times as long. */
  for (size_t i = 0; i < count; i++)
    opc_search_found(session, operators[i])->rounds_wanted = session->memcheck ? 1 : rounds_of(session, operators[i]);
  return OPC_OK;
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

static opc_status_t run_rounds(opc_session_t *session, const opc_operator_t *const *operators, size_t count, int jobs,
                               opc_error_t *error) {
  OPC_RETURN_IF_ERROR(search_rounds_begin(session, operators, count, error));
  OPC_SCOPED(opc_scope_free)
  const opc_operator_t **batch = calloc(all_count(session) + 1, sizeof(const opc_operator_t *));
  if (!batch) return opc_out_of_memory(error);
  session->searching = true;
  for (size_t ready; (ready = next_batch(session, batch)) > 0;)
    OPC_RETURN_IF_ERROR(opc_schedule_run(session, batch, ready, jobs, error));
  return OPC_OK;
}

/* A search for each seed. Each starts anew: it finds what a run with this seed alone would find. */
static opc_status_t run_passes(opc_session_t *session, const opc_operator_t *const *operators, size_t count, int jobs,
                               opc_error_t *error) {
  const int passes = session->options->seeds > 1 ? session->options->seeds : 1;
  session->found = calloc(all_count(session) + 1, sizeof *session->found);
  if (!session->found) return opc_out_of_memory(error);
  for (int pass = 0; pass < passes; pass++) {
    session->search_pass = (uint64_t)pass;
    OPC_RETURN_IF_ERROR(run_rounds(session, operators, count, jobs, error));
    for (size_t i = 0; passes > 1 && i < all_count(session); i++)
      OPC_RETURN_IF_ERROR(merge_with_earlier(&session->found[i], error));
  }
  for (size_t i = 0; passes > 1 && i < all_count(session); i++) {
    opc_searched_t *found = &session->found[i];
    found->clean = found->earlier_clean;
    OPC_MOVE(&found->samples, found->earlier);
    if (!found->earlier_detail) continue;
    free(found->detail);
    OPC_MOVE(&found->detail, found->earlier_detail);
  }
  return OPC_OK;
}

opc_status_t opc_search_rounds_run(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                                   int jobs, opc_error_t *error) {
  if (session->options->no_search || !session->calls || json_array_size(session->devices) == 0) return OPC_OK;
  const opc_status_t status = run_passes(session, operators, count, jobs, error);
  session->searching = false;
  session->search_pass = 0;
  opc_search_library_free(session->library); /* session->found holds the samples for the checks */
  session->library = NULL;
  return status;
}

void opc_search_rounds_end(opc_session_t *session) {
  for (size_t i = 0; session->found && i < all_count(session); i++) {
    opc_sample_set_clear(&session->found[i].samples);
    opc_sample_set_clear(&session->found[i].earlier);
    free(session->found[i].earlier_detail);
    free(session->found[i].detail);
    free(session->found[i].record);
  }
  free(session->found);
  opc_search_library_free(session->library);
  session->found = NULL;
  session->library = NULL;
}
