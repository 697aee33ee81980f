#!/usr/bin/env python3
"""The operators of PyTorch's tests of torch.library.opcheck, through its four default tests and through opcheck-c, held against one expectation file.

parity.expect.json: "tests" says for each of opcheck's tests which of our rules are about the same. A case names its operator, the PyTorch test
that it comes from, "python": {test: what its failure says (a regular expression)}, "ours": {test: [the rules found that correspond to it]},
"beyond": [rules found that none of the tests is about], "differs": {test: why the two verdicts are not the same}. What a case does not name has to
pass. Where only Python finds something there is no excuse: the test fails. All that is of the oldest torch in "torches"; "since" says what a later
version changed, {version: {case: its parts}}: a test in a part replaces that one test, and null takes it away. --write puts the differences into
reports/evidence/README.md; without it they have to be there already. With --module, the operators are those of a Python module, whose name the files
beside it have: pytorch_cases.parity.json, pytorch_cases.samples.json. Exit status 77: the expectations are of other versions than this torch.
"""
import argparse
import fnmatch
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/bench"))
from against_python import run_python  # noqa: E402
from against_tables import SUMMARY, cell, table, with_block, words  # noqa: E402
from our_side import findings_of, run_report  # noqa: E402

FOLDER = ROOT / "fixtures/parity"
SAMPLES = ("parity.samples.json", "aten.samples.json")
OTHER_TORCH = 77
BEGIN = "<!-- parity: written by tests/parity/check_parity.py --write -->"
END = "<!-- /parity -->"


def read_json(name, folder=FOLDER):
    with open(folder / name, encoding="utf-8") as stream:
        return json.load(stream)


def release(version):
    """(2, 15) of 2.15.0+cu132."""
    return tuple(int(number) for number in version.split(".")[:2])


def part_changed(part, change):
    if not isinstance(part, dict):
        return change
    return {test: wanted for test, wanted in {**part, **change}.items() if wanted is not None}


def expected_of(written, version):
    """The expectation file as it is for that torch."""
    cases = dict(written["cases"])
    for since in sorted(written.get("since", {}), key=release):
        if release(since) <= release(version):
            for name, changes in written["since"][since].items():
                cases[name] = {**cases[name], **{part: part_changed(cases[name].get(part, {}), change) for part, change in changes.items()}}
    return {**written, "cases": cases}


def python_verdicts(python, library, samples, operators, module="parity_fakes", folder=FOLDER):
    """The head that names the versions, and a row for each operator."""
    plan = {"library": library, "fakes": module, "operators": {name: [s for s in samples if s["operator"] == name] for name in operators}}
    return run_python(python, [plan], folder, costs=False)


def report_on_library(tool, library, operators):
    """On those of libtorch that are named and all of the library."""
    names = ["parity::*", *(name for name in operators if not name.startswith("parity::"))]
    selected = [word for name in names for word in ("--namespace", name.partition("::")[0], "--op", name)]
    samples = [word for name in SAMPLES for word in ("--samples", str(FOLDER / name))]
    return run_report(tool, [*samples, *selected], library)[0]


def report_on_module(tool, module, python):
    """By the checks that have a part in one of the tests: tests/contract/matrix.py runs all of them on such a module."""
    checks = "registration,alias,mutation,meta,symbolic,fake,functionalisation,autograd,determinism,tags"
    samples = str(module.with_suffix(".samples.json"))
    return run_report(tool, ["--check", checks, "--samples", samples, "--python-executable", python, "--python"], str(module))[0]


def our_verdicts(report):
    """By operator: what was found, and whether anything passed."""
    passed = {result["operator"] for result in report["results"] if result["verdict"] == "pass"}
    checked = {result["operator"] for result in report["results"]}
    return {name: {"found": findings_of(report, name), "passed": name in passed} for name in sorted(checked)}


# ---- what does not agree with the expectation file ----


def is_about(rule, globs):
    return any(fnmatch.fnmatchcase(rule, glob) for glob in globs)


def python_mistakes(case, row, tests):
    if row["end"] != "ran":
        yield f"Python did not come to an end: {row['end']}: {row.get('how', '')} in {row.get('test', '')}"
    for test in tests:
        failure, expected = row["failures"].get(test), case.get("python", {}).get(test)
        if expected is None and failure is not None:
            yield f"{test} of Python is to pass: {failure}"
        elif expected is not None and not re.search(expected, failure or ""):
            yield f"{test} of Python is to fail with \"{expected}\": {failure or 'it passes'}"


def our_mistakes(case, ours, tests):
    listed = {rule for rules in case.get("ours", {}).values() for rule in rules} | set(case.get("beyond", []))
    yield from (f"opcheck-c did not find {rule}" for rule in sorted(listed - set(ours["found"])))
    yield from (f"opcheck-c is not to find {rule}: {': '.join(ours['found'][rule][:2])}" for rule in sorted(set(ours["found"]) - listed))
    if not ours["passed"]:
        yield "nothing passed in opcheck-c: a case that is only skipped shows nothing"
    for test, rules in case.get("ours", {}).items():
        yield from (f"{rule} is not about {test}" for rule in rules if not is_about(rule, tests[test]))
    for rule in case.get("beyond", []):
        yield from (f"{rule} is about {test}, and the case has it beyond the tests" for test, globs in tests.items() if is_about(rule, globs))


