// IdentityConvClass: the operator as a layer, usable from TorchScript, torch.export and AOTInductor.
#include "identity_conv.h"

#include <torch/custom_class.h>

#include <cstdint>
#include <string>
#include <tuple>

namespace my_ops {
namespace {

class IdentityConvClass : public torch::CustomClassHolder {
 public:
  explicit IdentityConvClass(int64_t channels) : channels_(channels) {
    TORCH_CHECK(channels > 0, "IdentityConvClass: the number of channels must be positive, not ", channels);
  }

  // Calls through the dispatcher, so that it works on every device, on Meta, and under tracing.
  at::Tensor forward(const at::Tensor &x) const {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("my_ops::identity_conv_op", "")
                               .typed<at::Tensor(const at::Tensor &)>();
    return op.call(x);
  }

  int64_t channels() const { return channels_; }

 private:
  int64_t channels_;
};

using Self = c10::intrusive_ptr<IdentityConvClass>;

}  // namespace

void register_identity_conv_class(torch::Library &m) {
  m.class_<IdentityConvClass>("IdentityConvClass")
      .def(torch::init<int64_t>())
      .def("forward", [](const Self &self, const at::Tensor &x) { return self->forward(x); })
      .def("get_channels", [](const Self &self) { return self->channels(); })
      // torch.export compares and rebuilds objects by these (name, value) pairs.
      .def("__obj_flatten__",
           [](const Self &self) { return std::make_tuple(std::make_tuple(std::string("channels"), self->channels())); })
      .def_pickle([](const Self &self) { return self->channels(); },
                  [](int64_t channels) { return c10::make_intrusive<IdentityConvClass>(channels); });
}

}  // namespace my_ops
