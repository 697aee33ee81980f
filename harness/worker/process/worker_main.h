/* opcheck-worker: loads libraries of operators and runs their cases in children. Started by opcheck-c, see protocol.h;
 * not useful on its own. It is a shared library, libopcheck-worker-2.11.so, which an interpreter can load too, and a
 * program of one line.
 *
 * Ownership, threads: the process belongs to it. */
#pragma once

/* Ends the process. */
int opc_worker_main(int argc, char **argv);
