#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "inspect/fatbin.h"
#include "supervise/common/devices.h"
#include "supervise/process/worker_find.h"

typedef enum device_format { FORMAT_TEXT = 0, FORMAT_CTEST, FORMAT_JSON, FORMAT_COUNT } device_format_t;
static const char *const format_names[FORMAT_COUNT] = {"text", "ctest-resources", "json"};

enum { KEY_FORMAT = 256 };

typedef struct devices_command {
  opc_error_t *error;
  device_format_t format;
} devices_command_t;

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "text|ctest-resources|json", 0, "text (default), ctest-resources or json", 0}, {0}};

static error_t devices_parse(int key, char *value, struct argp_state *state) {
  devices_command_t *command = state->input;
  if (key == ARGP_KEY_ARG) {
    (void)opc_error_set(command->error, OPC_ERR_USAGE, "devices takes no arguments, but was given %.60s", value);
    return EINVAL;
  }
  if (key != KEY_FORMAT) return ARGP_ERR_UNKNOWN;
  for (int i = 0; i < FORMAT_COUNT; i++) {
    if (strcmp(format_names[i], value) != 0) continue;
    command->format = (device_format_t)i;
    return 0;
  }
  (void)opc_error_set(command->error, OPC_ERR_USAGE, "--format %.40s: give text, ctest-resources or json", value);
  return EINVAL;
}

static const struct argp devices_argp = {
    options,
    devices_parse,
    "",
    "Shows the devices of this machine that operators can be checked on, the workers, and "
    "the libtorch that each of them is run with."
    "\vExamples:\n"
    "  opcheck-c devices\n"
    "  opcheck-c devices --format ctest-resources > resources.json\n"
    "  ctest --resource-spec-file resources.json\n",
    NULL,
    NULL,
    NULL};

static int processor_count(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

/* Which libtorches are here, which workers, and what is simulated with the one that is used by default. */
typedef struct machine {
  opc_torches_t torches;
  opc_workers_t workers;
  opc_cuda_plan_t simulated; /* why there are no simulated devices, in detail */
  char not_simulated[OPC_WORKERS][sizeof((opc_cuda_plan_t *)0)->why]; /* the same for each of the workers */
  char no_worker[512];                                                /* why no worker can be started; "": one can */
} machine_t;

static void machine_clear(machine_t *machine) {
  opc_workers_clear(&machine->workers);
  opc_cuda_plan_clear(&machine->simulated);
}

static opc_status_t workers_look(machine_t *machine, opc_error_t *error) {
  for (size_t i = 0; i < machine->workers.count; i++) {
    OPC_SCOPED(opc_cuda_plan_clear) opc_cuda_plan_t plan = {0};
    if (machine->workers.items[i].torch_folder[0] == '\0') continue;
    OPC_RETURN_IF_ERROR(opc_cuda_plan_candidate(&machine->workers.items[i], &plan, error));
    memcpy(machine->not_simulated[i], plan.why, sizeof plan.why);
  }
  return OPC_OK;
}

/* What is missing is said, and everything else is listed all the same. */
static opc_status_t machine_plan(machine_t *machine, opc_worker_plan_t *plan, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_worker_plan(NULL, NULL, plan, error));
  OPC_RETURN_IF_ERROR(opc_worker_plan_workers(plan, &machine->torches, &machine->workers, error));
  return opc_worker_plan_choose(plan, NULL, 0, NULL, NULL, error);
}

static opc_status_t machine_find(machine_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_worker_plan_clear) opc_worker_plan_t plan = {0};
  opc_error_t why;
  *out = (machine_t){0};
  opc_torches_find(&out->torches);
  const opc_status_t planned = machine_plan(out, &plan, &why);
  OPC_RETURN_IF_ERROR(workers_look(out, error));
  if (!planned) return opc_cuda_plan(&plan, &out->simulated, error);
  snprintf(out->no_worker, sizeof out->no_worker, "%.500s", why.message);
  snprintf(out->simulated.why, sizeof out->simulated.why, "%.500s", why.message);
  return OPC_OK;
}

