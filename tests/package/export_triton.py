"""export_triton.py LIBRARY FOLDER DEVICE…: a model with kernels of its own around the operator, which Inductor has Triton compile. For scripts/export-model."""
import importlib.util
import os
import sys
import warnings

import torch


class Around(torch.nn.Module):
    """Twice, and half again: the output has the bits of the input, after a kernel of Triton, the operator's, and another one of Triton."""

    def forward(self, x):
        return torch.ops.my_ops.identity_conv_op(x * 2) * 0.5


def main():
    library, folder = sys.argv[1:3]
    warnings.simplefilter("ignore")
    torch.ops.load_library(library)
    if "cuda" not in sys.argv[3:] or not torch.cuda.is_available() or importlib.util.find_spec("triton") is None:
        return
    program = torch.export.export(Around().cuda(), (torch.randn(8, 8, device="cuda"),))
    path = os.path.join(folder, "triton_model_cuda.pt2")
    # There is nothing to measure on a simulated device. With multi_arch, nvcc puts the PTX of Triton's kernels into the package, beside machine code.
    how = {"triton.autotune_at_compile_time": False, "aot_inductor.emit_multi_arch_kernel": True}
    torch._inductor.aoti_compile_and_package(program, package_path=path, inductor_configs=how)
    print(path)


if __name__ == "__main__":
    main()
