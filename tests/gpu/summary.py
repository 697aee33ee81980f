#!/usr/bin/env python3
"""summary.py FOLDER SOURCE --built SECONDS --ran SECONDS: what scripts/gpu-suite measured, as Markdown. Standard library only.

Exit 1 where no test of the GPU ran: a summary of nothing is no evidence.
"""
import argparse
import datetime
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree


def said_by(command, pattern="(.*)"):
    """The first line that fits; "unknown" where the program is not there."""
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return "unknown"
    found = re.search(pattern, text)
    return found.group(1).strip() if found and found.group(1).strip() else "unknown"


def counts_of(junit):
    """Passed, failed and skipped tests, and why each of these was skipped. What only makes files for them counts where it fails."""
    counts = {"passed": 0, "failed": 0}
    skipped = []
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        if not case.get("name", "").startswith("gpu.") and case.get("status") == "run" and case.find("failure") is None:
            continue
        if case.get("status") == "run" and case.find("failure") is None:
            counts["passed"] += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            words = re.search(r"SKIP: (.*)", case.findtext("system-out") or "")
            skipped.append((case.get("name"), words.group(1) if words else "not run"))
        else:
            counts["failed"] += 1
    return counts, skipped


def facts_of(folder):
    facts = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.facts.json"))):
        with open(path, encoding="utf-8") as file:
            facts[os.path.basename(path)[: -len(".facts.json")]] = json.load(file)
    return facts


def timings(facts):
    lines = []
    if "wrappers" in facts:
        costs = ", ".join(f"{name} {cost:.0f} ns" for name, cost in facts["wrappers"]["cost_ns"].items())
        lines.append(f"| what the wrappers cost a call (least of 5 runs, against none) | {costs} |")
    if "battery" in facts:
        battery = facts["battery"]
        lines.append(f"| {battery['cases']} cases of the reference operator, with start-up | {battery['seconds']:.1f} s; of 100: {battery['seconds_of_100']:.1f} s |")
    for name, seconds in facts.get("package", {}).get("seconds", {}).items():
        lines.append(f"| opcheck-c package {name}.pt2 | {seconds:.1f} s |")
    if "machine" in facts:
        counts = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(facts["machine"]["counts"].items()))
        lines.append(f"| cases of the reference operators, the GPU's bits against those of the PTX machine | {counts} |")
    for name in ("reference", "sanitize"):
        if name in facts:
            lines.append(f"| {'every check' if name == 'reference' else 'compute-sanitizer memcheck'} over the reference operators | {facts[name]['seconds']:.1f} s |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("source")
    parser.add_argument("--built", type=int, required=True)
    parser.add_argument("--ran", type=int, required=True)
    options = parser.parse_args()
    with open(os.path.join(options.folder, "devices.json"), encoding="utf-8") as file:
        cuda = json.load(file)["cuda"]
    counts, skipped = counts_of(os.path.join(options.folder, "junit.xml"))
    facts = facts_of(options.folder)
    device = cuda["devices"][0] if cuda["devices"] else {"name": "unknown", "compute_capability": "?", "memory": 0}
    torch = {}
    for path in glob.glob(os.path.join(options.folder, "*.json")):
        with open(path, encoding="utf-8") as file:
            torch = json.load(file).get("tool", torch)
    print("# What was run on a GPU\n")
    print("Written by `scripts/gpu-suite`; every figure is of that run.\n")
    print("| | |\n|---|---|")
    print(f"| date | {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC |")
    print(f"| commit | {said_by(['git', '-C', options.source, 'rev-parse', 'HEAD'])} |")
    print(f"| GPU | {device['name']}, compute capability {device['compute_capability']}, {device['memory'] / 2**30:.0f} GiB; {cuda['count']} of them |")
    print(f"| driver | {said_by(['nvidia-smi', '--query-gpu=driver_version', '--format=csv,noheader'])}, for CUDA {cuda['driver_version'] // 1000}.{cuda['driver_version'] % 1000 // 10} |")
    print(f"| libtorch | {torch.get('torch', 'unknown')}, CUDA {torch.get('cuda', 'unknown')} |")
    print(f"| nvcc | {said_by([os.environ.get('CUDACXX', 'nvcc'), '--version'], r'release ([0-9.]+)')} |")
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    print(f"| compute-sanitizer | {said_by([sanitizer, '--version'], r'Version ([0-9.]+)')} |")
    print(f"| tests | {counts['passed']} passed, {counts['failed']} failed, {len(skipped)} skipped |")
    print(f"| time | {options.built} s to build, {options.ran} s to run |")
    print("\n".join(timings(facts)))
    for name, why in skipped:
        print(f"\nSkipped: {name}: {why}")
    left_out = [words for fact in facts.values() for words in fact.get("left_out", [])]
    if left_out:
        print("\nNot looked for:\n\n- " + "\n- ".join(left_out))
    for name, fact in facts.items():
        for words in fact["wrong"]:
            print(f"\nWrong: {name}: {words}")
    if counts["passed"] == 0:
        print("\nNo test passed: this is no evidence of anything.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
