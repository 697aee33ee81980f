"""Runs the samples of PyTorch's own operator tests, for opcheck-c record to look on: float32 on the CPU.

    opinfo_calls.py EVERY SAMPLES    op_db: every EVERY-th operator, SAMPLES of each
    opinfo_calls.py custom_op_db     the operators of torch.testing._internal.custom_op_db: all samples
"""

import importlib
import itertools
import sys
import types
import unittest
import warnings

import torch

# PyTorch's tests name it as a base class alone; no sample needs it.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))


def run_samples(operator, count):
    """How many of them came back. Some are made to be refused, and some cannot be made without another package: neither ends the others."""
    torch.manual_seed(0)
    returned = 0
    try:
        for sample in itertools.islice(operator.sample_inputs("cpu", torch.float32), count):
            operator.op(sample.input, *sample.args, **sample.kwargs)
            returned += 1
    except Exception as error:
        print(f"{operator.name}: {type(error).__name__}: {str(error).partition(chr(10))[0]}")
    return returned


def main():
    warnings.filterwarnings("ignore")
    if sys.argv[1:] == ["custom_op_db"]:
        module, name, every, count = "custom_op_db", "custom_op_db", 1, None
    else:
        module, name, every, count = "common_methods_invocations", "op_db", int(sys.argv[1]), int(sys.argv[2])
    database = getattr(importlib.import_module(f"torch.testing._internal.{module}"), name)
    chosen = [operator for operator in database if torch.float32 in operator.supported_dtypes("cpu")][::every]
    returned = sum(run_samples(operator, count) for operator in chosen)
    print(f"{len(chosen)} operators, {returned} samples returned")


if __name__ == "__main__":
    main()
