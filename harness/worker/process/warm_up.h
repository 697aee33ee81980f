/* Work that every child would repeat: the first calls in a process bind libtorch's functions by name and trigger its
 * one-time initialisation. If done before any fork, all children share the result in memory.
 *
 * Runs before any library under test is loaded, so that none of its code runs here. Uses only libtorch's own operators
 * on four elements: starts no thread, changes no generator and no setting. Threads: before any is started. Fork: before
 * any. */
#pragma once

/* A failure here only costs time later. */
void opc_warm_up(void);
