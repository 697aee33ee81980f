/* Never executed: its name and its RUNPATH are what is read. */
int main(void) { return 1; }
