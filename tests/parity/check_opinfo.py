#!/usr/bin/env python3
"""Calls of PyTorch's own operator tests, recorded by opcheck-c, through the checks that are about what one call does to its tensors.

    check_opinfo.py record FOLDER LIST.findings.json SHARDS OPCHECK_C PYTHON   records, and puts a file of samples for each shard into the folder
    check_opinfo.py replay FOLDER LIST.findings.json SHARD OPCHECK_C           the checks on those samples: 1 is the first shard
    check_opinfo.py total FOLDER LIST.findings.json SHARDS                     what is said of all shards together

LIST: {"torches": the versions that it is of, "every", "samples": what opinfo_calls.py runs, "calls_an_operator": how many are kept, "calls_at_least",
"operators_at_least": in which something passed, "checks", "must": [{"operator", "rule"}], "may": [{"operator": glob, "rule": glob, "reason"}]}; an entry
with "torch" is of that version alone. A finding on neither list fails, and so does a known one that is missing. Exit status 77: the list is of other
versions than this torch."""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/real"))
from real_library import of_release, on_list  # noqa: E402

SKIPPED = 77  # CTest's SKIP_RETURN_CODE
OF_OTHER_TORCH = "of_other_torch.json"


def run(command, ok):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if ended.returncode not in ok:
        sys.exit(f"{' '.join(command)[:2000]}: exit {ended.returncode}\n{ended.stdout[-4000:]}")
    return ended.stdout


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as stream:
        return json.load(stream)


def write(folder, name, content):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
        json.dump(content, stream)


def shards_of(samples, count):
    """The names of the operators of each, all with about as many samples."""
    calls = collections.Counter(sample["operator"] for sample in samples)
    shards = [[] for _ in range(count)]
    for name in sorted(calls, key=lambda name: (-calls[name], name)):
        min(shards, key=lambda shard: sum(calls[one] for one in shard)).append(name)
    return [sorted(shard) for shard in shards]


def record(folder, wanted, shards, tool, python):
    version = run([python, "-c", "import importlib.metadata as packages; print(packages.version('torch'))"], ok=(0,)).strip()
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if not version.startswith(tuple(f"{torch}." for torch in wanted["torches"])):
        write(folder, OF_OTHER_TORCH, f"torch {version}: the list is of {', '.join(wanted['torches'])}")
        leave_of_other_torch(folder)
    output = os.path.join(folder, "aten.samples.json")
    program = [python, str(ROOT / "tests/parity/opinfo_calls.py"), str(wanted["every"]), str(wanted["samples"])]
    run([tool, "record", "--namespace", "aten", "--output", output, "--calls", str(wanted["calls_an_operator"]), "--total", "9000", "--", *program], ok=(0,))
    recorded = read(folder, "aten.samples.json")
    samples = recorded["samples"]
    for number, operators in enumerate(shards_of(samples, int(shards)), 1):
        part = [sample for sample in samples if sample["operator"] in operators]
        write(folder, f"{number}.samples.json", {**recorded, "samples": part})
    print(f"{len(samples)} calls")
    if len(samples) < wanted["calls_at_least"]:
        yield f"only {len(samples)} calls were recorded, wanted {wanted['calls_at_least']}"


def leave_of_other_torch(folder):
    """Nothing was recorded, because the list is not of this torch."""
    if os.path.exists(os.path.join(folder, OF_OTHER_TORCH)):
        print(f"SKIP: {read(folder, OF_OTHER_TORCH)}")
        sys.exit(SKIPPED)


def replay(folder, wanted, shard, tool):
    leave_of_other_torch(folder)
    samples, report = os.path.join(folder, f"{shard}.samples.json"), os.path.join(folder, f"{shard}.report.json")
    operators = sorted({sample["operator"] for sample in read(folder, f"{shard}.samples.json")["samples"]})
    selected = [word for name in operators for word in ("--op", name)]
    run([tool, "run", "--no-search", "--namespace", "aten", "--check", wanted["checks"], "--samples", samples, "--json", report, *selected], ok=(0, 1))
    report = read(folder, f"{shard}.report.json")
    print(f"{len(operators)} operators, {len(report['results'])} cases")
    if not report["run"]["complete"]:
        yield "the run is not complete"
    known = [entry for part in ("must", "may") for entry in of_release(wanted[part], report["tool"]["torch"])]
    findings = [result for result in report["results"] if result["verdict"] in ("fail", "error")]
    passed = sorted({result["operator"] for result in report["results"] if result["verdict"] == "pass"})
    found = [{part: finding[part] for part in ("operator", "rule")} for finding in findings]
    write(folder, f"{shard}.found.json", {"torch": report["tool"]["torch"], "passed": passed, "findings": found})
    os.remove(os.path.join(folder, f"{shard}.report.json"))  # 50 MB
    told = set()
    for finding in findings:
        key = finding["operator"], finding["rule"]
        if key not in told and not on_list(finding, known):
            yield f"not on the list: {finding['case']}: {finding['rule']}: {finding['message']}\n    {finding.get('repro')}"
        told.add(key)


def total(folder, wanted, shards):
    leave_of_other_torch(folder)
    names = range(1, int(shards) + 1)
    found = [read(folder, f"{name}.found.json") for name in names]
    recorded = len(read(folder, "aten.samples.json")["samples"])
    kept = sum(len(read(folder, f"{name}.samples.json")["samples"]) for name in names)
    if kept != recorded:
        yield f"{recorded} calls were recorded, and {kept} are in the shards"
    passed = {operator for shard in found for operator in shard["passed"]}
    print(f"{len(passed)} operators in which something passed")
    if len(passed) < wanted["operators_at_least"]:
        yield f"only in {len(passed)} operators something passed, wanted {wanted['operators_at_least']}"
    findings = [finding for shard in found for finding in shard["findings"]]
    for entry in of_release(wanted["must"], found[0]["torch"]):
        if not any(on_list(finding, [entry]) for finding in findings):
            yield f"not found: {entry['operator']} {entry['rule']}"


def main():
    part, folder, list_file, *arguments = sys.argv[1:]
    with open(list_file, encoding="utf-8") as stream:
        wanted = json.load(stream)
    problems = list({"record": record, "replay": replay, "total": total}[part](folder, wanted, *arguments))
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
