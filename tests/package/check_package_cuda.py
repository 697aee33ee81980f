"""check_package_cuda.py OPCHECK-C FOLDER OPERATORS.so OTHER_OPERATORS.so RUN_PACKAGE CUDART: opcheck-c package on packages that were compiled for CUDA.

On the simulated device the good ones run, kernels of Triton included, and their outputs have the bits of their inputs; it is said what was launched. Operators that
launch wrongly, change what they launch, crash or refuse are findings of the right rule. A package for another device than the one that was asked for does not load,
with words that name what to do.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

from package_run import expect, failures, run

SIMULATED = ("--device", "cuda-sim")


def rewrite(source, target, pattern, new):
    """A copy in whose metadata and sources whatever fits the pattern is `new`."""
    changed = 0
    with zipfile.ZipFile(source) as whole, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as copy:
        for entry in whole.infolist():
            data, count = whole.read(entry), 0
            if not entry.filename.endswith(".so"):
                data, count = re.subn(pattern, new, data)
            copy.writestr(entry.filename, data)
            changed += count
    expect(changed, f"nothing in {source} fits {pattern}")
    return target


def error_of(report):
    return report["libraries"][-1]["error"] or {"kind": "none", "message": ""}


def has_gpu(program):
    done = subprocess.run([program, "devices", "--format", "json"], capture_output=True, text=True, timeout=60, check=False)
    return json.loads(done.stdout)["cuda"]["count"] > 0


SAME_BITS = "the model ran twice, with the same bits", "the output's bits equal the input's"


def all_ran(report, least):
    kernels = report["summary"]["kernels"]
    return kernels["exact"] + kernels["bounded"] >= least and kernels["recorded"] == 0


def check_good(program, folder, library):
    for name in ("identity_model_cuda", "identity_class_model_cuda"):
        code, text, report = run(program, os.path.join(folder, f"{name}.pt2"), "--library", library, *SIMULATED)
        expect(code == 0, f"{name}: exit status {code}: {text}")
        for words in ("on a simulated sm_", "4 of kernel copy_kernel; each launch succeeded", "the next run asked for the same", *SAME_BITS):
            expect(words in text, f"{name}: \"{words}\" is not said: {text}")
        verdicts = {result["check"]: (result["verdict"], result["reason"]) for result in report["results"]}
        expect(verdicts == {"package": ("pass", None), "bitwise": ("pass", None)}, f"{name}: {verdicts}")
        expect(all_ran(report, 4), f"{name}: not all kernels ran: {report['summary']['kernels']}")


def check_triton(program, folder, library):
    """A model with kernels of its own, and their PTX: they are loaded by the driver's functions, run, and are bound to the architecture that they were compiled for."""
    path = os.path.join(folder, "triton", "triton_model_cuda.pt2")
    if not os.path.exists(path):
        print("left out: a model with Triton's kernels, as there is no Triton")
        return
    code, text, report = run(program, path, "--library", library, *SIMULATED)
    expect(code == 0 and report["summary"]["pass"] == 1, f"Triton: exit status {code}: {text}")
    for words in ("of kernel copy_kernel", "of kernel triton_", "each launch succeeded, and the next run asked for the same", *SAME_BITS):
        expect(words in text, f"Triton: \"{words}\" is not said: {text}")
    expect(all_ran(report, 3), f"Triton: not all kernels ran: {report['summary']['kernels']}")
    code, text, report = run(program, path, "--library", library, *SIMULATED, "--cuda-arch", "sm_80")
    expect(code == 4 and error_of(report)["kind"] == "device" and "give --cuda-arch sm_" in text, f"Triton, another architecture: exit status {code}: {text}")


def check_device(program, folder, library):
    """Packages for another device than the one that was asked for."""
    for name, arguments, words in (("identity_model_cuda", ("--device", "cpu"), "compiled for CUDA, but --device cpu was given"),
                                   ("identity_model", SIMULATED, "compiled for the CPU, but --device cuda-sim was given"),
                                   ("identity_model", ("--device", "cuda"), "compiled for the CPU, but --device cuda was given")):
        code, text, report = run(program, os.path.join(folder, f"{name}.pt2"), "--library", library, *arguments)
        expect(code == 4 and error_of(report)["kind"] == "device" and words in error_of(report)["message"], f"{name} {arguments}: exit status {code}: {text}")
    if not has_gpu(program):
        code, text, report = run(program, os.path.join(folder, "identity_model_cuda.pt2"), "--library", library)
        expect(code == 4 and error_of(report)["kind"] == "device", f"without a GPU: exit status {code}: {text}")
        expect("no CUDA device here" in text and "--device cuda-sim" in text, f"without a GPU: what to do is not said: {text}")


