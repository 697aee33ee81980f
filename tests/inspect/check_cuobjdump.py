#!/usr/bin/env python3
"""What `opcheck-c inspect` says of the GPU code in libraries against what NVIDIA's cuobjdump says. Standard library only.

    check_cuobjdump.py --opcheck PROGRAM --folder FOLDER… LIBRARY…

cuobjdump is looked for on PATH, in /usr/local/cuda and below the folders (Triton's wheel has one); the folders' torchvision and torchaudio are compared too. libtorch_cuda is
not: cuobjdump takes ten seconds on it. It is compared where it is named. Compared are how many images there are for each architecture; a suffix (sm_90a), which cuobjdump's
list leaves out, is not.
"""
import argparse
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys


def find_cuobjdump(folders):
    found = [shutil.which("cuobjdump"), "/usr/local/cuda/bin/cuobjdump"]
    for folder in folders:
        found += sorted(glob.glob(os.path.join(folder, "nvidia/cu*/bin/cuobjdump"))) + [os.path.join(folder, "triton/backends/nvidia/bin/cuobjdump")]
    return next((path for path in found if path and os.access(path, os.X_OK)), None)


def said_by_cuobjdump(program, library):
    """(kind, architecture) -> how many. A library without any is an error to it."""
    done = subprocess.run([program, "--list-elf", "--list-ptx", library], capture_output=True, text=True, check=False)
    said = collections.Counter()
    for kind, architecture in re.findall(r"^(ELF|PTX) file +\d+: .*\.sm_(\d+)[a-z]?\.(?:cubin|ptx)$", done.stdout, re.MULTILINE):
        said["SASS" if kind == "ELF" else "PTX", architecture] += 1
    if not said and "does not contain device code" not in done.stdout + done.stderr:
        sys.exit(f"{program} {library}: {done.stdout}{done.stderr}")
    return said


def said_by_us(program, library):
    done = subprocess.run([program, "inspect", "--format", "json", library], capture_output=True, text=True, check=False)
    gpu = json.loads(done.stdout)["libraries"][0]["gpu"]
    if gpu["damaged"]:
        sys.exit(f"{library}: {program} could not read it to the end")
    said = collections.Counter()
    for code in gpu["code"]:
        said[code["kind"], re.search(r"\d+", code["architecture"])[0]] += code["count"]
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opcheck", required=True)
    parser.add_argument("--folder", action="append", default=[])
    parser.add_argument("library", nargs="*")
    options = parser.parse_args()
    cuobjdump = find_cuobjdump(options.folder)
    if cuobjdump is None:
        print("SKIP: there is no cuobjdump on PATH, in /usr/local/cuda or among the wheels")
        return 0
    libraries = options.library + [path for folder in options.folder for wheel in ("torchvision", "torchaudio/lib") for path in sorted(glob.glob(os.path.join(folder, wheel, "*.so")))]
    wrong = images = 0
    for library in libraries:
        theirs, ours = said_by_cuobjdump(cuobjdump, library), said_by_us(options.opcheck, library)
        images += sum(theirs.values())
        if theirs != ours:
            wrong += 1
            print(f"{library}:\n  cuobjdump   {sorted(theirs.items())}\n  opcheck-c   {sorted(ours.items())}")
    print(f"{len(libraries)} libraries, {images} images, {wrong} told otherwise than by {cuobjdump}")
    if images == 0:
        print("nothing was compared")
    return 1 if wrong or images == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
