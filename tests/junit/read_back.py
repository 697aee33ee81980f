"""Reads a JUnit report with junitparser and compares it with the JSON report of the same journal.

usage: read_back.py JUNIT JSON
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


def expected(report):
    """Name and kind of every testcase that the JSON report asks for; a warning is a passed test."""
    for result in report["results"]:
        warning = result["verdict"] == "fail" and result["severity"] == "warning"
        yield result["case"], "pass" if warning else result["verdict"]
    for library in report["libraries"]:
        if library["status"] == "failed":
            yield f"load {library['path']}", "error"


def main():
    junit = junitparser.JUnitXml.fromfile(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        report = json.load(file)

    cases = [case for suite in junit for case in suite]
    found = collections.Counter((case.name, kind_of(case)) for case in cases)
    wanted = collections.Counter(expected(report))
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
    print(f"{len(cases)} testcases: {dict(kinds)}")


main()
