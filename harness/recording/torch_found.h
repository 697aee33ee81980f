/* Finds the libtorch version of a libtorch_cpu.so. */
#ifndef OPC_RECORDING_TORCH_FOUND_H
#define OPC_RECORDING_TORCH_FOUND_H

/* "2.11" for ROOT/lib/libtorch_cpu.so, from the files around it; "": unknown. */
void opc_torch_version_of(const char *torch_cpu_file, char out[16]);

#endif
