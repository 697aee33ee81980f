#!/usr/bin/env python3
"""Tests on a real GPU (label gpu). Standard library only. Without a GPU each is skipped, exit 77, with the reason in words.

check_gpu.py reference OPCHECK LIBRARY            every check of the reference operators on cuda: nothing found, and each check of CUDA proved something
check_gpu.py broken OPCHECK LIBRARY EXPECTATION   a library of fixtures/cuda or fixtures/gpu finds on the GPU what its expectation file names
check_gpu.py sanitize OPCHECK LIBRARY             compute-sanitizer's memcheck over the reference operators: nothing found, every case watched
check_gpu.py wrappers OPCHECK PROGRAM LIBRARY     what the wrappers cost a call: PROGRAM with LIBRARY preloaded, against none
check_gpu.py package OPCHECK LIBRARY FOLDER EXAMPLE  the packages of scripts/export-model for CUDA: run twice, all bits equal to the input's; in the C program EXAMPLE too
check_gpu.py machine OPCHECK LIBRARY              check device on the GPU and on the simulated device: the same bits wherever the PTX machine is exact
check_gpu.py battery OPCHECK LIBRARY              time of 100 variants of the reference operator, with start-up

With OPC_GPU_FOLDER set each leaves its reports there, and NAME.facts.json with what it measured (scripts/gpu-suite collects them).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import compare_values

SKIPPED = 77
WRAPPER_LIMIT_NS = 1000
BATTERY_LIMIT_SECONDS = 10
BATTERY_CASES = 100
NEIGHBOURS = 4  # of each sample of a broken operator: enough to show a false alarm, and the suite stays below ten minutes
CHECKS_OF_CUDA = ("launch", "stream", "sync", "device_memory", "capture", "device", "memory", "determinism")


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(SKIPPED)


def devices(opcheck):
    done = subprocess.run([opcheck, "devices", "--format", "json"], capture_output=True, text=True, check=True)
    cuda = json.loads(done.stdout)["cuda"]
    if cuda["count"] == 0:
        skip(f"no GPU: {cuda['detail']}")
    return cuda


def place_of(name):
    """The folder for reports; a temporary one where nobody asked for them."""
    folder = os.environ.get("OPC_GPU_FOLDER")
    if folder:
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, name)
    return os.path.join(tempfile.mkdtemp(prefix="opcheck-gpu-"), name)


def run(opcheck, place, arguments, device="cuda"):
    command = [opcheck, "run", "--device", device, "--json", place + ".json", "--junit", place + ".xml", *arguments]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    seconds = time.monotonic() - began
    print(" ".join(command), done.stdout, done.stderr, f"exit {done.returncode}", sep="\n")
    with open(place + ".json", encoding="utf-8") as file:
        return done, json.load(file), seconds


def leave(place, facts, wrong):
    with open(place + ".facts.json", "w", encoding="utf-8") as file:
        json.dump({**facts, "wrong": wrong}, file, indent=2)
    for words in wrong:
        print(f"WRONG: {words}")
    return 1 if wrong else 0


def findings_of(report):
    return [result for result in report["results"] if result["verdict"] in ("fail", "error")]


def reference(opcheck, library):
    devices(opcheck)
    place = place_of("reference")
    done, report, seconds = run(opcheck, place, ["--strict", library])
    wrong = [f"{result['case']}: {result['rule']}: {result['message']}" for result in findings_of(report)]
    passed = {result["check"] for result in report["results"] if result["verdict"] == "pass"}
    wrong += [f"check {check} proved nothing" for check in CHECKS_OF_CUDA if check not in passed]
    if done.returncode != 0:
        wrong.append(f"exit status {done.returncode}")
    return leave(place, {"summary": report["summary"], "seconds": seconds}, wrong)


def broken(opcheck, library, expectation):
    with open(expectation, encoding="utf-8") as file:
        expected = json.load(file)
    count = devices(opcheck)["count"]
    place = place_of(os.path.basename(expectation).replace(".expect.json", ""))
    source = os.path.join(os.path.dirname(expectation), expected["library"]) if "library" in expected else expectation[: -len(".expect.json")]
    tools = sorted({wanted.get("tool", "") for wanted in expected["operators"].values()})
    began = time.monotonic()
    reports = {}
    for tool in tools:
        names = [name for name, wanted in expected["operators"].items() if wanted.get("tool", "") == tool]
        options = ["--strict", "--neighbours", str(NEIGHBOURS), "--samples", source + ".samples.json", *(word for name in names for word in ("--op", name))]
        options += ["--sanitize", tool] if tool else []
        reports[tool] = run(opcheck, place + ("-" + tool if tool else ""), [*options, library])[1]
    wrong, left_out = [], []
    for name, wanted in expected["operators"].items():
        problems = [problem for problem in reports[wanted.get("tool", "")]["problems"] if name in problem["operators"]]
        primary = wanted["primary"]
        # A race shows in one run and not in the next: "or" names what else finds it.
        found = any(rule in problem["symptoms"] for rule in (primary, *wanted.get("or", [])) for problem in problems)
        if primary is not None and not found:
            if wanted.get("only_simulated"):
                left_out.append(f"{name}: {primary} is for the simulated device")
            elif count < wanted.get("gpus", 1):
                left_out.append(f"{name}: {primary} needs {wanted['gpus']} GPUs")
            else:
                wrong.append(f"{name}: {primary} is not found")
        allowed = {primary, *wanted.get("or", []), *wanted.get("allowed", []), *wanted.get("allowed_on_gpu", [])}
        # What a problem leads to is among its symptoms, and no problem of its own.
        wrong += [f"{name}: {problem['rule']}: {problem['message']}" for problem in problems if problem["rule"] not in allowed]
    return leave(place, {"operators": len(expected["operators"]), "left_out": left_out, "seconds": time.monotonic() - began}, wrong)


def sanitize(opcheck, library):
    devices(opcheck)
    places = [os.path.join(root, "bin") for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda") if root]
    if not shutil.which("compute-sanitizer", path=os.pathsep.join([os.environ.get("PATH", ""), *places])):
        skip("there is no compute-sanitizer")
    place = place_of("sanitize")
    done, report, seconds = run(opcheck, place, ["--sanitize", "memcheck", library])
    wrong = [f"{result['case']}: {result['rule']}: {result['message']}" for result in findings_of(report)]
    if report["summary"]["pass"] == 0:
        wrong.append("no case passed under it")
    if done.returncode != 0:
        wrong.append(f"exit status {done.returncode}")
    return leave(place, {"summary": report["summary"], "seconds": seconds}, wrong)


def wrappers(opcheck, program, library):
    devices(opcheck)
    place = place_of("wrappers")

    def measure(extra):
        best = {}
        for _ in range(5):  # the least: whatever else the machine does only adds
            done = subprocess.run([program], capture_output=True, text=True, check=True, env={**os.environ, **extra})
            for line in done.stdout.splitlines():
                name, nanoseconds = line.split()
                best[name] = min(best.get(name, 1e9), float(nanoseconds))
        return best

    bare, wrapped = measure({}), measure({"LD_PRELOAD": library, "OPC_CUDA_MODE": "through"})
    costs = {name: wrapped[name] - bare[name] for name in bare}
    wrong = [f"the wrapper of {name} costs {cost:.0f} ns a call" for name, cost in costs.items() if cost >= WRAPPER_LIMIT_NS]
    return leave(place, {"bare_ns": bare, "wrapped_ns": wrapped, "cost_ns": costs}, wrong)


def battery(opcheck, library):
    devices(opcheck)
    place = place_of("battery")
    done, report, seconds = run(opcheck, place, ["--check", "device,memory,alias,mutation,stride", library])
    called = [result for result in report["results"] if result["verdict"] != "skip"]
    wrong = [] if done.returncode == 0 else [f"exit status {done.returncode}"]
    each = seconds * BATTERY_CASES / max(len(called), BATTERY_CASES)
    if len(called) < BATTERY_CASES:
        wrong.append(f"only {len(called)} cases called the operator")
    if each >= BATTERY_LIMIT_SECONDS:
        wrong.append(f"{BATTERY_CASES} cases take {each:.1f} s with start-up")
    return leave(place, {"cases": len(called), "seconds": seconds, "seconds_of_100": each}, wrong)


def machine(opcheck, library):
    devices(opcheck)
    place = place_of("machine")
    reports = [run(opcheck, f"{place}-{device}", ["--check", "device,determinism", "--neighbours", "0", library], device)[1] for device in ("cuda", "cuda-sim")]
    counts, differ = compare_values.compare(*reports)
    return leave(place, {"counts": counts}, compare_values.wrong_with(counts, differ, compare_values.LEAST))


def package(opcheck, library, folder, example):
    devices(opcheck)
    place = place_of("package")
    wrong, seconds = [], {}
    for name in ("identity_model_cuda", "identity_class_model_cuda"):
        path = os.path.join(folder, name + ".pt2")
        began = time.monotonic()
        done = subprocess.run([opcheck, "package", path, "--library", library, "--json", f"{place}-{name}.json"], capture_output=True, text=True, errors="replace", check=False)
        seconds[name] = time.monotonic() - began
        print(done.stdout, done.stderr, f"exit {done.returncode}", sep="\n")
        if done.returncode != 0 or "the model ran twice, with the same bits; the output's bits equal the input's" not in done.stdout:
            wrong.append(f"{name}: exit status {done.returncode}: the output's bits are not said to equal the input's")
        done = subprocess.run([example, path, library, "cuda"], capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            wrong.append(f"{os.path.basename(example)} {name}: {done.stderr.strip()}")
    return leave(place, {"seconds": seconds}, wrong)


def main():
    commands = {"package": (package, 4), "reference": (reference, 2), "broken": (broken, 3), "sanitize": (sanitize, 2), "wrappers": (wrappers, 3), "battery": (battery, 2),
                "machine": (machine, 2)}
    if len(sys.argv) < 2 or sys.argv[1] not in commands or len(sys.argv) - 2 != commands[sys.argv[1]][1]:
        sys.exit(__doc__)
    # CTest gives a test its GPU by number, where it has a file of resources.
    given = re.match(r"id:(\d+)", os.environ.get("CTEST_RESOURCE_GROUP_0_GPUS", ""))
    if given:
        os.environ["CUDA_VISIBLE_DEVICES"] = given.group(1)
    return commands[sys.argv[1]][0](*sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
