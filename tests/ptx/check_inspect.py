#!/usr/bin/env python3
"""check_inspect.py OPCHECK_C SITE_PACKAGES [TARGET=LIBRARY…]: what inspect says about kernels.

The number of kernels with PTX is compared with the .entry in the file's own text, as cuobjdump or the source has it: libraries and their numbers stand
in KNOWN. A library that is not there is named and left out; if none is, the test is skipped.
"""
import json
import os
import subprocess
import sys

# (kernels with PTX, of these exact, kernels with machine code only); None: not compared.
KNOWN = {
    "torchvision/_C.so": (46, 46, 0),
    "torchaudio/lib/libtorchaudio.abi3.so": (19, 13, 0),
    "identity_conv_ops": (5, 5, 0),
    "broken_launch": (21, 21, 0),
    "broken_architecture_no_ptx": (0, 0, None),
}


def inspect(opcheck, library, *options):
    return subprocess.run([opcheck, "inspect", *options, library], capture_output=True, text=True, check=True).stdout


def check(opcheck, name, library):
    """The mistakes in one library's report."""
    gpu = json.loads(inspect(opcheck, library, "--format", "json"))["libraries"][0]["gpu"]
    with_ptx = [kernel for kernel in gpu["kernels"] if kernel["code"] == "PTX"]
    machine = [kernel for kernel in gpu["kernels"] if kernel["code"] == "SASS"]
    expected, exact, only = KNOWN[name]
    errors = [f"{name}: {kernel['name']} does not run: line {kernel['line']}: {kernel['why']}" for kernel in with_ptx if not kernel["runs"]]
    if len(with_ptx) != expected:
        errors.append(f"{name}: {len(with_ptx)} kernels with PTX, not {expected}")
    if sum(kernel["exact"] for kernel in with_ptx) != exact:
        errors.append(f"{name}: {sum(kernel['exact'] for kernel in with_ptx)} kernels are exact, not {exact}")
    if only is None and not machine or only is not None and len(machine) != only:
        errors.append(f"{name}: {len(machine)} kernels with machine code only")
    if any(kernel["runs"] or kernel["architecture"] for kernel in machine):
        errors.append(f"{name}: a kernel without PTX runs")
    text = " ".join(inspect(opcheck, library).split())
    said = f"{expected} with PTX, of which the PTX machine can run {expected} ({exact} exactly" if expected else "with machine code only, which needs a GPU"
    if said not in text:
        errors.append(f"{name}: the text does not say \"{said}\"")
    return errors


def main(opcheck, packages, *built):
    places = dict(item.split("=", 1) for item in built)
    places.update({name: os.path.join(packages, name) for name in KNOWN if name.endswith(".so")})
    errors, seen = [], 0
    for name, library in places.items():
        if not os.path.exists(library):
            print(f"left out, it is not installed: {name}")
            continue
        seen += 1
        errors += check(opcheck, name, library)
    print("\n".join(errors) or f"{seen} libraries are as expected")
    if not seen:
        print("SKIP: there is no library with GPU code")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
