"""Operators that are registered from Python: what opcheck-c finds with --python and what its whole battery costs, against torch.library.opcheck on one sample of
each operator. Standard library only."""

import json
import os
import sys
import tempfile

from against_python import judge_ours, judge_python, python_seconds, read_reviewed, run_python
from against_tables import SUMMARY, setting, table, with_block
from our_side import REPORTED, beyond_loading, findings_of, read_expectations
from processes import ROOT, timed

FOLDER = ROOT / "fixtures/python"
BEGIN = "<!-- python-operators: written by scripts/bench --against-python --write -->"
END = "<!-- /python-operators -->"
WANTED = 2  # times what Python's default tests cost, at most
TURNS = 3  # of which the least counts, as of Python's; of broken modules one
FOUND = ("defects", "python_found", "found", "alike", "python_alarms", "alarms")
SUMMED = (*FOUND, "operators", "ours", "theirs")


def modules():
    """(name, expectations, the first sample of each operator)."""
    for path in sorted(FOLDER.glob("*.expect.json")):
        name = path.name.removesuffix(".expect.json")
        expectations = {name: each for name, each in read_expectations(path).items() if not name.startswith("library::")}
        with open(FOLDER / f"{name}.samples.json", encoding="utf-8") as stream:
            listed = json.load(stream)["samples"]
        yield name, expectations, {operator: next(one for one in listed if one["operator"] == operator) for operator in expectations}


def library_of(fixtures, name):
    """What a module adds kernels to, if that is a C++ library: fixtures/python/CMakeLists.txt."""
    path = fixtures / f"lib{name}.so"
    return [str(path)] if path.is_file() else []


def our_report(tool, python, name, operators, library):
    """The report on those operators with one sample each, and CPU seconds of the whole process tree beyond loading: the battery, all variants, and the
    confirmation of what is found."""
    with tempfile.TemporaryDirectory() as folder:
        samples, report = os.path.join(folder, "samples.json"), os.path.join(folder, "report.json")
        with open(samples, "w", encoding="utf-8") as stream:
            json.dump({"format": "opcheck-c/samples/1", "samples": list(operators.values())}, stream)
        selected = [word for operator in operators for word in ("--op", operator)]
        command = [tool, "run", "--samples", samples, "--json", report, *selected, "--python-executable", python, "--python", str(FOLDER / f"{name}.py"), *library]
        _, seconds, _ = timed(command, ok=REPORTED)
        with open(report, encoding="utf-8") as stream:
            read = json.load(stream)
    return read, beyond_loading(read, seconds)


def plan_of(name, operators, library):
    return {"library": library[0] if library else None, "fakes": name, "operators": {operator: [sample] for operator, sample in operators.items()}}


def their_seconds(python, name, operators, library):
    """The head that names the versions, and by operator CPU seconds of the four default tests, the first time that they see it. Operators that the tests
    do not come to an end with have none, and are left out."""
    head, rows = run_python(python, [plan_of(name, operators, library)], FOLDER, costs="once")
    seconds = {operator: python_seconds(row, head["default"], "once") for operator, row in rows.items()}
    return head, {operator: taken for operator, taken in seconds.items() if taken is not None}


def our_verdict(report, operator, expectation):
    """What is allowed beside the primary rule is true, and no false alarm."""
    rules = set(findings_of(report, operator)) - set(expectation.get("allowed", []))
    primary = next((rule for rule in [expectation["primary"], *expectation.get("or", [])] if rule in rules), expectation["primary"])
    verdicts = {result["verdict"] for result in report["results"] if result["operator"] == operator}
    return judge_ours({"rules": sorted(rules), "verdicts": verdicts}, primary)


