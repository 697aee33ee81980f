/* Which libtorch a libtorch_cpu.so belongs to. */
#ifndef OPC_RECORD_TORCH_FOUND_H
#define OPC_RECORD_TORCH_FOUND_H

/* "2.11" for ROOT/lib/libtorch_cpu.so, from the files beside it; "" where none says. */
void opc_torch_version_of(const char *torch_cpu_file, char out[16]);

#endif
