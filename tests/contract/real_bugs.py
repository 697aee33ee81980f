#!/usr/bin/env python3
"""Runs bugs that really happened in public operator libraries, and the fixed twin of each. Standard library only.

An expectation file: {"operators": {"ns::op": {"primary": "wrong", "kind": WORDS, "issue": URL, "twin": OPERATOR, "open": [MODE…],
"proof": WORDS}, "ns::ok_op": {"primary": null, "twin": OPERATOR}}}. A fixed twin has no error, with the samples beside the expectation file, with the calls that show the bugs, and without; such a call it may refuse. A bug
is found by any error that its twin does not have: with samples, in the same case; without, where the two have other inputs, of a rule that its twin does not have
at all, or else by a warning of such a rule. What is open is not found today. The test fails where something else is missed and, with samples, where something open
is found: that list can only get shorter. Without samples what a search finds may depend on how fast the machine is.
real_bugs_triggers.py, which needs a Python with torch, shows that each bug is one.
"""
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from unchecked import MODES as OWN_MODES, SEED, cases_of, counted, findings_of, mistakes_of, name_of, parser_of, read_expectations, run_opcheck  # noqa: E402

MODES = {**OWN_MODES, "with_reference": "with samples, and the twin as the reference", "with_triggers": "with the input that shows the bug"}
YARDSTICK = ("distances", "elements", "norms", "sequences", "states", "tables")  # chosen before the checks that they are to measure
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def shown_by(name, twin, found, mode):
    """The rules that show a bug."""
    own, fixed = found[name], found[twin]
    if mode != "without_samples":
        return [rule for rule in sorted(own["error"]) if cases_of(found, name, rule) - cases_of(found, twin, rule)]
    errors = [rule for rule in sorted(own["error"]) if rule not in fixed["error"]]
    return errors or [f"{rule} (warning)" for rule in sorted(own["warning"]) if rule not in fixed["warning"] and rule not in fixed["error"]]


def not_found(name, twin, found, mode):
    """With samples, a warning alone does not count; it is named."""
    warned = [rule for rule in sorted(found[name]["warning"]) if rule not in found[twin]["warning"] and rule not in found[twin]["error"]]
    return f"not found as an error; {', '.join(warned)} (warning)" if mode != "without_samples" and warned else "not found"


def rows_of(expectations, report, mode):
    """A row for each operator, as unchecked.py has them."""
    found, rows = findings_of(report), []
    uncalled = {operator["name"] for operator in report["operators"] if operator["sample_source"] == "none"}
    for name, expectation in expectations.items():
        broken = expectation["primary"] is not None
        wrong = {rule: cases for rule, cases in found[name]["error"].items() if mode != "with_triggers" or rule != "sample.rejected"}
        shown = shown_by(name, expectation["twin"], found, mode) if broken else []
        says = (", ".join(shown) or not_found(name, expectation["twin"], found, mode)) if broken else counted(wrong) or "no error"
        rows.append({"name": name, "broken": broken, "holds": bool(shown) if broken else not wrong, "open": mode in expectation.get("open", []),
                     "named": bool(shown) or "(warning)" in says, "says": says + (" (no input was found)" if name in uncalled else "")})
    return rows


def print_table(rows, mode, seconds):
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        state = ("holds" if row["holds"] else "does not hold") + (", open" if row["open"] else "")
        print(f"{row['name']:{width}}  {state:20}  {row['says']}")
    right, found = [[row["holds"] for row in rows if row["broken"] == broken] for broken in (False, True)]
    print(f"{MODES[mode]}: {sum(found)} of {len(found)} bugs found, {sum(right)} of {len(right)} fixed twins without an error, {seconds:.1f} s")


def measure(options, path, mode):
    """The expectations, the report, the rows, and the seconds that one run took."""
    expectations = read_expectations(path)
    pairs = [f"--reference={name}={one['twin']}" for name, one in expectations.items() if one["primary"] is not None] if mode == "with_reference" else []
    report, seconds = run_opcheck(options, path, mode, pairs)
    rows = rows_of(expectations, report, mode)
    print_table(rows, mode, seconds)
    return expectations, report, rows, seconds


def check(options, modes):
    wrong = []
    for path in options.expectation:
        for mode in modes:
            expectations, report, rows, _ = measure(options, path, mode)
            uncalled = {f"{row['name']}: no case ran" for row in rows if row["says"].endswith("(no input was found)") and mode == "without_samples"}
            wrong += [f"{MODES[mode]}: {line}" for line in mistakes_of(expectations, report, rows, mode) if line not in uncalled]
    print("\n".join(wrong))
    return 1 if wrong else 0


# ---- the evidence ----


