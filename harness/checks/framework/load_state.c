#include <stdlib.h>
#include <string.h>

#include "bridge/api/bridge.h"
#include "checks/framework/global_state.h"

/* Numbers that other code computes depend on these kinds of state. */
static const bool decides_results[OPC_STATE_KINDS] = {
    [OPC_STATE_GRAD_MODE] = true, [OPC_STATE_DISPATCH] = true,       [OPC_STATE_DEFAULT_DTYPE] = true,
    [OPC_STATE_GENERATOR] = true, [OPC_STATE_FLOATING_POINT] = true,
};

static opc_load_change_t *changes_of_loads; /* for the life of the process */
static size_t changes_of_loads_count, threads_before;

static size_t load_state_threads(void) {
  opc_process_use_t use;
  return opc_process_use_read(&use, NULL) == OPC_OK ? use.threads : 0;
}

/* What only the interpreter of --python knows; part: "results" or "rest". */
static opc_status_t load_state_ask_python(const char *what, const char *part, opc_text_t *answer, opc_error_t *error) {
  return opc_bridge_has_interpreter() ? opc_bridge_ask_interpreter(what, part, answer, error) : OPC_OK;
}

static void load_state_add(opc_text_t *out, const char *clause) {
  if (clause[0] != '\0') opc_text_addf(out, "%s%s", out->length > 0 ? ", " : "", clause);
}

static opc_status_t take_changes(opc_load_change_t *out, opc_error_t *error) {
  opc_state_t now;
  OPC_SCOPED(opc_state_changes_clear) opc_state_changes_t changes = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t results = {0}, rest = {0};
  opc_state_read(&now);
  opc_state_compare(opc_state_first(), &now, &changes);
  opc_text_reset(&changes.texts[OPC_STATE_PRINTED]);
  for (int kind = 0; kind < OPC_STATE_KINDS; kind++)
    load_state_add(decides_results[kind] ? &out->results : &out->rest, opc_text_c(&changes.texts[kind]));
  const size_t threads = load_state_threads();
  if (threads > threads_before && threads_before > 0)
    opc_text_addf(&rest, "the process had %zu thread%s and has %zu", threads_before, threads_before == 1 ? "" : "s",
                  threads);
  load_state_add(&out->rest, opc_text_c(&rest));
  opc_text_reset(&rest);
  OPC_RETURN_IF_ERROR(load_state_ask_python("loaded", "results", &results, error));
  OPC_RETURN_IF_ERROR(load_state_ask_python("loaded", "rest", &rest, error));
  load_state_add(&out->results, opc_text_c(&results));
  load_state_add(&out->rest, opc_text_c(&rest));
  return OPC_OK;
}

opc_status_t opc_load_state_begin(opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t nothing = {0};
  OPC_RETURN_IF_ERROR(load_state_ask_python("loading", "", &nothing, error));
  opc_state_forget_first();
  (void)opc_state_first();
  threads_before = load_state_threads();
  return OPC_OK;
}

static void load_change_clear(opc_load_change_t *change) {
  free(change->library);
  opc_text_clear(&change->results);
  opc_text_clear(&change->rest);
}

opc_status_t opc_load_state_end(const char *library, opc_error_t *error) {
  OPC_SCOPED(load_change_clear) opc_load_change_t change = {.library = opc_string_copy(library)};
  if (!change.library) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(take_changes(&change, error));
  opc_state_forget_first();
  if (change.results.length + change.rest.length == 0) return OPC_OK;
  if (!OPC_ARRAY_GROW(changes_of_loads, changes_of_loads_count)) return opc_out_of_memory(error);
  OPC_MOVE(&changes_of_loads[changes_of_loads_count], change);
  changes_of_loads_count++;
  return OPC_OK;
}

const opc_load_change_t *opc_load_state_of(const char *library) {
  for (size_t i = 0; i < changes_of_loads_count; i++)
    if (strcmp(changes_of_loads[i].library, library) == 0) return &changes_of_loads[i];
  return NULL;
}
