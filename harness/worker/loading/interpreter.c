#include "worker/loading/loading.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "bridge/api/bridge.h"

/* Python's C interface, as far as it is needed; an object is opaque. */
typedef void object_t;
typedef struct python {
  void (*before_fork)(void), (*after_fork_parent)(void), (*after_fork_child)(void);
  void *(*save_thread)(void);
  int (*ensure)(void);
  void (*release)(int);
  object_t *(*err_occurred)(void);
  void (*err_fetch)(object_t **type, object_t **value, object_t **trace);
  void (*err_normalize)(object_t **type, object_t **value, object_t **trace);
  void (*err_clear)(void);
  object_t *(*attribute)(object_t *, const char *);
  object_t *(*string)(object_t *);
  const char *(*utf8)(object_t *);
  long (*integer)(object_t *);
  void (*decref)(object_t *);
  object_t *(*frame)(void), *(*frame_back)(object_t *), *(*frame_code)(object_t *);
  int (*frame_line)(object_t *);
  ptrdiff_t (*collect)(void);
  object_t *none;
} python_t;

static opc_interpreter_request_t request;
static python_t python;

static bool interpreter_ask(const char *what, const char *word, char *text, size_t size);
static bool take_exception(char *text, size_t size);
static bool place_of_user(char *text, size_t size);
static void collect_garbage(void);

static void interpreter_find(void *out, const char *name) {
  void *found = dlsym(RTLD_DEFAULT, name);
  memcpy(out, &found, sizeof found);
}

void opc_interpreter_set(opc_interpreter_request_t given) {
  request = given;
  interpreter_find(&python.before_fork, "PyOS_BeforeFork");
  interpreter_find(&python.after_fork_parent, "PyOS_AfterFork_Parent");
  interpreter_find(&python.after_fork_child, "PyOS_AfterFork_Child");
  interpreter_find(&python.save_thread, "PyEval_SaveThread");
  interpreter_find(&python.ensure, "PyGILState_Ensure");
  interpreter_find(&python.release, "PyGILState_Release");
  interpreter_find(&python.err_occurred, "PyErr_Occurred");
  interpreter_find(&python.err_fetch, "PyErr_Fetch");
  interpreter_find(&python.err_normalize, "PyErr_NormalizeException");
  interpreter_find(&python.err_clear, "PyErr_Clear");
  interpreter_find(&python.attribute, "PyObject_GetAttrString");
  interpreter_find(&python.string, "PyObject_Str");
  interpreter_find(&python.utf8, "PyUnicode_AsUTF8");
  interpreter_find(&python.integer, "PyLong_AsLong");
  interpreter_find(&python.decref, "Py_DecRef");
  interpreter_find(&python.none, "_Py_NoneStruct");
  interpreter_find(&python.frame, "PyEval_GetFrame");
  interpreter_find(&python.frame_back, "PyFrame_GetBack");
  interpreter_find(&python.frame_code, "PyFrame_GetCode");
  interpreter_find(&python.frame_line, "PyFrame_GetLineNumber");
  interpreter_find(&python.collect, "PyGC_Collect");
  static const opc_interpreter_hooks_t hooks = {.ask = interpreter_ask,
                                                .take_exception = take_exception,
                                                .place = place_of_user,
                                                .collect_garbage = collect_garbage};
  opc_bridge_set_interpreter(&hooks);
}

bool opc_interpreter_hosts(void) { return request; }

static bool interpreter_ask(const char *what, const char *word, char *text, size_t size) {
  text[0] = '\0';
  return request(what, word, text, size) == 0;
}

bool opc_interpreter_folder(const char *module, char *out) {
  return request && interpreter_ask("folder", module, out, PATH_MAX);
}

static opc_status_t import(const char *module, opc_error_t *error) {
  char text[sizeof error->message];
  if (interpreter_ask("import", module, text, sizeof text)) return OPC_OK;
  return opc_error_set(error, OPC_ERR_LIBRARY, "%s", text);
}

opc_status_t opc_interpreter_import(const char *module, opc_error_t *error) {
  if (!request)
    return opc_error_set(error, OPC_ERR_USAGE, "--module %s: no Python interpreter hosts this process", module);
  return opc_bridge_attribute(module, import, error);
}

opc_status_t opc_interpreter_warm_up(opc_error_t *error) {
  char text[sizeof error->message];
  if (!request || interpreter_ask("warm up", "", text, sizeof text)) return OPC_OK;
  return opc_error_set(error, OPC_ERR_LIBRARY, "%s", text);
}

