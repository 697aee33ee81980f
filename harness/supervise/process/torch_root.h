/* A folder of a libtorch: the version that its files say.
 *
 * Ownership: plain values. Threads: any. */
#ifndef OPC_SUPERVISE_PROCESS_TORCH_ROOT_H
#define OPC_SUPERVISE_PROCESS_TORCH_ROOT_H

/* "2.11" of the libtorch in a folder that has include/ or version.py; "" where nothing says it. */
void opc_torch_version_read(const char *root, char out[16]);

#endif
