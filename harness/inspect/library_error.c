#include "inspect/library_error.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/system.h"
#include "inspect/facts.h"

void opc_library_error_set(opc_library_error_t *out, const char *kind, const char *format, ...) {
  va_list arguments;
  snprintf(out->kind, sizeof out->kind, "%s", kind);
  va_start(arguments, format);
  vsnprintf(out->message, sizeof out->message, format, arguments);
  va_end(arguments);
}

/* Copies the word after `before` in text, up to a blank, a comma or the end. False: not found. */
static bool word_after(const char *text, const char *before, char *out, size_t size) {
  const char *at = strstr(text, before);
  if (!at) return false;
  at += strlen(before);
  size_t length = strcspn(at, " ,()\n");
  if (length == 0) return false;
  if (length >= size) length = size - 1;
  memcpy(out, at, length);
  out[length] = '\0';
  return true;
}

static bool is_cpp_of_torch(const char *symbol) {
  return strstr(symbol, "c10") || strstr(symbol, "torch") || strstr(symbol, "2at");
}

/* message: what the loader says, "FILE: undefined symbol: NAME" */
static void undefined_symbol(opc_library_error_t *out, const char *symbol, const char *message, const char *torch) {
  OPC_SCOPED(opc_scope_free) char *plain = opc_demangle(symbol);
  char shown[512]; /* what to do follows, and must not be cut off */
  opc_string_put(shown, sizeof shown, plain ? plain : symbol);
  const char *end = strstr(message, ": undefined symbol: ");
  if (opc_symbol_has_old_string(symbol)) {
    opc_library_error_set(out, "abi",
                          "built with the old string ABI of libtorch before 2.6 (undefined symbol %s), this is "
                          "libtorch %s: get or build the library for this "
                          "libtorch, or give a libtorch that fits it with --torch",
                          shown, torch);
  } else if (opc_symbol_is_newer_torch(symbol)) {
    opc_library_error_set(out, "abi",
                          "built for libtorch 2.12 or newer (undefined symbol %s), this is libtorch %s: give that "
                          "libtorch with --torch, or build the library "
                          "for this one",
                          shown, torch);
  } else if (strstr(symbol, "N2at3Tag")) { /* 2.12 moved at::Tag to headeronly */
    opc_library_error_set(out, "abi",
                          "built for libtorch 2.11 or older (undefined symbol %s), this is libtorch %s: give that "
                          "libtorch with --torch, or build the library "
                          "for this one",
                          shown, torch);
  } else if (strncmp(symbol, "Py", 2) == 0 || strncmp(symbol, "_Py", 3) == 0) {
    opc_library_error_set(out, "undefined_symbol",
                          "needs Python's symbol %s for more than a call (a version of it, or thread-local data), "
                          "which no stub library provides: preload libpython "
                          "(--preload libpython3.X.so), or build the operators apart from their Python binding",
                          shown);
  } else if (strstr(symbol, "cuda") || strstr(symbol, "4cuda")) {
    opc_library_error_set(out, "undefined_symbol",
                          "undefined symbol %s, which belongs to CUDA or to libtorch's CUDA half: run it with --device "
                          "cuda on a machine that has both, or name the "
                          "library that defines it with --preload",
                          shown);
  } else if (opc_symbol_is_stable(symbol)) {
    opc_library_error_set(out, "abi",
                          "built for a newer libtorch: %s is not in the stable C interface of libtorch %s, which only "
                          "ever grows; give a newer libtorch with --torch, or "
                          "build the library for this one (TORCH_TARGET_VERSION)",
                          shown, torch);
  } else if (is_cpp_of_torch(symbol)) {
    opc_library_error_set(out, "undefined_symbol",
                          "undefined symbol %s, which libtorch %s does not have: the library was built for another "
                          "version of libtorch; give that one with --torch",
                          shown, torch);
  } else {
    opc_library_error_set(out, "undefined_symbol",
                          "undefined symbol %s%s%.*s: link the library that defines it (-Wl,-z,defs finds this when "
                          "building), or name it with --preload",
                          shown, end ? " in " : "", end ? (int)(end - message) : 0, message);
  }
}

