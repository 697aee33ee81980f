/* An operator that uses nothing of libtorch but its stable C interface, as of 2.7, without its headers. */
#include <stdint.h>

typedef struct library *library_t;
typedef struct tensor *tensor_t;
typedef void kernel_t(uint64_t *stack, uint64_t inputs, uint64_t outputs);

extern int32_t aoti_torch_library_init_def(const char *space, const char *file, uint32_t line, library_t *out);
extern int32_t aoti_torch_library_init_impl(const char *space, const char *key, const char *file, uint32_t line,
                                            library_t *out);
extern int32_t aoti_torch_library_def(library_t library, const char *schema);
extern int32_t aoti_torch_library_impl(library_t library, const char *name, kernel_t *kernel);
extern int32_t aoti_torch_clone(tensor_t tensor, tensor_t *out);
extern int32_t aoti_torch_delete_tensor_object(tensor_t tensor);

/* The kernel owns its arguments, and the caller the result. */
static void stable_copy(uint64_t *stack, uint64_t inputs, uint64_t outputs) {
  const tensor_t x = (tensor_t)(uintptr_t)stack[0]; /* NOLINT(performance-no-int-to-ptr) */
  tensor_t copy = 0;
  (void)inputs;
  (void)outputs;
#ifdef OPC_RETURNS_ARGUMENT /* a defect, for the test of --watch */
  copy = x;
#else
  (void)aoti_torch_clone(x, &copy);
  (void)aoti_torch_delete_tensor_object(x);
#endif
  stack[0] = (uint64_t)(uintptr_t)copy;
}

__attribute__((constructor)) static void register_operators(void) {
  static library_t definitions, kernels;
  (void)aoti_torch_library_init_def("stable_ops", __FILE__, __LINE__, &definitions);
  (void)aoti_torch_library_def(definitions, "copy(Tensor x) -> Tensor");
  (void)aoti_torch_library_init_impl("stable_ops", "CPU", __FILE__, __LINE__, &kernels);
  (void)aoti_torch_library_impl(kernels, "copy", stable_copy);
}
