/* Gives each string argument of a declared sample a word that no operator knows. What refuses it often names the words
 * that it takes: "mode must be 'nearest' or 'up'". The samples of the operator then have them, as neighbours. */
#include "supervise/jobs/searching.h"

#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "plan/cases/planner.h"
#include "search/repair/search_repair.h"

struct opc_words {
  size_t argument; /* the string argument that gets an unknown word */
};

static const char unknown_word[] = "opcheck-c";

/* The word that the sample gives, or the default, is one of a few; a file's name is not, and the operator may write
 * that file. */
static bool is_choice(const opc_sample_t *sample, const opc_operator_t *op, size_t index) {
  const opc_argument_t *argument = &op->arguments[index];
  const opc_value_t *value = &sample->arguments[index];
  if (!opc_argument_is_string(argument) ||
      opc_argument_is_named(argument->name, "file filename fname path dir directory folder url uri"))
    return false;
  if (!sample->absent[index])
    return value->kind == OPC_VALUE_STRING && opc_is_plain_word(value->string, strlen(value->string));
  const char *quoted = argument->default_text;
  return quoted && quoted[0] == '"' && strlen(quoted) > 2 && opc_is_plain_word(quoted + 1, strlen(quoted) - 2);
}

/* The sample whose arguments are tried; NULL: nobody declared one. */
static const opc_sample_t *asked_sample(const opc_task_t *task) {
  for (size_t i = 0; i < task->samples.count; i++) {
    const opc_sample_t *sample = &task->samples.samples[i];
    if (sample->source != OPC_SAMPLE_SEARCHED && opc_sample_is_callable(sample)) return sample;
  }
  return NULL;
}

/* Goes to the next argument to ask about, from this one on. False: there is none. */
static bool find_next(opc_task_t *task) {
  const opc_sample_t *sample = asked_sample(task);
  if (!sample) return false;
  size_t *argument = &task->words->argument;
  while (*argument < task->op->argument_count && !is_choice(sample, task->op, *argument)) ++*argument;
  return *argument < task->op->argument_count;
}

static void words_task_forget(opc_task_t *task) {
  free(task->words);
  task->words = NULL;
}

/* No argument is left to ask about. */
static opc_status_t words_task_leave(opc_task_t *task, opc_error_t *error) {
  words_task_forget(task);
  return opc_relations_begin(task, error);
}

opc_status_t opc_words_begin(opc_task_t *task, opc_error_t *error) {
  if (!opc_search_is_guarded(task->session, task->op)) return opc_relations_begin(task, error);
  task->words = calloc(1, sizeof *task->words);
  if (!task->words) return opc_out_of_memory(error);
  task->phase = &opc_phase_words;
  if (!find_next(task)) return words_task_leave(task, error);
  return OPC_OK;
}

static opc_status_t words_task_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  if (!find_next(task)) {
    OPC_RETURN_IF_ERROR(words_task_leave(task, error));
    return task->phase == &opc_phase_relations ? task->phase->command(task, out, error) : OPC_OK;
  }
  const size_t argument = task->words->argument;
  OPC_SCOPED(opc_sample_clear) opc_sample_t trying = {0};
  OPC_RETURN_IF_ERROR(opc_sample_copy(asked_sample(task), &trying, error));
  opc_value_t word = {.kind = OPC_VALUE_STRING, .string = opc_string_copy(unknown_word)};
  if (!word.string) return opc_out_of_memory(error);
  opc_value_clear(&trying.arguments[argument]);
  trying.arguments[argument] = word;
  trying.absent[argument] = false;
  *out = opc_task_try(task, OPC_MODE_CPU, &trying, false, true);
  return *out ? OPC_OK : opc_out_of_memory(error);
}

/* ---- the answer ---- */

typedef struct named_words {
  opc_task_t *task;
  opc_status_t status;
  opc_error_t *error;
} named_words_t;

/* An argument's own name, or another one's, is not its value. */
static bool words_task_is_argument(const opc_operator_t *op, const char *text, size_t length) {
  for (size_t i = 0; i < op->argument_count; i++)
    if (strlen(op->arguments[i].name) == length && strncmp(op->arguments[i].name, text, length) == 0) return true;
  return false;
}

static opc_status_t add_named_word(opc_task_t *task, const char *text, size_t length, opc_error_t *error) {
  enum { TEXT_MAX = 200 }; /* a message may quote all kinds of things */
  const bool own = length == strlen(unknown_word) && strncmp(text, unknown_word, length) == 0;
  if (own || !opc_is_plain_word(text, length) || words_task_is_argument(task->op, text, length)) return OPC_OK;
  for (size_t i = 0; i < task->samples.count; i++) {
    opc_sample_t *sample = &task->samples.samples[i];
    const char *known = sample->words ? sample->words[task->words->argument] : NULL;
    if (sample->source != OPC_SAMPLE_SEARCHED && (!known || strlen(known) + length <= TEXT_MAX))
      OPC_RETURN_IF_ERROR(opc_sample_add_word(sample, task->words->argument, text, length, error));
  }
  return OPC_OK;
}

static void take_word(const char *text, size_t length, void *context) {
  named_words_t *named = context;
  if (named->status != OPC_OK) return;
  named->status = add_named_word(named->task, text, length, named->error);
}

static opc_status_t words_task_tried(opc_task_t *task, opc_tried_t *tried, opc_error_t *error) {
  named_words_t named = {.task = task, .error = error};
  if (tried->outcome == OPC_TRY_REJECTED) opc_refusal_words(tried->message, take_word, &named);
  task->words->argument++;
  return named.status;
}

static opc_status_t words_task_crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                                     opc_error_t *error) {
  (void)case_id;
  (void)crash;
  (void)error;
  task->words->argument++;
  return OPC_OK;
}

const opc_phase_t opc_phase_words = {.command = words_task_command,
                                     .tried = words_task_tried,
                                     .crash = words_task_crash,
                                     .forget = words_task_forget,
                                     .seconds = opc_task_try_seconds,
                                     .searches = true};
