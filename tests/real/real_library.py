"""Runs opcheck-c over a public library and holds what it says against a written list.

    real_library.py OPCHECK_C LIST.findings.json [--all] [--sanitized]

LIST: {"package", "library": paths inside the package's folder, of which a release has one, "arguments": [...], "at_least": N operators with a verdict
from a call, "must": [{"operator", "rule"}], "may": [{"operator": glob, "rule": glob, "reason": words}]}. `must` are known violations: missing one is a
failure. "computed_at_least": N cases on the simulated device in which values were compared. A finding on neither list is a failure too. An entry with "torch": "2.15" is of that version alone, with "since" or "until" of it and later or earlier ones. "gone": [{"operator", "torch"}], what it has no more. "operators" names a file beside the list with the operators to run, one a line, of
which "every" N-th is taken, or with --all each; only the known violations among them must show; it may be a list of operators as well. "samples" and "recipes" name a file beside the list.
A list may itself be of one torch, since one or until one; with others there is nothing to run.
With --sanitized, which a build with OPC_SANITIZE gives, a call may take longer, and memory that grows is no finding: AddressSanitizer keeps what is freed, and its own
bookkeeping grows."""

import fnmatch
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile


def torch_installed():
    return importlib.metadata.version("torch").partition("+")[0]


def package_folder(name):
    # Without importing it: that takes seconds, and some packages want a GPU.
    return importlib.util.find_spec(name).submodule_search_locations[0]


def library_of(package, names):
    """The one of the names that this release of the package has."""
    return next(path for name in names if os.path.isfile(path := os.path.join(package_folder(package), name)))


def of_release(entries, torch):
    """Those that hold for this torch: an entry may name the ones that it is of, because the package's release differs with it."""
    def number(version):
        return [int(part) for part in version.split(".")[:2]]

    return [entry for entry in entries if f"{torch}.".startswith(entry.get("torch", torch) + ".")
            and number(entry.get("since", torch)) <= number(torch) <= number(entry.get("until", torch))]  # fmt: skip


def on_list(finding, entries):
    return any(fnmatch.fnmatch(finding["operator"], e["operator"]) and fnmatch.fnmatch(finding["rule"] or "", e["rule"]) for e in entries)


def operators_chosen(wanted, folder, everything):
    """None: all that the library has."""
    if "operators" not in wanted or isinstance(wanted["operators"], list):
        return wanted.get("operators")
    with open(os.path.join(folder, wanted["operators"]), encoding="utf-8") as stream:
        names = stream.read().split()
    return names if everything else names[:: wanted.get("every", 1)]


def main():
    tool, list_file = sys.argv[1:3]
    with open(list_file, encoding="utf-8") as stream:
        wanted = json.load(stream)
    sanitized = "--sanitized" in sys.argv[3:]
    if not of_release([{key: wanted[key] for key in ("torch", "since", "until") if key in wanted}], torch_installed()):
        print(f"SKIP: this list is not for libtorch {torch_installed()}")
        return
    chosen = operators_chosen(wanted, os.path.dirname(list_file), "--all" in sys.argv[3:])
    library = library_of(wanted["package"], wanted["library"])
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        inputs = [word for key in ("samples", "recipes") if key in wanted for word in (f"--{key}", os.path.join(os.path.dirname(list_file), wanted[key]))]
        longer = ["--timeout", "60"] if sanitized else []
        command = [tool, "run", "--json", report, *longer, *inputs, *wanted.get("arguments", []), *(word for name in chosen or [] for word in ("--op", name)), library]
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if ended.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}: exit {ended.returncode}\n{ended.stdout}")
        with open(report, encoding="utf-8") as stream:
            found = json.load(stream)

    torch = found["tool"]["torch"]
    must, may = of_release(wanted["must"], torch), of_release(wanted["may"], torch)
    if sanitized:
        may = [*may, {"operator": "*", "rule": "leak.memory"}]
    gone = {entry["operator"] for entry in of_release(wanted.get("gone", []), torch)}
    problems = []
    if not found["run"]["complete"]:
        problems.append("the run is not complete")
    selected = set(chosen or [o["name"] for o in found["operators"]]) - gone
    silent = selected - {r["operator"] for r in found["results"]}
    unselected = {o["name"] for o in found["operators"] if o["library"] == "libtorch"} - set(chosen or selected)
    if unselected:
        problems.append(f"{len(unselected)} of libtorch's operators are in the report, although they were not selected")
    if silent:
        problems.append(f"operators without any result: {sorted(silent)}")
    called = {r["operator"] for r in found["results"] if r["check"] not in ("registration", "architecture") and r["verdict"] in ("pass", "fail")}
    if len(called) < wanted["at_least"]:
        problems.append(f"only {len(called)} operators came to a verdict, wanted {wanted['at_least']}: {sorted(called)}")
    computed = found["summary"].get("kernels", {}).get("compared_cases", 0)
    if computed < wanted.get("computed_at_least", 0):
        problems.append(f"values were compared in {computed} cases on the simulated device, wanted {wanted['computed_at_least']}")
    if "recipes" in wanted:
        problems += [f"{o['name']} does not keep to a recipe" for o in found["operators"] if o["name"] in selected and "recipe" not in o]
    findings = [r for r in found["results"] if r["verdict"] in ("fail", "error")]
    for entry in must:
        if entry["operator"] in selected and not any(on_list(f, [entry]) for f in findings):
            problems.append(f"not found: {entry['operator']} {entry['rule']}")
    for finding in findings:
        if not on_list(finding, must + may):
            problems.append(f"not on the list: {finding['case']}: {finding['rule']}: {finding['message']}\n    {finding.get('repro')}")
    print(f"{len(selected)} operators, {len(called)} with verdicts from calls, {len(found['results'])} results, {len(findings)} findings")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