void opc_interpreter_before_fork(void) {
  if (request && python.before_fork) python.before_fork();
}

void opc_interpreter_after_fork_in_parent(void) {
  if (request && python.after_fork_parent) python.after_fork_parent();
}

void opc_interpreter_after_fork_in_child(void) {
  if (request && python.after_fork_child) python.after_fork_child();
  if (request) opc_bridge_renew_threads();
  opc_interpreter_release();
}

void opc_interpreter_release(void) {
  if (request && python.save_thread) (void)python.save_thread();
}

/* ---- exceptions ---- */

/* New reference; NULL: the object is NULL or has no such attribute. */
static object_t *attribute_of(object_t *object, const char *name) {
  object_t *found = object ? python.attribute(object, name) : NULL;
  if (!found) python.err_clear();
  return found;
}

static void interpreter_drop(object_t *object) {
  if (object) python.decref(object);
}

static void interpreter_add_text(object_t *object, char *out, size_t size) {
  object_t *string = object ? python.string(object) : NULL;
  const char *text = string ? python.utf8(string) : NULL;
  snprintf(out, size, "%s", text ? text : "?");
  python.err_clear();
  interpreter_drop(string);
}

/* The innermost frame of a traceback that is in a file. */
static void interpreter_place_of(object_t *trace, char *out, size_t size) {
  object_t *innermost = NULL;
  for (object_t *at = trace, *owned = NULL; at && at != python.none;) {
    object_t *next = attribute_of(at, "tb_next");
    interpreter_drop(innermost);
    innermost = attribute_of(at, "tb_frame");
    object_t *line = attribute_of(at, "tb_lineno"), *code = attribute_of(innermost, "f_code"),
             *file = attribute_of(code, "co_filename");
    char name[512];
    interpreter_add_text(file, name, sizeof name);
    if (name[0] != '<') snprintf(out, size, "%s:%ld", name, line ? python.integer(line) : 0L);
    interpreter_drop(file);
    interpreter_drop(code);
    interpreter_drop(line);
    interpreter_drop(owned);
    at = owned = next;
    if (at == python.none) interpreter_drop(owned);
  }
  interpreter_drop(innermost);
}

static bool take_exception(char *text, size_t size) {
  if (!request || !python.ensure || !python.err_fetch) return false;
  const int state = python.ensure();
  object_t *type = NULL, *value = NULL, *trace = NULL, *name = NULL;
  const bool found = python.err_occurred();
  if (found) {
    char message[700], kind[100], place[600] = "";
    python.err_fetch(&type, &value, &trace);
    python.err_normalize(&type, &value, &trace);
    name = attribute_of(type, "__name__");
    interpreter_add_text(name, kind, sizeof kind);
    interpreter_add_text(value, message, sizeof message);
    interpreter_place_of(trace, place, sizeof place);
    snprintf(text, size, "%s: %s%s%s%s", kind, message, place[0] != '\0' ? " (at " : "", place,
             place[0] != '\0' ? ")" : "");
    interpreter_drop(name);
    interpreter_drop(type);
    interpreter_drop(value);
    interpreter_drop(trace);
  }
  python.release(state);
  return found;
}

/* ---- where the user's code is ---- */

/* What registers for the user is not the user's: torch.library and what it calls (singledispatch of functools), and
 * import machinery. */
static bool is_users(const char *file) {
  static const char *const others[] = {"/torch/_", "/torch/library.py", "/functools.py", "/importlib/",
                                       "/opcheck-c/host"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strstr(file, others[i])) return false;
  return file[0] != '<';
}

static bool place_of_user(char *text, size_t size) {
  if (!request || !python.ensure || !python.frame || !python.frame_back || !python.frame_code || !python.frame_line)
    return false;
  const int state = python.ensure();
  bool found = false;
  for (object_t *frame = python.frame(), *owned = NULL; frame && !found;) {
    object_t *code = python.frame_code(frame), *file = attribute_of(code, "co_filename");
    char name[800];
    interpreter_add_text(file, name, sizeof name);
    found = is_users(name);
    if (found) snprintf(text, size, "%s:%d", name, python.frame_line(frame));
    interpreter_drop(file);
    interpreter_drop(code);
    object_t *back = found ? NULL : python.frame_back(frame);
    interpreter_drop(owned);
    frame = owned = back;
  }
  python.release(state);
  return found;
}

static void collect_garbage(void) {
  if (!request || !python.ensure || !python.collect) return;
  const int state = python.ensure();
  (void)python.collect();
  python.release(state);
}
