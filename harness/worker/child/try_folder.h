/* The working directory of a child: private, empty except for one small file, and reset for each try of a search. File
 * names that a search passes for str arguments are relative to it (search_hints.def), so samples found by a search are
 * valid in every child.
 *
 * Threads: one. */
#pragma once

/* Restores the directory's initial contents and makes it the current one. Errors are ignored: a try can run without
 * it. */
void opc_try_folder_reset(void);
