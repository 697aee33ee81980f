/* Needs a library that no search path has. */
int bridge_test_sibling(void);
int bridge_test_orphan(void);
int bridge_test_orphan(void) { return bridge_test_sibling(); }
