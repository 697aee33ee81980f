// Gradients: tensors that require grad, the graph behind an output, and the engine.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <unordered_set>

#include "bridge/api/autograd_graph.h"
#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"

namespace {

using torch::autograd::AutogradFallbackMode;
using torch::autograd::Node;
using torch::autograd::variable_list;

// Graphs of a single operator are small; of a larger one, only this many nodes are examined.
constexpr size_t kNodesMax = 4096;

bool starts_with(const std::string &text, const char *prefix) { return text.rfind(prefix, 0) == 0; }

constexpr unsigned kFallback = 1U << 31;

// libtorch's generated nodes have bare names ("MulBackward0"); the names of a CppNode<T> and of a library's types
// include their namespace.
unsigned kind_of(const Node &node) {
  const auto name = node.name();
  if (name.find("WarnNotImplemented") != std::string::npos) return kFallback;
  if (name.find("NotImplemented") != std::string::npos || name.find("torch::autograd::Error") != std::string::npos ||
      name.find("DelayedError") != std::string::npos) {
    return OPC_GRAPH_NOT_IMPLEMENTED;
  }
  const bool own = name.find("CppNode<") != std::string::npos ||
                   (name.find("::") != std::string::npos && !starts_with(name, "torch::autograd::"));
  return own ? static_cast<unsigned>(OPC_GRAPH_CUSTOM) : 0U;
}

struct Roots {
  variable_list outputs, weights;
};

Roots roots_of(const opc_autograd_request_t &request) {
  Roots roots;
  for (size_t i = 0; i < request.output_count; i++) {
    if (request.outputs[i] == nullptr || !request.outputs[i]->tensor.requires_grad()) continue;
    if (request.weights != nullptr && request.weights[i] == nullptr) continue;
    const auto &output = request.outputs[i]->tensor;
    roots.outputs.push_back(output);
    roots.weights.push_back(request.weights != nullptr ? request.weights[i]->tensor : at::ones_like(output));
  }
  return roots;
}

// The gradient functions to which the node passes its results, if they belong to these leaves.
size_t input_of_edge(const opc_autograd_request_t &request, const torch::autograd::Edge &edge) {
  const auto *sink = dynamic_cast<const torch::autograd::AccumulateGrad *>(edge.function.get());
  for (size_t i = 0; sink != nullptr && i < request.input_count; i++) {
    if (request.inputs[i] != nullptr && sink->variable.is_same(request.inputs[i]->tensor)) return i;
  }
  return request.input_count;
}

}  // namespace

bool opc_autograd_fallback_set(bool on) {
  const bool was = torch::autograd::getAutogradFallbackMode() != AutogradFallbackMode::Nothing;
  torch::autograd::setAutogradFallbackMode(on ? AutogradFallbackMode::Warn : AutogradFallbackMode::Nothing);
  return was;
}

opc_status_t opc_autograd_track(opc_tensor_t *tensor, bool written, opc_tensor_t **out_leaf, opc_error_t *error) {
  return opc::guarded(error, [&] {
    at::Tensor leaf = tensor->tensor;
    if (written) {
      leaf = tensor->tensor.detach().clone();
      leaf.set_requires_grad(true);
      tensor->tensor = at::empty_strided(leaf.sizes(), tensor->tensor.strides(), leaf.options()).copy_(leaf);
    } else {
      leaf.set_requires_grad(true);
    }
    *out_leaf = new opc_tensor{std::move(leaf)};
    return OPC_OK;
  });
}

namespace {

unsigned kinds_in(const opc_tensor_t *tensor) {
  unsigned kinds = 0;
  (void)opc::guarded(nullptr, [&] {
    std::unordered_set<const Node *> seen;
    std::vector<const Node *> open{tensor->tensor.grad_fn().get()};
    while (!open.empty() && seen.size() < kNodesMax) {
      const auto *node = open.back();
      open.pop_back();
      if (node == nullptr || !seen.insert(node).second) continue;
      kinds |= kind_of(*node);
      for (const auto &edge : node->next_edges()) open.push_back(edge.function.get());
    }
    return OPC_OK;
  });
  return kinds;
}

}  // namespace

unsigned opc_autograd_graph(const opc_tensor_t *tensor) { return kinds_in(tensor) & ~kFallback; }

bool opc_autograd_falls_back(const opc_tensor_t *tensor) { return (kinds_in(tensor) & kFallback) != 0; }

opc_call_outcome_t opc_autograd_grad(const opc_autograd_request_t *request, opc_tensor_t **out_gradients,
                                     opc_text_t *message) {
  std::string text;
  for (size_t i = 0; i < request->input_count; i++) out_gradients[i] = nullptr;
  const auto outcome = opc::guarded_call(text, [&] {
    const auto roots = roots_of(*request);
    variable_list inputs;
    std::vector<size_t> places;
    for (size_t i = 0; i < request->input_count; i++) {
      if (request->inputs[i] == nullptr) continue;
      inputs.push_back(request->inputs[i]->tensor);
      places.push_back(i);
    }
    if (roots.outputs.empty() || inputs.empty()) return;
    const opc::CallScope scope;
    const auto gradients = torch::autograd::grad(roots.outputs, inputs, roots.weights, request->retain_graph,
                                                 request->create_graph, /*allow_unused=*/true);
    for (size_t i = 0; i < places.size(); i++) {
      if (!gradients[i].defined()) continue;
      // libtorch has zero tensors without memory.
      out_gradients[places[i]] = new opc_tensor{gradients[i]._is_zerotensor() ? gradients[i].clone() : gradients[i]};
    }
  });
  opc::say(message, text);
  return outcome;
}

opc_call_outcome_t opc_autograd_raw_dtypes(const opc_autograd_request_t *request, opc_dtype_t *out_dtypes,
                                           opc_text_t *message) {
  std::string text;
  for (size_t i = 0; i < request->input_count; i++) out_dtypes[i] = OPC_DTYPE_OTHER;
  const auto outcome = opc::guarded_call(text, [&] {
    const auto roots = roots_of(*request);
    if (roots.outputs.empty()) return;
    const auto node = roots.outputs.front().grad_fn();
    if (node == nullptr) return;
    variable_list weights(node->num_inputs());
    for (size_t i = 0; i < roots.outputs.size(); i++) {
      if (roots.outputs[i].grad_fn() != node) return;
      weights.at(roots.outputs[i].output_nr()) = roots.weights[i];
    }
    c10::AutoGradMode off(false);
    const opc::CallScope scope;
    const auto gradients = (*node)(std::move(weights));
    for (size_t i = 0; i < gradients.size() && i < node->num_outputs(); i++) {
      const auto place = input_of_edge(*request, node->next_edge(i));
      if (place < request->input_count && gradients[i].defined())
        out_dtypes[place] = opc::dtype_of(gradients[i].scalar_type());
    }
  });
  opc::say(message, text);
  return outcome;
}

opc_status_t opc_tensor_overwrite(opc_tensor_t *tensor, opc_error_t *error) {
  return opc::guarded(error, [&] {
    c10::AutoGradMode off(false);
    tensor->tensor.add_(1);
    return OPC_OK;
  });
}
