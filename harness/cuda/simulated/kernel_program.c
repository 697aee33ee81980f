/* The programs of kernels: their module's newest PTX is read at the first launch of one of its kernels, and each kernel
 * becomes a program at its own first launch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/simulated/simulated.h"

typedef struct opc_module_texts {
  opc_ptx_module_t **modules;
  size_t count;
  const char *why; /* permanent; of the first text that cannot be read; "": none */
  opc_kernel_program_t **programs;
  size_t program_count;
} texts_t;

static const char *const no_ptx =
    "it has no PTX, only machine code: compile it with PTX, nvcc -gencode "
    "arch=compute_90,code=compute_90";

/* Adds a pointer to an array of pointers. */
static bool program_append(void *array, size_t *count, void *item) {
  void **grown, **items;
  memcpy(&items, array, sizeof items);
  grown = realloc(items, (*count + 1) * sizeof *grown);
  if (!grown) return false;
  grown[(*count)++] = item;
  memcpy(array, &grown, sizeof grown);
  return true;
}

/* Permanent. */
static const char *words_of(const opc_ptx_problem_t *problem) {
  char text[320];
  if (problem->form[0])
    (void)snprintf(text, sizeof text, "the PTX machine does not have the instruction %s", problem->form);
  else if (problem->line) (void)snprintf(text, sizeof text, "line %u of its PTX: %s", problem->line, problem->message);
  else (void)snprintf(text, sizeof text, "its PTX: %s", problem->message);
  return opc_log_intern(text);
}

static void text_read(const char *text, size_t size, unsigned architecture, void *context) {
  texts_t *texts = context;
  opc_ptx_problem_t problem = {0};
  (void)architecture;
  opc_ptx_module_t *module = opc_ptx_module_read(text, size, &problem);
  if (!module && !texts->why[0]) texts->why = words_of(&problem);
  if (module && !program_append(&texts->modules, &texts->count, module)) opc_ptx_module_free(module);
}

/* Under opc_lock_runs. NULL: out of memory. */
static texts_t *texts_of(opc_module_t *module) {
  if (module->texts) return module->texts;
  texts_t *texts = calloc(1, sizeof *texts);
  if (!texts) return NULL;
  texts->why = "";
  if (opc_image_ptx(module->wrapper, text_read, texts) == 0) texts->why = no_ptx;
  module->texts = texts;
  return texts;
}

static void program_make(const texts_t *texts, const char *name, opc_kernel_program_t *out) {
  opc_ptx_problem_t problem = {0};
  out->why = texts->why[0] ? texts->why : "its PTX is not in the newest PTX of its library";
  for (size_t i = 0; i < texts->count; i++)
    for (size_t k = 0; k < opc_ptx_kernel_count(texts->modules[i]); k++) {
      if (strcmp(opc_ptx_kernel_name(texts->modules[i], k), name) != 0) continue;
      out->module = texts->modules[i];
      out->program = opc_ptx_program_make(texts->modules[i], k, &problem);
      out->why = out->program ? "" : words_of(&problem);
      return;
    }
}

opc_kernel_program_t *opc_kernel_program(opc_cuda_kernel_t *kernel) {
  if (kernel->program || !kernel->module) return kernel->program;
  texts_t *texts = texts_of(kernel->module);
  opc_kernel_program_t *program = texts ? calloc(1, sizeof *program) : NULL;
  if (!program || !program_append(&texts->programs, &texts->program_count, program)) {
    free(program);
    return NULL;
  }
  program->threads_most = UINT64_MAX;
  program_make(texts, kernel->name, program);
  kernel->program = program;
  return program;
}

void opc_kernel_programs_end(opc_module_t *module) {
  pthread_mutex_lock(&opc_lock_runs);
  texts_t *texts = module ? module->texts : NULL;
  for (size_t i = 0; texts && i < texts->program_count; i++) {
    opc_ptx_program_free(texts->programs[i]->program);
    free(texts->programs[i]);
  }
  for (size_t i = 0; texts && i < texts->count; i++) opc_ptx_module_free(texts->modules[i]);
  if (texts) {
    free(texts->programs);
    free(texts->modules);
    free(texts);
    module->texts = NULL;
  }
  pthread_mutex_unlock(&opc_lock_runs);
}

/* ---- variables ---- */

/* Under opc_lock_runs. Managed memory is the same on all devices. */
static void variable_begin(opc_variable_t *variable, int device, void *context) {
  (void)context;
  if (variable->begun[device] || !variable->module) return;
  const texts_t *texts = texts_of(variable->module);
  for (size_t i = 0; texts && i < texts->count; i++) {
    size_t size = 0;
    const void *from = opc_ptx_module_variable(texts->modules[i], variable->name, &size);
    if (!from) continue;
    opc_device_copy(variable->at[device], (uint64_t)(uintptr_t)from, size < variable->bytes ? size : variable->bytes);
    break;
  }
  for (int i = 0; i < OPC_SIMULATED_DEVICES; i++) variable->begun[i] |= variable->at[i] == variable->at[device];
}

void opc_variable_begin(const void *host, int device) {
  opc_variable_t *variable = opc_variable_of(host);
  if (!variable || variable->begun[device] || variable->at[device] == 0) return;
  pthread_mutex_lock(&opc_lock_runs);
  variable_begin(variable, device, NULL);
  pthread_mutex_unlock(&opc_lock_runs);
}

void opc_variables_begin(const opc_module_t *module, int device) {
  opc_variable_visit(module, device, variable_begin, NULL);
}

void opc_managed_begin(const opc_module_t *module) {
  pthread_mutex_lock(&opc_lock_runs);
  if (module) opc_variables_begin(module, 0); /* no other variable has memory before its first use */
  pthread_mutex_unlock(&opc_lock_runs);
}
