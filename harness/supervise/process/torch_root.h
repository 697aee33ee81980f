/* Finds the version of a libtorch from its files.
 *
 * Ownership: plain values. Threads: any. */
#pragma once

/* "2.11" for the libtorch in a folder with include/ or version.py; "": unknown. */
void opc_torch_version_read(const char *root, char out[16]);
