/* A launch on the simulated devices: the PTX machine (cuda/ptx) runs the kernel at once, in the order of the host's
 * calls. That is one of the orders that streams and events allow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/simulated/simulated.h"

enum { PARAMETER_BYTES = 32768, PER_THREAD = 4 /* instructions of a thread, at least */ };
typedef struct opc_work_kernel work_t;
/* Instructions of a thread that one launch may run: about half a second. Those that the blocks may that run alone. */
static const uint64_t launch_most = UINT64_C(1) << 26, sampled_most = UINT64_C(1) << 22;
/* Tensors of this size are there for the arithmetic of sizes: to fill them would take the machine's memory. */
static const uint64_t huge_bytes = UINT64_C(1) << 30;

/* ---- parameters ---- */

/* Copies the parameters to where the program reads them. "": done; else why not. */
static const char *pack(const work_t *work, const opc_kernel_program_t *program, unsigned char *out) {
  const uint32_t bytes = opc_ptx_program_parameter_bytes(program->program);
  const opc_kernel_image_t *image = opc_kernel_image(work->kernel);
  memset(out, 0, bytes);
  if (bytes == 0) return "";
  if (bytes > PARAMETER_BYTES) return "its parameters take more than 32 KiB";
  if (!image || !image->parameters_known) return "the sizes of its parameters are not known";
  if (!work->arguments) return "it was given no parameters";
  for (size_t i = 0; i < image->parameter_count; i++) {
    const opc_parameter_t *parameter = &image->parameters[i];
    if (parameter->size > bytes || parameter->offset > bytes - parameter->size || !work->arguments[i])
      return "its parameters differ in its PTX and in its machine code";
    memcpy(out + parameter->offset, work->arguments[i], parameter->size);
  }
  return "";
}

/* Whether a word of the parameters is an address in so large an allocation. */
static bool has_huge(const unsigned char *parameters, uint32_t bytes) {
  opc_range_t range;
  for (uint32_t at = 0; at + 8 <= bytes; at += 8) {
    uint64_t word;
    memcpy(&word, parameters + at, sizeof word);
    if (opc_range_find(word, &range) && range.live && range.bytes >= huge_bytes) return true;
  }
  return false;
}

/* Kept until the process ends: the executable graph that has the copy may outlive the graph. */
void opc_kernel_keep(opc_work_t *work) {
  work_t *kernel = &work->of.kernel;
  pthread_mutex_lock(&opc_lock_runs);
  const opc_kernel_program_t *program = opc_kernel_program(kernel->kernel);
  const uint32_t bytes = program && program->program ? opc_ptx_program_parameter_bytes(program->program) : 0;
  unsigned char *parameters = bytes != 0 && bytes <= PARAMETER_BYTES ? malloc(bytes) : NULL;
  if (parameters && pack(kernel, program, parameters)[0] == '\0') kernel->parameters = parameters;
  else free(parameters);
  kernel->arguments = NULL;
  pthread_mutex_unlock(&opc_lock_runs);
}

/* ---- memory ---- */

/* The part of a live allocation that kernels may access. */
static bool memory_find(void *context, uint64_t address, opc_ptx_range_t *out) {
  opc_range_t range;
  (void)context;
  if (!opc_range_find(address, &range) || !range.live) return false;
  out->begin = range.part_bytes != 0 ? range.part : range.base;
  out->end = range.part_bytes != 0 ? range.part + range.part_bytes : range.base + range.bytes;
  return address >= out->begin && address < out->end;
}

/* Host code has its own memory of a variable, which kernels may also be given a pointer to; the program has another
 * one. What it changes there is copied back. */
typedef struct variables {
  const opc_ptx_module_t *module;
  unsigned char *before; /* what the program's memory of each held, in the order of the visits */
  size_t bytes;
  bool full; /* out of memory: all is copied back */
} variables_t;

static unsigned char *variable_of_program(const variables_t *all, const opc_variable_t *variable, size_t *out_bytes) {
  unsigned char *found = opc_ptx_module_variable(all->module, variable->name, out_bytes);
  if (found && *out_bytes > variable->bytes) *out_bytes = variable->bytes;
  return found;
}

static void variable_in(opc_variable_t *variable, int device, void *context) {
  variables_t *all = context;
  size_t bytes = 0;
  unsigned char *to = variable_of_program(all, variable, &bytes);
  if (!to || bytes == 0) return;
  memcpy(to, (const void *)(uintptr_t)variable->at[device], bytes);
  unsigned char *grown = all->full ? NULL : realloc(all->before, all->bytes + bytes);
  all->full = !grown;
  if (!grown) return;
  memcpy(grown + all->bytes, to, bytes);
  all->before = grown;
  all->bytes += bytes;
}

