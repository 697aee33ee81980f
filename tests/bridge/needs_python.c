/* Functions and data of Python that nobody provides, and a weak one that may be missing. */
void *PyLong_FromLong(long value);
void *_PyObject_New(void *type);
int Py_IsInitialized(void);
void *PyWeak_Missing(void) __attribute__((weak));
extern void *PyExc_ValueError;
extern struct object {
  long references;
  void *type;
} _Py_NoneStruct;

void *use_python(void);
int read_python_data(void);

void *use_python(void) { return PyWeak_Missing != 0 ? PyWeak_Missing() : _PyObject_New(PyLong_FromLong(1)); }

/* 0: as it is without an interpreter, and data can be written. */
int read_python_data(void) {
  _Py_NoneStruct.references++;
  return Py_IsInitialized() != 0 || PyExc_ValueError != 0 || _Py_NoneStruct.references != 1 || _Py_NoneStruct.type != 0;
}
