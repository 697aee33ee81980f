#include "supervise/load/load.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "inspect/package.h"
#include "inspect/symbol_search.h"
#include "supervise/tools/memcheck.h"

static const double hello_seconds = 120; /* libtorch from a cold disk */
enum { POLL_MILLISECONDS = 100, TAIL_SIZE = 600, MEMCHECK_LEAVE_MS = 30000 };

/* One attempt to bring a worker to "ready". */
typedef struct attempt {
  const opc_run_options_t *options;
  opc_loaded_t *loaded;
  opc_library_t *current; /* the one that is loading now */
  opc_library_t *last;    /* the last one that loaded */
  bool preloading, hello, ready, spoiled;
  double deadline;
  char terminate[1024];
} attempt_t;

static double load_seconds(const opc_run_options_t *options) {
  double least = 30 * opc_run_pace(options);
  return options->timeout * 3 > least ? options->timeout * 3 : least;
}

static opc_library_t *load_library_of(opc_loaded_t *loaded, const char *real) {
  for (size_t i = 0; i < loaded->library_count; i++) {
    if (loaded->libraries[i].real && strcmp(loaded->libraries[i].real, real) == 0) return &loaded->libraries[i];
  }
  return NULL;
}

static void load_fail(opc_library_t *library, const opc_library_error_t *why) {
  library->state = OPC_LIBRARY_FAILED;
  library->error = *why;
}

static void forget_registrations(opc_loaded_t *loaded) {
  for (size_t i = 0; i < loaded->operator_count; i++) opc_operator_clear(&loaded->operators[i]);
  free(loaded->operators);
  loaded->operators = NULL;
  loaded->operator_count = loaded->torch_operators = 0;
  if (loaded->classes) json_array_clear(loaded->classes);
}

/* The worker names the library by its real path; reports use the user's name. */
static void rename_library(opc_loaded_t *loaded, json_t *message) {
  const char *real = json_string_value(json_object_get(message, "library"));
  opc_library_t *library = real ? load_library_of(loaded, real) : NULL;
  if (library) json_object_set_new(message, "library", json_string(library->path));
}

static opc_status_t keep_operator(opc_loaded_t *loaded, json_t *message, opc_error_t *error) {
  size_t count = loaded->operator_count;
  rename_library(loaded, message);
  if (!json_string_value(json_object_get(message, "library"))) {
    json_object_set_new(message, "library", json_string(OPC_LIBTORCH));
    loaded->torch_operators++;
  }
  if (!OPC_ARRAY_GROW(loaded->operators, count)) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_operator_from_json(message, &loaded->operators[count], error));
  json_t *inputs = json_object_get(message, "package_inputs");
  if (inputs) json_object_set(loaded->package_inputs, loaded->operators[count].name, inputs);
  if (json_is_true(json_object_get(message, "package_example")))
    json_object_set_new(loaded->package_examples, loaded->operators[count].name, json_true());
  loaded->operator_count++;
  return OPC_OK;
}

static opc_status_t on_hello(attempt_t *attempt, const json_t *message, opc_error_t *error) {
  opc_loaded_t *loaded = attempt->loaded;
  const char *torch = json_string_value(json_object_get(message, "torch")),
             *cuda = json_string_value(json_object_get(message, "cuda")),
             *missing = json_string_value(json_object_get(message, "cuda_missing"));
  if (json_integer_value(json_object_get(message, "protocol")) != OPC_PROTOCOL_VERSION || !torch) {
    return opc_error_set(error, OPC_ERR_PROTOCOL,
                         "%s is of another version than this opcheck-c: build both from one source tree",
                         loaded->plan.program);
  }
  attempt->hello = true;
  snprintf(loaded->torch, sizeof loaded->torch, "%s", torch);
  snprintf(loaded->cuda_version, sizeof loaded->cuda_version, "%s", cuda ? cuda : "");
  if (missing) {
    loaded->cuda.usable = false;
    snprintf(loaded->cuda.why, sizeof loaded->cuda.why,
             "libtorch_cuda does not load (%.300s): install what is missing with scripts/setup --full", missing);
  }
  return opc_worker_plan_check(&loaded->plan, torch, error);
}

