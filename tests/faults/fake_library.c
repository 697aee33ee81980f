/* Nothing in it: the fake worker makes operators up, and the supervisor looks at the file only. */
int opc_fake_library(void);
int opc_fake_library(void) { return 0; }
