"""Reads a JUnit report with junitparser and compares it with the JSON report of the same journal.

usage: read_back.py JUNIT JSON operator|case

A testcase is an operator and check, or a case (--junit-cases).
"""
import collections
import json
import sys

import junitparser


def kind_of(case):
    """What a dashboard shows for a testcase."""
    kinds = {"Skipped": "skip", "Failure": "fail", "Error": "error"}
    assert len(case.result) <= 1, f"{case.name} has {len(case.result)} results"
    return kinds[type(case.result[0]).__name__] if case.result else "pass"


def shown(result):
    """A warning is a passed test."""
    warning = result["verdict"] in ("fail", "error") and result["severity"] == "warning"
    return "pass" if warning else result["verdict"]


def expected(report, by_case):
    """Name and kind of every testcase that the JSON report asks for."""
    checks = collections.defaultdict(set)
    for result in report["results"]:
        if by_case:
            yield result["case"], shown(result)
        checks[f"{result['operator']}/{result['check']}"].add(shown(result))
    for name, kinds in checks.items():
        if not by_case:
            yield name, next(kind for kind in ("error", "fail", "pass", "skip") if kind in kinds)
    for library in report["libraries"]:
        if library["status"] == "failed":
            yield f"load {library['path']}", "error"


def check_problems(report, cases):
    """Each problem stands in a testcase of each of its operators, which failed if the problem is an error."""
    for problem in report["problems"]:
        for operator in problem["operators"]:
            named = [case for case in cases if case.name.startswith(f"{operator}/") and problem["id"] in text_of(case)]
            assert named, f"no testcase of {operator} names problem {problem['id']}"
            assert problem["severity"] == "warning" or any(kind_of(case) in ("fail", "error") for case in named), problem


def text_of(case):
    return "".join([result.text or "" for result in case.result] + [case.system_out or ""])


def main():
    junit = junitparser.JUnitXml.fromfile(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        report = json.load(file)

    cases = [case for suite in junit for case in suite]
    found = collections.Counter((case.name, kind_of(case)) for case in cases)
    wanted = collections.Counter(expected(report, sys.argv[3] == "case"))
    extra = found - wanted
    assert not wanted - found, f"missing: {wanted - found}"
    # The one testcase that is about the run itself.
    assert set(extra) <= {("run", "error")}, f"nobody asked for: {extra}"
    assert bool(extra) or report["run"]["complete"], "an incomplete run looks complete"

    names = [(case.classname, case.name) for case in cases]
    assert len(names) == len(set(names)), "a name is there twice"
    kinds = collections.Counter(kind for _, kind in found.elements())
    for suite in junit:
        own = collections.Counter(kind_of(case) for case in suite)
        stated = (suite.tests, suite.failures, suite.errors, suite.skipped)
        assert stated == (own.total(), own["fail"], own["error"], own["skip"]), f"{suite.name} states {stated}, holds {own}"
    assert (junit.tests, junit.failures, junit.errors) == (len(cases), kinds["fail"], kinds["error"]), "the totals are wrong"
    for case in cases:
        for result in case.result:
            assert result.type, f"{case.name}: no type"
            assert len(result.message or "") <= 512, f"{case.name}: a message of {len(result.message)} characters"
    if sys.argv[3] == "operator":
        check_problems(report, cases)
    print(f"{len(cases)} testcases: {dict(kinds)}")


main()
