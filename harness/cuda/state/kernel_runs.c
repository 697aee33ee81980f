/* What became of the kernels of the simulated devices: how many ran, what they may still run, what they did wrong. */
#include <string.h>

#include "cuda/state/cudart_table.h"

enum { FAULTS_MAX = 32 };
/* Before a case says how much it may use: about a second. */
#define BUDGET_USUAL (UINT64_C(1) << 27)

static pthread_mutex_t *const lock = &opc_lock_texts;
static opc_kernel_counts_t counts = {.not_run = ""};
static uint64_t left = BUDGET_USUAL;
static bool incomplete; /* since a case began, a kernel did not run */
static bool was_read;   /* since then, the host has read device memory */
static opc_device_fault_t faults[FAULTS_MAX];
static size_t fault_count;

static bool leave_open(void) {
  struct opc_torch_call *call = &opc_thread.torch_call;
  if (!call->begun) return false;
  call->open++;
  opc_thread.ran = OPC_CUDA_REPLACED;
  opc_thread.not_run = NULL;
  return true;
}

void opc_run_note(opc_cuda_ran_t ran, const char *not_run, bool over_budget) {
  if (ran == OPC_CUDA_RECORDED && leave_open()) return;
  opc_thread.ran = ran;
  opc_thread.not_run = not_run;
  pthread_mutex_lock(lock);
  if (ran == OPC_CUDA_RAN_EXACT) counts.exact++;
  else if (ran == OPC_CUDA_RAN_BOUNDED) counts.bounded++;
  else {
    counts.recorded++;
    if (!incomplete) { /* the others follow from it */
      counts.not_run = not_run ? not_run : "";
      counts.over_budget = over_budget;
    }
    incomplete = true;
  }
  pthread_mutex_unlock(lock);
}

void opc_run_note_sampled(void) {
  pthread_mutex_lock(lock);
  counts.sampled++;
  pthread_mutex_unlock(lock);
}

void opc_run_counts(opc_kernel_counts_t *out) {
  pthread_mutex_lock(lock);
  *out = counts;
  pthread_mutex_unlock(lock);
}

void opc_run_budget_set(uint64_t instructions) {
  pthread_mutex_lock(lock);
  left = instructions;
  incomplete = was_read = false;
  pthread_mutex_unlock(lock);
}

bool opc_run_is_incomplete(void) {
  pthread_mutex_lock(lock);
  const bool out = incomplete || opc_thread.torch_call.open != 0;
  pthread_mutex_unlock(lock);
  return out;
}

void opc_run_note_read(void) {
  pthread_mutex_lock(lock);
  was_read = was_read || incomplete || opc_thread.torch_call.open != 0;
  pthread_mutex_unlock(lock);
}

bool opc_run_was_read(void) {
  pthread_mutex_lock(lock);
  const bool out = was_read;
  pthread_mutex_unlock(lock);
  return out;
}

uint64_t opc_run_budget(void) {
  pthread_mutex_lock(lock);
  const uint64_t out = left;
  pthread_mutex_unlock(lock);
  return out;
}

void opc_run_used(uint64_t instructions) {
  pthread_mutex_lock(lock);
  left = instructions < left ? left - instructions : 0;
  pthread_mutex_unlock(lock);
}

/* ---- calls of libtorch's operators ---- */

bool opc_torch_call_begin(bool replaceable) {
  struct opc_torch_call *call = &opc_thread.torch_call;
  if (call->begun || opc_run_is_incomplete()) return false;
  *call = (struct opc_torch_call){.begun = true, .replaceable = replaceable, .first_logged = opc_log_count()};
  return true;
}

bool opc_torch_call_open(bool *out_refused, bool *out_lacks) {
  *out_refused = opc_thread.torch_call.refused;
  *out_lacks = opc_thread.torch_call.replaceable && opc_thread.torch_call.lacks;
  return opc_thread.torch_call.open != 0;
}

bool opc_torch_call_afford(uint64_t instructions) {
  pthread_mutex_lock(lock);
  const bool enough = instructions <= left;
  if (enough) left -= instructions;
  pthread_mutex_unlock(lock);
  return enough;
}

bool opc_torch_call_refuses(void) {
  struct opc_torch_call *call = &opc_thread.torch_call;
  const bool refuses = call->replaceable && call->open != 0;
  call->refused |= refuses;
  return refuses;
}

void opc_torch_call_end(const char *not_run, bool over_budget) {
  const struct opc_torch_call call = opc_thread.torch_call;
  opc_thread.torch_call = (struct opc_torch_call){0};
  if (!not_run) {
    if (call.refused || call.lacks) opc_thread.last_error = cudaSuccess;
    pthread_mutex_lock(lock);
    counts.replaced++;
    pthread_mutex_unlock(lock);
    return;
  }
  if (call.refused) opc_thread.last_error = cudaSuccess;
  if (call.open == 0) return;
  const char *kept = opc_log_intern(not_run);
  for (uint64_t i = 0; i < call.open; i++) opc_run_note(OPC_CUDA_RECORDED, kept, over_budget);
  opc_log_settle(call.first_logged, OPC_CUDA_RECORDED, kept);
}

/* ---- faults ---- */

static bool same_fault(const opc_device_fault_t *one, const opc_device_fault_t *other) {
  return one->kind == other->kind && one->write == other->write && one->line == other->line &&
         one->nearest == other->nearest && one->other.line == other->other.line &&
         strcmp(one->kernel, other->kernel) == 0 && strcmp(one->file, other->file) == 0 &&
         strcmp(one->space, other->space) == 0;
}

void opc_fault_note(const opc_device_fault_t *fault) {
  size_t i = 0;
  pthread_mutex_lock(lock);
  while (i < fault_count && !same_fault(&faults[i], fault)) i++;
  if (i < fault_count) faults[i].times += fault->times;
  else if (fault_count < FAULTS_MAX) faults[fault_count++] = *fault;
  pthread_mutex_unlock(lock);
}

size_t opc_fault_list(const opc_device_fault_t **out) {
  *out = faults;
  return fault_count;
}

void opc_fault_forget(void) { fault_count = 0; }
