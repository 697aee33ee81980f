/* A C interface to AOTInductor's packages, as small as can be: libtorch has only a C++ one. Part of the example that
 * run_package.c is. */
#ifndef OPS_PACKAGE_RUN_H
#define OPS_PACKAGE_RUN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct package package_t;

/* NULL: the package cannot be loaded, and message says why. The operators that it calls must be registered before. */
package_t *package_open(const char *path, char *message, size_t size);
/* Runs the model on one contiguous float32 tensor, which is copied to the device ("cpu", "cuda", "cuda:1") that the
 * model was compiled for, and copies its first output, count elements of float32, into output. 0: done; otherwise
 * message says what is wrong. */
int package_run(package_t *package, const char *device, const float *input, const int64_t *sizes, size_t dimensions,
                float *output, size_t count, char *message, size_t size);
void package_close(package_t *package);

#ifdef __cplusplus
}
#endif
#endif