/* The loader names the first missing symbol; another one may explain more. */
static void explain_symbol(const attempt_t *attempt, opc_library_error_t *why) {
  char words[512];
  const char *folder = attempt->loaded->plan.torch_folder;
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  OPC_SCOPED(opc_symbol_search_clear) opc_symbol_search_t search = {0};
  opc_error_t ignored;
  if (folder[0] != '\0' && opc_elf_open(attempt->current->real, &file, &ignored) == OPC_OK &&
      opc_symbol_search_run(file, folder, &search, &ignored) == OPC_OK) {
    const char *symbol = opc_symbol_search_example(&search);
    snprintf(words, sizeof words, "undefined symbol: %s", symbol ? symbol : "");
    if (symbol) opc_library_error_from_message(why, words, attempt->loaded->torch);
  }
}

static opc_status_t on_load_failed(attempt_t *attempt, const char *kind, const char *text, opc_error_t *error) {
  opc_library_error_t why;
  opc_package_hint_t package;
  if (kind && strcmp(kind, "import") == 0) opc_library_error_from_import(&why, text, attempt->loaded->torch);
  else if (kind) opc_library_error_set(&why, kind, "%s", text);
  else opc_library_error_from_message(&why, text, attempt->loaded->torch);
  if (!attempt->current)
    return opc_error_set(error, OPC_ERR_LIBRARY, "a --preload library cannot be loaded: %s", why.message);
  if (strcmp(why.kind, "undefined_symbol") == 0) explain_symbol(attempt, &why);
  if (opc_package_hint_find(attempt->current->real, &package))
    opc_library_error_add_package(&why, &package, attempt->loaded->torch);
  load_fail(attempt->current, &why);
  /* The loader refuses before any initialiser runs. Any other failure leaves half of the library's registrations
   * behind: start again without it. */
  static const char *const refused_halfway[] = {"duplicate", "schema", "initialiser_threw", "import"};
  for (size_t i = 0; i < sizeof refused_halfway / sizeof *refused_halfway; i++)
    attempt->spoiled |= strcmp(why.kind, refused_halfway[i]) == 0;
  attempt->current = NULL;
  return OPC_OK;
}

static void keep_note(opc_library_t *library, const char *note) {
  free(library->note);
  library->note = note && note[0] != '\0' ? opc_string_copy(note) : NULL;
}

static opc_status_t on_message(attempt_t *attempt, json_t *message, opc_error_t *error) {
  opc_loaded_t *loaded = attempt->loaded;
  const char *type = json_string_value(json_object_get(message, "t")),
             *path = json_string_value(json_object_get(message, "library")),
             *text = json_string_value(json_object_get(message, "message"));
  if (!type) return OPC_OK;
  if (strcmp(type, "hello") == 0) {
    OPC_RETURN_IF_ERROR(on_hello(attempt, message, error));
  } else if (strcmp(type, "loading") == 0) {
    attempt->current = load_library_of(loaded, path ? path : "");
    attempt->preloading = !attempt->current;
    attempt->deadline = opc_clock() + load_seconds(attempt->options);
    if (attempt->options->progress) {
      char current[PATH_MAX + 16];
      snprintf(current, sizeof current, "loading %s", attempt->current ? attempt->current->path : path);
      opc_run_progress_t progress = {.current = current};
      attempt->options->progress(&progress, attempt->options->progress_context);
    }
  } else if (strcmp(type, "loaded") == 0 && attempt->current) {
    attempt->current->state = OPC_LIBRARY_LOADED;
    attempt->last = attempt->current;
    keep_note(attempt->current, json_string_value(json_object_get(message, "note")));
    attempt->current->changed_state = json_is_true(json_object_get(message, "changed"));
    attempt->current = NULL;
  } else if (strcmp(type, "loaded") == 0) {
    attempt->preloading = false;
  } else if (strcmp(type, "load_failed") == 0) {
    OPC_RETURN_IF_ERROR(
        on_load_failed(attempt, json_string_value(json_object_get(message, "kind")), text ? text : "", error));
  } else if (strcmp(type, "operator") == 0) {
    OPC_RETURN_IF_ERROR(keep_operator(loaded, message, error));
  } else if (strcmp(type, "class") == 0) {
    rename_library(loaded, message);
    json_array_append(loaded->classes, message);
  } else if (strcmp(type, "terminate") == 0) {
    snprintf(attempt->terminate, sizeof attempt->terminate, "%s", text ? text : "");
  } else if (strcmp(type, "ready") == 0) {
    attempt->ready = true;
    loaded->threads = (int)json_integer_value(json_object_get(message, "threads"));
    const char *misses = json_string_value(json_object_get(message, "sandbox"));
    free(loaded->sandbox_misses);
    loaded->sandbox_misses = misses && misses[0] != '\0' ? opc_string_copy(misses) : NULL;
    loaded->cpu_seconds = json_number_value(json_object_get(message, "cpu_seconds"));
    loaded->cuda_initialised = json_is_true(json_object_get(message, "cuda_initialised"));
    loaded->exec_batch = loaded->threads > 1 || loaded->cuda_initialised;
  }
  return OPC_OK;
}

