/* Finds the version of a libtorch from its files.
 *
 * Ownership: plain values. Threads: any. */
#ifndef OPC_SUPERVISE_PROCESS_TORCH_ROOT_H
#define OPC_SUPERVISE_PROCESS_TORCH_ROOT_H

/* "2.11" for the libtorch in a folder with include/ or version.py; "": unknown. */
void opc_torch_version_read(const char *root, char out[16]);

#endif