static void variable_out(opc_variable_t *variable, int device, void *context) {
  variables_t *all = context;
  size_t bytes = 0;
  const unsigned char *from = variable_of_program(all, variable, &bytes);
  unsigned char *to = (unsigned char *)(uintptr_t)variable->at[device];
  for (size_t i = 0; from && i < bytes; i++)
    if (all->full || from[i] != all->before[all->bytes + i]) to[i] = from[i];
  if (from) all->bytes += bytes;
}

/* ---- what it did wrong ---- */

static bool is_shown(opc_ptx_finding_kind_t kind, opc_device_fault_kind_t *out) {
  switch (kind) {
    case OPC_PTX_OUT_OF_BOUNDS:
    case OPC_PTX_USE_AFTER_FREE:
      *out = OPC_FAULT_OUTSIDE;
      return true;
    case OPC_PTX_MISALIGNED:
      *out = OPC_FAULT_MISALIGNED;
      return true;
    case OPC_PTX_TRAP:
      *out = OPC_FAULT_TRAP;
      return true;
    case OPC_PTX_DEADLOCK:
      *out = OPC_FAULT_DEADLOCK;
      return true;
    default:
      return opc_watch_kind(kind, out);
  }
}

static void fault_place(const opc_ptx_finding_t *finding, opc_device_fault_t *out) {
  opc_range_t range;
  if (strcmp(finding->space, "global") != 0 || out->kind != OPC_FAULT_OUTSIDE) return;
  const bool inside = opc_range_find(finding->address, &range);
  if (range.bytes == 0) return;
  const bool in_part = range.part_bytes == 0 || finding->address - range.part < range.part_bytes;
  if (inside && !range.live && !in_part) return; /* next to a tensor that is gone: that one has nothing to do with it */
  out->nearest = range.part_bytes != 0 ? range.part : range.base;
  out->nearest_bytes = range.part_bytes != 0 ? range.part_bytes : range.bytes;
  if (inside && !range.live) out->place = OPC_CUDA_FREED;
}

static void fault_note(opc_cuda_kernel_t *kernel, const opc_ptx_finding_t *finding,
                       const opc_sampled_blocks_t *sampled) {
  char file[1024];
  opc_device_fault_t fault = {.kernel = kernel->name,
                              .kernel_library = opc_kernel_library(kernel),
                              .file = "",
                              .line = finding->source_line,
                              .write = finding->access != OPC_PTX_READ,
                              .space = finding->space,
                              .address = finding->address,
                              .bytes = finding->bytes,
                              .times = 1,
                              .blocks_run = sampled ? sampled->count : 0,
                              .blocks = sampled ? sampled->of : 0,
                              .text = opc_log_intern(finding->text)};
  if (!is_shown(finding->kind, &fault.kind)) return;
  if (finding->file) {
    (void)snprintf(file, sizeof file, "%.*s", (int)finding->file_length, finding->file);
    fault.file = opc_log_intern(file);
  }
  memcpy(fault.block, finding->block, sizeof fault.block);
  memcpy(fault.thread, finding->thread, sizeof fault.thread);
  fault_place(finding, &fault);
  opc_watch_describe(finding, &fault);
  opc_fault_note(&fault);
}

/* ---- the launch ---- */

static const char *not_run(const char *format, unsigned long long number) {
  char text[160];
  (void)snprintf(text, sizeof text, format, number);
  return opc_log_intern(text);
}

static void note_outcome(const work_t *work, opc_kernel_program_t *program, const opc_ptx_outcome_t *outcome,
                         uint64_t threads, const opc_sampled_blocks_t *sampled) {
  const size_t count = outcome->finding_count < OPC_PTX_FINDINGS_KEPT ? outcome->finding_count : OPC_PTX_FINDINGS_KEPT;
  opc_run_used(outcome->lane_instructions);
  for (size_t i = 0; i < count; i++) fault_note(work->kernel, &outcome->findings[i], sampled);
  if (sampled) return;
  opc_watch_ended(program, outcome, threads);
  if (outcome->end == OPC_PTX_OVER_BUDGET) {
    opc_run_note(OPC_CUDA_RECORDED,
                 not_run("it had not ended after %llu instructions", (unsigned long long)outcome->lane_instructions),
                 true);
  } else if (outcome->end == OPC_PTX_REFUSED) {
    opc_run_note(OPC_CUDA_RECORDED, opc_log_intern(outcome->message), false);
  } else {
    opc_run_note(
        opc_ptx_program_exactness(program->program) == OPC_PTX_EXACT ? OPC_CUDA_RAN_EXACT : OPC_CUDA_RAN_BOUNDED, NULL,
        false);
  }
}