static void missing_dependency(opc_library_error_t *out, const char *message, const char *torch) {
  char name[256];
  /* "NAME: cannot open…", with other text and a bracket before it if the bridge has already explained it. */
  const char *end = strstr(message, ": cannot open shared object file"), *start = end;
  while (start > message && start[-1] != '(' && start[-1] != ' ') start--;
  size_t length = (size_t)(end - start);
  snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), start);
  const char *base = opc_base_name(name);
  if (strncmp(base, "libcudart.so", 12) == 0) {
    opc_library_error_set(out, "abi",
                          "needs %s, a CUDA runtime that is not here: it was built for another CUDA than this libtorch "
                          "%s; get the library for this CUDA, or "
                          "give its libtorch with --torch",
                          base, torch);
  } else if (strncmp(base, "libtorch", 8) == 0 || strncmp(base, "libc10", 6) == 0) {
    opc_library_error_set(
        out, "missing_dependency",
        "needs %s, which this libtorch %s does not bring: give the libtorch that it was built for with --torch", base,
        torch);
  } else {
    opc_library_error_set(
        out, "missing_dependency",
        "needs %s, which the loader does not find: name its file with --preload, or set LD_LIBRARY_PATH", base);
  }
}

/* The texts come from c10 and torch (aten/src/ATen/core/dispatch/Dispatcher.cpp, torch/library.cpp,
 * torch/csrc/jit/frontend). */
static bool from_torch_text(opc_library_error_t *out, const char *text) {
  if (strstr(text, "Only a single TORCH_LIBRARY can be used")) {
    opc_library_error_set(out, "duplicate",
                          "a namespace is defined twice with TORCH_LIBRARY: use TORCH_LIBRARY_FRAGMENT in all places "
                          "but one; where two libraries of this command line "
                          "define it, check them one at a time. libtorch says: %.600s",
                          text);
    return true;
  }
  if (strstr(text, "with the same name and overload name multiple times") || strstr(text, "multiple times") ||
      strstr(text, "already registered") || strstr(text, "already been registered")) {
    opc_library_error_set(out, "duplicate",
                          "an operator or class is defined twice: remove one definition, or give one of them an "
                          "overload name; where two libraries of this command line "
                          "define it, check them one at a time. libtorch says: %.600s",
                          text);
    return true;
  }
  if (strstr(text, "Unknown type name") || strstr(text, "unknown type specifier") ||
      strstr(text, "Unknown custom class type") || strstr(text, "<--- HERE") || strstr(text, "in TypeParser") ||
      strstr(text, "schema_type_parser") || strstr(text, "expected type") || strstr(text, "Schema") ||
      strstr(text, "schema")) {
    opc_library_error_set(out, "schema",
                          "a schema names a type that libtorch does not know, or cannot be parsed: register a custom "
                          "class before the operator that uses it, and spell types "
                          "as schemas do (Tensor, int, float, str). libtorch says: %.600s",
                          text);
    return true;
  }
  return false;
}

void opc_library_error_from_message(opc_library_error_t *out, const char *message, const char *torch) {
  char word[512];
  if (word_after(message, "undefined symbol: ", word, sizeof word)) {
    undefined_symbol(out, word, message, torch);
  } else if (strstr(message, "not found (required by") && strstr(message, "version `")) {
    opc_library_error_set(out, "abi",
                          "built against a newer system library than this machine has: build it here, or run where "
                          "that library is. The loader says: %s",
                          message);
  } else if (strstr(message, "file too short") || strstr(message, "cannot read file data")) {
    opc_library_error_set(out, "truncated", "the file ends too early: copy or build it again. The loader says: %s",
                          message);
  } else if (strstr(message, "wrong ELF class") || strstr(message, "cannot open shared object file: Exec format")) {
    opc_library_error_set(out, "architecture", "built for another processor: %s", message);
  } else if (strstr(message, "invalid ELF header") || strstr(message, "position-independent executable") ||
             strstr(message, "cannot dynamically load executable")) {
    opc_library_error_set(out, "not_elf", "not a shared library: %s", message);
  } else if (strstr(message, "cannot open shared object file: Permission denied")) {
    opc_library_error_set(out, "unreadable", "%s", message);
  } else if (strstr(message, "cannot open shared object file")) {
    missing_dependency(out, message, torch);
  } else if (!from_torch_text(out, message)) {
    opc_library_error_set(out, "loader", "the loader refuses it: %s", message);
  }
}

