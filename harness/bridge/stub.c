/* An empty library. Its name is all that a library under test asks for (see prepare.h). */
extern const int opc_stub_is_empty;
const int opc_stub_is_empty = 1;
