#include "worker/loading/interpreter.h"

#include <dlfcn.h>
#include <stdio.h>
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

static bool ask(const char *what, const char *word, char *text, size_t size);
static bool take_exception(char *text, size_t size);
static bool place_of_user(char *text, size_t size);
static void collect_garbage(void);

static void find(void *out, const char *name) {
  void *found = dlsym(RTLD_DEFAULT, name);
  memcpy(out, &found, sizeof found);
}

void opc_interpreter_set(opc_interpreter_request_t given) {
  request = given;
  find(&python.before_fork, "PyOS_BeforeFork");
  find(&python.after_fork_parent, "PyOS_AfterFork_Parent");
  find(&python.after_fork_child, "PyOS_AfterFork_Child");
  find(&python.save_thread, "PyEval_SaveThread");
  find(&python.ensure, "PyGILState_Ensure");
  find(&python.release, "PyGILState_Release");
  find(&python.err_occurred, "PyErr_Occurred");
  find(&python.err_fetch, "PyErr_Fetch");
  find(&python.err_normalize, "PyErr_NormalizeException");
  find(&python.err_clear, "PyErr_Clear");
  find(&python.attribute, "PyObject_GetAttrString");
  find(&python.string, "PyObject_Str");
  find(&python.utf8, "PyUnicode_AsUTF8");
  find(&python.integer, "PyLong_AsLong");
  find(&python.decref, "Py_DecRef");
  find(&python.none, "_Py_NoneStruct");
  find(&python.frame, "PyEval_GetFrame");
  find(&python.frame_back, "PyFrame_GetBack");
  find(&python.frame_code, "PyFrame_GetCode");
  find(&python.frame_line, "PyFrame_GetLineNumber");
  find(&python.collect, "PyGC_Collect");
  static const opc_interpreter_hooks_t hooks = {
      .ask = ask, .take_exception = take_exception, .place = place_of_user, .collect_garbage = collect_garbage};
  opc_bridge_set_interpreter(&hooks);
}

bool opc_interpreter_hosts(void) { return request != NULL; }

static bool ask(const char *what, const char *word, char *text, size_t size) {
  text[0] = '\0';
  return request(what, word, text, size) == 0;
}

static opc_status_t import(const char *module, opc_error_t *error) {
  char text[sizeof error->message];
  if (ask("import", module, text, sizeof text)) return OPC_OK;
  return opc_error_set(error, OPC_ERR_LIBRARY, "%s", text);
}

opc_status_t opc_interpreter_import(const char *module, opc_error_t *error) {
  if (request == NULL)
    return opc_error_set(error, OPC_ERR_USAGE, "--module %s: no Python interpreter hosts this process", module);
  return opc_bridge_attribute(module, import, error);
}

opc_status_t opc_interpreter_warm_up(opc_error_t *error) {
  char text[sizeof error->message];
  if (request == NULL || ask("warm up", "", text, sizeof text)) return OPC_OK;
  return opc_error_set(error, OPC_ERR_LIBRARY, "%s", text);
}

void opc_interpreter_before_fork(void) {
  if (request != NULL && python.before_fork != NULL) python.before_fork();
}

void opc_interpreter_after_fork_in_parent(void) {
  if (request != NULL && python.after_fork_parent != NULL) python.after_fork_parent();
}

void opc_interpreter_after_fork_in_child(void) {
  if (request != NULL && python.after_fork_child != NULL) python.after_fork_child();
  if (request != NULL) opc_bridge_renew_threads();
  opc_interpreter_release();
}

void opc_interpreter_release(void) {
  if (request != NULL && python.save_thread != NULL) (void)python.save_thread();
}

/* ---- exceptions ---- */

/* New reference; NULL: the object is NULL or has no such attribute. */
static object_t *attribute_of(object_t *object, const char *name) {
  object_t *found = object != NULL ? python.attribute(object, name) : NULL;
  if (found == NULL) python.err_clear();
  return found;
}

static void drop(object_t *object) {
  if (object != NULL) python.decref(object);
}

static void add_text(object_t *object, char *out, size_t size) {
  object_t *string = object != NULL ? python.string(object) : NULL;
  const char *text = string != NULL ? python.utf8(string) : NULL;
  snprintf(out, size, "%s", text != NULL ? text : "?");
  python.err_clear();
  drop(string);
}

/* The innermost frame of a traceback that is in a file. */
static void place_of(object_t *trace, char *out, size_t size) {
  object_t *innermost = NULL;
  for (object_t *at = trace, *owned = NULL; at != NULL && at != python.none;) {
    object_t *next = attribute_of(at, "tb_next");
    drop(innermost);
    innermost = attribute_of(at, "tb_frame");
    object_t *line = attribute_of(at, "tb_lineno"), *code = attribute_of(innermost, "f_code"),
             *file = attribute_of(code, "co_filename");
    char name[512];
    add_text(file, name, sizeof name);
    if (name[0] != '<') snprintf(out, size, "%s:%ld", name, line != NULL ? python.integer(line) : 0L);
    drop(file);
    drop(code);
    drop(line);
    drop(owned);
    at = owned = next;
    if (at == python.none) drop(owned);
  }
  drop(innermost);
}

static bool take_exception(char *text, size_t size) {
  if (request == NULL || python.ensure == NULL || python.err_fetch == NULL) return false;
  const int state = python.ensure();
  object_t *type = NULL, *value = NULL, *trace = NULL, *name = NULL;
  const bool found = python.err_occurred() != NULL;
  if (found) {
    char words[700], kind[100], place[600] = "";
    python.err_fetch(&type, &value, &trace);
    python.err_normalize(&type, &value, &trace);
    name = attribute_of(type, "__name__");
    add_text(name, kind, sizeof kind);
    add_text(value, words, sizeof words);
    place_of(trace, place, sizeof place);
    snprintf(text, size, "%s: %s%s%s%s", kind, words, place[0] != '\0' ? " (at " : "", place,
             place[0] != '\0' ? ")" : "");
    drop(name);
    drop(type);
    drop(value);
    drop(trace);
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
    if (strstr(file, others[i]) != NULL) return false;
  return file[0] != '<';
}

static bool place_of_user(char *text, size_t size) {
  if (request == NULL || python.ensure == NULL || python.frame == NULL || python.frame_back == NULL ||
      python.frame_code == NULL || python.frame_line == NULL)
    return false;
  const int state = python.ensure();
  bool found = false;
  for (object_t *frame = python.frame(), *owned = NULL; frame != NULL && !found;) {
    object_t *code = python.frame_code(frame), *file = attribute_of(code, "co_filename");
    char name[800];
    add_text(file, name, sizeof name);
    found = is_users(name);
    if (found) snprintf(text, size, "%s:%d", name, python.frame_line(frame));
    drop(file);
    drop(code);
    object_t *back = found ? NULL : python.frame_back(frame);
    drop(owned);
    frame = owned = back;
  }
  python.release(state);
  return found;
}

static void collect_garbage(void) {
  if (request == NULL || python.ensure == NULL || python.collect == NULL) return;
  const int state = python.ensure();
  (void)python.collect();
  python.release(state);
}
