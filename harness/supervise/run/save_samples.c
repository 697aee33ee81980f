#include <string.h>

#include "model/value/value_read.h"
#include "supervise/jobs/searching.h"
#include "supervise/run/run.h"

static const char file_comment[] =
    "Made by opcheck-c run --init-samples. Nobody vouches for an entry with \"source\": \"searched\" until that is "
    "deleted: look whether the operator must accept these arguments, and compute the same for them in every layout. An "
    "entry with \"todo\" is no sample until its args are completed and \"todo\" is deleted. opcheck-c explain samples "
    "describes the format.";

/* One that the operator may refuse: simple values of the right types, as far as there are any. */
static opc_status_t init_samples_todo(opc_session_t *session, const opc_operator_t *op, opc_sample_t *out,
                                      opc_error_t *error) {
  const opc_searched_t *found = opc_search_found(session, op);
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_RETURN_IF_ERROR(opc_sample_init(&sample, op, error));
  for (size_t i = 0; i < op->argument_count; i++) {
    if (sample.absent[i]) continue;
    json_auto_t *simple = opc_simple_value(&op->arguments[i].type, 0, NULL);
    opc_json_reader_t reader = {.error = error};
    if (simple && opc_value_read(&reader, simple, &op->arguments[i].type, op->arguments[i].type_text,
                                 &sample.arguments[i]) != OPC_OK)
      opc_value_clear(&sample.arguments[i]);
  }
  sample.todo = opc_string_format("complete args, then delete this field%s%s", found && found->detail ? ": " : "",
                                  found && found->detail ? found->detail : "");
  if (!sample.todo) return opc_out_of_memory(error);
  OPC_MOVE(out, sample);
  return OPC_OK;
}

/* Those of the operator: in a run, operators end in any order. */
static opc_status_t add_from(const opc_sample_set_t *set, const opc_operator_t *op, opc_sample_set_t *out,
                             opc_error_t *error) {
  for (size_t i = 0; i < set->count; i++) {
    OPC_SCOPED(opc_sample_clear) opc_sample_t copy = {0};
    if (strcmp(set->samples[i].operator_name, op->name) != 0) continue;
    OPC_RETURN_IF_ERROR(opc_sample_copy(&set->samples[i], &copy, error));
    OPC_RETURN_IF_ERROR(opc_sample_set_add(out, &copy, error));
  }
  return OPC_OK;
}

static opc_status_t add_samples_of(opc_session_t *session, const opc_operator_t *op, opc_sample_set_t *out,
                                   opc_error_t *error) {
  return add_from(&session->samples, op, out, error);
}

static opc_status_t add_found_of(opc_session_t *session, const opc_operator_t *op, opc_sample_set_t *out,
                                 opc_error_t *error) {
  return add_from(&session->found_samples, op, out, error);
}

/* The first of them with its schema. */
static opc_status_t init_samples_add(opc_session_t *session, const opc_operator_t *op, opc_sample_set_t *out,
                                     opc_error_t *error) {
  const size_t before = out->count;
  if (!opc_select_operator(session, op)) return OPC_OK;
  OPC_RETURN_IF_ERROR(add_samples_of(session, op, out, error));
  if (out->count == before) {
    OPC_SCOPED(opc_sample_clear) opc_sample_t todo = {0};
    OPC_RETURN_IF_ERROR(init_samples_todo(session, op, &todo, error));
    OPC_RETURN_IF_ERROR(opc_sample_set_add(out, &todo, error));
  }
  for (size_t i = before; i < out->count; i++) out->samples[i].brief = false; /* a person decides what they are for */
  opc_sample_t *first = &out->samples[before];
  if (first->comment) return OPC_OK;
  return opc_string_copy_to(op->schema ? op->schema : op->name, &first->comment, error);
}

typedef opc_status_t samples_add_t(opc_session_t *session, const opc_operator_t *op, opc_sample_set_t *out,
                                   opc_error_t *error);

static opc_status_t write_in_order(opc_session_t *session, const char *file, const char *comment, samples_add_t *add,
                                   opc_error_t *error) {
  OPC_SCOPED(opc_sample_set_clear) opc_sample_set_t set = {.comment = comment};
  const opc_loaded_t *loaded = &session->loaded;
  for (size_t i = 0; i < loaded->operator_count; i++)
    OPC_RETURN_IF_ERROR(add(session, &loaded->operators[i], &set, error));
  for (size_t i = 0; i < loaded->class_operator_count; i++)
    OPC_RETURN_IF_ERROR(add(session, &loaded->class_operators[i], &set, error));
  return opc_sample_set_write(&set, file, opc_session_operator, session, error);
}

opc_status_t opc_init_samples(opc_session_t *session, opc_error_t *error) {
  return write_in_order(session, session->options->init_samples, file_comment, init_samples_add, error);
}

/* Entries to complete are no samples: the files that were read are the only place that has them. */
opc_status_t opc_save_samples(opc_session_t *session, opc_error_t *error) {
  const size_t count = session->samples.todo_count;
  OPC_RETURN_IF_ERROR(write_in_order(session, session->options->save_samples, NULL, add_samples_of, error));
  if (count == 0) return OPC_OK;
  return opc_journal_note(session->journal, error,
                          "--save-samples: %s has none of the %zu entr%s with \"todo\" that were read",
                          session->options->save_samples, count, count == 1 ? "y" : "ies");
}

opc_status_t opc_save_found(opc_session_t *session, opc_error_t *error) {
  return write_in_order(session, session->options->found_samples, NULL, add_found_of, error);
}
