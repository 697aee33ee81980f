#!/usr/bin/env python3
"""check_triton.py RUN_KERNEL FOLDER: Triton's kernels, compiled for sm_80 without a GPU, run on the PTX machine and agree with torch on the CPU.

Everything is watched: correct kernels have no finding, broken ones have theirs at the right line of triton_kernels.py. Exit status 77: Triton is not
installed. Needs the Python of scripts/setup --full. What Triton compiles is kept in FOLDER.
"""
import inspect
import os
import re
import subprocess
import sys
import time

SKIPPED = 77
OUT_OF_BOUNDS, UNINITIALISED, RACE = 0, 5, 6  # opc_ptx_finding_kind_t
POINTERS = {"float32": "*fp32", "float16": "*fp16", "bfloat16": "*bf16", "int8": "*i8", "int32": "*i32"}

program, folder = sys.argv[1:]
os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")
try:
    import torch
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    import triton_kernels as kernels
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(SKIPPED)

mistakes = []


class Out:
    """An array that the kernel writes. `begin`: what is there already."""

    def __init__(self, shape, dtype, begin=None):
        self.begin = torch.zeros(shape, dtype=dtype) if begin is None else begin
        self.written = begin is not None


def save(tensor, path):
    with open(path, "wb") as file:
        file.write(tensor.contiguous().view(torch.uint8).numpy().tobytes())


def compiled(kernel, arguments, constants, warps):
    """The kernel for these arguments; addresses are multiples of 16, as torch's are, and numbers are not known."""
    signature, attributes, values = {}, {}, {}
    given = iter(arguments)
    for index, name in enumerate(kernel.arg_names):
        if name in constants:
            signature[name], values[(index,)] = "constexpr", constants[name]
            continue
        argument = next(given)
        tensor = argument.begin if isinstance(argument, Out) else argument
        if isinstance(tensor, torch.Tensor):
            signature[name] = POINTERS[str(tensor.dtype).rsplit(".", maxsplit=1)[-1]]
        else:
            signature[name] = "i32" if isinstance(tensor, int) else "fp32"
        if isinstance(tensor, torch.Tensor) or isinstance(tensor, int) and tensor % 16 == 0:
            attributes[(index,)] = [["tt.divisibility", 16]]
    source = ASTSource(kernel, signature, constexprs=values, attrs=attributes)
    return triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": warps})