def agreement_mistakes(case, tests):
    for test in tests:
        theirs, ours, why = test in case.get("python", {}), bool(case.get("ours", {}).get(test)), case.get("differs", {}).get(test)
        if theirs and not ours:
            yield f"{test} fails in Python alone: opcheck-c misses something"
        elif theirs != ours and not why:
            yield f"{test} fails in opcheck-c alone, and no reason is given"
        elif theirs == ours and why:
            yield f"{test}: a reason for a difference, and there is none"


def mistakes(expected, theirs, ours):
    for name, case in expected["cases"].items():
        operator, tests = case["operator"], expected["tests"]
        for wrong in (*python_mistakes(case, theirs[operator], tests), *our_mistakes(case, ours[operator], tests), *agreement_mistakes(case, tests)):
            yield f"{name} {operator}: {wrong}"


def forgotten(expected, ours):
    named = [case["operator"] for case in expected["cases"].values()]
    yield from (f"{name} is in the library and in no case" for name in sorted(set(ours) - set(named)))
    yield from (f"{name} is in two cases" for name in sorted({name for name in named if named.count(name) > 1}))


# ---- the table in the summary of evidence ----


def differences(expected):
    for name, case in expected["cases"].items():
        for test, why in case.get("differs", {}).items():
            yield [f"{name} `{case['operator'].partition('::')[2]}`", f"`{test.removeprefix('test_')}`", "passes", words(case["ours"][test]), cell(why, 400)]


def found_beyond(expected):
    """The rules that none of the tests is about, each with its cases."""
    cases = {}
    for name, case in expected["cases"].items():
        for rule in case.get("beyond", []):
            cases.setdefault(rule, []).append(name)
    return "; ".join(f"`{rule}` in {', '.join(names)}" for rule, names in sorted(cases.items()))


def readme_block(written):
    first, *later = written["torches"]
    expected = expected_of(written, first)
    rows = list(differences(expected))
    cases, tests = len(expected["cases"]), len(expected["tests"])
    total = cases * tests
    others = "".join(f" (with {version} in {total - len(list(differences(expected_of(written, version))))})" for version in later)
    return f"""{BEGIN}
The operators of PyTorch's own tests of opcheck, written in C++ (`fixtures/parity`): {cases} cases with {tests} tests each. Python and
opcheck-c give the same verdict in {total - len(rows)} of {total}{others}; in the others opcheck-c finds more. Findings of opcheck-c that none of the
tests is about: {found_beyond(expected)}.

{table(["case", "test", "Python", "opcheck-c", "why"], rows)}
{END}"""


def differences_written(written, write):
    """Writes them into the summary of evidence, or says that they are not there."""
    readme = ROOT / SUMMARY
    text = readme.read_text(encoding="utf-8")
    renewed = with_block(text, readme_block(written))
    if write:
        readme.write_text(renewed, encoding="utf-8")
    elif renewed != text:
        yield f"{SUMMARY} does not have these differences: run this again with --write"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opcheck", required=True)
    parser.add_argument("--library", help="libparity_ops.so")
    parser.add_argument("--module", type=pathlib.Path, help="a Python module instead")
    parser.add_argument("--python", required=True, help="with torch in it")
    parser.add_argument("--write", action="store_true", help="write the differences into reports/evidence/README.md")
    parser.add_argument("--show", action="store_true", help="print what both sides said")
    options = parser.parse_args()
    if bool(options.library) == bool(options.module) or (options.module and options.write):
        parser.error("give --library, with --write or without it, or --module")
    name, folder = (options.module.stem, options.module.resolve().parent) if options.module else ("parity", FOLDER)
    written = read_json(f"{name}.parity.json" if options.module else "parity.expect.json", folder)
    samples = [sample for file in ([f"{name}.samples.json"] if options.module else SAMPLES) for sample in read_json(file, folder)["samples"]]
    operators = sorted(case["operator"] for case in written["cases"].values())
    head, theirs = python_verdicts(options.python, options.library, samples, operators, name if options.module else "parity_fakes", folder)
    if release(head["torch"]) not in map(release, written["torches"]):
        print(f"SKIP: torch {head['torch']}: the expectations are of {', '.join(written['torches'])}")
        return OTHER_TORCH
    expected = expected_of(written, head["torch"])
    ours = our_verdicts(report_on_module(options.opcheck, options.module, options.python) if options.module
                        else report_on_library(options.opcheck, options.library, operators))  # fmt: skip
    if options.show:
        print(json.dumps({name: {"python": theirs[name], "ours": ours[name]} for name in operators}, indent=1))
    wrong = [*mistakes(expected, theirs, ours), *forgotten(expected, ours)]
    if set(head["default"]) != set(expected["tests"]):
        wrong.append(f"the default tests of opcheck are {', '.join(head['default'])}")
    if options.library:
        wrong += differences_written(written, write=options.write and not wrong)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
