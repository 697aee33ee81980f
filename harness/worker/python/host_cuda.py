"""CUDA in the Python that hosts a worker, on the simulated device: torch starts CUDA there in each child, and Triton's kernels arrive with their PTX,
which the PTX machine runs (harness/cuda/simulated/driver_module.c)."""

import ctypes
import functools
import importlib.util
import os
import sys


def driver_folder():
    """Of the simulated libcuda.so.1, which is loaded: the linker of Triton's launchers looks for it there."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line.split(maxsplit=5)[-1].rstrip("\n") for line in maps if line.rstrip("\n").endswith("/libcuda.so.1")}
    return os.path.dirname(next(iter(paths), ""))


def keep_ptx():
    """Triton loads machine code, which nothing here can run. The PTX that it was made of is a module too."""
    compiled = sys.modules["triton.compiler.compiler"].CompiledKernel
    load = compiled._init_handles

    @functools.wraps(load)
    def load_ptx(kernel):
        text = kernel.asm.get("ptx") if kernel.module is None else None
        if text:
            kernel.kernel = text.encode() if isinstance(text, str) else text
        return load(kernel)

    compiled._init_handles = load_ptx


def begin():
    """When torch is imported. To count the devices is harmless here, but torch starts no CUDA in the children of a process that has counted them."""
    count = ctypes.c_int()
    ctypes.CDLL(None).cudaGetDeviceCount(ctypes.byref(count))  # the wrappers are preloaded
    sys.modules["torch"]._C._cuda_getDeviceCount = lambda: count.value
    folder = driver_folder()
    if folder:
        os.environ.setdefault("TRITON_LIBCUDA_PATH", folder)


def start():
    """When the modules are imported."""
    if importlib.util.find_spec("triton") is not None:
        importlib.import_module("triton.compiler.compiler")
        keep_ptx()