def run(name, kernel, grid, arguments, constants, warps=4):
    """Runs a kernel. Returns what it has written, and the lines that run_kernel printed."""
    started = time.time()
    made = compiled(kernel, arguments, constants, warps)
    path = os.path.join(folder, name)
    with open(f"{path}.ptx", "w", encoding="ascii") as file:
        file.write(made.asm["ptx"])
    compiled_in, started = time.time() - started, time.time()
    words = []
    for index, argument in enumerate(arguments):
        place = f"{path}.{index}"
        if isinstance(argument, (torch.Tensor, Out)):
            save(argument.begin if isinstance(argument, Out) else argument, place)
            words.append(f"{'in' if isinstance(argument, torch.Tensor) else 'inout' if argument.written else 'out'}:{place}")
        else:
            words.append(f"{'i32' if isinstance(argument, int) else 'f32'}:{argument}")
    # Each kernel has two parameters more, for memory that these do not ask for.
    command = [program, f"{path}.ptx", made.metadata.name, ",".join(map(str, grid)), str(32 * warps), str(made.metadata.shared), *words, "null", "null"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    print(f"{name}: compiled in {compiled_in:.1f} s, ran in {time.time() - started:.1f} s: {done.stdout.strip()} {done.stderr.strip()}")
    if done.returncode != 0:
        mistakes.append(f"{name}: exit status {done.returncode}")
    written = []
    for index, argument in enumerate(arguments):
        if isinstance(argument, Out):
            with open(f"{path}.{index}", "rb") as file:
                written.append(torch.frombuffer(bytearray(file.read()), dtype=argument.begin.dtype).view(argument.begin.shape))
    return written, done.stdout.splitlines()


def agree(name, got, expected, bound, lines):
    """Within the bound (one number, or one for each element), and without a finding."""
    worst = (got.double() - expected).abs() - bound
    if not bool((worst <= 0).all()):
        mistakes.append(f"{name}: further from the CPU's values than the bound, by {worst.max().item():.3g}")
    mistakes.extend(f"{name}: {line}" for line in lines if not line.endswith(" instructions"))


def found(name, kernel, lines, kind, code):
    """A finding of this kind, and no other, at the line of the kernel that has `code`."""
    source, first = inspect.getsourcelines(kernel.fn)
    line = first + next(i for i, text in enumerate(source) if code in text)
    kinds = {int(match.group(1)) for match in map(re.compile(r"kind (\d+) ").match, lines) if match}
    if kinds != {kind} or not any(f"kind {kind} at triton_kernels.py:{line} " in text.replace(os.path.dirname(kernels.__file__) + "/", "") for text in lines):
        mistakes.append(f"{name}: finding {kind} is expected at line {line}, and no other: {lines}")


def check_sums(n=1022, block=256):
    x, y, grid = torch.randn(n), torch.randn(n), (-(-n // block), 1, 1)
    (out,), lines = run("add", kernels.add, grid, [x, y, Out([n], torch.float32), n], {"BLOCK": block})
    agree("add", out, (x + y).double(), 0, lines)
    _, lines = run("broken_add", kernels.broken_add, grid, [x, y, Out([n], torch.float32), n], {"BLOCK": block})
    found("broken_add", kernels.broken_add, lines, OUT_OF_BOUNDS, "tl.load(x + i) + tl.load(y + i)")
    found("broken_add", kernels.broken_add, lines, OUT_OF_BOUNDS, "tl.store(out + i, total)")
    (out,), lines = run("atomic_sum", kernels.atomic_sum, grid, [x, Out([1], torch.float32, torch.zeros(1)), n], {"BLOCK": block})
    agree("atomic_sum", out, x.double().sum(), 1e-6 * x.abs().sum().item(), lines)
    _, lines = run("broken_sum", kernels.broken_sum, grid, [x, Out([1], torch.float32, torch.zeros(1)), n], {"BLOCK": block})
    found("broken_sum", kernels.broken_sum, lines, RACE, "tl.store(out, tl.load(out) + total)")
    begin = torch.tensor([1.0, 2.0])
    (out, count), lines = run("in_place", kernels.in_place, (2, 1, 1), [Out([16], torch.float32, x[:16]), Out([2], torch.float32, begin)], {})
    agree("in_place", out, x[:16].double() * 2, 0, lines)
    agree("in_place", count, begin.double() + 1, 0, [])
    _, lines = run("broken_part", kernels.broken_part, grid, [x, Out([n], torch.float32), n], {"BLOCK": block})
    found("broken_part", kernels.broken_part, lines, UNINITIALISED, "tl.store(out + i")
    (out,), lines = run("policies", kernels.policies, grid, [x, Out([n], torch.float32), n], {"BLOCK": block})
    agree("policies", out, (x - x.flip(0)).double(), 0, lines)


def check_rows():
    x = torch.randn(6, 781)
    (out,), lines = run("softmax", kernels.softmax, (6, 1, 1), [x, Out([6, 781], torch.float32), 781], {"BLOCK": 1024})
    agree("softmax", out, x.double().softmax(1), 2e-6 * x.double().softmax(1), lines)
    x, weight, bias = (torch.randn(shape).half() for shape in ([5, 600], [600], [600]))
    arguments = [x, weight, bias, Out([5, 600], torch.float16), Out([5], torch.float32), 600, 1e-5]
    (out, rstd), lines = run("layer_norm", kernels.layer_norm, (5, 1, 1), arguments, {"BLOCK": 256})
    expected = torch.nn.functional.layer_norm(x.double(), [600], weight.double(), bias.double())
    agree("layer_norm", out, expected, 2**-11 * expected.abs() + 1e-5, lines)
    agree("layer_norm", rstd, (x.double().var(1, correction=0) + 1e-5).rsqrt(), 1e-5, [])


def check_products(m=96, n=80, k=64):
    """Of an element: the rounding of the result, and of each product (tf32 has 10 bits after the point; f16 and bf16 are exact in f32)."""
    for dtype, total, rounding, each in ((torch.float16, tl.float32, 2**-11, 1e-6), (torch.bfloat16, tl.float32, 2**-8, 1e-6), (torch.float32, tl.float32, 2**-24, 2**-9), (torch.int8, tl.int32, 0, 0)):
        name = f"product_{str(dtype).rsplit('.', maxsplit=1)[-1]}"
        whole = dtype == torch.int8
        a, b = (torch.randint(-128, 128, shape, dtype=dtype) if whole else torch.randn(shape).to(dtype) for shape in ([m, k], [k, n]))
        out = Out([m, n], torch.int32 if whole else dtype)
        (out,), lines = run(name, kernels.product, (2, 2, 1), [a, b, out, m, n, k], {"BM": 64, "BN": 64, "BK": 32, "TYPE": total})
        expected = a.double() @ b.double()
        agree(name, out, expected, rounding * expected.abs() + each * (a.double().abs() @ b.double().abs()), lines)
        with open(os.path.join(folder, f"{name}.ptx"), encoding="ascii") as file:
            text = file.read()
        for form in ("cp.async.cg", "cp.async.wait_group", "mma.sync", *([] if whole else ["ldmatrix"])):
            if form not in text:
                mistakes.append(f"{name} has no {form}, which it is there to try")


def check_attention(heads=2, n=100, size=64):
    q, k, v = (torch.randn(heads, n, size).half() for _ in range(3))
    arguments = [q, k, v, Out([heads, n, size], torch.float16), size**-0.5 * 1.4426950408889634, n]
    (out,), lines = run("attention", kernels.attention, (2, heads, 1), arguments, {"HEAD": size, "BM": 64, "BN": 32})
    expected = (q.double() @ k.double().transpose(1, 2) * size**-0.5).softmax(2) @ v.double()
    # The weights are rounded to f16, and so is the result.
    agree("attention", out, expected, 2**-11 * expected.abs() + 2**-10 * v.double().abs().amax(1, keepdim=True) / 4, lines)


def main():
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    check_sums()
    check_rows()
    check_products()
    check_attention()
    print(*mistakes, f"{len(mistakes)} mistakes", sep="\n")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
