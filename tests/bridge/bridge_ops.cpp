// Operators for the bridge's tests: every argument type, every way to fail, every way to register.
#include <ATen/ATen.h>
#include <ATen/core/Generator.h>
#include <ATen/core/op_registration/op_registration.h>
#include <c10/core/SymInt.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace {

using at::Tensor;

Tensor twice(const Tensor &x) { return x * 2; }
Tensor twice_meta(const Tensor &x) { return at::empty_like(x); }

// Prints what arrived, so that a test compares one string.
std::string join(at::ArrayRef<int64_t> list) {
  std::string text;
  for (const auto item : list) text += (text.empty() ? "" : ",") + std::to_string(item);
  return "[" + text + "]";
}

std::string numbers(int64_t i, c10::SymInt s, double f, bool b, c10::complex<double> c, const at::Scalar &scalar) {
  return std::to_string(i) + " " + std::to_string(s.expect_int()) + " " + std::to_string(f) + " " + std::to_string(b) +
         " " + std::to_string(c.real()) + " " + std::to_string(c.imag()) + " " +
         (scalar.isIntegral(false) ? "int"
          : scalar.isBoolean()     ? "bool"
          : scalar.isComplex()     ? "complex"
                                   : "float");
}

std::string lists(at::IntArrayRef ints, at::IntArrayRef two, c10::SymIntArrayRef symbols, at::ArrayRef<double> floats,
                  std::array<bool, 2> bools, const c10::List<std::string> &strings,
                  std::optional<at::IntArrayRef> maybe) {
  std::string text = join(ints) + join(two) + join(C10_AS_INTARRAYREF_SLOW(symbols));
  for (const double item : floats) text += " " + std::to_string(item);
  for (const bool item : bools) text += item ? " true" : " false";
  for (const auto &item : strings) text += " " + std::string(item);
  return text + " " + (maybe ? join(*maybe) : "none");
}

std::string names(at::ScalarType dtype, const at::Device &device, at::Layout layout, at::MemoryFormat format,
                  const std::string &text, const std::optional<at::Generator> &generator) {
  return std::string(c10::toString(dtype)) + " " + device.str() + " " + std::to_string(static_cast<int>(layout)) + " " +
         std::to_string(static_cast<int>(format)) + " " + text + " " +
         (generator ? std::to_string(generator->current_seed()) : "none");
}

std::string dtypes(const std::vector<at::ScalarType> &list) {
  std::string text;
  for (const auto item : list) text += std::string(c10::toString(item)) + " ";
  return text;
}

std::tuple<Tensor, std::vector<Tensor>, int64_t> tensors(const std::vector<Tensor> &all,
                                                         const c10::List<std::optional<Tensor>> &some) {
  int64_t given = 0;
  for (const auto &item : some) given += std::optional<Tensor>(item).has_value() ? 1 : 0;
  return {at::cat(all), all, given};
}

std::tuple<Tensor, int64_t, double, bool, std::string, at::Device> everything(const Tensor &x) {
  return {Tensor(), 7, 0.5, true, "words", x.device()};
}

c10::Dict<std::string, Tensor> dictionary(const Tensor &x) {
  c10::Dict<std::string, Tensor> out;
  out.insert("x", x);
  return out;
}

void throws(int64_t how) {
  switch (how) {
    case 0:
      TORCH_CHECK(false, "no thank you");
    case 1:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "\"thing\" not implemented for 'Half'");
    case 2:
      TORCH_CHECK_WITH(OutOfMemoryError, false, "all gone");
    case 3:
      throw std::bad_alloc();
    case 4:
      TORCH_INTERNAL_ASSERT(false, "oh");
    case 5:
      throw std::out_of_range("far out");
    case 6:
      throw 42;
    case 7:
      (void)at::empty({int64_t{1} << 55}, at::kFloat);
      break;
    default:
      break;
  }
}

struct Counter : torch::CustomClassHolder {
  explicit Counter(int64_t start) : value(start) { TORCH_CHECK(start >= 0, "negative start"); }
  int64_t value;
};

int64_t count(const c10::intrusive_ptr<Counter> &counter) { return counter->value; }
c10::intrusive_ptr<Counter> next(const c10::intrusive_ptr<Counter> &counter) {
  return c10::make_intrusive<Counter>(counter->value + 1);
}

void fill_(const Tensor &x, const at::Scalar &value) { x.fill_(value); }

}  // namespace

TORCH_LIBRARY(bridge_test, m) {
  m.class_<Counter>("Counter").def(torch::init<int64_t>()).def("value", [](const c10::intrusive_ptr<Counter> &self) {
    return self->value;
  });
  m.def("twice(Tensor x) -> Tensor", {at::Tag::pt2_compliant_tag, at::Tag::pointwise});
  m.impl("twice", c10::DispatchKey::CPU, &twice);
  m.impl("twice", c10::DispatchKey::Meta, &twice_meta);
  m.impl("twice", c10::DispatchKey::AutogradCPU, torch::CppFunction::makeFallthrough());
  m.def("cpu_only.overload(Tensor x) -> Tensor");
  m.impl("cpu_only.overload", c10::DispatchKey::CPU, &twice);
  m.def("numbers(int i, SymInt s, float f, bool b, complex c, Scalar scalar) -> str", &numbers);
  m.def(
      "lists(int[] ints, int[2] two, SymInt[] symbols, float[] floats, bool[2] bools, str[] strings, int[2]? "
      "maybe=None) -> str",
      &lists);
  m.def(
      "names(ScalarType dtype, Device device, Layout layout, MemoryFormat format, str text=\"it's\", *, Generator? "
      "generator=None) -> str",
      &names);
  m.def("dtypes(ScalarType[] list) -> str", &dtypes);
  m.def("tensors(Tensor[] all, Tensor?[] some) -> (Tensor, Tensor[], int)", &tensors);
  m.def("everything(Tensor x) -> (Tensor, int, float, bool, str, Device)", &everything);
  m.def("dictionary(Tensor x) -> Dict(str, Tensor)", &dictionary);
  m.def("throws(int how) -> ()", &throws);
  m.def("count(__torch__.torch.classes.bridge_test.Counter counter) -> int", &count);
  m.def("next(__torch__.torch.classes.bridge_test.Counter counter) -> __torch__.torch.classes.bridge_test.Counter",
        &next);
  m.def("fill_(Tensor(a!) x, Scalar value=1.5) -> ()", &fill_);
  m.def("aliases(Tensor(a!)[] list, Tensor(b)? maybe, Tensor(c -> *) x, int[2] pair=1) -> Tensor(b)");
  m.def("long_numbers(Tensor x, float eps=1e-6, float share=0.1, str word=\"0.10000000000000001\") -> Tensor");
  m.set_python_module("some.module", "context");
  m.def("in_python(Tensor x) -> Tensor");
  m.impl("in_python", c10::DispatchKey::CPU, &twice);
}

TORCH_LIBRARY_FRAGMENT(bridge_test, m) { m.def("fragment(Tensor x) -> Tensor", &twice); }

TORCH_LIBRARY_IMPL(bridge_test, CPU, m) { m.impl("dangling", &twice); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("sinh", &twice); }

static auto legacy = c10::RegisterOperators().op(
    "bridge_test::legacy(Tensor x) -> Tensor",
    c10::RegisterOperators::options().kernel<decltype(twice), &twice>(c10::DispatchKey::CPU));
