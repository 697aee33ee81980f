/* What a process and those that it started are doing, from /proc. All of it is a glance: a process may end while it is
 * looked at, which counts as doing nothing.
 *
 * Ownership: nothing. Threads: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Processor seconds that a process has used; -1: not known. */
double opc_process_cpu(pid_t pid);
/* True if one of its threads runs, or waits for a processor or in the kernel (state D, such as for a disk). */
bool opc_process_is_runnable(pid_t pid);
/* The processes that its threads started and that have not been waited for; returns their number, at most `size`. */
size_t opc_process_children(pid_t pid, pid_t *out, size_t size);
/* True if a process that it started, or one that those started, executes another program and is runnable: a compiler,
 * for example. */
bool opc_process_runs_a_program(pid_t pid);