static void describe_death(const attempt_t *attempt, const char *output, opc_library_error_t *out) {
  const opc_worker_t *worker = &attempt->loaded->worker;
  OPC_SCOPED(opc_text_clear) opc_text_t bytes = {0};
  opc_library_error_from_death(out, worker->status, attempt->terminate, output);
  if (opc_memcheck_is_unwatchable(attempt->loaded->memcheck, worker->pid, worker->status, &bytes))
    opc_library_error_set(out, "initialiser_aborted",
                          "Valgrind does not know an instruction (%s) that runs while the library loads: this is not "
                          "an error of the library, but --tool memcheck cannot watch it",
                          opc_text_c(&bytes));
}

/* The worker is gone, or was killed because it hung. Says who is to blame, if that is known. */
static opc_status_t on_end(attempt_t *attempt, bool hung, opc_error_t *error) {
  opc_loaded_t *loaded = attempt->loaded;
  opc_library_error_t why;
  OPC_SCOPED(opc_text_clear) opc_text_t tail = {0};
  opc_output_tail(loaded->worker.output, TAIL_SIZE, &tail);
  if (hung) opc_library_error_from_hang(&why, load_seconds(attempt->options));
  else describe_death(attempt, opc_text_c(&tail), &why);
  opc_library_t *guilty = attempt->current ? attempt->current : attempt->preloading ? NULL : attempt->last;
  if (guilty) {
    load_fail(guilty, &why);
    attempt->spoiled = true;
  } else if (attempt->preloading) {
    return opc_error_set(error, OPC_ERR_LIBRARY, "a --preload library cannot be loaded: %s", why.message);
  } else if (hung) {
    return opc_error_set(error, OPC_ERR_SYSTEM, "%s does not answer", loaded->plan.program);
  } else {
    int code = loaded->worker.status;
    if (tail.length == 0) opc_memcheck_last_words(loaded->memcheck, &tail);
    return opc_error_set(error, OPC_ERR_SYSTEM, "%s ended (%s %d) before it had loaded libtorch%s%s",
                         loaded->plan.program, WIFSIGNALED(code) ? "signal" : "exit code",
                         WIFSIGNALED(code) ? WTERMSIG(code) : WEXITSTATUS(code), tail.length > 0 ? ": " : "",
                         opc_text_c(&tail));
  }
  return OPC_OK;
}

