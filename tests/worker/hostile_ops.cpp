// Operators that do what an operator must not do to its process, each in one way; and a few correct ones.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <torch/library.h>

namespace {

using at::Tensor;

volatile int zero = 0;
volatile int sink = 0;

Tensor segv(const Tensor &x) {
  *reinterpret_cast<volatile int *>(static_cast<std::uintptr_t>(zero) + 0x10) = 1;
  return x.clone();
}

Tensor null_function(const Tensor &x) {
  void (*volatile nowhere)() = nullptr;
  nowhere();
  return x.clone();
}

Tensor aborts(const Tensor &) { std::abort(); }

Tensor exits(const Tensor &) { std::exit(0); }

Tensor divides(const Tensor &x) {
  sink = 7 / zero;
  return x.clone();
}

int deeper(volatile int *level) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(*level);
  int next = *level + 1;
  return deeper(&next) + frame[0];
}

Tensor recurses(const Tensor &x) {
  int level = 0;
  sink = deeper(&level);
  return x.clone();
}

Tensor throws_int(const Tensor &) { throw 42; }

void throws() { throw std::runtime_error("out of a noexcept function"); }
void cannot_throw() noexcept { throws(); }

Tensor terminates(const Tensor &x) {
  cannot_throw();
  return x.clone();
}

Tensor hangs(const Tensor &x) {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  return x.clone();
}

Tensor hogs(const Tensor &x) {
  std::vector<Tensor> kept;
  for (int i = 0; i < 4096; i++) kept.push_back(at::ones({64 << 20}, at::kByte));
  return x.clone();
}

Tensor prints(const Tensor &x) {
  std::printf("printed without an end of line");
  std::fprintf(stderr, "told on stderr\n");
  std::abort();
  return x.clone();
}

// Its forked process crashes; the operator itself is fine.
Tensor forks_crash(const Tensor &x) {
  pid_t pid = fork();
  if (pid == 0) segv(x);
  waitpid(pid, nullptr, 0);
  return x.clone();
}

// Leaves a process that would outlive everything.
Tensor forks_sleeper(const Tensor &x) {
  if (fork() == 0) {
    for (;;) sleep(100);
  }
  return x.clone();
}

Tensor writes_file(const Tensor &x) {
  std::FILE *file = std::fopen("left_behind", "w");
  if (file == nullptr) throw std::runtime_error("cannot write to the working directory");
  std::fputs("left behind", file);
  std::fclose(file);
  return x.clone();
}

Tensor closes_all(const Tensor &x) {
  for (int fd = 3; fd < 1024; fd++) close(fd);
  return x.clone();
}

Tensor rejects(const Tensor &x) {
  TORCH_CHECK(x.dim() == 7, "expected 7 dimensions, \xff\xfe got ", x.dim());
  return x.clone();
}

Tensor asserts(const Tensor &x) {
  TORCH_INTERNAL_ASSERT(x.dim() == 7, "seven");
  return x.clone();
}

Tensor good(const Tensor &x) { return x.clone(); }
Tensor constant(const Tensor &x) { return at::zeros_like(x); }
void mutates(Tensor &x) { x.add_(1); }
Tensor uninitialised(const Tensor &x) { return at::empty_like(x); }
// Before the first and after the last element; the values read do not matter.
Tensor reads_before(const Tensor &x) {
  sink = static_cast<int>(x.const_data_ptr<float>()[-1 - zero]);
  return x.clone();
}
Tensor reads_behind(const Tensor &x) {
  sink = static_cast<int>(x.const_data_ptr<float>()[x.numel() + zero]);
  return x.clone();
}
// Its own memory is aligned: the remainder up to the next page does not belong to it.
Tensor writes_behind(const Tensor &x) {
  Tensor out = x.clone();
  out.mutable_data_ptr<float>()[out.numel() + zero] = 1;
  return out;
}
Tensor reads_malloc(const Tensor &x) {
  auto *scratch = static_cast<float *>(std::malloc(64 * sizeof(float)));
  Tensor out = x + static_cast<double>(scratch[32 + zero]);
  std::free(scratch);
  return out;
}
// Other bits each time, but all its accesses are in bounds.
Tensor counts_calls(const Tensor &x) {
  static int calls = 0;
  return x + ++calls;
}
int64_t counts(const Tensor &x) { return x.numel(); }
void nothing(const Tensor &) {}
// Processor time, so that a busy machine changes nothing.
Tensor slow_if_large(const Tensor &x) {
  const std::clock_t began = std::clock();
  while (x.numel() > 100 && std::clock() - began < CLOCKS_PER_SEC * 6 / 10) {
  }
  return x.clone();
}

}  // namespace

