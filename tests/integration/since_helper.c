double since_helper(void);
double since_helper(void) { return 2; }
