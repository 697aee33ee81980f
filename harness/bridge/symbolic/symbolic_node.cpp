#include "bridge/symbolic/symbolic_record.h"

#include <c10/core/SymNodeImpl.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "bridge/torch/torch_version.h"

namespace opc {
namespace {

constexpr size_t text_max = 90;  // longer expressions do not help a reader

enum class Kind { INT, BOOL, FLOAT };
using Nodes = c10::ArrayRef<c10::SymNode>;

class Node;
c10::intrusive_ptr<Node> node_of(const c10::SymNode &node);

class Node : public c10::SymNodeImpl {
 public:
  Node(Kind kind, double number, std::string text, bool constant)
      : kind_(kind),
        number_(number),
        text_(text.size() <= text_max ? std::move(text) : "an expression"),
        constant_(constant) {}

  bool is_int() override { return kind_ == Kind::INT; }
  bool is_bool() override { return kind_ == Kind::BOOL; }
  bool is_float() override { return kind_ == Kind::FLOAT; }
  bool has_hint() override { return true; }
  bool is_constant() override { return constant_; }
  bool is_symbolic() override { return !constant_; }
  std::string str() override { return text_; }
  c10::SymNode clone() override { return c10::SymNode::reclaim_copy(this); }
  int64_t int_() override { return integer(); }
  bool bool_() override { return number_ != 0; }
  std::optional<int64_t> constant_int() override { return maybe_as_int(); }
  std::optional<int64_t> maybe_as_int() override {
    return constant_ && is_int() ? std::optional<int64_t>(integer()) : std::nullopt;
  }
  std::optional<bool> constant_bool() override {
    return constant_ && is_bool() ? std::optional<bool>(number_ != 0) : std::nullopt;
  }

  c10::SymNode wrap_int(int64_t number) override {
    return make(Kind::INT, static_cast<double>(number), std::to_string(number), true);
  }
  c10::SymNode wrap_float(double number) override { return make(Kind::FLOAT, number, std::to_string(number), true); }
  c10::SymNode wrap_bool(bool value) override {
    return make(Kind::BOOL, value ? 1 : 0, value ? "true" : "false", true);
  }

  c10::SymNode add(const c10::SymNode &other) override {
    return is_zero(other) ? clone() : arithmetic(other, "+", [](double a, double b) { return a + b; });
  }
  c10::SymNode sub(const c10::SymNode &other) override {
    return is_zero(other) ? clone() : arithmetic(other, "-", [](double a, double b) { return a - b; });
  }
  c10::SymNode mul(const c10::SymNode &other) override {
    const auto right = node_of(other);
    if (is_int() && right->is_int() && ((constant_ && number_ == 0) || (right->constant_ && right->number_ == 0)))
      return wrap_int(0);
    if (constant_ && number_ == 1) return other;
    if (right->constant_ && right->number_ == 1) return clone();
    return arithmetic(other, "*", [](double a, double b) { return a * b; });
  }
  c10::SymNode truediv(const c10::SymNode &other) override {
    return of_kind(Kind::FLOAT, other, "/", [](double a, double b) { return a / b; });
  }
  c10::SymNode pow(const c10::SymNode &other) override {
    return arithmetic(other, "**", [](double a, double b) { return std::pow(a, b); });
  }
  c10::SymNode floordiv(const c10::SymNode &other) override {
    const auto right = node_of(other);
    TORCH_CHECK_VALUE(right->number_ != 0, "division by zero: ", text_, " // ", right->text_);
    return right->constant_ && right->number_ == 1
               ? clone()
               : arithmetic(other, "//", [](double a, double b) { return std::floor(a / b); });
  }
  c10::SymNode mod(const c10::SymNode &other) override {
    TORCH_CHECK_VALUE(node_of(other)->number_ != 0, "division by zero: ", text_, " % 0");
    return arithmetic(other, "%", [](double a, double b) { return a - b * std::floor(a / b); });
  }
  c10::SymNode sym_min(const c10::SymNode &other) override {
    return function(other, "min", [](double a, double b) { return std::min(a, b); });
  }
  c10::SymNode sym_max(const c10::SymNode &other) override {
    return function(other, "max", [](double a, double b) { return std::max(a, b); });
  }
  c10::SymNode neg() override { return make(kind_, -number_, "-" + text_, constant_); }
  c10::SymNode ceil() override { return make(Kind::INT, std::ceil(number_), "ceil(" + text_ + ")", constant_); }
  c10::SymNode floor() override { return make(Kind::INT, std::floor(number_), "floor(" + text_ + ")", constant_); }
  c10::SymNode sym_float() override { return make(Kind::FLOAT, number_, text_, constant_); }

