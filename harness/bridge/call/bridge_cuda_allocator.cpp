// libtorch's CUDA allocator, implemented with C functions, through the interface of
// torch/csrc/cuda/CUDAPluggableAllocator.h. That header needs CUDA's own headers, and libtorch_cuda is loaded only if a
// CUDA device is requested. So its two functions are declared here, and looked up by name.
#include <dlfcn.h>

#include <functional>
#include <memory>

#include <c10/util/Exception.h>

#include "bridge/torch/exceptions.h"

struct CUstream_st;

namespace c10::cuda::CUDACachingAllocator {
class CUDAAllocator;
}

namespace {

using Allocator = std::shared_ptr<c10::cuda::CUDACachingAllocator::CUDAAllocator>;
using Allocate = std::function<void *(size_t, int, CUstream_st *)>;
using Release = std::function<void(void *, size_t, int, CUstream_st *)>;
using Create = Allocator(Allocate, Release);
using Change = void(const Allocator &);

constexpr const char *kCreate =
    "_ZN5torch4cuda22CUDAPluggableAllocator21createCustomAllocatorESt8functionIFPvmiP11CUstream_stEES2_IFvS3_miS5_EE";
constexpr const char *kChange =
    "_ZN5torch4cuda22CUDAPluggableAllocator22changeCurrentAllocatorERKSt10shared_"
    "ptrIN3c104cuda20CUDACachingAllocator13CUDAAllocatorEE";

}  // namespace

opc_status_t opc_cuda_allocator_set(const opc_device_allocator_t *allocator, opc_error_t *error) {
  static Allocator current;  // outlives every storage
  auto *create = reinterpret_cast<Create *>(dlsym(RTLD_DEFAULT, kCreate));
  auto *change = reinterpret_cast<Change *>(dlsym(RTLD_DEFAULT, kChange));
  if (create == nullptr || change == nullptr)
    return opc_error_set(error, OPC_ERR_UNSUPPORTED,
                         "this libtorch_cuda accepts no other allocator (no torch::cuda::CUDAPluggableAllocator)");
  return opc::guarded(error, [&] {
    const auto made = create(
        [allocator](size_t bytes, int, CUstream_st *) -> void * {
          void *data = allocator->allocate(bytes);
          // The text of libtorch's own allocator.
          if (data == nullptr && bytes > 0)
            TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", bytes, " bytes.");
          return data;
        },
        [allocator](void *data, size_t, int, CUstream_st *) { allocator->release(data); });
    change(made);
    current = made;
    return OPC_OK;
  });
}
