"""The same operators and samples through torch.library.opcheck and through opcheck-c: who finds what, who cries wolf, at what cost."""

import fnmatch
import json
import re
import statistics
import subprocess
import sys

import our_side
from processes import ROOT

HANG_SECONDS = 10
MEMORY_MIB = 1024  # that an operator may take beyond what Python has
REFUSED = "functionalisation.refused"  # our word for a schema that torch.compile takes of no operator
NO_META = "registration.no_meta_kernel"  # true of a look-alike that has none; of Python's side reviewed.json says the same


def read_reviewed():
    with open(ROOT / "tests/bench/reviewed.json", encoding="utf-8") as stream:
        return json.load(stream)


def run_python(python, libraries, folder=our_side.FIXTURES, costs=True):
    """The head that names the versions, and a row for each operator; without costs its verdicts alone, and with "once" that cost alone."""
    plan = {"timeout": HANG_SECONDS, "memory": MEMORY_MIB, "folder": str(folder), "costs": costs, "libraries": libraries}
    command = [python, str(ROOT / "tests/bench/python_opcheck.py"), "--plan"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(json.dumps(plan))
    process.stdin.close()
    head, *rows = map(json.loads, process.stdout)
    if process.wait() != 0 or len(rows) != sum(len(library["operators"]) for library in libraries):
        sys.exit(f"bench: {' '.join(command)} ended with {process.returncode} after {len(rows)} operators")
    return head, {row["operator"]: row for row in rows}


# ---- what Python's answer means ----


def reviewed_entry(failure, primary, reviewed):
    """What was found out about a failure that is not about the planted defect; None: it counts."""
    for entry in reviewed["messages"]:
        if re.search(entry["match"], failure) and primary not in entry.get("rules", []):
            return entry
    return None


def note_on(operator, primary, reviewed):
    by_name = (note for name, note in reviewed["operators"].items() if fnmatch.fnmatchcase(operator, name))
    by_rule = (note for prefix, note in reviewed["rules"].items() if primary and primary.startswith(prefix))
    return next(by_name, next(by_rule, ""))


def judge_python(row, primary, reviewed):
    """(verdict, detail, note). Of a defect: found, missed, dies, hangs; of a look-alike: silent, false alarm. Of both: refuses (all operators
    with such a schema or tag), right (about something that was not planted), unusable (cannot be called from Python)."""
    entries = {test: reviewed_entry(failure, primary, reviewed) for test, failure in row["failures"].items()}
    counted = [test for test, entry in entries.items() if entry is None]
    note = note_on(row["operator"], primary, reviewed)
    if counted:
        return "found" if primary else "false alarm", f"{counted[0]}: {row['failures'][counted[0]]}", note
    if row["end"] in ("died", "hung"):
        verdict = {"died": "dies", "hung": "hangs"}[row["end"]] if primary else "false alarm"
        return verdict, f"{row['how']} in {row['test']}", note
    if row["end"] == "unusable":
        return "unusable", row["how"], note
    if entries:
        test = min(entries, key=lambda test: entries[test]["verdict"] != "right")
        return entries[test]["verdict"], f"{test}: {row['failures'][test]}", note or entries[test]["why"]
    return "missed" if primary else "silent", "", note


def python_seconds(row, tests, turn="again"):
    """CPU seconds of the tests with everything warm, or all but the operator ("once"); None where one of them did not come to an end, or with inputs that
    require grad ("grad") fails."""
    return sum(row[turn][test] for test in tests) if all(test in row[turn] for test in tests) else None


def judge_ours(row, primary):
    if primary:
        return "found" if primary in row["rules"] else "missed"
    if row["rules"]:
        return {(REFUSED,): "refuses", (NO_META,): "right"}.get(tuple(row["rules"]), "false alarm")
    return "silent" if "pass" in row["verdicts"] else "unusable"


# ---- the comparison ----


def compare(build, tool, python):
    """Versions, and a row for each operator."""
    reviewed = read_reviewed()
    found, plan, rows = {}, [], []
    groups = list(our_side.libraries(build))
    for name, library, expectations in groups:
        found.update(our_side.check_library(tool, name, library, expectations))
        plan.append({"library": library, "operators": our_side.samples_of(tool, name, library, expectations)})
    head, theirs = run_python(python, plan)
    for name, _, expectations in groups:
        for operator, expectation in expectations.items():
            primary, row, ours = expectation["primary"], theirs[operator], found[operator]
            if primary in reviewed["not_compared"]:
                continue
            verdict, detail, note = judge_python(row, primary, reviewed)
            rows.append({
                "check": name, "operator": operator, "primary": primary, "python": verdict, "detail": detail, "note": note,
                "ours": judge_ours(ours, primary), "our_rules": sorted(ours["rules"]), "our_seconds": ours["seconds"],
                "python_seconds": python_seconds(row, head["default"], "once"), "our_counterparts": ours["counterparts"],
                "python_counterparts": python_seconds(row, ["test_schema", "test_faketensor"]),
                "python_grad_seconds": python_seconds(row, head["default"], "grad"),
            })  # fmt: skip
    return head, rows


def count(rows, side, *verdicts):
    return sum(row[side] in verdicts for row in rows)


def median_of(rows, key):
    """None where no row has a figure."""
    figures = [row[key] for row in rows if row[key] is not None]
    return statistics.median(figures) if figures else None


def ratio_words(rows, above, below):
    """The median ratio over the rows that have both figures, where half of them lie, and how many they are."""
    found = [row[above] / row[below] for row in rows if row[above] is not None and row[below] is not None]
    if len(found) < 2:
        return "not measured"
    low, middle, high = statistics.quantiles(found, n=4)
    return f"{middle:.3g} (half of {len(found)} operators between {low:.3g} and {high:.3g})"


def cost_lines(rows):
    """The ratios that are wanted, over the look-alikes: there both sides do all their work and have nothing to report."""
    alike = [row for row in rows if row["primary"] is None]
    keys = ("python_counterparts", "our_counterparts", "python_seconds", "python_grad_seconds", "our_seconds")
    medians = {key: median_of(alike, key) or 0 for key in keys}
    yield (f"One sample in a warm process: test_schema and test_faketensor {medians['python_counterparts'] * 1e3:.2f} ms of CPU, the checks "
           f"{', '.join(our_side.COUNTERPARTS)} {medians['our_counterparts'] * 1e6:.0f} µs; ratio "
           f"{ratio_words(alike, 'python_counterparts', 'our_counterparts')}, wanted: at least 20.")
    yield (f"One operator: opcheck-c's whole battery with all variants and the fork {medians['our_seconds'] * 1e3:.0f} ms of CPU, Python's four "
           f"default tests on the one sample, the first time that they see the operator, {medians['python_seconds'] * 1e3:.0f} ms; ratio "
           f"{ratio_words(alike, 'our_seconds', 'python_seconds')}, wanted: at most 1. Where the sample's inputs require grad, as opcheck wants "
           f"them to test gradients (opcheck-c always does), Python's four tests take {medians['python_grad_seconds'] * 1e3:.0f} ms on what they "
           f"pass; ratio {ratio_words(alike, 'our_seconds', 'python_grad_seconds')}.")
