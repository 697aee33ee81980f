"""What the checks could not say: every reason for a skip, and every pass that rests on little, by check.

Runs each library of fixtures/broken with its samples, and reads the reports that --precision keeps (--reports). A reason is a skip's text without names and
numbers. Where an operator refuses its arguments, crashed before, or has no inputs, the reason says nothing of the check: those are counted, not listed."""

import collections
import datetime
import json
import pathlib
import re
import statistics

import our_side
from against_tables import machine, table
from processes import ROOT

EVIDENCE = "reports/evidence/skips.md"
OF_THE_OPERATOR = ("rejected", "after_crash", "no_sample", "xfail", "off")
LONGEST = 150
READ = "## What was read"


def reason_of(message):
    """'argument x of op::a has 3 elements' and the same of another operator are one reason."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", message or "")
    text = re.sub(r"\b\w+::[\w.]+|returns\[\d+\](\[[^\]]*\])?", "…", text)
    text = re.sub(r"\b(0x)?\d[\w.]*(e[-+]?\d+)?", "N", text.splitlines()[0] if text else "")
    return (text if len(text) <= LONGEST else text[:LONGEST] + "…").replace("|", "\\|").strip()


class Tally:
    """Of one check: {(kind, reason): [cases, operators, an example]}, other skips, and what its passes rest on."""

    def __init__(self):
        self.reasons = collections.defaultdict(lambda: [0, set(), ""])
        self.elsewhere = collections.Counter()
        self.calls, self.compared = [], []
        self.proved = set()

    def add(self, result):
        if result["verdict"] == "skip":
            self.add_skip(result)
            return
        self.proved.add(result["operator"])
        if result["verdict"] == "pass":
            self.calls.append(result["evidence"].get("calls", 0))
            self.compared.append(result["evidence"].get("compared", 0))

    def add_skip(self, result):
        kind = result["reason"]
        if kind in OF_THE_OPERATOR:
            self.elsewhere[kind] += 1
            return
        entry = self.reasons[kind, reason_of(result["message"])]
        entry[0] += 1
        entry[1].add(result["operator"])
        entry[2] = entry[2] or result["case"]


def tally(reports):
    by_check = collections.defaultdict(Tally)
    for report in reports:
        for result in report["results"]:
            by_check[result["check"]].add(result)
    return by_check


def pass_rows(by_check):
    for check, told in sorted(by_check.items()):
        if told.calls:
            yield [check, len(told.proved), len(told.calls), f"{statistics.median(told.calls):g}", sum(not calls for calls in told.calls),
                   f"{statistics.median(told.compared):g}", sum(not compared for compared in told.compared)]  # fmt: skip


def skip_rows(by_check):
    for check, told in sorted(by_check.items()):
        for (kind, reason), (cases, operators, example) in sorted(told.reasons.items(), key=lambda item: -item[1][0]):
            yield [check, kind, cases, len(operators), reason, f"`{example}`"]


def other_rows(by_check):
    for check, told in sorted(by_check.items()):
        if told.elsewhere:
            yield [check, *(told.elsewhere[kind] for kind in OF_THE_OPERATOR)]


def tables(by_check):
    passes = table(["check", "operators with a verdict", "passes", "calls of a pass, median", "without a call", "elements compared, median", "without one"], pass_rows(by_check))
    skips = table(["check", "kind", "cases", "operators", "what it says", "for example"], skip_rows(by_check))
    others = table(["check", *OF_THE_OPERATOR], other_rows(by_check))
    return "\n\n".join(["## Passes", passes, "## Skips because of the check", skips, "## Skips because of the operator", others])


def reports_of(tool, build, folder):
    """(what was read, the reports)."""
    kept = sorted(pathlib.Path(folder).glob("**/*.run")) if folder else []
    reports = []
    for name, library, _ in our_side.libraries(build):
        report, _ = our_side.run_report(tool, ["--samples", our_side.sample_file(name), *our_side.options_of(name)], library)
        reports.append(report)
    words = [f"{len(reports)} libraries of fixtures/broken, with samples"]
    for path in kept:
        with open(path.with_suffix(".json"), encoding="utf-8") as stream:
            reports.append(json.load(stream))
    if kept:
        words.append(f"{len(kept)} libraries of the corpus, without: {', '.join(path.stem for path in kept)}")
    return "; ".join(words), reports


def main(tool, build, options):
    page = ROOT / EVIDENCE
    what, reports = reports_of(tool, build, options.reports)
    told = tables(tally(reports))
    print(told)
    if options.write:
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        read = READ + text.partition(READ)[2] if READ in text else READ + "\n"
        page.write_text(f"""# What the checks could not say

Written by `scripts/bench --skips --write` on {datetime.date.today().isoformat()}, torch {reports[0]['tool']['torch']}, {machine()}: {what}.

A reason is the text of a skip, without names and numbers. A pass without an element compared is one of a check that looks at something else: places in memory,
metadata, gradients, what is left behind.

{told}

{read}""", encoding="utf-8")
    return 0
