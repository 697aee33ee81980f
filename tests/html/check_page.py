"""The HTML report of a journal: strictly valid markup, and the same facts as the JSON report.

usage: check_page.py OPCHECK_C JOURNAL

Exits with 77 if this Python has no html5lib (scripts/setup --full installs it).
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import page


def main(opcheck_c, journal):
    with tempfile.TemporaryDirectory() as folder:
        html, report = pathlib.Path(folder, "report.html"), pathlib.Path(folder, "report.json")
        subprocess.run([opcheck_c, "report", "render", "--html", html, "--json", report, journal], check=True)
        shown, wanted = page.Page(html.read_bytes()), json.loads(report.read_text(encoding="utf-8"))
    compare(shown, wanted)


def compare(shown, wanted):
    problems = shown.problems()
    assert [problem["id"] for problem in problems] == [problem["id"] for problem in wanted["problems"]]
    for here, there in zip(problems, wanted["problems"]):
        assert (here["rule"], here["severity"], here["count"]) == (there["rule"], there["severity"], there["count"]), there["id"]
        assert here["operators"] == there["operators"], there["id"]
        assert page.is_shown(here["repro"], there["repro"]), there["id"]
        assert page.is_shown(here["message"], there["message"]), there["id"]
        assert here["why"] and here["fix"], f"{there['rule']} is not explained"

    cases = shown.cases()
    assert len(cases) == len(wanted["results"])
    for here, there in zip(cases, wanted["results"]):
        verdict = "warning" if there["verdict"] in ("fail", "error") and there["severity"] == "warning" else there["verdict"]
        detail = there["rule"] or there["reason"]
        assert here["case"] == there["case"]
        assert here["outcome"] == " ".join(filter(None, [verdict, detail])), there["case"]

    summary, counts = wanted["summary"], shown.check_counts()
    assert counts["warning"] == summary["warnings"], counts
    assert all(counts[name] == summary[name] for name in ("pass", "fail", "error", "skip")), counts
    assert shown.verdict() in ("PASSED", "FAILED", "INCOMPLETE", "NOTHING CHECKED")
    assert ("This report is incomplete" in shown.text("main")) != wanted["run"]["complete"]
    for library in wanted["libraries"]:
        assert page.clean(library["path"]) in shown.text("run")


if __name__ == "__main__":
    main(*sys.argv[1:])
