// A library that interferes with the worker while it loads, and whose last initialiser may end the process:
// OPCHECK_HOSTILE says how.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <ATen/ATen.h>
#include <torch/library.h>

TORCH_LIBRARY(hostile_init, m) {
  m.def("good(Tensor x) -> Tensor", [](const at::Tensor &x) { return x.clone(); });
}

namespace {

void swallow(int) {}

struct Initialiser {
  Initialiser() {
    const char *how = std::getenv("OPCHECK_HOSTILE");
    std::printf("printed by an initialiser");
    close(3);
    if (chdir("/") != 0) std::abort();
    signal(SIGCHLD, SIG_IGN);
    signal(SIGSEGV, swallow);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    if (how != nullptr && std::strcmp(how, "throw") == 0) throw std::runtime_error("thrown by an initialiser");
    if (how != nullptr && std::strcmp(how, "exit") == 0) std::exit(0);
  }
} const initialiser;

}  // namespace
