"""check_simulated.py OPCHECK-C SIM_OPS.so REFERENCE.so: what `--device cuda-sim` does between the command line and the checks.

The operators are in sim_ops.cpp: each comes to what EXPECTED says in check device, which needs no kernel to run.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile

X = {"tensor": {"shape": [2, 3], "fill": {"full": 3}}}
FILE_SAMPLES = {  # the others are searched
    "wrong_device": [X], "reads_back": [X], "reads_random": [X], "convolves": [X], "reads_input": [X], "multiplies": [{"tensor": {"shape": [4, 4]}}], "inverts": [{"tensor": {"shape": [4, 4]}}], "starts_process": [X], "follows_pointer": [X],
    "made_on": [3], "crashes": [X], "refuses": [X], "both": [{"tensor": {"shape": [2, 3], "device": "cuda:1"}}],
}
# operator: (verdict, rule or reason, words of the message) of each of its cases on the simulated device, but for those of other variants
EXPECTED = {
    "only_cuda": ("pass", None, "1 outputs are on cuda"),
    "cuda_by_words": ("pass", None, "1 outputs are on cuda"),
    "both": ("pass", None, "values have the bits of the CPU kernel's"),
    "only_cpu": ("skip", "no_kernel", "no kernel for this device"),
    "wrong_device": ("fail", "device.output_device", "is on cpu, all inputs are on cuda"),
    "reads_back": ("pass", None, "1 outputs are on cuda"),
    "reads_input": ("pass", None, "1 outputs are on cuda"),
    "multiplies": ("pass", None, "1 outputs are on cuda"),
    "reads_random": ("skip", "simulated", "does not replace them: the CPU draws other random numbers; it then refused: "),
    "convolves": ("skip", "simulated", "cuDNN does not work on the simulated device; it then refused: "),
    "inverts": ("pass", None, "1 outputs are on cuda"),
    "inverts_unseen": ("pass", None, "1 outputs are on cuda"),
    "made_on": ("pass", None, "1 outputs are on cuda, as argument device says"),
    "starts_process": ("pass", None, "1 outputs are on cuda"),
    "follows_pointer": ("pass", None, "1 outputs are on cuda"),
    "crashes": ("error", "signal.SIGSEGV", "segmentation fault at address 0x0"),
    "refuses": ("fail", "sample.rejected", "x must have seven dimensions"),
}

failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def run(program, place, *arguments):
    report = os.path.join(place, "report.json")
    command = [program, "run", "--json", report, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300)
    expect(os.path.exists(report), f"{' '.join(arguments)}: no report: {done.stderr[-500:]}")
    with open(report, encoding="utf-8") as stream:
        return done, json.load(stream)


def on(report, device, operator):
    return [r for r in report["results"] if r["operator"] == operator and r["case"].split("/")[2] == device]


def check_operator(report, name, verdict, why, words):
    results = on(report, "cuda-sim", f"sim::{name}")
    expect(results, f"{name}: no case on the simulated device")
    for r in results:
        found = (r["verdict"], r["rule"] or r["reason"])
        expect(found == (verdict, why) and words in r["message"], f"{r['case']}: {found}: {r['message']}")


def check_operators(program, place, library, samples):
    done, report = run(program, place, "--device", "cpu,cuda-sim", "--check", "device,stride", "--samples", samples, library)
    expect(done.returncode == 1, f"exit status {done.returncode}, not 1: {done.stderr[-1000:]}")
    for name, (verdict, why, words) in EXPECTED.items():
        check_operator({"results": [r for r in report["results"] if r["check"] == "device"]}, name, verdict, why, words)
        stride = [r for r in on(report, "cuda-sim", f"sim::{name}") if r["check"] == "stride"]
        expect(len(stride) == 1 and stride[0]["reason"] in ("simulated", "no_kernel"), f"{name}: check stride needs kernels: {stride}")
    expect(any(r["verdict"] == "pass" for r in on(report, "cpu", "sim::only_cpu")), "a CPU case beside the simulated device does not pass")
    expect(all(r["reason"] == "no_kernel" for r in on(report, "cpu", "sim::refuses")), "an operator without a CPU kernel runs on the CPU")
    sources = {o["name"]: o["sample_source"] for o in report["operators"]}
    for name in ("only_cuda", "cuda_by_words"):
        expect(sources[f"sim::{name}"] == "searched", f"{name}: {sources[f'sim::{name}']}")
    return report


def check_repros(program, report):
    for name in ("wrong_device", "crashes"):
        lines = {r["repro"] for r in on(report, "cuda-sim", f"sim::{name}") if r.get("repro")}
        for line in sorted(lines)[:1]:
            again = subprocess.run([program, *shlex.split(line)[1:]], capture_output=True, text=True, errors="replace", timeout=100)
            expect("cuda-sim" in line and again.returncode == 1, f"{name}: the printed line gives {again.returncode}: {line}")


def check_architecture(program, place, library, samples):
    arguments = ("--device", "cuda-sim", "--cuda-arch", "sm_80", "--check", "device", "--op", "wrong_device", "--samples", samples, library)
    done, report = run(program, place, *arguments)
    repros = [r["repro"] for r in report["results"] if r.get("repro")]
    expect(done.returncode == 1 and repros and all("--cuda-arch sm_80" in line for line in repros), f"the architecture is not in the lines that reproduce: {repros}")


def check_reference(program, place, library):
    with open(library, "rb") as stream:
        if b"__cudaRegisterFatBinary" not in stream.read():
            print("the reference operators are built without CUDA")
            return
    done, report = run(program, place, "--device", "cuda-sim", library)
    expect(done.returncode == 0, f"the reference operators: exit status {done.returncode}: {done.stdout[-1500:]}{done.stderr[-500:]}")
    results = on(report, "cuda-sim", "my_ops::identity_conv_op")
    expect(any(r["verdict"] == "pass" for r in results), "no case of the reference operator passes")
    other = {r["reason"] for r in results if r["verdict"] == "skip"} - {"simulated", "not_applicable", "rejected", "budget"}  # two tensors of 2^31 elements may be too many
    expect(not other, f"the reference operator has skips for {other}")
    computed = {r["check"] for r in results if r["verdict"] == "pass" and r["evidence"].get("kernels", {}).get("exact") and not r["evidence"]["kernels"]["recorded"]}
    expect({"device", "dtype", "stride", "alias", "mutation", "determinism"} <= computed, f"kernels ran, and values were compared, in these checks only: {computed}")


def simulated_devices(program):
    return json.loads(subprocess.run([program, "devices", "--format", "json"], capture_output=True, text=True, timeout=60, check=True).stdout)["cuda-sim"]


def check_devices(program):
    told = simulated_devices(program)
    expect(told["count"] == 2 and told["architecture"] == "sm_90" and "sm_120" in told["architectures"] and not told["detail"], f"devices: {told}")
    text = subprocess.run([program, "devices"], capture_output=True, text=True, timeout=60, check=True).stdout
    expect("cuda-sim 2 simulated devices" in text, f"devices: {text}")
    listed = subprocess.run([program, "devices", "--format", "ctest-resources"], capture_output=True, text=True, timeout=60, check=True).stdout
    expect("sim" not in listed, "a simulated device is no resource of CTest")


def main():
    program, library, reference = sys.argv[1:4]
    why = simulated_devices(program)["detail"]
    if "scripts/setup" in why:
        print("SKIP:", why)
        return 0
    with tempfile.TemporaryDirectory() as place:
        samples = os.path.join(place, "samples.json")
        listed = [{"operator": f"sim::{name}", "name": "one", "args": arguments} for name, arguments in FILE_SAMPLES.items()]
        with open(samples, "w", encoding="utf-8") as stream:
            json.dump({"format": "opcheck-c/samples/1", "samples": listed}, stream)
        report = check_operators(program, place, library, samples)
        check_repros(program, report)
        check_architecture(program, place, library, samples)
        check_reference(program, place, reference)
    check_devices(program)
    print(f"{len(EXPECTED)} operators, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