  c10::SymNode eq(const c10::SymNode &other) override {
    return comparison(
        other, "==", [](double a, double b) { return a == b; }, true);
  }
  c10::SymNode ne(const c10::SymNode &other) override {
    return comparison(
        other, "!=", [](double a, double b) { return a != b; }, true);
  }
  c10::SymNode gt(const c10::SymNode &other) override {
    return comparison(
        other, ">", [](double a, double b) { return a > b; }, false);
  }
  c10::SymNode lt(const c10::SymNode &other) override {
    return comparison(
        other, "<", [](double a, double b) { return a < b; }, false);
  }
  c10::SymNode le(const c10::SymNode &other) override {
    return comparison(
        other, "<=", [](double a, double b) { return a <= b; }, false);
  }
  c10::SymNode ge(const c10::SymNode &other) override {
    return comparison(
        other, ">=", [](double a, double b) { return a >= b; }, false);
  }
  c10::SymNode sym_or(const c10::SymNode &other) override {
    return logical(other, "or", number_ != 0 || node_of(other)->number_ != 0);
  }
  c10::SymNode sym_and(const c10::SymNode &other) override {
    return logical(other, "and", number_ != 0 && node_of(other)->number_ != 0);
  }
  c10::SymNode sym_not() override {
    auto result = make(Kind::BOOL, number_ == 0 ? 1 : 0, "not " + text_, constant_);
    result->equality_ = equality_;
    return result;
  }
  c10::SymNode sym_ite(const c10::SymNode &yes, const c10::SymNode &no) override { return number_ != 0 ? yes : no; }

  // The hints decide about layouts: the sizes that another layout would need do not concern the kernel.
  c10::SymNode is_contiguous(Nodes sizes, Nodes strides) override {
    return wrap_bool(dense(sizes, strides, row_major(sizes.size())));
  }
  c10::SymNode is_channels_last_contiguous_2d(Nodes sizes, Nodes strides) override {
    return channels_last(sizes, strides, {1, 3, 2, 0});
  }
  c10::SymNode is_channels_last_contiguous_3d(Nodes sizes, Nodes strides) override {
    return channels_last(sizes, strides, {1, 4, 3, 2, 0});
  }
  c10::SymNode is_channels_last_strides_2d(Nodes sizes, Nodes strides) override {
    return channels_last(sizes, strides, {1, 3, 2, 0});
  }
  c10::SymNode is_channels_last_strides_3d(Nodes sizes, Nodes strides) override {
    return channels_last(sizes, strides, {1, 4, 3, 2, 0});
  }
  c10::SymNode is_non_overlapping_and_dense(Nodes sizes, Nodes strides) override {
    auto order = row_major(sizes.size());
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return node_of(strides[a])->number_ < node_of(strides[b])->number_; });
    return wrap_bool(dense(sizes, strides, order));
  }

  int64_t guard_int(const char *, int64_t) override {
    if (!constant_) SymbolicRecord::note(OPC_SYMBOLIC_NUMBER, text_, integer(), -1);
    return integer();
  }
  double guard_float(const char *, int64_t) override {
    if (!constant_) SymbolicRecord::note(OPC_SYMBOLIC_NUMBER, text_, integer(), -1);
    return number_;
  }
  bool guard_bool(const char *, int64_t) override {
    if (!constant_ && equality_) SymbolicRecord::note(OPC_SYMBOLIC_EQUALITY, text_, number_ != 0 ? 1 : 0, -1);
    return number_ != 0;
  }
  // These do not become guards on the number, but run-time checks in the compiled program, or a default if nothing is
  // known.
  bool expect_true(const char *, int64_t) override { return number_ != 0; }
  bool guard_size_oblivious(const char *, int64_t) override { return number_ != 0; }
  bool guard_or_false(const char *, int64_t) OPC_TORCH_OVERRIDE_2_8 { return number_ != 0; }
  bool guard_or_true(const char *, int64_t) OPC_TORCH_OVERRIDE_2_8 { return number_ != 0; }
  bool statically_known_true(const char *, int64_t) OPC_TORCH_OVERRIDE_2_8 { return constant_ && number_ != 0; }

  int64_t integer() const { return static_cast<int64_t>(number_); }