TORCH_LIBRARY(hostile, m) {
  m.def("segv(Tensor x) -> Tensor");
  m.def("null_function(Tensor x) -> Tensor");
  m.def("aborts(Tensor x) -> Tensor");
  m.def("exits(Tensor x) -> Tensor");
  m.def("divides(Tensor x) -> Tensor");
  m.def("recurses(Tensor x) -> Tensor");
  m.def("throws_int(Tensor x) -> Tensor");
  m.def("terminates(Tensor x) -> Tensor");
  m.def("hangs(Tensor x) -> Tensor");
  m.def("hogs(Tensor x) -> Tensor");
  m.def("prints(Tensor x) -> Tensor");
  m.def("forks_crash(Tensor x) -> Tensor");
  m.def("forks_sleeper(Tensor x) -> Tensor");
  m.def("writes_file(Tensor x) -> Tensor");
  m.def("closes_all(Tensor x) -> Tensor");
  m.def("rejects(Tensor x) -> Tensor");
  m.def("asserts(Tensor x) -> Tensor");
  m.def("good(Tensor x) -> Tensor");
  m.def("constant(Tensor x) -> Tensor");
  m.def("mutates(Tensor(a!) x) -> ()");
  m.def("uninitialised(Tensor x) -> Tensor");
  m.def("reads_before(Tensor x) -> Tensor");
  m.def("reads_behind(Tensor x) -> Tensor");
  m.def("writes_behind(Tensor x) -> Tensor");
  m.def("reads_malloc(Tensor x) -> Tensor");
  m.def("counts_calls(Tensor x) -> Tensor");
  m.def("counts(Tensor x) -> int");
  m.def("nothing(Tensor x) -> ()");
  m.def("slow_if_large(Tensor x) -> Tensor");
  m.def("no_kernel(Tensor x) -> Tensor");
}

TORCH_LIBRARY_IMPL(hostile, CPU, m) {
  m.impl("segv", segv);
  m.impl("null_function", null_function);
  m.impl("aborts", aborts);
  m.impl("exits", exits);
  m.impl("divides", divides);
  m.impl("recurses", recurses);
  m.impl("throws_int", throws_int);
  m.impl("terminates", terminates);
  m.impl("hangs", hangs);
  m.impl("hogs", hogs);
  m.impl("prints", prints);
  m.impl("forks_crash", forks_crash);
  m.impl("forks_sleeper", forks_sleeper);
  m.impl("writes_file", writes_file);
  m.impl("closes_all", closes_all);
  m.impl("rejects", rejects);
  m.impl("asserts", asserts);
  m.impl("good", good);
  m.impl("constant", constant);
  m.impl("mutates", mutates);
  m.impl("uninitialised", uninitialised);
  m.impl("reads_before", reads_before);
  m.impl("reads_behind", reads_behind);
  m.impl("writes_behind", writes_behind);
  m.impl("reads_malloc", reads_malloc);
  m.impl("counts_calls", counts_calls);
  m.impl("counts", counts);
  m.impl("nothing", nothing);
  m.impl("slow_if_large", slow_if_large);
}
