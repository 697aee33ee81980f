/* Finds the libtorch version of a libtorch_cpu.so. */
#pragma once

/* "2.11" for ROOT/lib/libtorch_cpu.so, from the files around it; "": unknown. */
void opc_torch_version_of(const char *torch_cpu_file, char out[16]);
