// libtorch's CPU allocator, implemented with C functions.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include "bridge/api/bridge.h"

namespace {

const opc_cpu_allocator_t *functions;

void release(void *data) {
  if (data != nullptr) functions->release(data, functions->context);
}

// The context of every DataPtr is the data itself: oneDNN requires that, and raw_deallocate needs nothing else.
struct CAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void *data = bytes > 0 ? functions->allocate(bytes, functions->context) : nullptr;
    if (bytes > 0 && data == nullptr) {
      // The text of libtorch's own allocator.
      TORCH_CHECK_WITH(OutOfMemoryError, false, "DefaultCPUAllocator: not enough memory: you tried to allocate ", bytes,
                       " bytes.");
    }
    return {data, data, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void *to, const void *from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

void opc_bridge_set_allocator(const opc_cpu_allocator_t *allocator) {
  static auto *instance = new CAllocator;  // outlives every storage
  functions = allocator;
  constexpr uint8_t kAboveAll = 255;
  c10::SetCPUAllocator(instance, kAboveAll);
}
