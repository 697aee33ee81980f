#!/usr/bin/env python3
"""Calls of PyTorch's own operator tests, recorded by opcheck-c, through the checks that are about what one call does to its tensors.

    check_opinfo.py OPCHECK_C PYTHON LIST.findings.json

LIST: {"torches": the versions that it is of, "every", "samples": what opinfo_calls.py runs, "calls_an_operator": how many are kept, "calls_at_least",
"operators_at_least": in which something passed, "checks", "must": [{"operator", "rule"}], "may": [{"operator": glob, "rule": glob, "reason"}]}; an entry
with "torch" is of that version alone. A finding on neither list fails, and so does a known one that is missing. Exit status 77: the list is of other
versions than this torch."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/real"))
from real_library import of_release, on_list  # noqa: E402

OTHER_TORCH = 77


def run(command, ok):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if ended.returncode not in ok:
        sys.exit(f"{' '.join(command)[:2000]}: exit {ended.returncode}\n{ended.stdout[-4000:]}")
    return ended.stdout


def record(tool, python, wanted, output):
    program = [python, str(ROOT / "tests/parity/opinfo_calls.py"), str(wanted["every"]), str(wanted["samples"])]
    run([tool, "record", "--namespace", "aten", "--output", output, "--calls", str(wanted["calls_an_operator"]), "--total", "9000", "--", *program], ok=(0,))
    with open(output, encoding="utf-8") as stream:
        return json.load(stream)["samples"]


def replay(tool, samples, operators, checks, report):
    selected = [word for name in operators for word in ("--op", name)]
    run([tool, "run", "--namespace", "aten", "--check", checks, "--samples", samples, "--json", report, *selected], ok=(0, 1))
    with open(report, encoding="utf-8") as stream:
        return json.load(stream)


def problems_of(wanted, samples, report):
    must, may = (of_release(wanted[part], report["tool"]["torch"]) for part in ("must", "may"))
    if not report["run"]["complete"]:
        yield "the run is not complete"
    if len(samples) < wanted["calls_at_least"]:
        yield f"only {len(samples)} calls were recorded, wanted {wanted['calls_at_least']}"
    passed = {result["operator"] for result in report["results"] if result["verdict"] == "pass"}
    if len(passed) < wanted["operators_at_least"]:
        yield f"only in {len(passed)} operators something passed, wanted {wanted['operators_at_least']}"
    findings = [result for result in report["results"] if result["verdict"] in ("fail", "error")]
    for entry in must:
        if not any(on_list(finding, [entry]) for finding in findings):
            yield f"not found: {entry['operator']} {entry['rule']}"
    told = set()
    for finding in findings:
        key = finding["operator"], finding["rule"]
        if key not in told and not on_list(finding, must + may):
            yield f"not on the list: {finding['case']}: {finding['rule']}: {finding['message']}\n    {finding.get('repro')}"
        told.add(key)


def main():
    tool, python, list_file = sys.argv[1:4]
    with open(list_file, encoding="utf-8") as stream:
        wanted = json.load(stream)
    version = run([python, "-c", "import torch; print(torch.__version__)"], ok=(0,)).strip()
    if not version.startswith(tuple(f"{torch}." for torch in wanted["torches"])):
        print(f"torch {version}: the list is of {', '.join(wanted['torches'])}")
        sys.exit(OTHER_TORCH)
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "aten.samples.json")
        samples = record(tool, python, wanted, output)
        operators = sorted({sample["operator"] for sample in samples})
        report = replay(tool, output, operators, wanted["checks"], os.path.join(folder, "report.json"))
    problems = list(problems_of(wanted, samples, report))
    print(f"{len(samples)} calls of {len(operators)} operators, {len(report['results'])} cases")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
