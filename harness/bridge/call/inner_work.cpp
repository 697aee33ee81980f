#include "bridge/api/inner_work.h"

#include <ATen/record_function.h>

#include <memory>
#include <string_view>

#include "bridge/torch/exceptions.h"

namespace {

struct Watch {
  int depth = 0;
  bool works = false;
  at::CallbackHandle handle = 0;
};
thread_local Watch watch;

// The beginnings of names. What is missing here counts as work.
constexpr std::string_view no_work[] = {"empty",
                                        "new_",
                                        "zeros",
                                        "ones",
                                        "full",
                                        "fill_",
                                        "zero_",
                                        "arange",
                                        "contiguous",
                                        "clone",
                                        "copy_",
                                        "to",
                                        "_to_copy",
                                        "view",
                                        "_unsafe_view",
                                        "reshape",
                                        "_reshape_alias",
                                        "as_strided",
                                        "slice",
                                        "select",
                                        "narrow",
                                        "expand",
                                        "permute",
                                        "transpose",
                                        "t",
                                        "numpy_T",
                                        "unsqueeze",
                                        "squeeze",
                                        "flatten",
                                        "detach",
                                        "alias",
                                        "resize",
                                        "item",
                                        "_local_scalar_dense",
                                        "lift",
                                        "unbind",
                                        "split",
                                        "chunk",
                                        "unfold",
                                        "cat",
                                        "stack",
                                        "index_select",
                                        "gather",
                                        "is_",
                                        "size",
                                        "stride",
                                        "result_type",
                                        "set_",
                                        "set_data",
                                        "real",
                                        "imag",
                                        "resolve_",
                                        "_conj",
                                        "conj"};

bool is_work(std::string_view name) {
  constexpr std::string_view own = "aten::";
  if (name.substr(0, own.size()) != own) return false;  // what it computes, its own calls say
  name.remove_prefix(own.size());
  for (const std::string_view word : no_work) {
    const bool whole = word.size() < 3;
    if (whole ? name == word : name.substr(0, word.size()) == word) return false;
  }
  return name.size() < 5 || name.substr(name.size() - 5) != "_like";
}

std::unique_ptr<at::ObserverContext> watch_start(const at::RecordFunction &function) {
  if (++watch.depth >= 2) watch.works |= is_work(function.name());
  return nullptr;
}

void watch_end(const at::RecordFunction &, at::ObserverContext *) { watch.depth--; }

}  // namespace

void opc_bridge_inner_work_begin(void) {
  (void)opc::guarded(nullptr, [] {
    watch = {};
    watch.handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback(watch_start, watch_end).scopes({at::RecordScope::FUNCTION}));
    return OPC_OK;
  });
}

bool opc_bridge_inner_work_end(void) {
  (void)opc::guarded(nullptr, [] {
    if (watch.handle != 0) at::removeCallback(watch.handle);
    return OPC_OK;
  });
  watch.handle = 0;
  return watch.works;
}