static const char *devices_name_of(const opc_worker_candidate_t *worker) {
  const char *slash = strrchr(worker->real, '/');
  return slash ? slash + 1 : worker->real;
}

static bool is_used(const machine_t *machine, const opc_torch_t *torch) {
  char folder[PATH_MAX + 8];
  for (size_t i = 0; i < machine->workers.count; i++) {
    const opc_worker_candidate_t *worker = &machine->workers.items[i];
    if (snprintf(folder, sizeof folder, "%s/lib", torch->root) > 0 && strcmp(folder, worker->torch_folder) == 0)
      return true;
  }
  return false;
}

/* A libtorch that no worker is run with: one of that version has another, or there is none. */
static const char *unused_because(const machine_t *machine, const opc_torch_t *torch) {
  for (size_t i = 0; i < machine->workers.count; i++)
    if (strcmp(machine->workers.items[i].version, torch->version) == 0)
      return "not used by default; name it with --torch";
  return "no worker for it";
}

static int shown_count(const opc_cuda_devices_t *cuda) {
  return cuda->count < OPC_CUDA_DEVICES_MAX ? cuda->count : OPC_CUDA_DEVICES_MAX;
}

static void show_workers(const machine_t *machine) {
  const char *label = "worker";
  for (size_t i = 0; i < machine->workers.count; i++, label = "") {
    const opc_worker_candidate_t *worker = &machine->workers.items[i];
    if (worker->torch_folder[0])
      printf("%-8s %s: libtorch in %s (%s)\n", label, devices_name_of(worker), worker->torch_folder, worker->torch_how);
    else printf("%-8s %s: no libtorch %s is installed here\n", label, devices_name_of(worker), worker->version);
    if (strcmp(machine->not_simulated[i], machine->simulated.why) != 0 && machine->not_simulated[i][0])
      printf("%-8s   without cuda-sim: %s\n", "", machine->not_simulated[i]);
  }
  if (machine->no_worker[0]) printf("worker   none: %s\n", machine->no_worker);
  label = "torch";
  for (size_t i = 0; i < machine->torches.count; i++) {
    const opc_torch_t *torch = &machine->torches.items[i];
    if (is_used(machine, torch)) continue;
    printf("%-8s %s in %s (%s): %s\n", label, torch->version, torch->root, torch->how, unused_because(machine, torch));
    label = "";
  }
}

static void show_text(const opc_cuda_devices_t *cuda, const machine_t *machine) {
  const opc_cuda_plan_t *simulated = &machine->simulated;
  int processors = processor_count();
  printf("cpu      %d processor%s\n", processors, processors == 1 ? "" : "s");
  for (int i = 0; i < shown_count(cuda); i++)
    printf("cuda:%-3d %s, compute capability %d.%d, %.1f GiB\n", i, cuda->devices[i].name, cuda->devices[i].major,
           cuda->devices[i].minor, (double)cuda->devices[i].memory / (1024.0 * 1024.0 * 1024.0));
  if (cuda->count > OPC_CUDA_DEVICES_MAX) printf("         and %d more\n", cuda->count - OPC_CUDA_DEVICES_MAX);
  if (cuda->count == 0) printf("cuda     none: %s\n", cuda->detail);
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  if (visible) printf("visible  CUDA_VISIBLE_DEVICES=%s\n", visible);
  if (simulated->why[0]) printf("cuda-sim none: %s\n", simulated->why);
  else
    printf("cuda-sim %d simulated devices, %s unless --cuda-arch says otherwise; kernels with PTX run on the CPU\n",
           OPC_SIMULATED_DEVICES, OPC_CUDA_ARCHITECTURE_USUAL);
  if (cuda->driver_version)
    printf("driver   CUDA %d.%d\n", cuda->driver_version / 1000, cuda->driver_version % 1000 / 10);
  show_workers(machine);
}

