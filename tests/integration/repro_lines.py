#!/usr/bin/env python3
"""repro_lines.py OPCHECK_C FOLDER LIBRARY: the inputs of LIBRARY's operators are searched, and each line that a report gives to reproduce an error does so. Standard library only.

Another search may come to other inputs, so the lines name the file with those of this one, which lies beside the JSON report."""

import json
import math
import os
import subprocess
import sys


def run(command, report):
    ended = subprocess.run([*command, "--json", report], capture_output=True, text=True, errors="replace", check=False)
    with open(report, encoding="utf-8") as stream:
        return ended, json.load(stream)


def mistakes_of(problem, samples, again):
    line = problem["repro"]
    if f"--samples {samples} " not in line:
        return [f"no --samples {samples}: {line}"]
    ended = subprocess.run(["bash", "-c", f"{line} --json {again}"], capture_output=True, text=True, errors="replace", check=False)
    with open(again, encoding="utf-8") as stream:
        found = json.load(stream)
    rules = {rule for one in found["problems"] for rule in one["symptoms"]}
    if ended.returncode == 1 and problem["rule"] in rules and any(one["severity"] == "error" for one in found["problems"]):
        return []
    return [f"{line}\n  {problem['rule']} was expected, exit status 1; exit status {ended.returncode}, {sorted(rules)}\n{ended.stdout}{ended.stderr}"]


def values_of(argument):
    """What a small integer tensor of a sample file holds; None: it is none, or the file does not say."""
    tensor = argument.get("tensor") if isinstance(argument, dict) else None
    if not tensor or not tensor.get("dtype", "").startswith("int"):
        return None
    count, fill = math.prod(tensor["shape"]), tensor.get("fill")
    values = {"arange": list(range(count)), "zeros": [0] * count, "ones": [1] * count}.get(fill) if isinstance(fill, str) else (fill or {}).get("values")
    return values if values and 0 < count <= 8 else None


def mistakes_in_inputs(results, samples):
    """The input of a finding says what small integer tensors hold: whether a call is valid depends on it."""
    with open(samples, encoding="utf-8") as stream:
        known = {(sample["operator"], sample["name"]): sample["args"] for sample in json.load(stream)["samples"]}
    compared, wrong = 0, []
    for result in results:
        operator, name, variant = result["operator"], *result["case"].split("/")[-2:]
        if result["verdict"] not in ("fail", "error") or variant != "plain" or (operator, name) not in known:
            continue
        for argument, text in zip(known[operator, name], result["evidence"]["input"].values()):
            values = values_of(argument)
            compared += values is not None
            if values is not None and not text.endswith("(" + ", ".join(str(value) for value in values) + ")"):
                wrong.append(f"{result['case']}: {text}, the file has {values}")
    return wrong or ([] if compared else ["no small integer tensor is in an input"])


def mistakes_with_own_file(tool, library, samples, report):
    """A file that the run reads is never written, although the search finds inputs for operators that it lacks."""
    with open(samples, encoding="utf-8") as stream:
        read = json.load(stream)
    read["samples"] = read["samples"][:1]
    with open(samples, "w", encoding="utf-8") as stream:
        json.dump(read, stream)
    with open(samples, "rb") as stream:
        before = stream.read()
    _, found = run([tool, "run", "--device", "cpu", "--check", "alias", "--samples", samples, library], report)
    searched = [operator["name"] for operator in found["operators"] if operator["sample_source"] == "searched"]
    with open(samples, "rb") as stream:
        kept = stream.read() == before
    return ([] if searched else ["nothing was searched"]) + ([] if kept else [f"{samples} was an input, and was overwritten"])


def main():
    tool, folder, library = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    report, samples, again = (os.path.join(folder, name) for name in ("report.json", "report.found-samples.json", "again.json"))
    for path in (report, samples, again):
        if os.path.exists(path):
            os.remove(path)
    ended, found = run([tool, "run", "--device", "cpu", library], report)
    errors = [problem for problem in found["problems"] if problem["severity"] == "error"]
    wrong = [] if errors else [f"no error was found\n{ended.stdout}{ended.stderr}"]
    wrong += mistakes_in_inputs(found["results"], samples)
    for problem in errors:
        wrong += mistakes_of(problem, samples, again)
    wrong += mistakes_with_own_file(tool, library, samples, report)
    print(f"{len(errors)} lines", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
