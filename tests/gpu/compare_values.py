#!/usr/bin/env python3
"""The values of a GPU against those of the simulated device, case by case. Standard library only.

compare_values.py compare GPU.json MACHINE.json   two reports with check device on the same operators, samples and seed
compare_values.py twice OPCHECK LIBRARY           two runs on the simulated device: all values must be equal. Exit 77 where there is no such device

Check device leaves a digest of the bits that the CUDA kernel gave. They must be equal where the machine's instructions are exact. They need not be where it
used instructions that have only a bound ("bounded"), where libtorch's CPU kernels computed a part ("libtorch"), and where an operator is not repeatable.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
LEAST = 20  # equal cases of the reference operators


def key_of(result):
    """The case without its device."""
    parts = result["case"].split("/")
    return "/".join(parts[:2] + parts[3:])


def digests_of(report):
    return {key_of(result): result for result in report["results"] if result["check"] == "device" and "digest" in (result.get("evidence") or {})}


def changing_operators(*reports):
    return {result["operator"] for report in reports for result in report["results"] if (result["rule"] or "").startswith("determinism.")}


def compare(gpu, machine):
    """Counts of cases, and those that differ although the machine is exact."""
    theirs, ours = digests_of(gpu), digests_of(machine)
    changing = changing_operators(gpu, machine)
    counts, differ = collections.Counter(only_gpu=len(theirs.keys() - ours.keys()), only_machine=len(ours.keys() - theirs.keys())), []
    for key in sorted(theirs.keys() & ours.keys()):
        kernels = ours[key]["evidence"].get("kernels", {})
        if theirs[key]["evidence"]["digest"] == ours[key]["evidence"]["digest"]:
            counts["equal"] += 1
        elif kernels.get("bounded", 0) > 0:
            counts["bounded"] += 1
        elif kernels.get("replaced", 0) > 0:
            counts["libtorch"] += 1
        elif ours[key]["operator"] in changing:
            counts["changing"] += 1
        else:
            differ.append(key)
    counts["differ"] = len(differ)
    return dict(counts), differ


def wrong_with(counts, differ, least=1):
    wrong = [f"{key}: the GPU's values have other bits than those of the PTX machine, whose instructions are exact" for key in differ]
    if counts.get("equal", 0) < least:
        wrong.append(f"only {counts.get('equal', 0)} cases have equal values, wanted {least}: {counts}")
    return wrong


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def report_of(opcheck, library, path):
    command = [opcheck, "run", "--device", "cuda-sim", "--check", "device", "--neighbours", "0", "--json", path, library]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    report = read(path)
    absent = [result["message"] for result in report["results"] if result["reason"] == "no_device"]
    if absent:
        print(f"SKIP: {absent[0]}")
        sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return report


def twice(opcheck, library):
    with tempfile.TemporaryDirectory() as folder:
        reports = [report_of(opcheck, library, os.path.join(folder, f"{i}.json")) for i in range(2)]
    counts, differ = compare(*reports)
    wrong = wrong_with(counts, differ, LEAST)
    others = sum(counts.get(name, 0) for name in ("bounded", "libtorch", "changing", "only_gpu", "only_machine"))
    return counts, wrong + ([f"{others} cases are not equal: {counts}"] if others else [])


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("compare", "twice"):
        sys.exit(__doc__)
    if sys.argv[1] == "twice":
        counts, wrong = twice(*sys.argv[2:])
    else:
        counts, differ = compare(read(sys.argv[2]), read(sys.argv[3]))
        wrong = wrong_with(counts, differ)
    print(json.dumps(counts))
    for words in wrong:
        print(f"WRONG: {words}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
