#include "bridge/registry/kernel_code.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <typeinfo>

namespace opc {
namespace {

// An explicit instantiation may name private members; the friend that it defines gives them away.
template <typename Tag, typename Tag::Member member>
struct Reveal {
  friend typename Tag::Member reveal(Tag /*tag*/) { return member; }
};
struct Boxed {
  using Member = c10::BoxedKernel c10::KernelFunction::*;
  friend Member reveal(Boxed tag);
};
struct Unboxed {
  using Member = void *c10::KernelFunction::*;
  friend Member reveal(Unboxed tag);
};
struct Functor {
  using Member = c10::intrusive_ptr<c10::OperatorKernel> c10::BoxedKernel::*;
  friend Member reveal(Functor tag);
};
struct BoxedFunction {
  using Member = c10::BoxedKernel::InternalBoxedKernelFunction *c10::BoxedKernel::*;
  friend Member reveal(BoxedFunction tag);
};
template struct Reveal<Boxed, &c10::KernelFunction::boxed_kernel_func_>;
template struct Reveal<Unboxed, &c10::KernelFunction::unboxed_kernel_func_>;
template struct Reveal<Functor, &c10::BoxedKernel::functor_>;
template struct Reveal<BoxedFunction, &c10::BoxedKernel::boxed_kernel_func_>;

// The functors that hold a pointer to the kernel: of m.impl("op", &kernel), and of the stable C interface.
bool holds_pointer(const char *functor) {
  static constexpr char kRuntime[] = "N3c104impl6detail31WrapFunctionIntoRuntimeFunctor_IPF";
  return std::strncmp(functor, kRuntime, sizeof kRuntime - 1) == 0 ||
         std::strstr(functor, "StableIValueBoxedKernel") != nullptr;
}

struct Place {
  std::string file;
  uint64_t address = 0;
};

Place place_of(const void *code) {
  Dl_info info = {};
  void *extra = nullptr;
  if (code == nullptr || dladdr1(code, &info, &extra, RTLD_DL_LINKMAP) == 0 || extra == nullptr) return {};
  const auto *module = static_cast<const link_map *>(extra);
  return {module->l_name, reinterpret_cast<uintptr_t>(code) - module->l_addr};
}

std::string folder_of(const std::string &file) { return file.substr(0, file.rfind('/') + 1); }

// Fallthroughs, and kernels that Python registered: what they run is not in this library.
bool is_torchs(const std::string &file) {
  static const std::string own = folder_of(place_of(dlsym(RTLD_DEFAULT, "aoti_torch_delete_tensor_object")).file);
  return folder_of(file) == own;
}

}  // namespace

KernelCode code_of(const c10::KernelFunction &kernel) {
  const auto &boxed = kernel.*reveal(Boxed());
  const auto *functor = (boxed.*reveal(Functor())).get();
  const void *code = kernel.*reveal(Unboxed());
  if (code == nullptr) code = reinterpret_cast<const void *>(boxed.*reveal(BoxedFunction()));
  KernelCode found;
  if (functor != nullptr) found.functor = typeid(*functor).name();
  if (holds_pointer(found.functor.c_str())) {
    std::memcpy(&code, reinterpret_cast<const char *>(functor) + sizeof(c10::OperatorKernel), sizeof code);
    found.functor.clear();
  }
  const auto place = place_of(code);
  if (place.file.empty() || is_torchs(place.file)) return {};
  found.module = place.file;
  found.address = place.address;
  return found;
}

}  // namespace opc