/* Format: cmake.org, ctest(1), "Resource Specification File". */
static json_t *ctest_resources(const opc_cuda_devices_t *cuda) {
  json_t *gpus = json_array();
  for (int i = 0; i < cuda->count; i++)
    json_array_append_new(gpus, json_pack("{s:o, s:i}", "id", json_sprintf("%d", i), "slots", 1));
  return json_pack("{s:{s:i, s:i}, s:[{s:o}]}", "version", "major", 1, "minor", 0, "local", "gpus", gpus);
}

static json_t *simulated_json(const opc_cuda_plan_t *simulated) {
  json_t *architectures = json_array();
  for (size_t i = 0; i < OPC_SIMULATED_ARCHITECTURES; i++)
    json_array_append_new(architectures, json_string(opc_simulated_architectures[i].name));
  return json_pack("{s:i, s:s, s:s, s:o}", "count", simulated->why[0] ? 0 : OPC_SIMULATED_DEVICES, "detail",
                   simulated->why, "architecture", OPC_CUDA_ARCHITECTURE_USUAL, "architectures", architectures);
}

static json_t *workers_json(const machine_t *machine) {
  json_t *list = json_array();
  for (size_t i = 0; i < machine->workers.count; i++) {
    const opc_worker_candidate_t *worker = &machine->workers.items[i];
    const bool found = worker->torch_folder[0] != '\0';
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:s?, s:s?, s:s}", "program", devices_name_of(worker), "torch", worker->version,
                        "torch_folder", found ? worker->torch_folder : NULL, "torch_found",
                        found ? worker->torch_how : NULL, "no_cuda_sim", machine->not_simulated[i]));
  }
  return list;
}

static json_t *torches_json(const machine_t *machine) {
  json_t *list = json_array();
  for (size_t i = 0; i < machine->torches.count; i++) {
    const opc_torch_t *torch = &machine->torches.items[i];
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b}", "version", torch->version, "root", torch->root,
                                          "found", torch->how, "used", is_used(machine, torch)));
  }
  return list;
}

static json_t *as_json(const opc_cuda_devices_t *cuda, const machine_t *machine) {
  json_t *list = json_array();
  for (int i = 0; i < shown_count(cuda); i++) {
    const struct opc_cuda_device *device = &cuda->devices[i];
    json_array_append_new(
        list, json_pack("{s:i, s:s, s:o, s:I}", "index", i, "name", device->name, "compute_capability",
                        json_sprintf("%d.%d", device->major, device->minor), "memory", (json_int_t)device->memory));
  }
  return json_pack("{s:s, s:{s:i}, s:{s:i, s:i, s:s, s:s?, s:o}, s:o, s:o, s:o}", "format", "opcheck-c/devices/1",
                   "cpu", "processors", processor_count(), "cuda", "count", cuda->count, "driver_version",
                   cuda->driver_version, "detail", cuda->detail, "visible", getenv("CUDA_VISIBLE_DEVICES"), "devices",
                   list, "cuda-sim", simulated_json(&machine->simulated), "workers", workers_json(machine), "torch",
                   torches_json(machine));
}

int opc_command_devices(const opc_arguments_t *arguments) {
  opc_error_t error;
  devices_command_t command = {.error = &error};
  if (opc_arguments_parse(arguments, &devices_argp, &command, &error) != OPC_OK)
    return opc_arguments_failed(arguments, &error);
  opc_cuda_devices_t cuda;
  OPC_SCOPED(machine_clear) machine_t machine;
  opc_visible_devices_take();
  opc_cuda_devices_probe(&cuda);
  if (machine_find(&machine, &error) != OPC_OK) return opc_arguments_failed(arguments, &error);
  if (command.format == FORMAT_TEXT) {
    show_text(&cuda, &machine);
    return OPC_EXIT_OK;
  }
  json_auto_t *json = command.format == FORMAT_CTEST ? ctest_resources(&cuda) : as_json(&cuda, &machine);
  int code = json && json_dumpf(json, stdout, JSON_INDENT(2)) == 0 ? OPC_EXIT_OK : OPC_EXIT_HARNESS;
  if (code == OPC_EXIT_OK) fputc('\n', stdout);
  else opc_complain("the devices could not be written as JSON");
  return code;
}
