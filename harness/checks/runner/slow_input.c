#include "checks/runner/slow_input.h"

#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "memory/valgrind_requests.h"

enum { SLOTS = 512 };
static opc_slow_input_t *slots; /* shared; by sample, modulo SLOTS */

void opc_slow_inputs_share(void) {
  if (slots) return;
  void *memory = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) slots = memory;
}

int64_t opc_slow_input_elements(const opc_sample_t *sample) {
  int64_t elements = 0;
  for (size_t i = 0; opc_sample_tensor(sample, i); i++) elements += opc_tensor_spec_numel(opc_sample_tensor(sample, i));
  return elements;
}

static uint64_t slow_input_digest(const opc_case_id_t *id) {
  const uint64_t op = XXH3_64bits(id->operator_name, strlen(id->operator_name)),
                 device = XXH3_64bits_withSeed(id->device, strlen(id->device), op);
  return XXH3_64bits_withSeed(id->sample, strlen(id->sample), device);
}

/* The slot of the context's sample, which may hold another one. NULL: nothing is left out for this sample. On the
 * simulated device no element is touched; a call from Python may have spent its time on a compiler. */
static opc_slow_input_t *slow_input_slot(const opc_case_context_t *context) {
  const opc_sample_t *base = context->base;
  const bool vouched = !base || base->source != OPC_SAMPLE_SEARCHED || base->by_recipe;
  const bool measured =
      context->device.type == OPC_DEVICE_CPU && !opc_operator_is_python(context->op) && !opc_valgrind_active();
  if (!slots || vouched || !measured || !context->sample) return NULL;
  return &slots[slow_input_digest(&context->id) % SLOTS];
}

const opc_slow_input_t *opc_slow_input_find(const opc_case_context_t *context) {
  static const double too_long = 0.5;
  const opc_slow_input_t *slot = slow_input_slot(context);
  if (!slot || slot->sample != slow_input_digest(&context->id) || slot->seconds <= 0 || slot->elements < 1 ||
      slot->check >= opc_check_info_count)
    return NULL;
  const int64_t elements = opc_slow_input_elements(context->sample);
  const double expected = slot->seconds * (double)elements / (double)slot->elements;
  return elements > opc_slow_input_elements(context->base) && expected > too_long ? slot : NULL;
}

/* The sample itself runs in every check, however long it takes. */
void opc_slow_input_note(const opc_case_context_t *context, size_t check, double seconds) {
  static const double least = 0.1; /* shorter times say little about longer ones */
  opc_slow_input_t *slot = seconds < least ? NULL : slow_input_slot(context);
  if (!slot) return;
  const uint64_t sample = slow_input_digest(&context->id);
  const int64_t elements = opc_slow_input_elements(context->sample);
  if (elements <= opc_slow_input_elements(context->base) || (slot->sample == sample && seconds <= slot->seconds))
    return;
  *slot = (opc_slow_input_t){.sample = sample, .elements = elements, .seconds = seconds, .check = check};
}