static opc_status_t load_serve(attempt_t *attempt, opc_error_t *error) {
  opc_worker_t *worker = &attempt->loaded->worker;
  while (!attempt->ready && !attempt->spoiled) {
    json_auto_t *message = NULL;
    opc_channel_event_t event = opc_channel_next(&worker->control, &message);
    if (opc_interrupted()) {
      return opc_error_set(error, OPC_ERR_SYSTEM, "interrupted");
    } else if (event == OPC_CHANNEL_LINE) {
      OPC_RETURN_IF_ERROR(on_message(attempt, message, error));
    } else if (event == OPC_CHANNEL_NOTHING) {
      if (opc_clock() > attempt->deadline) {
        opc_worker_end(worker, 0);
        OPC_RETURN_IF_ERROR(on_end(attempt, true, error));
      } else {
        struct pollfd waiting = {.fd = worker->control.fd, .events = POLLIN};
        (void)poll(&waiting, 1, POLL_MILLISECONDS);
      }
    } else if (event == OPC_CHANNEL_END) {
      opc_worker_end(worker, 2000); /* it may have closed its channel without exiting */
      OPC_RETURN_IF_ERROR(on_end(attempt, false, error));
    } /* garbage: an initialiser wrote to a descriptor that is not its own; the damage shows by itself */
  }
  return OPC_OK;
}

opc_status_t opc_load_command(const opc_run_options_t *options, const opc_loaded_t *loaded, opc_worker_command_t *out,
                              const char ***out_paths, opc_error_t *error) {
  *out_paths = calloc(2 * loaded->library_count + 1, sizeof **out_paths);
  if (!*out_paths) return opc_out_of_memory(error);
  const char **modules = *out_paths + loaded->library_count;
  *out = (opc_worker_command_t){.plan = &loaded->plan,
                                .preloads = loaded->preloads,
                                .preload_count = options->preload_count,
                                .namespaces = options->namespaces,
                                .namespace_count = options->namespace_count,
                                .libraries = *out_paths,
                                .modules = modules,
                                .python = &loaded->python,
                                .mode = loaded->mode,
                                .cuda_wrappers = loaded->cuda.wrappers,
                                .cuda_architecture = options->cuda_architecture,
                                .sandbox_since = options->no_sandbox ? 0 : options->since,
                                .launcher = opc_memcheck_launcher(loaded->memcheck)};
  for (size_t i = 0; i < loaded->library_count; i++) {
    const opc_library_t *library = &loaded->libraries[loaded->order[i]];
    if (library->state == OPC_LIBRARY_FAILED) continue;
    if (library->package) out->package = library->real;
    else if (library->module) modules[out->module_count++] = library->real;
    else (*out_paths)[out->library_count++] = library->real;
  }
  return OPC_OK;
}

static opc_status_t attempt_load(const opc_run_options_t *options, opc_loaded_t *loaded, bool *out_ready,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) const char **paths = NULL;
  opc_worker_command_t command;
  attempt_t attempt = {
      .options = options, .loaded = loaded, .deadline = opc_clock() + hello_seconds * opc_run_pace(options)};
  *out_ready = false;
  opc_worker_stop(&loaded->worker);
  OPC_RETURN_IF_ERROR(opc_load_command(options, loaded, &command, &paths, error));
  OPC_RETURN_IF_ERROR(opc_worker_start(&command, &loaded->worker, error));
  /* A user who gives a case minutes also gives its end seconds. */
  if (options->timeout > 10) loaded->worker.leave_ms = (int)(options->timeout * 1000 / 20);
  if (loaded->memcheck && loaded->worker.leave_ms < MEMCHECK_LEAVE_MS) loaded->worker.leave_ms = MEMCHECK_LEAVE_MS;
  OPC_RETURN_IF_ERROR(load_serve(&attempt, error));
  *out_ready = attempt.ready;
  return OPC_OK;
}

