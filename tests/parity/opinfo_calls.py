"""Runs the samples of PyTorch's own operator tests, for opcheck-c record to look on: float32 on the CPU, every EVERY-th operator, SAMPLES of each.

    opinfo_calls.py EVERY SAMPLES
"""

import itertools
import sys
import types
import unittest
import warnings

import torch

# PyTorch's tests name it as a base class alone; no sample needs it.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402


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
    every, count = int(sys.argv[1]), int(sys.argv[2])
    chosen = [operator for operator in op_db if torch.float32 in operator.supported_dtypes("cpu")][::every]
    returned = sum(run_samples(operator, count) for operator in chosen)
    print(f"{len(chosen)} operators, {returned} samples returned")


if __name__ == "__main__":
    main()
