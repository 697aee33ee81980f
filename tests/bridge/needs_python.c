/* Two symbols of Python that nobody provides, and a weak one that may be missing. */
void *PyLong_FromLong(long value);
void *_PyObject_New(void *type);
void *PyWeak_Missing(void) __attribute__((weak));
void *use_python(void);

void *use_python(void) { return PyWeak_Missing != 0 ? PyWeak_Missing() : _PyObject_New(PyLong_FromLong(1)); }
