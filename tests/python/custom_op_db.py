#!/usr/bin/env python3
"""PyTorch's own cases: the operators of torch.testing._internal.custom_op_db with the samples of their OpInfos, recorded by opcheck-c record.

    custom_op_db.py OPCHECK_C PYTHON custom_op_db.expect.json FOLDER

The expectation file is one of tests/contract/matrix.py, with "torch", the version that it is of. "allowed" is what is found on variants of the samples, and each
entry has a "reason". On an unmodified sample nothing may be found, by opcheck-c (but what is in "unmodified") or by torch.library.opcheck. Exit status 77: this Python cannot run them."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/bench"), str(ROOT / "tests/contract")]
from against_python import run_python  # noqa: E402
from matrix import SKIPPED, mistakes_of  # noqa: E402

MODULE = "torch.testing._internal.custom_op_db"
FORM = "--namespace", "_torch_testing", "--output"


def run(command, ok=(0,)):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if ended.returncode not in ok:
        sys.exit(f"{' '.join(command)}: exit {ended.returncode}\n{ended.stdout[-4000:]}")
    return ended.stdout


def read(path):
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)


def leave_unless_it_can(python, folder, wanted):
    """The module imports NumPy, and expecttest, of which it uses nothing but one name: where that is not installed, a file gives it."""
    versions = subprocess.run([python, "-c", "import numpy, torch; print(torch.__version__)"], capture_output=True, text=True, check=False)
    if versions.returncode:
        print(f"SKIP: {versions.stderr.strip().splitlines()[-1]}")
        sys.exit(SKIPPED)
    if not versions.stdout.startswith(f"{wanted}."):
        print(f"SKIP: torch {versions.stdout.strip()}: the expectations are of {wanted}")
        sys.exit(SKIPPED)
    if subprocess.run([python, "-c", "import expecttest"], capture_output=True, check=False).returncode:
        with open(f"{folder}/expecttest.py", "w", encoding="utf-8") as stream:
            stream.write("from unittest import TestCase\n")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))


def theirs(python, samples, folder):
    """What torch.library.opcheck says: all of it is a mistake, of this test or of PyTorch."""
    operators = sorted({sample["operator"] for sample in samples})
    plan = {"library": None, "fakes": MODULE, "operators": {name: [one for one in samples if one["operator"] == name] for name in operators}}
    head, rows = run_python(python, [plan], folder, costs=False)
    for name, row in rows.items():
        if row["end"] != "ran":
            yield f"{name}: opcheck did not come to an end: {row['end']}: {row.get('how', '')}"
        yield from (f"{name}: {test} of opcheck fails: {row['failures'][test]}" for test in head["default"] if test in row["failures"])


def ours(report, expected):
    for name, expectation in expected["operators"].items():
        yield from mistakes_of(name, expectation, report)
        if expectation.get("allowed") and not expectation.get("reason"):
            yield f"{name}: no reason is given for {', '.join(expectation['allowed'])}"
    yield from (f"{one['name']} is in the module and not in the expectation file" for one in report["operators"] if one["name"] not in expected["operators"])
    for result in report["results"]:
        known = expected["operators"].get(result["operator"], {}).get("unmodified", [])
        if result["verdict"] in ("fail", "error") and not result["standing"].startswith("searched") and "/cpu/-/" in result["case"] and result["case"].endswith("/plain") and result["rule"] not in known:
            yield f"{result['case']}: {result['rule']} on an unmodified sample: {result['message']}"


def main():
    tool, python, expectation, folder = sys.argv[1:]
    expected = read(expectation)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    leave_unless_it_can(python, folder, expected["torch"])
    recorded, report = f"{folder}/custom_op_db.samples.json", f"{folder}/report.json"
    print(run([tool, "record", *FORM, recorded, "--", python, str(ROOT / "tests/parity/opinfo_calls.py"), "custom_op_db"]))
    samples = read(recorded)["samples"]
    run([tool, "run", "--strict", "--python", MODULE, "--python-executable", python, "--samples", recorded, "--json", report], ok=(0, 1))
    report = read(report)
    print(f"{len(samples)} samples, {len(report['operators'])} operators, {len(report['results'])} cases")
    wrong = [*ours(report, expected), *theirs(python, samples, folder)]
    sampled = {sample["operator"] for sample in samples}
    if len(sampled) != expected["sampled"]:
        wrong.append(f"{len(sampled)} operators have samples, expected {expected['sampled']}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
