// What opcheck-worker has in it besides in an OPC_SANITIZE build: the sanitizer's operator new ends the process where
// memory runs out, and an operator library expects the exception.
#include <new>

void *operator new(std::size_t bytes) {
  if (void *block = operator new(bytes, std::nothrow)) return block;
  throw std::bad_alloc();
}

void *operator new[](std::size_t bytes) {
  if (void *block = operator new[](bytes, std::nothrow)) return block;
  throw std::bad_alloc();
}
