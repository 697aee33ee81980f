#include <stdio.h>

int main(void) { return puts("static") < 0; }
