/* Whether operators have a derivative where libtorch looks for one: this one, and the others of its library. */
#include "checks/autograd/autograd.h"

#include <ctype.h>
#include <string.h>

static const opc_kernel_t *kernel_at(const opc_operator_t *op, const char *prefix, const char *device) {
  char key[64];
  snprintf(key, sizeof key, "%s%s", prefix, device);
  return opc_operator_kernel(op, key);
}

/* "CPU", "CUDA", as dispatch keys spell the device. */
static void device_key(opc_device_t device, char out[32]) {
  snprintf(out, 32, "%s", opc_device_type_name(device.type));
  for (char *at = out; *at; at++) *at = (char)toupper((unsigned char)*at);
}

static bool computes(const opc_kernel_t *kernel) { return kernel && !kernel->fallthrough; }

bool opc_autograd_is_registered(const opc_operator_t *op, opc_device_t device) {
  char name[32];
  device_key(device, name);
  const opc_kernel_t *own = kernel_at(op, "Autograd", name);
  if (own) return computes(own);
  bool backend = kernel_at(op, "", name) || opc_operator_kernel(op, "CompositeExplicitAutograd") ||
                 opc_operator_kernel(op, "CompositeExplicitAutogradNonFunctional");
  if (!backend && opc_operator_has_kernel(op, "CompositeImplicitAutograd")) return true;
  return opc_operator_has_kernel(op, "Autograd");
}

static bool is_function_of_tensors(const opc_operator_t *op) {
  bool takes = false, returns = false;
  for (size_t i = 0; i < op->argument_count; i++) takes |= opc_type_holds_tensor(&op->arguments[i].type);
  for (size_t i = 0; i < op->return_count; i++) returns |= opc_type_holds_tensor(&op->returns[i].type);
  const char *namespace_end = strstr(op->name, "::"), *name = namespace_end ? namespace_end : op->name;
  return takes && returns && !strstr(name, "backward") && !strstr(name, "grad");
}

static bool writes(const opc_operator_t *op) {
  for (size_t i = 0; i < op->argument_count; i++)
    if (op->arguments[i].alias.is_write) return true;
  return false;
}

typedef struct survey {
  const opc_operator_t *op;
  opc_device_t device;
  opc_autograd_others_t others;
} survey_t;

static void survey_operator(const opc_operator_t *op, void *context) {
  survey_t *survey = context;
  if (strcmp(op->name, survey->op->name) == 0 || !op->library || strcmp(op->library, survey->op->library) != 0 ||
      !is_function_of_tensors(op))
    return;
  survey->others.count++;
  survey->others.with += opc_autograd_is_registered(op, survey->device);
}

opc_autograd_others_t opc_autograd_others(const opc_operator_t *op, opc_device_t device) {
  survey_t survey = {.op = op, .device = device};
  opc_error_t error = {0};
  if (!op->library || writes(op) || !is_function_of_tensors(op)) return survey.others;
  if (opc_bridge_list(survey_operator, NULL, &survey, &error) != OPC_OK) return (opc_autograd_others_t){0};
  survey.others.expected = survey.others.with > 0 && 2 * survey.others.with >= survey.others.count;
  return survey.others;
}
