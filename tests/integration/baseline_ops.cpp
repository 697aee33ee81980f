// A library with old problems, for baselines. BASELINE_OPS in the environment changes it as a new version would:
// "fresh" gives it a new defect, "fixed" repairs an old one, "refuses" makes one refuse what it did wrong, "no_meta"
// takes a Meta kernel away, "sound" repairs what "fixed" does and the crashes. "bare" and "bare_too" have no Meta
// kernel.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <cstdlib>
#include <cstring>

namespace {

bool is_version(const char *name) {
  const char *version = std::getenv("BASELINE_OPS");
  return version && std::strcmp(version, name) == 0;
}

at::Tensor dense_rows(const at::Tensor &x) {
  at::Tensor out = at::empty(x.sizes(), x.options());
  for (int64_t i = 0; i < x.numel(); i++) out.data_ptr<float>()[i] = 2 * x.const_data_ptr<float>()[i];
  return out;
}

at::Tensor dense(const at::Tensor &x) {
  return dense_rows(is_version("fixed") || is_version("sound") ? x.contiguous() : x);
}

at::Tensor refuses(const at::Tensor &x) {
  TORCH_CHECK(!is_version("refuses") || x.is_contiguous(), "x must be contiguous");
  at::Tensor out = at::empty(x.sizes(), x.options());
  for (int64_t i = 0; i < x.numel(); i++) out.data_ptr<float>()[i] = 3 * x.const_data_ptr<float>()[i];
  return out;
}

at::Tensor fresh(const at::Tensor &x) {
  const at::Tensor from = is_version("fresh") ? x : x.contiguous();
  at::Tensor out = at::empty(x.sizes(), x.options());
  for (int64_t i = 0; i < x.numel(); i++) out.data_ptr<float>()[i] = 4 * from.const_data_ptr<float>()[i];
  return out;
}

// One cause in two operators.
__attribute__((noinline)) float past_the_end(const at::Tensor &x) {
  if (is_version("sound")) return 0;
  volatile const float *data = x.const_data_ptr<float>();
  return data[x.numel()];
}

at::Tensor past(const at::Tensor &x) { return at::full(x.sizes(), past_the_end(x) > 1e30F, x.options()); }

at::Tensor past_too(const at::Tensor &x) { return at::full(x.sizes(), past_the_end(x) > 2e30F, x.options()); }

at::Tensor writes(const at::Tensor &x) {
  x.fill_(1);
  return at::full(x.sizes(), 2, x.options());
}

at::Tensor bare(const at::Tensor &x) { return at::full(x.sizes(), 5, x.options()); }

at::Tensor meta(const at::Tensor &x) { return at::empty_symint(x.sym_sizes(), x.options()); }

}  // namespace

TORCH_LIBRARY(baseline_ops, m) {
  for (const char *name : {"dense", "refuses", "fresh", "past", "past_too", "writes", "bare", "bare_too"})
    m.def((std::string(name) + "(Tensor x) -> Tensor").c_str());
}

TORCH_LIBRARY_IMPL(baseline_ops, CPU, m) {
  m.impl("dense", dense);
  m.impl("refuses", refuses);
  m.impl("fresh", fresh);
  m.impl("past", past);
  m.impl("past_too", past_too);
  m.impl("writes", writes);
  m.impl("bare", bare);
  m.impl("bare_too", bare);
}

TORCH_LIBRARY_IMPL(baseline_ops, Meta, m) {
  for (const char *name : {"dense", "refuses", "past", "past_too", "writes"}) m.impl(name, meta);
  if (!is_version("no_meta")) m.impl("fresh", meta);
}