static opc_status_t probe_libraries(const opc_run_options_t *options, opc_loaded_t *loaded, opc_error_t *error) {
  const size_t count = options->library_count + options->module_count + ((bool)options->package);
  const opc_package_target_t target = {.device = options->device_count > 0 ? options->devices[0] : OPC_MODE_CPU,
                                       .architecture = options->cuda_architecture};
  loaded->libraries = calloc(count + 1, sizeof *loaded->libraries);
  if (!loaded->libraries) return opc_out_of_memory(error);
  for (size_t i = 0; i < options->library_count + ((bool)options->package); i++) { /* the package is the last */
    bool package = i == options->library_count;
    const char *path = package ? options->package : options->libraries[i],
               *file = package ? path : opc_package_file(path);
    char *real = realpath(file, NULL);
    if (real && load_library_of(loaded, real)) { /* named twice */
      free(real);
      continue;
    }
    opc_library_t *library = &loaded->libraries[loaded->library_count++];
    library->path = path;
    library->real = real;
    library->package = package;
    if (!(package ? opc_package_probe(file, &target, &library->error) : opc_elf_probe(file, &library->error)))
      library->state = OPC_LIBRARY_FAILED;
    else if (!real) return opc_error_set(error, OPC_ERR_SYSTEM, "%s: %s", library->path, strerror(errno));
  }
  for (size_t i = 0; i < options->module_count; i++) {
    opc_library_t *module = &loaded->libraries[loaded->library_count++];
    *module =
        (opc_library_t){.path = options->modules[i], .real = opc_string_copy(options->modules[i]), .module = true};
    if (!module->real) return opc_out_of_memory(error);
  }
  return OPC_OK;
}

static opc_status_t find_preloads(const opc_run_options_t *options, opc_loaded_t *loaded, opc_error_t *error) {
  loaded->preloads = calloc(options->preload_count + 1, sizeof *loaded->preloads);
  if (!loaded->preloads) return opc_out_of_memory(error);
  for (size_t i = 0; i < options->preload_count; i++) loaded->preloads[i] = opc_package_file(options->preloads[i]);
  return OPC_OK;
}

static opc_status_t order_libraries(opc_loaded_t *loaded, opc_error_t *error) {
  const size_t count = loaded->library_count;
  OPC_SCOPED(opc_scope_free) const char **paths = calloc(count + 1, sizeof *paths);
  loaded->order = calloc(count + 1, sizeof *loaded->order);
  if (!paths || !loaded->order) return opc_out_of_memory(error);
  for (size_t i = 0; i < count; i++) {
    const opc_library_t *library = &loaded->libraries[i];
    paths[i] = library->state != OPC_LIBRARY_FAILED ? library->real : library->path;
  }
  return opc_load_order(paths, count, loaded->order, error);
}

/* If the user chose no worker or libtorch, the libraries decide. */
static opc_status_t choose_worker(const opc_run_options_t *options, opc_loaded_t *loaded, opc_error_t *error) {
  const size_t count = loaded->library_count;
  if (options->worker || options->torch_root || options->module_count > 0) return OPC_OK;
  size_t readable = 0;
  OPC_SCOPED(opc_scope_free) size_t *indices = calloc(count + 1, sizeof *indices);
  OPC_SCOPED(opc_scope_free) const char **paths = calloc(count + 1, sizeof *paths);
  OPC_SCOPED(opc_scope_free) opc_library_error_t *errors = calloc(count + 1, sizeof *errors);
  if (!indices || !paths || !errors) return opc_out_of_memory(error);
  for (size_t i = 0; i < count; i++) {
    if (loaded->libraries[i].state == OPC_LIBRARY_FAILED) continue;
    paths[readable] = loaded->libraries[i].real;
    indices[readable++] = i;
  }
  OPC_RETURN_IF_ERROR(opc_worker_plan_choose(&loaded->plan, paths, readable, NULL, errors, error));
  for (size_t i = 0; i < readable; i++) {
    if (errors[i].kind[0] != '\0') load_fail(&loaded->libraries[indices[i]], &errors[i]);
  }
  return OPC_OK;
}

/* The compiled code of a package needs the device; listing operators does not. */
static void refuse_package(opc_loaded_t *loaded) {
  opc_library_error_t why;
  opc_library_error_set(&why, "device", "compiled for CUDA, but CUDA cannot be used: %s", loaded->cuda.why);
  for (size_t i = 0; i < loaded->library_count; i++)
    if (loaded->libraries[i].package && loaded->libraries[i].state != OPC_LIBRARY_FAILED)
      load_fail(&loaded->libraries[i], &why);
}

