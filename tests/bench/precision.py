"""How many of the errors that opcheck-c reports on public libraries are true: runs each library of the corpus without samples, holds its problems against the
labels, and beside it says how many planted defects are found."""

import collections
import datetime
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import corpus
import labels
import our_side
from against_tables import machine, table
from processes import ROOT

EVIDENCE = "reports/evidence/precision.md"
REPORTED = (0, 1, 4, 5)  # nothing found, findings, a library that did not load, nothing ran: there is a report
WANTED, WANTED_HELD_OUT = 95, 90


# --- One library ----------------------------------------------------------------------------------------------------------------


def run(tool, words, seed, base):
    """Runs the tool and leaves BASE.json, BASE.xml and BASE.run; what is there already is taken as it is. None, or why there is no report."""
    if pathlib.Path(f"{base}.run").is_file():
        return None
    command = [tool, "run", "--seed", str(seed), "--json", f"{base}.json", "--junit", f"{base}.xml", *words]
    start = time.perf_counter()
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    seconds = time.perf_counter() - start
    pathlib.Path(f"{base}.txt").write_text(ended.stdout, encoding="utf-8")
    if ended.returncode not in REPORTED:
        return "\n  ".join([f"{tool} ended with {ended.returncode}:", *ended.stdout.splitlines()[-corpus.LOG_LINES :]])
    with open(f"{base}.run", "w", encoding="utf-8") as stream:
        json.dump({"seconds": seconds, "exit": ended.returncode}, stream)
    return None


def selected(entry, report):
    """Names of the operators that were to be checked."""
    if "operators" in entry:
        return set((corpus.REAL / entry["operators"]).read_text(encoding="utf-8").split())
    return {operator["name"] for operator in report["operators"]} | {one["name"] for one in report["classes"]}


def figures(entry, base):
    """What a report says, in numbers."""
    with open(f"{base}.json", encoding="utf-8") as stream:
        report = json.load(stream)
    with open(f"{base}.run", encoding="utf-8") as stream:
        seconds = json.load(stream)["seconds"]
    results = report["results"]
    names = {one["name"] for one in (*report["operators"], *report["classes"])}  # results may be of a whole library, too
    called = {r["operator"] for r in results if r["verdict"] in ("pass", "fail", "error") and r["check"] not in ("registration", "architecture")} & names
    groups = {(r["operator"], r["rule"]) for r in results if r["verdict"] in ("fail", "error") and r["severity"] == "error"}
    return {
        "name": entry["name"], "operators": len(selected(entry, report)), "called": len(called), "seconds": seconds, "cases": len(results), "groups": len(groups),
        "problems": report.get("problems"), "json": os.path.getsize(f"{base}.json"), "junit": os.path.getsize(f"{base}.xml"),
        "failed": [one for one in report["libraries"] if one["status"] != "loaded"], "tool": report["tool"],
    }  # fmt: skip


# --- Labels ---------------------------------------------------------------------------------------------------------------------


def counted(problems, known):
    """Of problems, how many have which label; "unlabelled" the rest."""
    counts = collections.Counter({word: 0 for word in (*labels.LABELS, "unlabelled")})
    for problem in problems:
        entry = known.get(problem["id"])
        counts[labels.standing_label(entry) if entry else "unlabelled"] += 1
    return counts


def of_severity(row, severity):
    return [problem for problem in row["problems"] if problem["severity"] == severity]


def share(counts):
    """True among all; where some are not labelled, the least and the most that it may be."""
    total = sum(counts.values())
    if not total:
        return "–"
    least, most = 100 * counts["true"] / total, 100 * (counts["true"] + counts["unlabelled"]) / total
    return f"{least:.0f} %" if not counts["unlabelled"] else f"{least:.0f}–{most:.0f} %"


def label_row(title, rows, known):
    errors = [problem for row in rows for problem in of_severity(row, "error")]
    warnings = [problem for row in rows for problem in of_severity(row, "warning")]
    counts = counted(errors, {key: entry for row in rows for key, entry in known[row["name"]].items()})
    return [title, sum(row["operators"] for row in rows), sum(row["called"] for row in rows), f"{sum(row['seconds'] for row in rows):.0f}",
            sum(row["cases"] for row in rows), f"{len(errors)} / {len(warnings)}", counts["true"], counts["input"], counts["false"], counts["unlabelled"],
            share(counts)]  # fmt: skip


def precision_table(listed, rows, known):
    head = ["library", "operators", "called", "seconds", "cases", "errors / warnings", "true", "input", "false", "unlabelled", "precision of errors"]
    held = [row for row in rows if row["name"] in listed["hold_out"]]
    others = [row for row in rows if row["name"] not in listed["hold_out"]]
    lines = [label_row(f"{row['name']} {entry_of(listed, row)['version']}", [row], known) for row in others]
    lines += [label_row("**corpus**", others, known)] if others else []
    lines += [label_row(f"hold-out: {row['name']} {entry_of(listed, row)['version']}", [row], known) for row in held]
    lines += [label_row("**hold-out**", held, known)] if held else []
    return table(head, lines)


