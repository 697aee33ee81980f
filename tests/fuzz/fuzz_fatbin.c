/* GPU code: the fat binaries of a library's section, and an image that the driver would load. */
#include "fuzz.h"

#include "cuda/image/kernel_image.h"
#include "inspect/fatbin.h"
#include "inspect/gpu_kernels.h"

static void fatbin_kernel(const char *kernel, void *context) { *(size_t *)context += strlen(kernel); }

static void fatbin_plain(const opc_fatbin_image_t *image) {
  unsigned char *unpacked = NULL;
  size_t size = 0, length = 0;
  const unsigned char *plain = image->bytes ? opc_fatbin_image_plain(image, &size, &unpacked) : NULL;
  if (plain) (void)opc_cubin_visit(plain, size, fatbin_kernel, &length);
  opc_image_unpacked_free(unpacked, size);
}

static void fatbin_images(const opc_fatbin_t *fatbin, void *context) {
  (void)context;
  fatbin_plain(&fatbin->machine);
  fatbin_plain(&fatbin->ptx);
}

static void fatbin_section(const uint8_t *bytes, size_t size) {
  opc_gpu_codes_t codes;
  opc_gpu_kernels_t kernels = {0};
  opc_uneven_t uneven = {0};
  opc_error_t error = {0};
  opc_fatbin_read(bytes, size, &codes);
  (void)opc_fatbin_visit(bytes, size, fatbin_images, NULL);
  if (opc_gpu_kernels_read(bytes, size, &kernels, &error) != OPC_OK)
    fuzz_expect(error.message[0], "an error without words");
  opc_gpu_kernels_clear(&kernels);
  opc_uneven_read(bytes, size, &codes, &uneven);
  opc_uneven_clear(&uneven);
}

static void fatbin_loaded(const uint8_t *bytes, size_t size) {
  opc_kernel_image_t image;
  unsigned char *copy = calloc(1, size + 1); /* a NUL follows */
  fuzz_expect(copy, "out of memory");
  if (size) memcpy(copy, bytes, size);
  void *wrapper = size ? opc_image_wrap(copy, size) : NULL;
  if (wrapper) {
    (void)opc_image_code(wrapper, 9, 0);
    (void)opc_image_has(wrapper, "plain");
    opc_image_read(wrapper, "plain", 9, 0, &image);
    opc_image_read(wrapper, "packed", 0, 0, &image);
    opc_image_wrapped_free(wrapper);
  }
  (void)opc_cubin_read(bytes, size, "plain", &image);
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  fatbin_section(bytes, size);
  fatbin_loaded(bytes, size);
  return 0;
}
