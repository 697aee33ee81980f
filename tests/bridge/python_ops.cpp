// Operators that use Python: one always, one for certain arguments.
#include <torch/library.h>

extern "C" {
void PyErr_SetString(void *type, const char *text);
extern void *PyExc_ValueError;
}

namespace {

int64_t always(int64_t n) {
  PyErr_SetString(PyExc_ValueError, "no");
  return n;
}

int64_t for_negative(int64_t n) {
  if (n < 0) PyErr_SetString(PyExc_ValueError, "negative");
  return n;
}

}  // namespace

TORCH_LIBRARY(bridge_test_python, m) {
  m.def("always(int n) -> int", &always);
  m.def("for_negative(int n) -> int", &for_negative);
}
