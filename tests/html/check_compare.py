"""The page of two runs compared: strictly valid markup, and the same facts as the JSON of the comparison.

usage: check_compare.py OPCHECK_C JOURNAL

JOURNAL is the earlier run; the later ones are made from it. Exits with 77 if this Python has no html5lib (scripts/setup --full installs it).
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import page

MARKUP = "</script></code><img src=x onerror=alert(1)><!--\"' &amp; \u202e\x1b[31m"


def changed(record):
    """Something of each kind: new, worse, fixed, changed, gone; operators changed, added, removed; no longer checked."""
    if record["t"] == "operator" and record["name"] == "my_ops::copy":
        yield {**record, "name": "my_ops::added" + MARKUP, "schema": MARKUP}
        record = {**record, "schema": f"my_ops::copy(Tensor x, *, str s='{MARKUP}') -> Tensor", "tags": ["pt2_compliant_tag<b>"]}
    if record["t"] == "result":
        message, rule = record["message"] or "", record["rule"]
        if "agrees with float64" in message:
            record = {**record, "verdict": "fail", "rule": "dtype.wrong_result", "message": MARKUP, "repro": MARKUP}
        elif rule == "registration.no_meta_kernel":
            record = {**record, "severity": "error"}
        elif rule == "signal.SIGFPE":
            record = {**record, "verdict": "pass", "rule": None}
        elif record["check"] == "mutation":
            record = {**record, "verdict": "skip", "rule": None, "reason": "budget"}
    yield record


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def compare(opcheck_c, folder, old, new, worse):
    html, report = folder / "page.html", folder / "compare.json"
    done = subprocess.run([opcheck_c, "report", "compare", "--html", html, "--json", report, old, new], check=False, capture_output=True, text=True)
    assert done.returncode == worse, done.stderr
    shown, wanted = page.Page(html.read_bytes()), json.loads(report.read_text(encoding="utf-8"))
    assert shown.verdict() == ("WORSE" if worse else "NOT WORSE")
    assert f"{shown.verdict()}: {shown.lead()}" == " ".join(done.stdout[done.stdout.rindex(shown.verdict() + ": "):].split())
    check_facts(shown, wanted)
    return shown, wanted


def check_facts(shown, wanted):
    problems = shown.problems()
    assert [problem["kind"] for problem in problems] == [problem["kind"] for problem in wanted["problems"]]
    for here, there in zip(problems, wanted["problems"]):
        problem = there["new"] or there["old"]
        assert (here["id"], here["rule"], here["severity"], here["count"]) == (problem["id"], problem["rule"], problem["severity"], problem["count"])
        assert here["operators"] == [page.clean(name) for name in problem["operators"]], problem["id"]
        assert page.is_shown(here["message"], problem["message"]) and page.is_shown(here["repro"], problem["repro"] or ""), problem["id"]
        assert here["facts"].get("why") == there["why"], problem["id"]
        assert here["facts"].get("where") == problem["location"], problem["id"]
        assert bool(here["why"] and here["fix"]) == (there["kind"] in ("new", "worse")), problem["id"]

    summary, bars = wanted["summary"], shown.bars()
    assert {kind: bars["Problems"].get(kind, 0) for kind in ("new", "worse", "fixed", "changed", "gone")}.items() <= summary.items()
    assert sum(bars["Operators"].values()) == len(wanted["operators"]) == summary["operators"]
    assert sum(bars["Checks of operators"].values()) == len(wanted["no_longer_checked"]) == summary["no_longer_checked"]

    operators = [element for element in shown.ids["operators"].iter("details") if element.get("class") == "operator"]
    assert len(operators) == len(wanted["operators"])
    for element, there in zip(operators, wanted["operators"]):
        name, kind = (page.text_of(part) for part in element.find("summary"))
        assert (name, kind) == (page.clean(there["name"]), there["kind"])
        facts = {part.get("data-fact"): page.text_of(part) for part in element.iter("dd")}
        if "schema" in there:
            assert [facts["old schema"], facts["new schema"]] == [page.clean(schema) for schema in there["schema"]]
        assert kind == "changed" or facts["schema"], name

    rows = [[page.text_of(cell) for cell in row] for body in shown.ids["coverage"].iter("tbody") for row in body]
    assert [row[:3] for row in rows] == [[page.clean(lost["operator"]), lost["part"] or "all checks", str(lost["cases"])] for lost in wanted["no_longer_checked"]]
    assert all(row[3] for row in rows)


def main(opcheck_c, journal):
    records = [json.loads(line) for line in pathlib.Path(journal).read_text(encoding="utf-8").splitlines()]
    later = [new for record in records for new in changed(record)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        old, new, unloaded = (folder / name for name in ("old.jsonl", "new<i>.jsonl", "unloaded.jsonl"))
        old.write_text(lines(records), encoding="utf-8")
        new.write_text(lines(later), encoding="utf-8")
        failed = [{**record, "status": "failed", "error": {"kind": "x", "message": MARKUP}} if record["t"] == "library" else record
                  for record in records if record["t"] not in ("operator", "result", "end")]
        unloaded.write_text(lines(failed), encoding="utf-8")

        shown, wanted = compare(opcheck_c, folder, old, new, 1)
        summary = wanted["summary"]
        assert all(summary[kind] for kind in ("new", "worse", "fixed", "gone", "operators", "no_longer_checked")), summary
        assert len(list(shown.root.iter("script"))) == 1, "a text ended the script, or began one"
        text = page.text_of(shown.root.find("body"))
        assert "onerror" in text and "\x1b" not in text and "\u202e" not in text

        backwards, wanted = compare(opcheck_c, folder, new, old, 1)
        assert "removed" in backwards.text("operators") and backwards.bars()["Operators"]["removed"] == 1

        same, wanted = compare(opcheck_c, folder, old, old, 0)
        assert not same.problems() and "the same problems" in same.lead()

        gone, wanted = compare(opcheck_c, folder, old, unloaded, 1)
        assert "can no longer be loaded: " + page.clean(MARKUP) in gone.text("summary") and "the run stopped early" in gone.text("summary")


if __name__ == "__main__":
    main(*sys.argv[1:])
