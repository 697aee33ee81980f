#!/usr/bin/env python3
"""Runs correct operators that check none of their arguments, and the twins of them that have one bug. Standard library only.

An expectation file: {"operators": {"ns::op": {"primary": RULE, "twin": OPERATOR, "as": [RULE, …], "open": ["with_samples", "without_samples"]}}}.
A correct operator has "primary": null, and no error, with the samples beside the expectation file and without. A twin has its primary rule, or one of "as", as
an error: with samples, in a case in which the correct operator does not have it; without samples, where the two have other inputs, the correct operator must not
have it at all. Without samples nobody vouches for the inputs, so that a warning is enough, too: that of unchecked arguments, which names the access, where the
bug is an access out of bounds; otherwise a warning of the primary rule, or one of "as", that the correct operator does not have at all.
What is open does not hold today. The test fails where something else does not hold and, with samples, where something open does: that list can only get
shorter. Without samples what a search finds may depend on how fast the machine is.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

MODES = {"with_samples": "with samples", "without_samples": "without samples"}
SEED = "0"


def read_expectations(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["operators"]


def name_of(path):
    return re.sub(r"\.expect\.json$", "", os.path.basename(path))


def library_of(options, path):
    return os.path.join(options.folder, f"lib{options.prefix}_{name_of(path)}.so")


def check_suspects(journal):
    """What a run that stops early would report is judged as its end would: no crash is an error on input that nobody vouches for."""
    with open(journal, encoding="utf-8", errors="replace") as file:
        for record in map(json.loads, file):
            alone = record["t"] == "suspect" and (record.get("standing") or "").endswith("/alone")
            if alone and (record.get("rule") or "").startswith("signal.") and record.get("severity") == "error":
                sys.exit(f"{record['case']}: the journal has an error before the finding is confirmed: {record['rule']}: {record['message']}")


def run_opcheck(options, path, mode, more=()):
    """The report of one run of the whole library, with more options, and the seconds that it took."""
    library = library_of(options, path)
    beside = re.sub(r"\.so$", ".samples.json", library)
    if os.path.exists(beside):
        sys.exit(f"{beside} would be found by itself: there is no run without samples")
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        journal = os.path.join(folder, "journal.jsonl")
        command = [options.opcheck, "run", "--seed", SEED, "--json", report, "--journal", journal]
        command += ["--timeout", options.timeout] if options.timeout else []
        command += ["--samples", re.sub(r"\.expect\.json$", ".triggers.json" if mode == "with_triggers" else ".samples.json", path)] if mode != "without_samples" else []
        command += more
        start = time.monotonic()
        done = subprocess.run(command + [library], capture_output=True, text=True, errors="replace", check=False)
        seconds = time.monotonic() - start
        try:
            with open(report, encoding="utf-8") as file:
                read = json.load(file)
            check_suspects(journal)
            return read, seconds
        except (OSError, ValueError) as error:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}exit {done.returncode}; no report: {error}")


def findings_of(report):
    """Operator -> severity -> rule -> cases."""
    found = collections.defaultdict(lambda: {"error": collections.defaultdict(list), "warning": collections.defaultdict(list)})
    for result in report["results"]:
        if result["verdict"] not in ("fail", "error"):
            continue
        of_operator = found[result["operator"]]
        of_operator[result["severity"]][result["rule"]].append(result["case"])
        for also in (result.get("evidence") or {}).get("also", []):
            of_operator[also.get("severity", result["severity"])][also["rule"]].append(result["case"])
    return found


def cases_of(found, name, rule):
    return {case.removeprefix(name) for case in found[name]["error"].get(rule, [])}


def shown_by(name, expectation, found, mode):
    """The rules that show a twin's bug, and how."""
    wanted = [expectation["primary"], *expectation.get("as", [])]
    shown = []
    for rule in wanted:
        own, of_correct = cases_of(found, name, rule), cases_of(found, expectation["twin"], rule)
        if own - of_correct if mode == "with_samples" else own and not of_correct:
            shown.append(rule)
    if not shown and mode == "without_samples" and any(rule.startswith(("memory.", "signal.")) for rule in wanted):
        shown = [f"{rule} (warning)" for rule in ("memory.unchecked_arguments",) if rule in found[name]["warning"]]
    if not shown and mode == "without_samples":
        shown = [f"{rule} (warning)" for rule in wanted if rule in found[name]["warning"] and rule not in found[expectation["twin"]]["warning"]]
    return shown


