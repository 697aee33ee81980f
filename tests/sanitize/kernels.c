/* A library as nvcc makes them, as far as its names of kernels go: a section with GPU code, the names that kernels are
 * registered by, an extern "C" one. */
extern const char *kernel_names[];
void plain_kernel(void);
void no_kernel(void);

__attribute__((section(".nv_fatbin"), used)) static const char gpu_code[16] = "no code at all";
const char *kernel_names[] = {
    "_ZN6my_ops55_GLOBAL__N__55d2c500_16_identity_conv_cu_681cd5d1_2873011copy_kernelImEEvPKT_PS2_l",
    "_ZN6my_ops55_GLOBAL__N__55d2c500_16_identity_conv_cu_681cd5d1_2873011copy_kernelIjEEvPKT_PS2_l",
    "_Z9my_kernelPf",
    "plain_kernel",
    "_Z is no name",
    gpu_code};
void plain_kernel(void) {}
void no_kernel(void) {}
