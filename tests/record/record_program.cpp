// record_program OPS MODE [N]: a program that uses libtorch and knows nothing of being recorded.
// It prints "begin" and "end" to standard output and "words" to standard error, and ends with the status 0 where a mode
// says nothing else.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/custom_class.h>
#include <unistd.h>

#include <cerrno>
#include <cfenv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using at::Tensor;

template <typename... Arguments>
Tensor call(const char *name, const Arguments &...arguments) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  torch::jit::Stack stack;
  (stack.emplace_back(arguments), ...);
  for (size_t i = stack.size(); i < op.schema().arguments().size(); i++)
    stack.push_back(op.schema().arguments()[i].default_value().value_or(c10::IValue()));
  op.callBoxed(stack);
  return stack.at(0).toTensor();
}

void *ops;

void layout(const Tensor &a, const Tensor &b) {
  std::string words;
  reinterpret_cast<void (*)(const Tensor *, const Tensor *, std::string *)>(dlsym(ops, "record_ops_describe"))(&a, &b,
                                                                                                               &words);
  call("rec::layout", a, b, words);
}

void layouts() {
  const Tensor base = at::rand({6, 8}), complex = at::rand({3, 4}, at::kComplexFloat);
  layout(base, at::rand({3}));
  layout(base.t(), base);                               // one storage, two tensors
  layout(base, base);                                   // the very same
  layout(base.slice(1, 2, 8, 2), base.slice(0, 1, 3));  // offsets, gaps, one storage
  layout(at::rand({3, 1}).expand({3, 5}), at::rand({4}).set_requires_grad(true));
  layout(complex.conj(), at::_neg_view(at::rand({5})));
  layout(at::rand({1 << 20}).slice(0, (1 << 20) - 70, (1 << 20) - 3, 3), at::arange(12).reshape({3, 4}).t());
  layout(at::rand({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast), at::rand({}));
  layout(at::empty({0, 3}), at::rand({2}, at::kBFloat16).to(at::kHalf));
}

void others() {
  const Tensor x = at::rand({4, 3});
  c10::List<Tensor> xs({x, x});
  call("rec::many", xs, c10::IValue(), int64_t{3}, 0.1, c10::List<int64_t>({4, 5}), 2.5, true,
       std::string("a \"word\"\n"), static_cast<int64_t>(at::kDouble), at::Device(at::kCPU));
  call("rec::pick", x, at::tensor({3, 0, 1}, at::kLong));
  call("rec::pick", at::rand({50000, 2}), at::randint(40000, {100000}, at::kLong));
  call("rec::plus_one", at::full({3000}, 0.5));
  call("rec::plus_one", at::randn({30, 100}));
  call("rec::plus_one", at::full({3}, NAN));
  call("rec::plus_one", at::tensor({INFINITY, -0.0, 1e-42, 0.1}, at::kFloat).reshape({2, 1, 2}));
  call("rec::plus_one", at::tensor({1, 0}, at::kInt).to(at::kBool));
  call("rec::plus_one", at::arange(200000));
  call("other_rec::copy", x);
}

void unrecordable() {
  const Tensor x = at::rand({3});
  int here = 0;
  call("rec::handle", x, static_cast<int64_t>(reinterpret_cast<intptr_t>(&here)));
  const Tensor pointer = at::empty({8}, at::kByte);
  const void *address = &pointer;
  std::memcpy(pointer.data_ptr(), &address, sizeof address);
  call("rec::bytes", pointer);
  call("rec::bytes", at::rand({3}, at::device(at::kMeta)));
  call("rec::bytes", at::quantize_per_tensor(x, 0.1, 0, at::kQInt8));
  call("rec::bytes", at::eye(3).to_sparse());
  torch::jit::Stack box = {c10::IValue(), int64_t{4}};
  const auto type = torch::getCustomClass("__torch__.torch.classes.rec.Box");
  box[0] = c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), 1);
  c10::IValue object = box[0];
  type->findMethod("__init__")->run(box);
  call("rec::boxed", x, object);
}

void objects() {
  for (const int64_t number : {4, 4}) {
    torch::jit::Stack kept = {c10::IValue(), number};
    const auto type = torch::getCustomClass("__torch__.torch.classes.rec.Kept");
    kept[0] = c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), 1);
    c10::IValue object = kept[0];
    type->findMethod("__init__")->run(kept);
    call("rec::kept", at::rand({2, 3}), object);
  }
}

int fork_and_wait(void (*body)()) {
  const pid_t child = fork();
  int status = 0;
  if (child == 0) {
    body();
    _exit(0);
  }
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int run(const std::string &mode, int count) {
  const Tensor x = at::rand({8, 8});
  if (mode == "calls") {
    for (int i = 0; i < count; i++) call("rec::plus_one", x);
  } else if (mode == "shapes") {
    for (int i = 0; i < count; i++) call("rec::plus_one", at::rand({2 + i % 3, 5}).set_requires_grad(i % 2 == 0));
  } else if (mode == "ranks") {
    for (int i = 0; i < count; i++)
      call("rec::plus_one", at::rand(std::vector<int64_t>(static_cast<size_t>(i % 12), 2)));
  } else if (mode == "layouts") {
    layouts();
  } else if (mode == "others") {
    others();
  } else if (mode == "objects") {
    objects();
  } else if (mode == "unrecordable") {
    unrecordable();
  } else if (mode == "nested") {
    call("rec::plus_two", x);
  } else if (mode == "autograd") {
    call("rec::plus_one", at::rand({3}).set_requires_grad(true));
  } else if (mode == "far") {
    call("rec::plus_one", at::zeros({16 << 20}).slice(0, (8 << 20) + 5, (8 << 20) + 9));
  } else if (mode == "large") {
    call("rec::plus_one", at::randn({300, 100}, at::kBFloat16).t());
  } else if (mode == "threads") {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++) threads.emplace_back([&] { run("ranks", count); });
    for (auto &thread : threads) thread.join();
  } else if (mode == "fork") {
    call("rec::plus_one", x);
    return fork_and_wait([] { run("ranks", 3); });
  } else if (mode == "fork_first") {
    return fork_and_wait([] { run("ranks", 3); });
  } else if (mode == "kill") {
    run("ranks", count);
    raise(SIGKILL);
  } else if (mode == "abort") {
    run("ranks", count);
    std::abort();
  } else if (mode == "closes_all") {
    run("ranks", 2);
    for (int fd = 3; fd < 64; fd++) close(fd);
    FILE *own = std::tmpfile();  // gets a number that was free
    run("ranks", count);
    const bool clean = std::fseek(own, 0, SEEK_END) == 0 && std::ftell(own) == 0;
    return clean ? 0 : 1;
  } else if (mode == "limited") {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    run("ranks", count);
  } else if (mode == "state") {
    errno = 77;
    std::feclearexcept(FE_ALL_EXCEPT);
    dlerror();
    call("rec::bytes", at::full({2000}, NAN));
    return errno == 77 && dlerror() == nullptr ? 0 : 1;
  } else {
    return std::atoi(mode.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  std::printf("begin\n");
  std::fflush(stdout);
  ops = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : nullptr;
  if (ops == nullptr) return 99;
  const int code = run(argv[2], argc > 3 ? std::atoi(argv[3]) : 1);
  std::fprintf(stderr, "words\n");
  std::printf("end\n");
  return code;
}
