#include "package_run.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <cstdio>
#include <cstring>
#include <exception>

struct package {
  torch::inductor::AOTIModelPackageLoader loader;
};

// No exception may leave into C.
package_t *package_open(const char *path, char *message, size_t size) {
  try {
    return new package{torch::inductor::AOTIModelPackageLoader(path)};
  } catch (const c10::Error &error) {
    std::snprintf(message, size, "%s", error.what_without_backtrace());
    return nullptr;
  } catch (const std::exception &error) {
    std::snprintf(message, size, "%s", error.what());
    return nullptr;
  }
}

int package_run(package_t *package, const char *device, const float *input, const int64_t *sizes, size_t dimensions,
                float *output, size_t count, char *message, size_t size) {
  try {
    // The model only reads its inputs.
    const auto tensor = at::from_blob(const_cast<float *>(input), at::IntArrayRef(sizes, dimensions), at::kFloat)
                            .to(at::Device(device));
    const auto outputs = package->loader.run({tensor});
    // A model continues after an operator that it calls has thrown; that operator's message is on stderr.
    TORCH_CHECK(!outputs.empty() && outputs[0].defined(), "the model returns nothing: an operator in it has failed");
    const auto result = outputs[0].cpu().contiguous();
    TORCH_CHECK(result.scalar_type() == at::kFloat && result.numel() == static_cast<int64_t>(count),
                "the model returns ", result.numel(), " elements of ", result.scalar_type(), ", not ", count,
                " of Float");
    std::memcpy(output, result.const_data_ptr<float>(), count * sizeof(float));
    return 0;
  } catch (const c10::Error &error) {
    std::snprintf(message, size, "%s", error.what_without_backtrace());
    return 1;
  } catch (const std::exception &error) {
    std::snprintf(message, size, "%s", error.what());
    return 1;
  }
}

void package_close(package_t *package) { delete package; }
