"""export_model.py LIBRARY FOLDER DEVICE…: the identity model, exported and compiled by AOTInductor for cpu, and for cuda where there is such a device and the
library has kernels for it. Run by scripts/export-model."""
import os
import sys
import warnings

import torch

SHAPE = (1, 3, 224, 224)
LAYERS = 4


class FunctionalModel(torch.nn.Module):
    def forward(self, x):
        for _ in range(LAYERS):
            x = torch.ops.my_ops.identity_conv_op(x)
        return x


class ClassModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for index in range(LAYERS):
            setattr(self, f"layer{index}", torch.classes.my_ops.IdentityConvClass(SHAPE[1]))

    def forward(self, x):
        for index in range(LAYERS):
            x = getattr(self, f"layer{index}").forward(x)
        return x


def register_fake_class():
    """What torch.export traces in place of the class: made from __obj_flatten__'s pairs."""

    @torch._library.register_fake_class("my_ops::IdentityConvClass")
    class FakeIdentityConvClass:  # pylint: disable=unused-variable
        def __init__(self, channels):
            self.channels = channels

        @classmethod
        def __obj_unflatten__(cls, flat):
            return cls(**dict(flat))

        def forward(self, x):
            return torch.ops.my_ops.identity_conv_op(x)

        def get_channels(self):
            return self.channels


def export(model, device, library, path):
    program = torch.export.export(model, (torch.randn(SHAPE, device=device),))
    # If the library is missing, the message can name it.
    settings = {"aot_inductor.metadata": {"libraries": os.path.basename(library)}}
    torch._inductor.aoti_compile_and_package(program, package_path=path, inductor_configs=settings)
    print(path)


def has_cuda_kernel():
    return torch.cuda.is_available() and torch._C._dispatch_has_kernel_for_dispatch_key("my_ops::identity_conv_op", "CUDA")


def main():
    library, folder = sys.argv[1:3]
    warnings.simplefilter("ignore")
    torch.ops.load_library(library)
    register_fake_class()
    for device in sys.argv[3:]:
        if device == "cuda" and not has_cuda_kernel():
            continue
        end = "" if device == "cpu" else f"_{device}"
        export(FunctionalModel(), device, library, os.path.join(folder, f"identity_model{end}.pt2"))
        export(ClassModel(), device, library, os.path.join(folder, f"identity_class_model{end}.pt2"))


if __name__ == "__main__":
    main()