def check_missing(program, folder):
    code, text, report = run(program, os.path.join(folder, "identity_model_cuda.pt2"), *SIMULATED)
    expect(code == 4 and error_of(report)["kind"] == "missing_operator" and "libidentity_conv_ops.so" in text, f"without its library: exit status {code}: {text}")


def check_architecture(program, folder, library):
    """Only a package with kernels of its own is bound to an architecture; the simulated device is of the package's."""
    good = os.path.join(folder, "identity_model_cuda.pt2")
    with tempfile.TemporaryDirectory() as place:
        other = rewrite(good, os.path.join(place, "other.pt2"), rb'"AOTI_COMPUTE_CAPABILITY": "\d+"', b'"AOTI_COMPUTE_CAPABILITY": "80"')
        code, text, _ = run(program, other, "--library", library, *SIMULATED)
        expect(code == 0 and "on a simulated sm_80" in text, f"compiled for 8.0: exit status {code}: {text}")
        code, text, _ = run(program, other, "--library", library, *SIMULATED, "--cuda-arch", "sm_90")
        expect(code == 0 and "on a simulated sm_90" in text, f"without kernels of its own, elsewhere: exit status {code}: {text}")
        bound = rewrite(other, os.path.join(place, "bound.pt2"), rb"(class AOTInductorModelKernels [^{]*{)", rb"\1 CUfunction triton_poi_fused_0{nullptr};")
        code, text, report = run(program, bound, "--library", library, *SIMULATED, "--cuda-arch", "sm_90")
        expect(code == 4 and error_of(report)["kind"] == "device" and "give --cuda-arch sm_80" in text, f"kernels for 8.0 on 9.0: exit status {code}: {text}")
        code, text, _ = run(program, bound, "--library", library, *SIMULATED)
        expect(code == 0, f"kernels for 8.0 on 8.0: exit status {code}: {text}")


# How the operator behaves: the rules that are expected, and words that are said.
BEHAVIOURS = {
    "": (set(), "4 of kernel copy_kernel"),
    "crashes": ({"signal.SIGSEGV"}, ""),
    "refuses": ({"sample.rejected"}, "not to my taste"),
    "unchecked": ({"launch.unchecked"}, ""),
    "fails": ({"launch.failed", "bitwise.same_bits"}, "blockDim.x is 2048; the device allows 1024"),
    "legacy": ({"stream.legacy"}, ""),
    "alternates": ({"package.other_calls"}, "but in the next run"),
    "idle": ({"bitwise.same_bits"}, "no request to it was seen"),
    "reads": (set(), "the next run asked for the same; the model ran twice, with the same bits"),
    "multiplies": ({"bitwise.same_bits"}, "cublas"),
    "convolves": ({"bitwise.same_bits"}, "cudnnCreate, which"),
}
WARNINGS = {"alternates"}


def check_behaviours(program, folder, other):
    good = os.path.join(folder, "identity_model_cuda.pt2")
    for how, (wanted, words) in BEHAVIOURS.items():
        code, text, report = run(program, good, "--library", other, *SIMULATED, OPC_TEST_IDENTITY=how)
        findings = [result for result in report["results"] if result["verdict"] in ("fail", "error")]
        rules = {result["rule"] for result in findings}
        code_wanted = 1 if wanted and how not in WARNINGS else 0
        expect(rules == wanted and code == code_wanted, f"{how or 'right'}: exit status {code}, {sorted(rules)}: {text[-2000:]}")
        expect(words in text, f"{how or 'right'}: \"{words}\" is not said: {text[-2000:]}")
        expect(all(re.search("package .*--device cuda-sim", result["repro"]) for result in findings), f"{how}: a finding without a line that reproduces it")


def check_example(example, folder, library, wrappers):
    """The C program, too, carries its tensors to the device and back, and the kernels copy them there."""
    done = subprocess.run([example, os.path.join(folder, "identity_model_cuda.pt2"), library, "cuda"], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "LD_PRELOAD": wrappers, "OPC_CUDA_MODE": "simulated"})
    expect(done.returncode == 0 and "the output's bits equal the input's" in done.stdout, f"run_package: exit status {done.returncode}: {done.stdout}{done.stderr}")


def main():
    program, folder, library, other, example, wrappers = sys.argv[1:7]
    if not os.path.exists(os.path.join(folder, "identity_model_cuda.pt2")):
        print("SKIP: scripts/export-model made no package for CUDA: this torch is CPU-only, or the operators have no CUDA kernel")
        return 77
    check_good(program, folder, library)
    check_triton(program, folder, library)
    check_device(program, folder, library)
    check_missing(program, folder)
    check_architecture(program, folder, library)
    check_behaviours(program, folder, other)
    check_example(example, folder, library, wrappers)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
