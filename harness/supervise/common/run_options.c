#include "supervise/common/run_options.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

void opc_run_options_default(opc_run_options_t *options) {
  *options = (opc_run_options_t){.neighbours = -1, .timeout = 10, .operator_time = 300, .memory_mib = 4096};
}

double opc_run_pace(const opc_run_options_t *options) {
  return options->memcheck ? OPC_MEMCHECK_PACE : options->sanitize ? OPC_SANITIZE_PACE : 1;
}

static volatile sig_atomic_t interrupted;
static struct sigaction before_int, before_term, before_pipe, before_size;

static void on_signal(int number) {
  (void)number;
  interrupted = 1;
}

bool opc_interrupted(void) { return interrupted != 0; }

void opc_interrupt_begin(void) {
  struct sigaction stop = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
  interrupted = 0;
  sigemptyset(&stop.sa_mask);
  sigemptyset(&ignore.sa_mask);
  sigaction(SIGINT, &stop, &before_int); /* without SA_RESTART: a waiting poll ends */
  sigaction(SIGTERM, &stop, &before_term);
  sigaction(SIGPIPE, &ignore, &before_pipe);
  sigaction(SIGXFSZ, &ignore, &before_size); /* a write beyond the limit then fails with EFBIG */
}

void opc_interrupt_end(void) {
  sigaction(SIGINT, &before_int, NULL);
  sigaction(SIGTERM, &before_term, NULL);
  sigaction(SIGPIPE, &before_pipe, NULL);
  sigaction(SIGXFSZ, &before_size, NULL);
}

static int stars(const char *text, size_t length) {
  int count = 0;
  for (size_t i = 0; i < length; i++) count += text[i] == '*';
  return count;
}

opc_status_t opc_reference_pair_check(const char *pair, opc_error_t *error) {
  const char *equals = strchr(pair, '=');
  const size_t left = equals ? (size_t)(equals - pair) : 0;
  if (!equals || left == 0 || equals[1] == '\0')
    return opc_error_set(error, OPC_ERR_USAGE,
                         "--reference %.60s: give OPERATOR=REFERENCE, such as my_ops::fast_*=my_ops::slow_*", pair);
  if (stars(pair, left) > 1 || stars(equals + 1, strlen(equals + 1)) > stars(pair, left))
    return opc_error_set(
        error, OPC_ERR_USAGE,
        "--reference %.60s: the operator may have one *, and the reference then one that stands for the "
        "same text",
        pair);
  return OPC_OK;
}

char *opc_reference_of_pair(const char *pair, const char *operator_name) {
  const char *equals = strchr(pair, '='), *reference = equals + 1, *to = strchr(reference, '*');
  const char *star = memchr(pair, '*', (size_t)(equals - pair));
  const size_t length = strlen(operator_name);
  const size_t before = (size_t)((star ? star : equals) - pair);
  const size_t after = star ? (size_t)(equals - star - 1) : 0;
  if (length < before + after || strncmp(operator_name, pair, before) != 0) return NULL;
  if (!star && length != before) return NULL;
  if (strncmp(operator_name + length - after, equals - after, after) != 0) return NULL;
  if (!to) return opc_string_copy(reference);
  return opc_string_format("%.*s%.*s%s", (int)(to - reference), reference, (int)(length - before - after),
                           operator_name + before, to + 1);
}

void opc_reference_give(const opc_run_options_t *options, opc_sample_t *sample) {
  if (sample->expect.reference || sample->expect.rejects) return;
  for (size_t i = 0; i < options->reference_count; i++) {
    char *reference = opc_reference_of_pair(options->references[i], sample->operator_name);
    if (!reference) continue;
    if (strcmp(reference, sample->operator_name) != 0) {
      sample->expect.reference = reference;
      return;
    }
    free(reference); /* `*` matches the reference too */
  }
}

bool opc_run_is_whole(const opc_run_options_t *options) {
  return options->op_glob_count + options->namespace_count + options->check_count == 0 && options->shard_count <= 1 &&
         !options->case_id && options->budget <= 0;
}

bool opc_run_keeps_samples(const opc_run_options_t *options) { return options->save_samples || options->init_samples; }
