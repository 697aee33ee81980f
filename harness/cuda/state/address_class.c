/* Classifies an address: memory of a device, pinned or managed memory, or memory of the process (cudart.h,
 * opc_address). */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda/state/cudart_table.h"

/* If AddressSanitizer is in the process, these addresses are its shadow memory. They are readable, and 2^31 elements
 * look like such an address. */
extern void __asan_init(void) __attribute__((weak));
static const uint64_t asan_low = 0x7fff8000, asan_end = 0x10007fff8000;

/* Whether the process has readable memory there. Nobody passes merely reserved memory to a kernel (guard pages,
 * AddressSanitizer's gaps, which are terabytes at low addresses), and a count of bytes may look like an address in it.
 * The system call copies the signal set before it checks `how`, which is invalid. It takes hundreds of nanoseconds, so
 * a page that was mapped once during a log counts as mapped for that log. */
static bool readable(uint64_t address) {
  enum { KNOWN = 256, NO_HOW = -1, SET_BYTES = 8 };
  static _Atomic uint64_t known[KNOWN];
  /* A 64-bit process has nothing in its first 64 KiB, nor in the kernel's half; the system call would say so too, but
   * slower. */
  if (address < 1 << 16 || address >> 47 != 0) return false;
  if (__asan_init && address >= asan_low && address < asan_end) return false;
  const uint64_t page = address / OPC_PAGE, mark = (uint64_t)opc_log_number() << 36 | page;
  _Atomic uint64_t *slot = &known[page % KNOWN];
  if (atomic_load_explicit(&opc_log_open, memory_order_relaxed) &&
      atomic_load_explicit(slot, memory_order_relaxed) == mark)
    return true;
  const int kept = errno;
  const bool there = syscall(SYS_rt_sigprocmask, NO_HOW, page * OPC_PAGE, NULL, SET_BYTES) == 0 || errno != EFAULT;
  errno = kept;
  if (!there) return false;
  atomic_store_explicit(slot, mark, memory_order_relaxed);
  return true;
}

/* Memory allocated without the wrappers, by the driver's functions or a static runtime: the real runtime knows it. */
static bool asked_real(uint64_t address, opc_cuda_address_t *out) {
  struct cudaPointerAttributes attributes;
  if (opc_runtime.simulated || address < 1 << 16 || address >> 48 != 0) return false;
  if (opc_real.cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)address) != cudaSuccess ||
      attributes.type == cudaMemoryTypeUnregistered)
    return false;
  out->place = attributes.type == cudaMemoryTypeDevice    ? OPC_CUDA_DEVICE
               : attributes.type == cudaMemoryTypeManaged ? OPC_CUDA_MANAGED
                                                          : OPC_CUDA_PINNED;
  out->device = out->place == OPC_CUDA_PINNED ? -1 : attributes.device;
  return true;
}

opc_cuda_address_t opc_address(uint64_t address) {
  opc_range_t range;
  const opc_cuda_address_t nowhere = {.value = address, .device = -1};
  if (address == 0) return nowhere;
  if (opc_range_find(address, &range)) {
    const opc_cuda_address_t known = opc_address_of_range(address, &range);
    if (known.place != OPC_CUDA_PAGEABLE) return known;
  } else if (opc_device_contains(address)) {
    return nowhere;
  }
  opc_cuda_address_t found = nowhere;
  if (asked_real(address, &found)) return found;
  if (!readable(address)) return nowhere;
  return (opc_cuda_address_t){.value = address, .place = OPC_CUDA_PAGEABLE, .device = -1};
}
