"""All of ATen as a load test: how many operators came to a valid input and to verdicts, why the others did not, and what the run cost.

The report of such a run is hundreds of megabytes, one object a line: it is read line by line."""

import collections
import json
import os
import re
import sys
import tempfile

from against_tables import cell, machine, table
from processes import ROOT, timed

EVIDENCE = "reports/evidence/aten.md"
REPORTED = (0, 1)  # nothing found, findings
WANTED_PARENT_MIB, WANTED_CPU_MINUTES = 100, 30

# Why an operator has no input here; the first that fits. Anything else was searched and not found.
REASONS = (
    ("no kernel for the CPU", r"it has no kernel for the CPU|fake kernel"),
    ("calls operators without a kernel for the CPU", r"its kernel calls operators that have none"),
    ("an argument that the harness cannot make", r"is of type .*, which the harness cannot make|variable arguments|no schema"),
    ("names of dimensions, which no tensor of the harness has", r"symbols must have a namespace|[Nn]amed tensors"),
    ("another device", r"CUDA|cuFFT|cuDNN|MPS|XLA|Vulkan|HIP|MIOpen|accelerator|pin_memory|pinned"),
    ("a sparse, quantised, nested or MKLDNN tensor", r"[Ss]parse|[Qq]uantiz|quint8|qint|[Nn]ested|[Mm]kldnn|jagged|crow_indices|col_indices|coalesce"),
    ("it only crashes", r"every|of them crashed"),
    ("it returns without an effect", r"returned only without an effect"),
)
PARTS = ("operators", "results", "notes")


def entries(lines):
    """(part, object) of each object of a report's lists."""
    part = None
    for line in lines:
        begin = re.match(r'  "(\w+)": \[', line)
        if begin:
            part = begin.group(1)
        elif part in PARTS and line.startswith("    "):
            yield part, json.loads(line.rstrip().rstrip(","))
        elif line.startswith("  ]"):
            part = None
        elif line.startswith('  "run": '):
            yield "run", json.loads(line[len('  "run": ') :].rstrip().rstrip(","))


def reason_of(operator):
    detail = operator.get("sample_detail") or ""
    return next((name for name, pattern in REASONS if re.search(pattern, detail)), "not found by the search")


class Coverage:
    """What a report says of each operator that was selected; those have results."""

    def __init__(self, lines):
        listed, self.results, self.notes, self.complete = {}, collections.defaultdict(collections.Counter), [], None
        self.seconds, self.called, self.rules = collections.Counter(), set(), collections.Counter()
        found = collections.defaultdict(set)
        for part, entry in entries(lines):
            if part == "operators":
                listed[entry["name"]] = {key: entry.get(key) for key in ("sample_source", "sample_detail", "search")}
            elif part == "notes":
                self.notes.append(entry)
            elif part == "run":
                self.complete = entry["complete"]
            else:
                name, verdict = entry["operator"], entry["verdict"]
                self.results[name][verdict] += 1
                self.seconds[name] += entry["seconds"]
                if verdict in ("pass", "fail") and entry["check"] != "registration":
                    self.called.add(name)
                if verdict in ("fail", "error"):
                    found[name].add(entry["rule"])
        self.operators = {name: listed.get(name, {}) for name in self.results}
        self.silent = [name for name, entry in listed.items() if entry.get("sample_source") not in (None, "none") and name not in self.results]
        self.findings = dict(found)
        for rules in found.values():
            self.rules.update(rules)

    def with_input(self):
        return {name for name, operator in self.operators.items() if operator.get("sample_source") not in (None, "none")}

    def reasons(self):
        """Operators without an input, by why."""
        without = collections.defaultdict(list)
        for name in sorted(set(self.operators) - self.with_input()):
            without[reason_of(self.operators[name])].append(name)
        return dict(sorted(without.items(), key=lambda item: -len(item[1])))

    def unreasoned(self):
        """Neither an input nor a word why: there must be none."""
        return [name for name in set(self.operators) - self.with_input() if not self.operators[name].get("sample_detail")]

    def rows(self):
        total = len(self.operators)
        crashed = {name for name, verdicts in self.results.items() if verdicts["error"]}
        states = collections.Counter((operator.get("search") or {}).get("state", "not searched") for operator in self.operators.values())
        counts = [("operators", total), ("with a valid input", len(self.with_input())), ("with verdicts from calls", len(self.called)),
                  ("with a finding", len(self.findings)), ("of them a crash, a hang or too much memory", len(crashed)),
                  ("without an input, each with its reason", total - len(self.with_input()) - len(self.unreasoned())),
                  ("without an input and without a reason", len(self.unreasoned()))]  # fmt: skip
        return [[what, count, f"{100 * count / total:.1f} %" if total else ""] for what, count in counts], states


