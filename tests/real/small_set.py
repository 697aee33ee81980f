"""small_set.py OPCHECK_C TORCH_ROOT: wheels with CUDA kernels and Python bindings load with a libtorch that has neither.

Makes a libtorch of links to TORCH_ROOT without libtorch_cuda, libtorch_python and CUDA's libraries, but for those that libtorch_cpu itself needs, and has
the libraries of torchvision and torchaudio listed and one operator of each called."""

import glob
import json
import os
import subprocess
import sys
import tempfile

from real_library import library_of

LIBRARIES = [  # package, how many operators each release's library has, one that is called
    ("torchvision", {"_C.so": (12, 13, 15), "_C_stable.so": (15,)}, "torchvision::nms"),  # from 0.27 on box_iou_rotated, from 0.28 on qnms, qroi_align
    ("torchvision", {"image.so": (13,), "image_stable.so": (13,)}, "image::encode_png"),
    ("torchaudio", {"lib/libtorchaudio.abi3.so": (4,)}, "torchaudio::_overdrive_core_loop"),
]
ABSENT = ("libtorch.so", "libtorch_cuda", "libtorch_python", "libc10_cuda", "libtorch_nvshmem", "libcaffe2_nvrtc")
NEEDED = ("libcudart.so", "libcupti.so")


def make_small(root, folder):
    lib = os.path.join(folder, "torch", "lib")
    nvidia = os.path.join(folder, "nvidia", "cuda", "lib")
    os.makedirs(lib)
    os.makedirs(nvidia)
    for path in glob.glob(os.path.join(root, "lib", "lib*")):
        if not os.path.basename(path).startswith(ABSENT):
            os.symlink(path, os.path.join(lib, os.path.basename(path)))
    for path in glob.glob(os.path.join(root, "..", "nvidia", "*", "lib", "lib*")):
        if os.path.basename(path).startswith(NEEDED):
            os.symlink(os.path.realpath(path), os.path.join(nvidia, os.path.basename(path)))
    os.symlink(os.path.join(root, "include"), os.path.join(folder, "torch", "include"))
    return os.path.join(folder, "torch")


def main():
    tool, root = sys.argv[1:3]
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        small = make_small(root, folder)
        for package, releases, called in LIBRARIES:
            library = library_of(package, releases)
            relative, counts = next((name, counts) for name, counts in releases.items() if library.endswith(f"/{package}/{name}"))
            report = os.path.join(folder, "report.json")
            command = [tool, "run", "--torch", small, "--check", "memory,alias", "--op", called, "--json", report, library]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            with open(report, encoding="utf-8") as stream:
                found = json.load(stream)
            said = done.stdout + done.stderr
            count = found["libraries"][0].get("operators")
            if count not in counts:
                problems.append(f"{relative}: {count} operators, not {' or '.join(map(str, counts))}: {said}")
            if not any(r["check"] == "memory" and r["verdict"] == "pass" for r in found["results"]):
                problems.append(f"{relative}: {called} was not called: {said}")
    print(f"{len(LIBRARIES)} libraries, {len(problems)} problems")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