def counted(rules):
    return ", ".join(f"{rule} ×{len(cases)}" if len(cases) > 1 else rule for rule, cases in sorted(rules.items()))


def rows_of(expectations, report, mode):
    """A row for each operator: name, whether what is expected holds, whether it is open, and what was found."""
    found, rows = findings_of(report), []
    uncalled = {operator["name"] for operator in report["operators"] if operator["sample_source"] == "none"}
    for name, expectation in expectations.items():
        of_operator = found[name]
        if expectation["primary"] is None:
            holds, says = not of_operator["error"], counted(of_operator["error"]) or "no error"
        else:
            shown = shown_by(name, expectation, found, mode)
            holds, says = bool(shown), ", ".join(shown) or f"{expectation['primary']} does not show it; errors: {counted(of_operator['error']) or 'none'}"
        says += " (no input was found)" if name in uncalled else ""
        rows.append({"name": name, "broken": expectation["primary"] is not None, "holds": holds, "open": mode in expectation.get("open", []), "says": says})
    return rows


def mistakes_of(expectations, report, rows, mode):
    wrong = []
    for row in rows:
        if not row["holds"] and not row["open"]:
            wrong.append(f"{row['name']}: {row['says']}")
        if row["holds"] and row["open"] and mode != "without_samples":
            wrong.append(f"{row['name']} is listed as open, and holds: {row['says']}; take it off the list")
    listed = {operator["name"] for operator in report["operators"]}
    wrong += [f"{name} is in the library and not in the expectation file" for name in sorted(listed - set(expectations))]
    wrong += [f"{name} is in the expectation file and not in the library" for name in sorted(set(expectations) - listed)]
    wrong += [f"{name}: its twin's twin is another operator" for name, expectation in expectations.items()
              if expectations.get(expectation["twin"], {}).get("twin") != name]
    # What a bad argument does costs no sample its checks.
    wrong += [f"{result['case']}: a sample itself is skipped after a crash" for result in report["results"]
              if result["reason"] == "after_crash" and result["case"].endswith("/plain") and result["case"].split("/")[3] == "-"
              and expectations.get(result["operator"], {}).get("primary", "") is None and (result["standing"] or "").startswith("declared/")]
    called = {result["operator"] for result in report["results"] if result["verdict"] in ("pass", "fail", "error")}
    wrong += [f"{name}: no case ran" for name in sorted(set(expectations) - called)]
    return wrong


def print_table(rows, mode, seconds):
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        state = ("holds" if row["holds"] else "does not hold") + (", open" if row["open"] else "")
        print(f"{row['name']:{width}}  {state:20}  {row['says']}")
    right, found = [[row["holds"] for row in rows if row["broken"] == broken] for broken in (False, True)]
    print(f"{MODES[mode]}: {sum(right)} of {len(right)} correct operators without an error, {sum(found)} of {len(found)} twins found, {seconds:.1f} s")


def check(options, modes):
    wrong = []
    for path in options.expectation:
        expectations = read_expectations(path)
        for mode in modes:
            report, seconds = run_opcheck(options, path, mode)
            rows = rows_of(expectations, report, mode)
            print_table(rows, mode, seconds)
            wrong += [f"{MODES[mode]}: {line}" for line in mistakes_of(expectations, report, rows, mode)]
    print("\n".join(wrong))
    return 1 if wrong else 0


def totals(measured, broken, mode):
    rows = [row for of_library in measured for row in of_library[mode]["rows"] if row["broken"] == broken]
    return sum(not row["holds"] for row in rows) if not broken else sum(row["holds"] for row in rows), len(rows)