def with_gradients(value):
    """A sample whose floating tensors require grad: opcheck tests no derivative otherwise."""
    if isinstance(value, list):
        return [with_gradients(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "shape" in value and value.get("dtype", "float32").startswith("float"):
        return {**value, "requires_grad": True}
    return {key: with_gradients(item) for key, item in value.items()}


def opcheck_of_python(options):
    """For each operator the tests of torch.library.opcheck that fail on its plain sample, or how it ended."""
    sys.path.insert(0, str(ROOT / "tests/bench"))
    from against_python import run_python  # it imports what only this needs

    libraries = []
    for path in options.expectation:
        with open(re.sub(r"\.expect\.json$", ".samples.json", path), encoding="utf-8") as file:
            samples = json.load(file)["samples"]
        library = os.path.abspath(os.path.join(options.folder, f"lib{options.prefix}_{name_of(path)}.so"))
        libraries.append({"library": library, "operators": {sample["operator"]: [sample, with_gradients(sample)] for sample in samples}})
    head, rows = run_python(options.python, libraries, folder=options.folder, costs=False)
    return head["torch"], {name: set(row["failures"]) | ({f"{row['end']} ({row['how']})"} if row["end"] != "ran" else set()) for name, row in rows.items()}


def sum_of(name, areas):
    total = {key: sum(area[key] for area in areas) for key in ("bugs", *MODES, "python")}
    total["named"] = {mode: sum(area["named"][mode] for area in areas) for mode in MODES}
    return {"name": name, **total, "seconds": [sum(area["seconds"][i] for area in areas) for i in range(len(MODES))]}


def write_evidence(options):
    torch, of_python = opcheck_of_python(options)
    areas, bugs, false = [], [], []
    for path in sorted(options.expectation):
        measured = {mode: measure(options, path, mode) for mode in MODES}
        expectations = measured["with_samples"][0]
        rows = {mode: {row["name"]: row for row in measured[mode][2]} for mode in MODES}
        found = {"python": 0, **{mode: 0 for mode in MODES}}
        named = dict.fromkeys(MODES, 0)
        for name, expectation in expectations.items():
            if expectation["primary"] is None:
                false += [f"`{name}` {MODES[mode]}: {rows[mode][name]['says']}" for mode in MODES if not rows[mode][name]["holds"]]
                continue
            python = sorted(of_python[name] - of_python[expectation["twin"]])
            found["python"] += bool(python)
            for mode in MODES:
                found[mode] += rows[mode][name]["holds"]
                named[mode] += rows[mode][name]["named"]
            issue = re.sub(r"https://github\.com/([^/]+/[^/]+)/(?:issues|pull)/", r"\1#", expectation["issue"])
            bugs.append(f"| `{name.removeprefix(options.prefix + '_')}` | {expectation['kind']} | [{issue}]({expectation['issue']}) | {' | '.join(rows[mode][name]['says'] for mode in MODES)} | "
                        f"{', '.join(python) or 'not found'} |")
        areas.append({"name": name_of(path), "bugs": len(expectations) // 2, **found, "named": named, "seconds": [measured[mode][3] for mode in MODES]})
    lines = ["# Bugs that really happened, rebuilt", "",
             f"Written by `tests/contract/real_bugs.py --write-evidence` on {options.date}, seed {SEED}, torch {torch}; {os.cpu_count()} processors, load average {os.getloadavg()[2]:.0f}, by",
             "other work too. `fixtures/real_bugs` has the operators: each bug was in a public operator library, and is rebuilt in small from its issue, with a fixed twin.",
             "Each has one plain sample, on which the two give the same result. `tests/contract/real_bugs_triggers.py` shows with another call that the bug is one.", "",
             "| area | bugs | found with samples | without samples | with the twin as reference, too | with the input that shows the bug | by Python's opcheck | seconds, likewise |",
             "|---|---|---|---|---|---|---|---|"]
    yardstick = [area for area in areas if area["name"] in YARDSTICK]
    for area in [*areas, sum_of("all", areas), sum_of("of these, the yardstick", yardstick)]:
        found = [area["name"], area["bugs"], *(f"{area[mode]} ({area['named'][mode]})" for mode in MODES), area["python"]]
        lines.append(f"| {' | '.join(map(str, found))} | {' / '.join(f'{one:.1f}' for one in area['seconds'])} |")
    lines += ["", f"*The yardstick* is the areas {', '.join(area['name'] for area in yardstick)}: chosen on 2026-11-29, and committed with what was found that day.", "",
              "A bug is *found* by an error that its twin does not have: with samples, in the same case; without, of a rule that its twin does not have at all, or else by such",
              "a warning. In parentheses: those for which there is at least a warning of a rule that the twin does not have. By Python's opcheck it is found if a test fails on the plain sample, with inputs that require grad or without, and passes on its twin.", "",
              "*With the twin as reference*: the same samples, and `--reference` names the fixed twin of each: what a user has who keeps a slow version. It shows which inputs are",
              "tried, as nothing can be said about a wrong value without a reference.", "",
              "*With the input that shows the bug*: the call that the issue names, as a sample. A fixed twin may refuse it.", "",
              f"Errors on fixed twins: {len(false) or 'none'}." + "".join(f"\n- {one}" for one in false), "",
              "| bug | kind | issue | with samples | without samples | with the twin as reference | with the input that shows the bug | Python's opcheck |", "|---|---|---|---|---|---|---|---|", *bugs]
    with open(options.write_evidence, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return 0


def main():
    parser = parser_of(__doc__, "real", MODES)
    parser.add_argument("--python", default=sys.executable, help="a Python with torch, for the evidence")
    options = parser.parse_args()
    if options.write_evidence:
        return write_evidence(options)
    return check(options, [options.mode] if options.mode else list(MODES))


if __name__ == "__main__":
    sys.exit(main())
