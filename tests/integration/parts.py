#!/usr/bin/env python3
"""Cases that idle jobs run have the results that they have in a run with one job.

    parts.py OPCHECK LIBRARY SAMPLES FOLDER"""

import json
import pathlib
import re
import subprocess
import sys

PROPER = ("verdict", "rule", "severity", "standing", "reason")


def run(tool, library, samples, folder, jobs):
    """The report of the run, and the last record of its journal."""
    report, journal = folder / f"{jobs}.json", folder / f"{jobs}.journal"
    journal.unlink(missing_ok=True)
    command = [tool, "run", "--jobs", str(jobs), "--samples", samples, "--json", str(report), "--journal", str(journal), library]
    code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    if code != 1:
        sys.exit(f"exit {code} with {jobs} jobs")
    return json.loads(report.read_text()), json.loads(journal.read_text().splitlines()[-1])


def results(report):
    """What each case found, without addresses. Of a pass, the message depends on how much time there was."""
    return {result["case"]: (*(result[name] for name in PROPER), result["verdict"] != "pass" and re.sub(r"0x[0-9a-f]+|\d+", "N", result["message"]))
            for result in report["results"]}  # fmt: skip


def problems(report):
    return [(problem["id"], problem["rule"], problem["count"], problem["severity"]) for problem in report["problems"]]


def amounts(report):
    """A pass says how many calls and elements it rests on, and claims none where a check compares nothing."""
    for result in report["results"]:
        evidence, check = result.get("evidence", {}), result["check"]
        if result["verdict"] != "pass" or check not in ("bitwise", "registration"):
            continue
        if check == "bitwise" and not (evidence.get("calls", 0) > 0 and evidence.get("compared", 0) > 0):
            yield f"{result['case']}: passes after {evidence.get('calls')} calls, {evidence.get('compared')} elements"
        if check == "registration" and ("calls" in evidence or "compared" in evidence):
            yield f"{result['case']}: {evidence}, and nothing is called"


def given_up(report):
    """Memory that is refused at once costs nothing: the check goes on, however often that happens."""
    greedy = [result for result in report["results"] if result["operator"] == "parts_ops::greedy"]
    refused = [result for result in greedy if result["check"] == "memory" and result["reason"] == "budget"]
    if len(refused) < 4:
        yield f"parts_ops::greedy: memory was refused in {len(refused)} cases of the check memory, which is too few"
    yield from (f"{result['case']}: {result['message']}" for result in greedy if "cases before it ran out of memory" in result["message"])


def main():
    tool, library, samples, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (alone, alone_end), (divided, divided_end) = (run(tool, library, samples, folder, jobs) for jobs in (1, 4))
    left, right = results(alone), results(divided)
    mistakes = [f"{case}: {left.get(case)} with one job, {right.get(case)} with four" for case in left.keys() | right.keys() if left.get(case) != right.get(case)]
    if problems(alone) != problems(divided):
        mistakes.append("the problems differ")
    if [result["case"] for result in alone["results"]] != [result["case"] for result in divided["results"]]:
        mistakes.append("the order of the results differs")
    if alone_end["parts"] != 0 or divided_end["parts"] == 0:
        mistakes.append(f"{alone_end['parts']} parts with one job, {divided_end['parts']} with four")
    sources = {each["name"]: each["sample_source"] for each in divided["operators"]}
    if sources != {"parts_ops::slow": "file", "parts_ops::crashes": "file", "parts_ops::greedy": "file", "parts_ops::searched": "searched"}:
        mistakes.append(f"samples: {sources}")
    mistakes += [*amounts(alone), *given_up(alone), *given_up(divided)]
    print("\n".join(mistakes[:10]))
    print(f"{len(left)} cases, {divided_end['parts']} parts, {len(problems(alone))} problems, {len(mistakes)} mistakes; "
          f"{alone_end['seconds']:.1f} s and {divided_end['seconds']:.1f} s")
    return 1 if mistakes or len(left) < 1000 or not problems(alone) else 0


if __name__ == "__main__":
    sys.exit(main())