def found_by_warning(measured):
    rows = [row for of_library in measured for row in of_library["without_samples"]["rows"] if row["broken"] and row["holds"]]
    return sum(all(rule.endswith("(warning)") for rule in row["says"].split(", ")) for row in rows)


def write_evidence(options):
    measured = []
    for path in options.expectation:
        expectations, of_library = read_expectations(path), {"name": name_of(path)}
        for mode in MODES:
            report, seconds = run_opcheck(options, path, mode)
            rows = rows_of(expectations, report, mode)
            print_table(rows, mode, seconds)
            of_library[mode] = {"rows": rows, "seconds": seconds, "cases": len(report["results"])}
        measured.append(of_library)
    lines = ["# Correct operators that check none of their arguments, and their twins", "",
             f"Written by `tests/contract/unchecked.py --write-evidence` on {options.date}, seed {SEED}; {os.cpu_count()} processors, load average {os.getloadavg()[2]:.0f}, by other work too.",
             "`fixtures/unchecked` has the operators: a correct one states",
             "what it asks of its arguments and verifies none of it; its twin has one bug that valid arguments show.", "",
             "| | with samples | without samples | wanted |", "|---|---|---|---|"]
    wrong = {mode: totals(measured, False, mode) for mode in MODES}
    found = {mode: totals(measured, True, mode) for mode in MODES}
    lines += ["| correct operators with an error | " + " | ".join(f"{count} of {of}" for count, of in wrong.values()) + " | 0, 0 |",
              "| twins found | " + " | ".join(f"{count} of {of}" for count, of in found.values()) + " | all, 36 |",
              "| seconds | " + " | ".join(f"{sum(one[mode]['seconds'] for one in measured):.0f}" for mode in MODES) + " | |",
              "| cases | " + " | ".join(str(sum(one[mode]["cases"] for one in measured)) for mode in MODES) + " | |", "",
              "A twin is *found* by an error that its correct operator does not have: in the same case, or, without samples, at all. Without samples nobody vouches for",
              "the inputs, so that warnings count, too: that of unchecked arguments, where the bug is an access out of bounds, and one of the rule that shows the bug",
              "with samples, where the correct operator has none of that rule.", f"So {found_by_warning(measured)} of the twins are found by warnings alone without samples.", "",
              "| library | correct with an error, with / without samples | twins found, with / without | seconds, with / without |", "|---|---|---|---|"]
    for one in measured:
        counts = [" / ".join(f"{totals([one], broken, mode)[0]}" for mode in MODES) for broken in (False, True)]
        lines.append(f"| {one['name']} | {counts[0]} | {counts[1]} | " + " / ".join(f"{one[mode]['seconds']:.1f}" for mode in MODES) + " |")
    for broken, title in ((False, "Correct operators"), (True, "Twins")):
        lines += ["", f"## {title}", "", "| operator | with samples | without samples |", "|---|---|---|"]
        for one in measured:
            for with_samples, without in zip(one["with_samples"]["rows"], one["without_samples"]["rows"]):
                if with_samples["broken"] == broken:
                    lines.append(f"| `{with_samples['name'].removeprefix('unchecked_')}` | {with_samples['says']} | {without['says']} |")
    with open(options.write_evidence, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return 0


def parser_of(description, prefix, modes=MODES):
    """The options that real_bugs.py has, too. The libraries are libPREFIX_NAME.so."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--opcheck", required=True)
    parser.add_argument("--folder", required=True, help="the folder of the libraries")
    parser.add_argument("--timeout", help="seconds that a case may take: some hang, and a hang needs no 10 s to be one")
    parser.add_argument("--mode", choices=modes, help="only this one")
    parser.add_argument("--write-evidence", metavar="FILE", help="write the table of all the libraries")
    parser.add_argument("--date", default=time.strftime("%Y-%m-%d"), help="the date in it")
    parser.add_argument("expectation", nargs="+")
    parser.set_defaults(prefix=prefix)
    return parser


def main():
    options = parser_of(__doc__, "unchecked").parse_args()
    if options.write_evidence:
        return write_evidence(options)
    return check(options, [options.mode] if options.mode else list(MODES))


if __name__ == "__main__":
    sys.exit(main())