def entry_of(listed, row):
    return next(entry for entry in listed["libraries"] if entry["name"] == row["name"])


def drawn_warnings(listed, rows):
    """[(row, problem)] of the warnings that are labelled too: drawn over the corpus, the hold-out left out."""
    every = {(row["name"], problem["id"]): (row, problem) for row in rows if row["name"] not in listed["hold_out"] for problem in of_severity(row, "warning")}
    return [every[key] for key in sorted(labels.drawn(every, listed["warnings"], listed["seed"]))]


def warnings_line(listed, rows, known):
    drawn = drawn_warnings(listed, rows)
    counts = collections.Counter()
    for row, problem in drawn:
        counts.update(counted([problem], known[row["name"]]))
    return f"{len(drawn)} warnings drawn with seed {listed['seed']}: " + ", ".join(f"{counts[word]} {word}" for word in (*labels.LABELS, "unlabelled")) + "."


def stale_line(rows, known):
    stale = {row["name"]: len(set(known[row["name"]]) - {problem["id"] for problem in row["problems"]}) for row in rows}
    gone = ", ".join(f"{name} {count}" for name, count in stale.items() if count)
    return f"Labels of problems that this run does not show: {gone}." if gone else ""


def write_unlabelled(path, listed, rows, known):
    """A form to fill in: what has no label yet, by library."""
    form = collections.defaultdict(list)
    wanted = [(row, problem) for row in rows for problem in of_severity(row, "error")] + drawn_warnings(listed, rows)
    for row, problem in wanted:
        if problem["id"] not in known[row["name"]]:
            form[row["name"]].append({"id": problem["id"], "operators": problem["operators"], "rule": problem["rule"], "severity": problem["severity"],
                                      "label": "", "source": "", "why": "", "call": "", "second": "", "_message": problem["message"],
                                      "_standing": problem["standing"], "_repro": problem["repro"]})  # fmt: skip
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(form, stream, indent=2)


# --- Before and after, and the recall -------------------------------------------------------------------------------------------


def mib(size):
    return f"{size / 2**20:.1f}"


def cost_table(before, after):
    """Two runs of the same libraries: seconds, cases, groups of errors (operator and rule, which both have), sizes."""
    head = ["library", "seconds", "cases", "error groups", "error problems after", "JSON, MiB", "JUnit, MiB"]
    pairs = [(old, new) for new in after for old in before if old["name"] == new["name"]]

    def line(title, pairs):
        both = [[sum(row[key] for row in side) for side in zip(*pairs)] for key in ("seconds", "cases", "groups", "json", "junit")]
        words = [f"{both[0][0]:.0f} → {both[0][1]:.0f}", *(f"{a} → {b}" for a, b in both[1:3]), sum(len(of_severity(new, "error")) for _, new in pairs),
                 *(f"{mib(a)} → {mib(b)}" for a, b in both[3:])]  # fmt: skip
        return [title, *words]

    return table(head, [*(line(new["name"], [(old, new)]) for old, new in pairs), *([line("**all**", pairs)] if pairs else [])])