void opc_library_error_from_death(opc_library_error_t *out, int wait_status, const char *terminate_text,
                                  const char *output) {
  const char *separator = output[0] != '\0' ? "; it printed: " : "";
  if (terminate_text[0] != '\0') {
    if (from_torch_text(out, terminate_text)) return;
    if (strstr(terminate_text, "it needs a Python interpreter") ||
        strstr(terminate_text, "a stub library replaces that library")) { /* bridge/stub/stub_library.h */
      const char *called = strstr(terminate_text, "called ");
      opc_library_error_set(out, "initialiser_threw",
                            "a static initialiser %.600s: move that call out of the initialiser, or build the "
                            "operators apart from what makes it",
                            called ? called : terminate_text);
      return;
    }
    opc_library_error_set(
        out, "initialiser_threw",
        "a static initialiser throws while the library loads, which ends the process of everybody who loads it: %.700s",
        terminate_text);
  } else if (WIFEXITED(wait_status)) {
    opc_library_error_set(out, "initialiser_exited",
                          "a static initialiser ends the process with exit code %d while the library loads%s%.700s",
                          WEXITSTATUS(wait_status), separator, output);
  } else {
    int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    const char *name = opc_signal_abbreviation(number);
    opc_library_error_set(out, "initialiser_aborted",
                          "a static initialiser ends the process with SIG%s (%s) while the library loads%s%.700s",
                          name ? name : "?", number != 0 ? opc_signal_description(number) : "unknown", separator,
                          output);
  }
}

void opc_library_error_from_hang(opc_library_error_t *out, double seconds) {
  opc_library_error_set(out, "initialiser_hung",
                        "loading did not end within %.0f s: a static initialiser waits for something or never stops; a "
                        "larger --timeout gives it more time "
                        "(three times the timeout, 30 s at least)",
                        seconds);
}

/* As far as "==2.9.1" and the lower bound of ">=2.14.0,<2.15.0" say. */
static bool wants_other_torch(const opc_package_hint_t *package, const char *torch) {
  int wanted[2], here[2];
  char relation[3];
  if (sscanf(package->torch, "%2[=>]%d.%d", relation, &wanted[0], &wanted[1]) != 3 ||
      sscanf(torch, "%d.%d", &here[0], &here[1]) != 2)
    return false;
  const int newer = wanted[0] != here[0] ? wanted[0] - here[0] : wanted[1] - here[1];
  return strcmp(relation, "==") == 0 ? newer != 0 : newer > 0;
}

/* The library that an import could not load because it was built for another torch, from the text of the exception:
 * "ImportError: /…/_C.so: undefined symbol: _ZN3c10…". */
static bool built_for_other_torch(const char *text, char *path, size_t size) {
  const char *end = strstr(text, ": undefined symbol: "), *start = NULL;
  char symbol[512];
  if (!end || !word_after(end, "undefined symbol: ", symbol, sizeof symbol)) return false;
  for (const char *at = strstr(text, ": /"); at && at < end; at = strstr(at + 1, ": /")) start = at;
  if (!start) return false;
  start += strlen(": ");
  snprintf(path, size, "%.*s", (int)(end - start), start);
  return is_cpp_of_torch(symbol) || opc_symbol_is_stable(symbol);
}

void opc_library_error_from_import(opc_library_error_t *out, const char *text, const char *torch) {
  char path[PATH_MAX], needs[400] = "";
  opc_package_hint_t package;
  opc_library_error_set(out, "import", "%s", text);
  if (!built_for_other_torch(text, path, sizeof path)) return;
  if (opc_package_hint_find(path, &package) && wants_other_torch(&package, torch))
    snprintf(needs, sizeof needs, " (package %s %s needs torch%s)", package.name, package.version, package.torch);
  opc_library_error_set(
      out, "import",
      "%s. That library was built for another torch than this Python's, which is %s%s: install a build "
      "for this torch, or the torch that it needs",
      text, torch, needs);
}

void opc_library_error_add_package(opc_library_error_t *error, const opc_package_hint_t *package, const char *torch) {
  const bool of_versions = strcmp(error->kind, "abi") == 0 || strcmp(error->kind, "undefined_symbol") == 0;
  if (!of_versions || !wants_other_torch(package, torch)) return;
  const size_t used = strlen(error->message);
  snprintf(error->message + used, sizeof error->message - used, "; package %s %s needs torch%s", package->name,
           package->version, package->torch);
}
