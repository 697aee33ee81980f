/* A symbol that nothing defines and nothing replaces, beside one of Python that is replaced. */
int nobody_has_this(void);
int Py_IsInitialized(void);
int use_nobody(void);

int use_nobody(void) { return Py_IsInitialized() + nobody_has_this(); }