def contract_module():
    """tests/contract/unchecked.py, which judges the operators that check nothing and their twins."""
    spec = importlib.util.spec_from_file_location("unchecked", ROOT / "tests/contract/unchecked.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def planted_broken(tool, build):
    """(found, missed, look-alikes with an error) of fixtures/broken, each library once with its samples."""
    found, missed, alarms = [], [], []
    for name, library, expectations in our_side.libraries(build):
        for words in {tuple(our_side.arguments_of(one, str(our_side.FIXTURES))) for one in expectations.values()}:
            report, _ = our_side.run_report(tool, ["--samples", our_side.sample_file(name), *our_side.options_of(name), *words], library)
            for operator, expectation in expectations.items():
                if tuple(our_side.arguments_of(expectation, str(our_side.FIXTURES))) != words:
                    continue
                rules = our_side.findings_of(report, operator)
                if expectation["primary"]:
                    (found if expectation["primary"] in rules else missed).append(operator)
                elif any(severity == "error" and rule not in expectation.get("allowed", []) for rule, (_, _, severity) in rules.items()):
                    alarms.append(operator)
    return found, missed, alarms


def recall_table(tool, build):
    """The table, and what was missed or falsely alarmed."""
    unchecked, lines, owed = contract_module(), [], []
    found, missed, alarms = planted_broken(tool, build)
    lines.append(["fixtures/broken, with samples", f"{len(found)} of {len(found) + len(missed)}", len(alarms)])
    owed += [f"not found: {name}" for name in missed] + [f"an error on a correct operator: {name}" for name in alarms]
    options = type("Options", (), {"opcheck": tool, "folder": str(build / "fixtures"), "timeout": None, "prefix": "unchecked"})
    for mode, words in unchecked.MODES.items():
        rows = []
        for path in sorted((ROOT / "fixtures/unchecked").glob("*.expect.json")):
            expectations = unchecked.read_expectations(path)
            report, _ = unchecked.run_opcheck(options, str(path), mode)
            rows += unchecked.rows_of(expectations, report, mode)
        twins, correct = [[row for row in rows if row["broken"] == broken] for broken in (True, False)]
        lines.append([f"fixtures/unchecked, {words}", f"{sum(row['holds'] for row in twins)} of {len(twins)}", sum(not row["holds"] for row in correct)])
        owed += [f"{words}: {row['name']}: {row['says']}" for row in rows if not row["holds"]]
    return table(["planted defects", "found", "correct operators with an error"], lines), owed


# --- The whole ------------------------------------------------------------------------------------------------------------------


def run_corpus(tool, listed, chosen, python, folder):
    """Rows of figures, and what could not be had: that is said, and the rest goes on."""
    rows, lost = [], []
    folder.mkdir(parents=True, exist_ok=True)
    for entry in listed["libraries"]:
        if chosen and entry["name"] not in chosen:
            continue
        try:
            words = corpus.arguments(entry, python)
        except corpus.NotAvailable as error:
            lost.append(str(error))
            continue
        print(f"bench: {corpus.quoted(entry)}", file=sys.stderr)
        base = folder / entry["name"]
        reason = run(tool, words, listed["seed"], base)
        if reason:
            lost.append(f"{corpus.quoted(entry)}: {reason}")
            continue
        rows.append(figures(entry, base))
        lost += [f"{corpus.quoted(entry)}: {os.path.basename(one['path'])} did not load: {one['error']['message']}" for one in rows[-1]["failed"]]
    return rows, lost


def summary(listed, rows, known):
    lines = [precision_table(listed, rows, known), "", f"Wanted: {WANTED} % of the corpus's errors, {WANTED_HELD_OUT} % of the hold-out's. {warnings_line(listed, rows, known)}"]
    return "\n".join([*lines, *filter(None, [stale_line(rows, known)])])


def kept_sections(text, parts):
    """The sections of the page that these parts do not write: by hand (the hold-outs), or of an earlier run."""
    sections = ["## " + section.rstrip() for section in text.split("\n## ")[1:]]
    written = {line for line in parts.splitlines() if line.startswith("## ")}
    return [section for section in sections if section.splitlines()[0] not in written]


def evidence(listed, rows, parts):
    tool = rows[0]["tool"] if rows else {}
    versions = f"torch {tool.get('torch')}, Python {sys.version_info.major}.{sys.version_info.minor}"
    return f"""# Precision on public libraries, and recall on planted defects

Written by `scripts/bench --precision --write` on {datetime.date.today().isoformat()}: {versions}, {machine()}, load average {os.getloadavg()[2]:.0f}, by other work too. Each library
runs without samples, seed {listed['seed']}. What *true*, *input* and *false* mean, and how a label comes about, is in `tests/real/labels/README.md`. Precision is true / all errors; where
some are not labelled yet, the two numbers are what it is at least and at most. The hold-out, chosen on {listed['hold_out_chosen']}, is {' and '.join(listed['hold_out'])}.

{parts}
"""


def main(tool, build, python, options):
    listed = corpus.read()
    wrong = labels.mistakes(listed)
    unknown = sorted(set(options.library or []) - {entry["name"] for entry in listed["libraries"]})
    wrong += [f"corpus.json has no library {name}" for name in unknown]
    if wrong:
        sys.exit("\n".join(wrong))
    known = {entry["name"]: labels.read(entry["name"]) for entry in listed["libraries"]}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.reports or temporary)
        rows, lost = run_corpus(tool, listed, options.library, python, folder / "after")
        parts = [summary(listed, rows, known)]
        if options.before:
            before, lost_before = run_corpus(options.before, listed, options.library, python, folder / "before")
            lost += [line for line in lost_before if line not in lost]
            parts += ["## Before and after", cost_table(before, rows)]
        if options.unlabelled:
            write_unlabelled(options.unlabelled, listed, rows, known)
    owed = []
    if not options.no_recall:
        recall, owed = recall_table(tool, build)
        parts += ["## Recall on planted defects", "\n".join([recall, *(["", *(f"- {line}" for line in owed)] if owed else [])])]
    if lost:
        first = [line.splitlines()[0].split(" (exit")[0] for line in lost]
        parts += ["## Not measured", "\n".join(f"- {line}" for line in first)]
    print("\n\n".join(parts))
    for line in lost:
        print(f"bench: {line}", file=sys.stderr)
    if options.write:
        page = ROOT / EVIDENCE
        parts += kept_sections(page.read_text(encoding="utf-8"), "\n\n".join(parts))
        page.write_text(evidence(listed, rows, "\n\n".join(parts)), encoding="utf-8")
    return 1 if lost else 0