/* Without its wrappers a real device still works, but a simulated one does not. */
static opc_status_t plan_cuda(opc_loaded_t *loaded, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_cuda_plan(&loaded->plan, &loaded->cuda, error));
  bool simulated = strcmp(loaded->mode, OPC_MODE_SIMULATED) == 0;
  if (simulated ? !loaded->cuda.wrappers : !loaded->cuda.usable) refuse_package(loaded);
  if (simulated && !loaded->cuda.wrappers) loaded->mode = OPC_MODE_CPU;
  return OPC_OK;
}

/* A run of libtorch's own operators names no library. */
static bool any_left(const opc_loaded_t *loaded) {
  if (loaded->library_count == 0) return true;
  for (size_t i = 0; i < loaded->library_count; i++) {
    if (loaded->libraries[i].state != OPC_LIBRARY_FAILED) return true;
  }
  return false;
}

static bool adds_kernel(const opc_library_t *library, const opc_operator_t *op) {
  for (size_t i = 0; i < op->kernel_count; i++)
    if (op->kernels[i].library && strcmp(op->kernels[i].library, library->path) == 0) return true;
  return false;
}

/* A module that registers nothing itself was named for what it imports; but not for what torch registers, which any
 * module may make it do. */
static void take_imported(opc_loaded_t *loaded) {
  for (size_t m = 0; m < loaded->library_count; m++) {
    const opc_library_t *module = &loaded->libraries[m];
    bool own = !module->module;
    for (size_t i = 0; i < loaded->operator_count && !own; i++)
      own = !loaded->operators[i].imported_from && strcmp(loaded->operators[i].library, module->path) == 0;
    for (size_t i = 0; i < loaded->operator_count && !own; i++) {
      opc_operator_t *op = &loaded->operators[i];
      if (!op->imported_from || strcmp(op->imported_from, "torch") == 0 || strcmp(op->library, module->path) != 0)
        continue;
      free(op->imported_from);
      op->imported_from = NULL;
    }
  }
}

static void count_registrations(opc_loaded_t *loaded) {
  size_t i;
  json_t *entry;
  for (size_t l = 0; l < loaded->library_count; l++) {
    opc_library_t *library = &loaded->libraries[l];
    for (i = 0; i < loaded->operator_count; i++) {
      library->operators +=
          !loaded->operators[i].imported_from && strcmp(loaded->operators[i].library, library->path) == 0;
      library->extended += adds_kernel(library, &loaded->operators[i]);
    }
    json_array_foreach(loaded->classes, i, entry) {
      const char *path = json_string_value(json_object_get(entry, "library"));
      library->classes += path && strcmp(path, library->path) == 0;
    }
  }
}

/* With Python modules, the libtorch is the torch that their Python imports. */
static opc_status_t load_plan_worker(const opc_run_options_t *options, opc_loaded_t *out, opc_error_t *error) {
  if (options->module_count == 0) return opc_worker_plan(options->worker, options->torch_root, &out->plan, error);
  if (options->torch_root)
    return opc_error_set(
        error, OPC_ERR_USAGE,
        "--torch cannot be combined with --python: the libtorch is the torch that this Python imports. "
        "Name another Python with --python-executable");
  OPC_RETURN_IF_ERROR(opc_python_host_find(options->python, &out->python, error));
  OPC_RETURN_IF_ERROR(opc_worker_plan(options->worker, out->python.torch_root, &out->plan, error));
  return opc_python_host_complete(&out->python, &out->plan, error);
}

/* Before they are loaded: if one is built again meanwhile, the next run sees that it is another one. A file without a
 * digest counts as changed. */
