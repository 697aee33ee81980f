#include "worker/process/worker_main.h"

int main(int argc, char **argv) { return opc_worker_main(argc, argv); }