static uint64_t budget_of_launch(void) {
  const uint64_t left = opc_run_budget();
  return left < launch_most ? left : launch_most;
}

/* sampled: only these blocks; NULL: all. */
static void run(const work_t *work, opc_kernel_program_t *program, const unsigned char *parameters, uint64_t threads,
                uint64_t budget, const opc_sampled_blocks_t *sampled) {
  const opc_ptx_launch_t launch = {.grid = {work->grid.x, work->grid.y, work->grid.z},
                                   .block = {work->block.x, work->block.y, work->block.z},
                                   .dynamic_shared = work->shared,
                                   .parameters = parameters,
                                   .cooperative = work->cooperative,
                                   .budget = budget,
                                   .find = memory_find,
                                   .sampled = sampled ? sampled->blocks : NULL,
                                   .sampled_count = sampled ? sampled->count : 0};
  opc_ptx_outcome_t *outcome = malloc(sizeof *outcome);
  opc_module_t *module = work->kernel->module;
  const int device = opc_thread.device;
  if (module) opc_variables_begin(module, device);
  if (!outcome || !opc_device_open_all()) {
    if (!sampled) opc_run_note(OPC_CUDA_RECORDED, "out of memory", false);
  } else {
    opc_ptx_launch_t watched = launch;
    if (!sampled) opc_watch_launch(program, &watched);
    variables_t variables = {.module = program->module};
    if (module) opc_variable_visit(module, device, variable_in, &variables);
    opc_ptx_launch_run(program->program, &watched, outcome);
    variables.bytes = 0;
    if (module) opc_variable_visit(module, device, variable_out, &variables);
    free(variables.before);
    opc_device_close_all();
    note_outcome(work, program, outcome, threads, sampled);
  }
  free(outcome);
}

/* A launch that cannot run whole. Numbers that the host has read from memory that no kernel has written say nothing
 * about what a kernel accesses. */
static void run_some(const work_t *work, opc_kernel_program_t *program, const unsigned char *parameters,
                     uint64_t threads, const char *why) {
  const uint64_t left = opc_run_budget();
  char text[200];
  opc_sampled_blocks_t sampled;
  opc_sample_blocks(&work->grid, threads, parameters, opc_ptx_program_parameter_bytes(program->program), &sampled);
  if (sampled.count == 0 || left == 0 || opc_run_was_read()) {
    opc_run_note(OPC_CUDA_RECORDED, why, true);
    return;
  }
  (void)snprintf(text, sizeof text, "%s; %zu of its %llu blocks ran, to see which memory they access", why,
                 sampled.count, (unsigned long long)sampled.of);
  opc_run_note(OPC_CUDA_RECORDED, opc_log_intern(text), true);
  opc_run_note_sampled();
  run(work, program, parameters, threads, left < sampled_most ? left : sampled_most, &sampled);
}

cudaError_t opc_kernel_run(const opc_work_t *given) {
  static unsigned char packed[PARAMETER_BYTES]; /* under the lock */
  const work_t *work = &given->of.kernel;
  const uint64_t threads =
      (uint64_t)work->grid.x * work->grid.y * work->grid.z * work->block.x * work->block.y * work->block.z;
  pthread_mutex_lock(&opc_lock_runs);
  opc_kernel_program_t *program = opc_kernel_program(work->kernel);
  const uint64_t budget = budget_of_launch();
  const char *why = !program ? "out of memory" : program->why, *too_much = NULL;
  if (!why[0] && (threads > budget / PER_THREAD || threads >= program->threads_most))
    too_much = not_run("%llu threads would take too long", threads);
  if (!why[0] && !work->parameters) why = pack(work, program, packed);
  const unsigned char *parameters = work->parameters ? work->parameters : packed;
  if (!why[0] && has_huge(parameters, opc_ptx_program_parameter_bytes(program->program)))
    too_much = "it works on tensors of 1 GiB or more";
  if (!too_much && opc_run_is_incomplete()) /* it would read what is not there, indices for example */
    why = "a kernel before it did not run, so that its input may be missing";
  if (why[0]) opc_run_note(OPC_CUDA_RECORDED, why, false);
  else if (too_much) run_some(work, program, parameters, threads, too_much);
  else run(work, program, parameters, threads, budget, NULL);
  pthread_mutex_unlock(&opc_lock_runs);
  return cudaSuccess;
}
