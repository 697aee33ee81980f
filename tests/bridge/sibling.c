int bridge_test_sibling(void);
int bridge_test_sibling(void) { return 1; }