static void digest_libraries(opc_loaded_t *loaded) {
  for (size_t i = 0; i < loaded->library_count; i++) {
    opc_library_t *library = &loaded->libraries[i];
    opc_error_t ignored;
    if (library->module || library->package || library->state == OPC_LIBRARY_FAILED ||
        opc_digest_library(library->real, loaded->plan.torch_folder, library->digest, &ignored) != OPC_OK)
      library->digest[0] = '\0';
  }
}

opc_status_t opc_load(const opc_run_options_t *options, const char *mode, const opc_memcheck_t *memcheck,
                      opc_loaded_t *out, opc_error_t *error) {
  memset(out, 0, sizeof *out);
  out->memcheck = memcheck;
  out->worker = (opc_worker_t)OPC_WORKER_INIT;
  out->mode = mode;
  out->classes = json_array();
  out->package_inputs = json_object();
  out->package_examples = json_object();
  OPC_RETURN_IF_ERROR(out->classes && out->package_inputs && out->package_examples ? OPC_OK : opc_out_of_memory(error));
  OPC_RETURN_IF_ERROR(load_plan_worker(options, out, error));
  OPC_RETURN_IF_ERROR(probe_libraries(options, out, error));
  OPC_RETURN_IF_ERROR(opc_builds_choose(out, error));
  OPC_RETURN_IF_ERROR(find_preloads(options, out, error));
  OPC_RETURN_IF_ERROR(choose_worker(options, out, error));
  if (strcmp(mode, OPC_MODE_CPU) != 0) OPC_RETURN_IF_ERROR(plan_cuda(out, error));
  OPC_RETURN_IF_ERROR(order_libraries(out, error));
  digest_libraries(out);
  /* Each attempt that fails makes the next one leave out one more library. If none is left, no worker is needed. */
  for (bool ready = false; !ready && any_left(out);) {
    forget_registrations(out);
    OPC_RETURN_IF_ERROR(attempt_load(options, out, &ready, error));
  }
  take_imported(out);
  count_registrations(out);
  return OPC_OK;
}

opc_status_t opc_load_again(const opc_run_options_t *options, opc_loaded_t *loaded, opc_error_t *error) {
  bool ready = false, exec_batch = loaded->exec_batch;
  opc_operator_t *operators = loaded->operators; /* the first list stays: tasks point to it */
  size_t operator_count = loaded->operator_count, torch_operators = loaded->torch_operators;
  loaded->operators = NULL;
  loaded->operator_count = 0;
  opc_status_t status = attempt_load(options, loaded, &ready, error);
  forget_registrations(loaded);
  loaded->operators = operators;
  loaded->operator_count = operator_count;
  loaded->torch_operators = torch_operators;
  loaded->exec_batch |= exec_batch;
  if (status != OPC_OK || ready) return status;
  return opc_error_set(error, OPC_ERR_SYSTEM, "the libraries loaded once, but do not load again into a new worker");
}

void opc_loaded_clear(opc_loaded_t *loaded) {
  opc_worker_stop(&loaded->worker);
  forget_registrations(loaded);
  for (size_t i = 0; i < loaded->class_count; i++) opc_class_clear(&loaded->class_values[i]);
  free(loaded->class_values);
  for (size_t i = 0; i < loaded->class_operator_count; i++) opc_operator_clear(&loaded->class_operators[i]);
  free(loaded->class_operators);
  for (size_t i = 0; i < loaded->library_operator_count; i++) opc_operator_clear(&loaded->library_operators[i]);
  free(loaded->library_operators);
  json_decref(loaded->classes);
  json_decref(loaded->package_inputs);
  json_decref(loaded->package_examples);
  for (size_t i = 0; i < loaded->library_count; i++) {
    free(loaded->libraries[i].real);
    free(loaded->libraries[i].note);
    free(loaded->libraries[i].build_note);
  }
  free(loaded->libraries);
  free(loaded->preloads);
  free(loaded->sandbox_misses);
  free(loaded->order);
  opc_worker_plan_clear(&loaded->plan);
  opc_python_host_clear(&loaded->python);
  opc_cuda_plan_clear(&loaded->cuda);
  memset(loaded, 0, sizeof *loaded);
}
