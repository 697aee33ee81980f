#include <stdexcept>

namespace {
int always() { throw std::runtime_error("this initialiser always throws"); }
const int value = always();
}  // namespace

extern "C" int bridge_test_throwing() { return value; }
