#!/usr/bin/env python3
"""triton.py OPCHECK_C PYTHON triton_python.py REPORT: an operator of torch.library.triton_op, on the CPU. Exit status 77: Triton is not installed."""

import json
import subprocess
import sys

SKIPPED = 77
WHY = "needs a GPU"
CALLS = "alias", "mutation", "meta", "memory", "determinism"  # checks that have to call the kernel on the sample as it is


def mistakes(report, ended):
    if [operator["name"] for operator in report["operators"]] != ["triton_python::add_one"]:
        yield "triton_python::add_one is not the operator of the module"
    if ended.returncode not in (0, 5):
        yield f"exit status {ended.returncode}"
    for result in report["results"]:
        if result["verdict"] in ("fail", "error"):
            yield f"{result['case']}: {result['rule']}: {result['message']}"
    for check in CALLS:
        of_sample = [result for result in report["results"] if result["case"].endswith(f"/{check}/cpu/-/sample/plain")]
        if [result["reason"] for result in of_sample] != ["no_kernel"] or WHY not in of_sample[0]["message"]:
            yield f"{check} is not skipped because it {WHY}: {[result['message'] for result in of_sample]}"


def main():
    tool, python, module, path = sys.argv[1:]
    asked = subprocess.run([python, "-c", "import triton"], capture_output=True, text=True, check=False)
    if asked.returncode:
        print(f"SKIP: {asked.stderr.strip().splitlines()[-1]}")
        return SKIPPED
    command = [tool, "run", "--python", module, "--python-executable", python, "--json", path]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    with open(path, encoding="utf-8") as stream:
        wrong = list(mistakes(json.load(stream), ended))
    print(ended.stdout, *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
