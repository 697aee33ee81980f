"""Runs opcheck-c over a public library and holds what it says against a written list.

    real_library.py OPCHECK_C LIST.findings.json

LIST: {"package", "library": path inside the package's folder, "arguments": [...], "at_least": N operators with a verdict from a call,
"must": [{"operator", "rule"}], "may": [{"operator": glob, "rule": glob, "reason": words}]}. `must` are known violations: missing one is a
failure. A finding on neither list is a failure too."""

import fnmatch
import importlib.util
import json
import os
import subprocess
import sys
import tempfile


def package_folder(name):
    # Without importing it: that takes seconds, and some packages want a GPU.
    return importlib.util.find_spec(name).submodule_search_locations[0]


def on_list(finding, entries):
    return any(fnmatch.fnmatch(finding["operator"], e["operator"]) and fnmatch.fnmatch(finding["rule"] or "", e["rule"]) for e in entries)


def main():
    tool, list_file = sys.argv[1:3]
    with open(list_file, encoding="utf-8") as stream:
        wanted = json.load(stream)
    library = os.path.join(package_folder(wanted["package"]), wanted["library"])
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [tool, "run", "--json", report, *wanted.get("arguments", []), library]
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if ended.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}: exit {ended.returncode}\n{ended.stdout}")
        with open(report, encoding="utf-8") as stream:
            found = json.load(stream)

    problems = []
    if not found["run"]["complete"]:
        problems.append("the run is not complete")
    silent = {o["name"] for o in found["operators"]} - {r["operator"] for r in found["results"]}
    if silent:
        problems.append(f"operators without any result: {sorted(silent)}")
    called = {r["operator"] for r in found["results"] if r["check"] != "registration" and r["verdict"] in ("pass", "fail")}
    if len(called) < wanted["at_least"]:
        problems.append(f"only {len(called)} operators came to a verdict, wanted {wanted['at_least']}: {sorted(called)}")
    findings = [r for r in found["results"] if r["verdict"] in ("fail", "error")]
    for entry in wanted["must"]:
        if not any(on_list(f, [entry]) for f in findings):
            problems.append(f"not found: {entry['operator']} {entry['rule']}")
    for finding in findings:
        if not on_list(finding, wanted["must"] + wanted["may"]):
            problems.append(f"not on the list: {finding['case']}: {finding['rule']}: {finding['message']}\n    {finding.get('repro')}")
    print(f"{len(found['operators'])} operators, {len(called)} with verdicts from calls, {len(found['results'])} results, {len(findings)} findings")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
