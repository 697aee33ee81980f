"""torch.library.opcheck on every sample of a sample file: what scripts/bench compares opcheck-c with."""
import json
import sys

import torch

library, samples = sys.argv[1:3]
torch.ops.load_library(library)
with open(samples, encoding="utf-8") as stream:
    for sample in json.load(stream)["samples"]:
        namespace, name = sample["operator"].split("::")
        name, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops, namespace), name)
        op = getattr(op, overload or "default")
        arguments = []
        for value in sample["args"]:
            tensor = value["tensor"]
            arguments.append(torch.randn(tensor["shape"]).to(getattr(torch, tensor.get("dtype", "float32"))))
        torch.library.opcheck(op, tuple(arguments))
