"""How often the oracles for wrong values speak on libtorch's own operators, which are taken to be right: scripts/bench --oracles. The calls are those of
PyTorch's operator tests, as parity.opinfo.record recorded them. Standard library only."""

import datetime
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

from against_tables import cell, machine, table
from processes import ROOT

EVIDENCE = "reports/evidence/oracles.md"
CHECKS = "dtype,equivalent,autograd,determinism,initialisation"
ENDS = (0, 1)  # nothing found, findings
NARROW = ("float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2", "complex64", "complex32")


def parts_of(case):
    """operator, check, device, dtype, sample, variant"""
    return case.split("/")


def is_plain(parts):
    return parts[3] == "-" and parts[5] == "plain"


# (what it compares, the rules that it may give, its cases)
ORACLES = (
    ("a narrow dtype with float64: numbers, positions, counts", ("dtype.wrong_result",), lambda p: p[1] == "dtype" and p[3] in NARROW),
    ("float64 that float32 could hold", ("dtype.narrow_computation",), lambda p: p[1] == "dtype" and p[3] == "float64"),
    ("a dimension counted from the end", ("equivalent.negative_dim",), lambda p: p[1] == "equivalent" and p[5].endswith(".from_end")),
    ("int32 and int64 indices", ("equivalent.index_dtype",), lambda p: p[1] == "equivalent" and p[5].endswith(".other_width")),
    ("int64 numbers, and Scalars beside them, that differ above 32 bits", ("equivalent.truncated_integer", "equivalent.narrow_number"), lambda p: p[1] == "equivalent" and is_plain(p)),
    ("numbers beside float64 tensors that differ beyond float32", ("equivalent.narrow_number",), lambda p: p[1] == "equivalent" and p[3] == "float64"),
    ("equal elements, rows or columns", ("equivalent.uneven",), lambda p: p[1] == "equivalent" and p[5].split(".")[-1].startswith(("larger", "uneven", "longer"))),
    ("elements that a mask, a length or an index leaves out", ("equivalent.ignored_nan", "equivalent.padding"), lambda p: p[1] == "equivalent" and p[5].endswith(".nan")),
    ("one float32 argument as float64, and the reverse", ("equivalent.float_dtype",), lambda p: p[1] == "equivalent" and p[5].endswith(".other_float")),
    ("elements that are NaN whatever finite numbers the arguments hold", ("equivalent.always_nan",), lambda p: p[1] == "equivalent" and is_plain(p)),
    ("the same call again: other addresses, threads, flags", ("determinism.*",), lambda p: p[1] == "determinism" and p[5] != "-"),
    ("first and later calls, larger tensors, rows in other batches", ("determinism.*",), lambda p: p[1] == "determinism" and p[5] == "-"),
    ("new memory that holds NaN and other bytes, gradients included", ("initialisation.*",), lambda p: p[1] == "initialisation"),
    ("arguments after every call, whichever check made it", ("mutation.*",), lambda p: True),
    ("gradients with differences, with the negative incoming gradient, with float64, in another layout, twice", ("autograd.*",), lambda p: p[1] == "autograd" and is_plain(p)),
    ("gradients for complex numbers", ("autograd.*",), lambda p: p[1] == "autograd" and p[3].startswith("complex")),
    ("backward of empty inputs", ("autograd.empty",), lambda p: p[1] == "autograd" and ".empty" in p[5]),
)  # fmt: skip


def reports_of(tool, folder):
    """One report for each file of recorded calls."""
    files = sorted(path for path in folder.glob("[0-9]*.samples.json"))
    if not files:
        sys.exit(f"bench: no recorded calls in {folder}: run ctest -R parity.opinfo.record first")
    for path in files:
        with open(path, encoding="utf-8") as stream:
            operators = sorted({sample["operator"] for sample in json.load(stream)["samples"]})
        with tempfile.TemporaryDirectory() as where:
            report = os.path.join(where, "r.json")
            command = [tool, "run", "--namespace", "aten", "--check", CHECKS, "--neighbours", "0", "--samples", str(path), "--json", report]
            command += [word for name in operators for word in ("--op", name)]
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode not in ENDS:
                sys.exit(f"bench: this run did not end as it should: {' '.join(command)[:400]}")
            with open(report, encoding="utf-8") as stream:
                yield json.load(stream)


class Tally:
    """By oracle the cases that it decided, and its alarms: (operator, rule) -> (severity, message)."""

    def __init__(self):
        self.applied, self.spoke, self.operators, self.alarms, self.torch = [0] * len(ORACLES), [0] * len(ORACLES), set(), {}, ""

    def add(self, report):
        self.torch = report["tool"]["torch"]
        for result in report["results"]:
            if result["verdict"] == "skip":
                continue
            self.operators.add(result["operator"])
            found = result["verdict"] in ("fail", "error")
            if found:
                self.alarms.setdefault((result["operator"], result["rule"]), (result["severity"], result["message"]))
            parts = parts_of(result["case"])
            for i, (_, rules, applies) in enumerate(ORACLES):
                if len(parts) == 6 and applies(parts):
                    self.applied[i] += 1
                    self.spoke[i] += found and any(fnmatch.fnmatchcase(result["rule"], rule) for rule in rules)


def reason_of(known, operator, rule):
    for entry in known:
        if fnmatch.fnmatchcase(operator, entry["operator"]) and fnmatch.fnmatchcase(rule, entry["rule"]):
            return entry["label"], entry["reason"]
    return "not read", ""


def summary(tally, known):
    rows = [[what, tally.applied[i], tally.spoke[i]] for i, (what, _, _) in enumerate(ORACLES)]
    alarms = [[f"`{operator}`", f"`{rule}`", severity, *reason_of(known, operator, rule), cell(message[:160])]
              for (operator, rule), (severity, message) in sorted(tally.alarms.items())]  # fmt: skip
    head = (f"{len(tally.operators)} operators of libtorch {tally.torch}, {machine()}, {datetime.date.today().isoformat()}. *cases* counts those in which the oracle could "
            "decide, *alarms* those in which it spoke.")  # fmt: skip
    return "\n\n".join([head, table(["what is compared", "cases", "alarms"], rows), "Every alarm, one line for each operator and rule:",
                        table(["operator", "rule", "severity", "label", "why", "message"], alarms)])  # fmt: skip


def main(tool, build, write):
    with open(ROOT / "tests/bench/oracles.json", encoding="utf-8") as stream:
        known = json.load(stream)["alarms"]
    tally = Tally()
    for report in reports_of(tool, build / "tests/parity/opinfo"):
        tally.add(report)
    text = summary(tally, known)
    print(text)
    if write:
        intro = ("# Oracles on libtorch's own operators\n\nWritten by `scripts/bench --oracles --write`. The calls are those of PyTorch's operator tests (OpInfo), with all variants "
                 "and without neighbours. PyTorch's operators are taken to be right, so that each alarm is false until somebody has read it: `tests/bench/oracles.json` has the labels. They were given from the messages and PyTorch's documentation, without reading "
                 "PyTorch's source.")  # fmt: skip
        (ROOT / EVIDENCE).write_text(f"{intro}\n\n{text}\n", encoding="utf-8")
    return 0