def run(tool, shard, jobs):
    """The coverage, and what the run cost."""
    with tempfile.TemporaryDirectory() as folder:
        report, journal = os.path.join(folder, "report.json"), os.path.join(folder, "journal.jsonl")
        command = [tool, "run", "--namespace", "aten", "--json", report, "--journal", journal]
        command += ["--shard", shard] if shard else []
        command += ["--jobs", str(jobs)] if jobs else []
        wall, cpu, marks = timed(command, ok=REPORTED, watch=True)
        with open(report, encoding="utf-8") as stream:
            coverage = Coverage(stream)
        cost = {"wall": wall, "cpu": cpu, "parent_mib": marks.get("parent", 0) / 1024, "worker_mib": marks.get("opcheck-worker", 0) / 1024,
                "report_mib": os.path.getsize(report) / 2**20, "journal_mib": os.path.getsize(journal) / 2**20}  # fmt: skip
    return coverage, cost


def cost_lines(coverage, cost):
    results = sum(sum(verdicts.values()) for verdicts in coverage.results.values())
    slowest = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in coverage.seconds.most_common(5))
    search = sum((operator.get("search") or {}).get("cpu_seconds", 0) for operator in coverage.operators.values())
    return [
        f"{cost['cpu'] / 60:.1f} minutes of processor time ({search / 60:.1f} of them searching inputs), {cost['wall'] / 60:.1f} by the clock; "
        f"wanted for all of ATen: at most {WANTED_CPU_MINUTES} of processor time, 15 by the clock of two processors.",
        f"Peak memory of opcheck-c {cost['parent_mib']:.0f} MiB (wanted: under {WANTED_PARENT_MIB}), of a worker {cost['worker_mib']:.0f} MiB.",
        f"{results} results; the journal takes {cost['journal_mib']:.0f} MiB, the JSON report {cost['report_mib']:.0f} MiB.",
        f"Longest in their cases: {slowest}.",
    ]  # fmt: skip


def summary(coverage):
    rows, states = coverage.rows()
    reasons = [[reason, len(names)] for reason, names in coverage.reasons().items()]
    told = ", ".join(f"{count} {state}" for state, count in states.most_common())
    return "\n\n".join([table(["ATen", "operators", ""], rows), f"States of the searches: {told}.", table(["no input, because", "operators"], reasons)])


def evidence(coverage, cost, shard):
    part = f"--shard {shard}: a part of ATen" if shard else "all of ATen"
    rules = [[f"`{rule}`", count] for rule, count in coverage.rules.most_common()]
    without = [[f"`{name}`", reason, cell(coverage.operators[name].get("sample_detail") or "")] for reason, names in coverage.reasons().items() for name in names]
    costs = "\n".join(f"- {line}" for line in cost_lines(coverage, cost))
    return f"""# ATen as a load test

Written by `scripts/bench --aten --write` ({part}). {machine()}.

{summary(coverage)}

{costs}

## What was found, by rule

{table(["rule", "operators"], rules)}

## Operators without an input

{table(["operator", "because", "in the words of the search"], without)}
"""


def main(tool, shard, jobs, write):
    coverage, cost = run(tool, shard, jobs)
    print("\n".join([summary(coverage), "", *cost_lines(coverage, cost), *(f"note: {note}" for note in coverage.notes)]))
    if write:
        (ROOT / EVIDENCE).write_text(evidence(coverage, cost, shard), encoding="utf-8")
    owed = [f"{name}: neither an input nor a reason" for name in coverage.unreasoned()] + [f"{name}: an input and no result" for name in coverage.silent]
    if not coverage.complete:
        owed.append("the run is not complete")
    if cost["parent_mib"] > WANTED_PARENT_MIB:
        owed.append(f"opcheck-c took {cost['parent_mib']:.0f} MiB")
    for line in owed:
        print(f"bench: {line}", file=sys.stderr)
    return 1 if owed else 0