 private:
  static c10::intrusive_ptr<Node> make(Kind kind, double number, std::string text, bool constant) {
    return c10::make_intrusive<Node>(kind, number, std::move(text), constant);
  }
  bool is_zero(const c10::SymNode &other) const {
    const auto right = node_of(other);
    return right->constant_ && right->number_ == 0 && right->kind_ == kind_;
  }
  std::string joined(const Node &right, const char *sign) const {
    return "(" + text_ + " " + sign + " " + right.text_ + ")";
  }

  template <typename Operation>
  c10::SymNode of_kind(Kind kind, const c10::SymNode &other, const char *sign, Operation operation) {
    const auto right = node_of(other);
    return make(kind, operation(number_, right->number_), joined(*right, sign), constant_ && right->constant_);
  }
  template <typename Operation>
  c10::SymNode arithmetic(const c10::SymNode &other, const char *sign, Operation operation) {
    return of_kind(is_float() || node_of(other)->is_float() ? Kind::FLOAT : Kind::INT, other, sign, operation);
  }
  template <typename Operation>
  c10::SymNode function(const c10::SymNode &other, const char *name, Operation operation) {
    const auto right = node_of(other);
    if (text_ == right->text_ && kind_ == right->kind_) return clone();
    return make(is_float() || right->is_float() ? Kind::FLOAT : Kind::INT, operation(number_, right->number_),
                std::string(name) + "(" + text_ + ", " + right->text_ + ")", constant_ && right->constant_);
  }
  // Comparing a number with itself is no query.
  template <typename Operation>
  c10::SymNode comparison(const c10::SymNode &other, const char *sign, Operation operation, bool equality) {
    const auto right = node_of(other);
    const bool constant = (constant_ && right->constant_) || (text_ == right->text_ && text_ != "an expression");
    auto result =
        make(Kind::BOOL, operation(number_, right->number_) ? 1 : 0, text_ + " " + sign + " " + right->text_, constant);
    result->equality_ = equality && constant_ != right->constant_;
    return result;
  }
  c10::SymNode logical(const c10::SymNode &other, const char *word, bool value) {
    const auto right = node_of(other);
    auto result = make(Kind::BOOL, value ? 1 : 0, joined(*right, word), constant_ && right->constant_);
    result->equality_ = (equality_ && right->constant_) || (constant_ && right->equality_);
    return result;
  }

  // From the last dimension in memory to the first.
  static std::vector<size_t> row_major(size_t dimensions) {
    std::vector<size_t> order(dimensions);
    for (size_t i = 0; i < dimensions; i++) order[i] = dimensions - 1 - i;
    return order;
  }
  static bool dense(Nodes sizes, Nodes strides, const std::vector<size_t> &order) {
    double expected = 1;
    for (const size_t d : order) {
      const double size = node_of(sizes[d])->number_;
      if (size == 0) return true;
      if (size == 1) continue;
      if (node_of(strides[d])->number_ != expected) return false;
      expected *= size;
    }
    return true;
  }
  c10::SymNode channels_last(Nodes sizes, Nodes strides, const std::vector<size_t> &order) {
    return wrap_bool(sizes.size() == order.size() && dense(sizes, strides, order));
  }

  Kind kind_;
  double number_;  // exact for any possible size of a tensor
  std::string text_;
  bool constant_;
  bool equality_ = false;  // an expression and a number
};

// Numbers that libtorch itself wrapped arrive as its own nodes.
c10::intrusive_ptr<Node> node_of(const c10::SymNode &node) {
  if (auto *own = dynamic_cast<Node *>(node.get())) return c10::intrusive_ptr<Node>::reclaim_copy(own);
  if (const auto number = node->maybe_as_int())
    return c10::make_intrusive<Node>(Kind::INT, static_cast<double>(*number), std::to_string(*number), true);
  if (const auto value = node->constant_bool())
    return c10::make_intrusive<Node>(Kind::BOOL, *value ? 1 : 0, *value ? "true" : "false", true);
  TORCH_CHECK(false, "a symbol of another kind: ", node->str());
}

}  // namespace

c10::SymInt symbol(const std::string &name, int64_t hint) {
  return c10::SymInt(c10::SymNode(c10::make_intrusive<Node>(Kind::INT, static_cast<double>(hint), name, false)));
}

int64_t hint_of(const c10::SymInt &size) {
  if (const auto number = size.maybe_as_int()) return *number;
  return node_of(size.toSymNode())->integer();
}

}  // namespace opc
