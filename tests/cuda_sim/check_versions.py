"""check_versions.py OPCHECK-C LIBRARY TREE: with each worker that is here, `--device cuda-sim` works, or `devices` says why it does not, and a run says the same.

Where CUDA's wheels are installed beside the worker's libtorch, it runs the CUDA kernels of that version's torchvision. Elsewhere it gets the reference
operators: LIBRARY, or those of the build tree TREE/torch-VERSION."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.join(HERE, "../../fixtures/samples/torchvision.samples.json")
CHECKS = ("launch", "stream", "capture", "device_memory")
failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def results_of(program, place, *arguments):
    report = os.path.join(place, "report.json")
    done = subprocess.run([program, "run", "--json", report, *arguments], capture_output=True, text=True, errors="replace", timeout=300)
    if done.returncode not in (0, 1, 5):
        return [], f"exit status {done.returncode}: {done.stderr[-500:]}"
    with open(report, encoding="utf-8") as stream:
        found = json.load(stream)
    return found["results"], f"exit status {done.returncode}, torch {found['tool']['torch']}"


def check_kernels(program, place, root, library):
    """Each check comes to a verdict, and a launch was seen."""
    results, end = results_of(program, place, "--torch", root, "--device", "cuda-sim", "--check", ",".join(CHECKS), "--op", "torchvision::roi_align", "--samples", SAMPLES, library)
    for check in CHECKS:
        told = {(r["verdict"], r["reason"], r["message"][:200]) for r in results if r["check"] == check}
        expect(any(verdict in ("pass", "fail") for verdict, _, _ in told), f"{root}: check {check} comes to no verdict, {end}: {sorted(told)[:3]}")
    expect(any("launch" in r["message"] for r in results if r["verdict"] == "pass"), f"{root}: no launch was seen: {end}")


def check_reason(program, place, root, library, why):
    results, end = results_of(program, place, "--torch", root, "--device", "cuda-sim", "--check", "launch", library)
    expect(results and all(r["verdict"] == "skip" for r in results), f"{root}: without a simulated device not every result is a skip: {end}")
    expect(any(r["reason"] == "no_device" and why[:100] in r["message"] for r in results), f"{root}: no skip says {why}: {[r['message'] for r in results[:3]]}")


def main():
    program, own, tree = sys.argv[1:4]
    listed = json.loads(subprocess.run([program, "devices", "--format", "json"], capture_output=True, text=True, timeout=60, check=True).stdout)
    worked = []
    for worker in listed["workers"]:
        folder, why = worker["torch_folder"], worker["no_cuda_sim"]
        if not folder:
            continue
        root = os.path.dirname(folder)
        vision = [path for name in ("_C.so", "_C_stable.so") if os.path.isfile(path := os.path.join(os.path.dirname(root), "torchvision", name))]
        other = os.path.join(tree, f"torch-{worker['torch']}", "lib", "libidentity_conv_ops.so")
        with tempfile.TemporaryDirectory() as place:
            if not why and vision:
                check_kernels(program, place, root, vision[0])
                worked.append(worker["torch"])
            elif why:
                check_reason(program, place, root, other if os.path.isfile(other) else own, why)
        print(f"libtorch {worker['torch']}: {why or 'simulated'}")
    if not worked and not failures:
        print("SKIP: no worker's libtorch has CUDA's wheels and torchvision beside it")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