def who_finds(report, theirs, expectations):
    """How many defects each side finds, how many look-alikes it gives an alarm for, and what Python alone finds."""
    reviewed = read_reviewed()
    counts = dict.fromkeys(("defects", "found", "python_found", "alike", "alarms", "python_alarms"), 0)
    alone = []
    for operator, expectation in expectations.items():
        ours, python = our_verdict(report, operator, expectation), judge_python(theirs[operator], expectation["primary"], reviewed)[0]
        broken = expectation["primary"] is not None
        counts["defects" if broken else "alike"] += 1
        counts["found" if broken else "alarms"] += ours in ("found", "false alarm")
        counts["python_found" if broken else "python_alarms"] += python in ("found", "false alarm")
        if broken and python == "found" != ours:
            alone.append(operator)
    return {**counts, "python_alone": alone}


def measure(tool, python, fixtures):
    """The head, and a row for each module."""
    head, rows = None, []
    for name, expectations, samples in modules():
        library = library_of(fixtures, name)
        head, theirs = their_seconds(python, name, samples, library)
        both = {operator: samples[operator] for operator in theirs}
        correct = all(expectations[operator]["primary"] is None for operator in both)
        turns = [our_report(tool, python, name, both, library) for _ in range(TURNS if correct else 1)]
        report = turns[0][0] if both == samples else our_report(tool, python, name, samples, library)[0]
        _, verdicts = run_python(python, [plan_of(name, samples, library)], FOLDER, costs=False)
        rows.append({"module": name, "correct": correct, "operators": len(both), "ours": min(seconds for _, seconds in turns), "theirs": sum(theirs.values()),
                     **who_finds(report, verdicts, expectations)})  # fmt: skip
        print(f"bench: --python: {name}: {len(both)} of {len(samples)} operators", file=sys.stderr)
    return head, rows


# ---- what is made of it ----


def total(rows, name):
    return {"module": name, "python_alone": [operator for row in rows for operator in row["python_alone"]], **{key: sum(row[key] for row in rows) for key in SUMMED}}


def of_correct(rows):
    return total([row for row in rows if row["correct"]], "correct modules")


def each(row, side):
    """Milliseconds an operator."""
    return 1e3 * row[side] / row["operators"]


def ratio(row):
    return row["ours"] / row["theirs"]


def summary(rows):
    """A line for each module, and two sums."""
    sums = [of_correct(rows), total(rows, "all")]
    named = [*((f"`{row['module']}`", row) for row in rows), *((f"**{row['module']}**", row) for row in sums)]
    head = ["module", "defects", "found by Python", "found by opcheck-c", "look-alikes", "false alarms of Python", "of opcheck-c", "Python, ms an operator",
            "opcheck-c, ms an operator", "ratio"]  # fmt: skip
    return table(head, [[name, *(row[key] for key in FOUND), f"{each(row, 'theirs'):.0f}", f"{each(row, 'ours'):.0f}", f"{ratio(row):.2f}"] for name, row in named])


def alone_line(rows):
    alone = total(rows, "all")["python_alone"]
    return f"Found by Python's opcheck alone: {', '.join(f'`{operator}`' for operator in alone) if alone else 'nothing'}."


def cost_line(rows):
    correct = of_correct(rows)
    return (f"Operators from Python: opcheck-c's whole battery {each(correct, 'ours'):.0f} ms of CPU an operator, Python's four default tests on the one "
            f"sample {each(correct, 'theirs'):.0f} ms, over the {correct['operators']} operators of the correct modules; ratio {ratio(correct):.3g}, "
            f"wanted: at most {WANTED}. Over all modules: {ratio(total(rows, 'all')):.3g}.")  # fmt: skip


def readme_block(head, rows):
    return f"""{BEGIN}
`torch.library.opcheck`, and `opcheck-c run --python`, on the operators of `fixtures/python` with one sample each. Milliseconds are CPU time without
loading: Python's four default tests the first time that they see an operator, and opcheck-c's whole battery with all variants, and with the
confirmation of what it finds in the broken modules. {setting(head)}.

{summary(rows)}

{alone_line(rows)}

{cost_line(rows)}
{END}"""


def write(head, rows, root=ROOT):
    readme = root / SUMMARY
    readme.write_text(with_block(readme.read_text(encoding="utf-8"), readme_block(head, rows)), encoding="utf-8")
