// Operators whose calls are recorded.
#include <ATen/ATen.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <sstream>

namespace {

using at::Tensor;

struct Box : torch::CustomClassHolder {
  explicit Box(int64_t what) : content(what) {}
  int64_t content;
};

struct Kept : torch::CustomClassHolder {
  explicit Kept(int64_t what) : weight(at::full({3}, what)), number(what) {}
  Tensor weight;
  int64_t number;
};

Tensor plus_one(const Tensor &x) { return x + 1; }

// As generated and hand-written Autograd kernels do: the operator once more, below its key.
Tensor plus_one_autograd(const Tensor &x) {
  const at::AutoDispatchBelowAutograd below;
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("rec::plus_one", "").typed<Tensor(const Tensor &)>();
  return op.call(x);
}

Tensor plus_two(const Tensor &x) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("rec::plus_one", "").typed<Tensor(const Tensor &)>();
  return op.call(op.call(x));
}

void describe(const Tensor &tensor, std::ostream &out) {
  out << tensor.scalar_type() << tensor.sizes() << tensor.strides() << tensor.storage_offset() << tensor.requires_grad()
      << tensor.is_conj() << tensor.is_neg() << ';';
}

// The arguments as they lie in memory; it refuses those that lie in another way than the word says.
std::string description(const Tensor &a, const Tensor &b) {
  std::ostringstream out;
  describe(a, out);
  describe(b, out);
  out << a.is_same(b) << a.storage().is_alias_of(b.storage());
  return out.str();
}

Tensor layout(const Tensor &a, const Tensor &b, const std::string &wanted) {
  TORCH_CHECK(description(a, b) == wanted, "these are ", description(a, b), " and not ", wanted);
  return a.clone();
}

Tensor pick(const Tensor &x, const Tensor &index) {
  TORCH_CHECK(index.numel() == 0 || (index.min().item<int64_t>() >= 0 && index.max().item<int64_t>() < x.size(0)),
              "an index is out of range");
  return x.index_select(0, index.reshape({-1}));
}

Tensor many(at::TensorList xs, const std::optional<Tensor> &maybe, int64_t n, double f, at::IntArrayRef k,
            const at::Scalar &s, bool flag, c10::string_view mode, std::optional<at::ScalarType> dtype,
            std::optional<at::Device> device, std::optional<at::MemoryFormat>, std::optional<at::Generator>) {
  TORCH_CHECK(xs.size() == 2 && !maybe && n == 3 && f == 0.1 && k.size() == 2 && k[1] == 5 && s.toDouble() == 2.5 &&
                  flag && mode == "a \"word\"\n" && dtype == at::kDouble && device->is_cpu(),
              "not the arguments of the program");
  return xs[0] + xs[1];
}

Tensor handle(const Tensor &x, int64_t) { return x.clone(); }
Tensor bytes(const Tensor &x) { return x.clone(); }
Tensor kept(const Tensor &x, const c10::intrusive_ptr<Kept> &kept) {
  TORCH_CHECK(kept->number == 4 && kept->weight.sum().item<int64_t>() == 12, "expected the object that was recorded");
  return x + kept->weight;
}

Tensor boxed(const Tensor &x, const c10::intrusive_ptr<Box> &box) { return x + box->content; }

}  // namespace

// For the programs, which call with the arguments' own description.
extern "C" __attribute__((visibility("default"))) void record_ops_describe(const Tensor *a, const Tensor *b,
                                                                           std::string *out) {
  *out = description(*a, *b);
}

TORCH_LIBRARY(rec, m) {
  m.class_<Box>("Box").def(torch::init<int64_t>());
  m.class_<Kept>("Kept")
      .def(torch::init<int64_t>())
      .def_pickle([](const c10::intrusive_ptr<Kept> &self) { return std::make_tuple(self->weight, self->number); },
                  [](std::tuple<Tensor, int64_t> state) {
                    auto self = c10::make_intrusive<Kept>(std::get<1>(state));
                    self->weight = std::get<0>(state);
                    return self;
                  });
  m.def("plus_one(Tensor x) -> Tensor");
  m.def("plus_two(Tensor x) -> Tensor");
  m.def("layout(Tensor a, Tensor b, str wanted) -> Tensor");
  m.def("pick(Tensor x, Tensor index) -> Tensor");
  m.def(
      "many(Tensor[] xs, Tensor? maybe, int n, float f, int[2] k, Scalar s, *, bool flag=False, str mode='', "
      "ScalarType? dtype=None, "
      "Device? device=None, MemoryFormat? format=None, Generator? generator=None) -> Tensor");
  m.def("handle(Tensor x, int handle) -> Tensor");
  m.def("bytes(Tensor x) -> Tensor");
  m.def("kept(Tensor x, __torch__.torch.classes.rec.Kept kept) -> Tensor");
  m.def("boxed(Tensor x, __torch__.torch.classes.rec.Box box) -> Tensor");
}

TORCH_LIBRARY_IMPL(rec, CompositeExplicitAutograd, m) {
  m.impl("plus_one", plus_one);
  m.impl("plus_two", plus_two);
  m.impl("layout", layout);
  m.impl("pick", pick);
  m.impl("many", many);
  m.impl("handle", handle);
  m.impl("bytes", bytes);
  m.impl("boxed", boxed);
  m.impl("kept", kept);
}

TORCH_LIBRARY_IMPL(rec, Autograd, m) { m.impl("plus_one", plus_one_autograd); }

// So that the operator sees the bits themselves; libtorch resolves them in front of other kernels.
TORCH_LIBRARY_IMPL(rec, Conjugate, m) { m.impl("layout", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(rec, Negative, m) { m.impl("layout", torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY(other_rec, m) {
  m.def("copy(Tensor x) -> Tensor", [](const Tensor &x) { return x.clone(); });
}
