"""Unit test of what scripts/bench makes of two answers. Standard library only."""

import contextlib
import fnmatch
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import against_python
import against_tables
import aten
import corpus
import ecosystem
import our_side
import parity_costs
import precision
import python_modules
import scale
import skips

REVIEWED = against_python.read_reviewed()
ALIAS = "RuntimeError: Found a custom (non-ATen) operator whose output has alias annotations: ns::op(Tensor(a) x) -> Tensor(a)."


def python_row(failures=None, end="ran", **more):
    return {"operator": "ns::op", "end": end, "failures": failures or {}, "again": {}, "grad": {}, "once": {}, **more}


def row(check, operator, primary, python, ours):
    return {"check": check, "operator": operator, "primary": primary, "python": python, "ours": ours, "detail": "a | b <c>\nd", "note": "",
            "our_rules": [], "python_seconds": 0.02, "python_grad_seconds": 0.04, "our_seconds": 0.01, "python_counterparts": 0.002,
            "our_counterparts": 2e-5}  # fmt: skip


class Judgement(unittest.TestCase):
    def verdict(self, python, primary):
        return against_python.judge_python(python, primary, REVIEWED)[0]

    def test_a_failure_is_a_find_or_a_false_alarm(self):
        told = python_row({"test_schema": "RuntimeError: Argument x is not defined as mutable but was mutated"})
        self.assertEqual(self.verdict(told, "mutation.undeclared"), "found")
        self.assertEqual(self.verdict(told, None), "false alarm")

    def test_a_refused_schema_is_neither(self):
        for primary in ("alias.declared_not_aliased", None):
            self.assertEqual(self.verdict(python_row({"test_aot_dispatch_dynamic": ALIAS}), primary), "refuses")

    def test_what_is_about_the_defect_counts_beside_what_is_not(self):
        both = python_row({"test_aot_dispatch_dynamic": ALIAS, "test_schema": "RuntimeError: Argument x is not defined to alias output"})
        self.assertEqual(self.verdict(both, "alias.undeclared_input"), "found")

    def test_a_missing_meta_kernel_is_a_find_only_where_it_was_planted(self):
        told = python_row({"test_faketensor": "UnsupportedOperatorException: ns.op.default"})
        self.assertEqual(self.verdict(told, "registration.no_meta_kernel"), "found")
        self.assertEqual(self.verdict(told, "empty.shape"), "right")
        self.assertEqual(self.verdict(told, None), "right")

    def test_ends_and_silence(self):
        self.assertEqual(self.verdict(python_row(end="died", how="SIGSEGV", test="test_schema"), "signal.SIGSEGV"), "dies")
        self.assertEqual(self.verdict(python_row(end="hung", how="", test="test_schema"), "timeout"), "hangs")
        self.assertEqual(self.verdict(python_row(end="died", how="SIGSEGV", test="test_schema"), None), "false alarm")
        self.assertEqual(self.verdict(python_row(), "stride.wrong_result"), "missed")
        self.assertEqual(self.verdict(python_row(), None), "silent")

    def test_ours(self):
        self.assertEqual(against_python.judge_ours({"rules": {"a.b": None}, "verdicts": {"fail"}}, "a.b"), "found")
        self.assertEqual(against_python.judge_ours({"rules": {"a.c": None}, "verdicts": {"fail"}}, "a.b"), "missed")
        self.assertEqual(against_python.judge_ours({"rules": {"a.b": None}, "verdicts": {"pass", "fail"}}, None), "false alarm")
        self.assertEqual(against_python.judge_ours({"rules": {"functionalisation.refused": None}, "verdicts": {"pass", "fail"}}, None), "refuses")
        self.assertEqual(against_python.judge_ours({"rules": {"registration.no_meta_kernel": None}, "verdicts": {"pass", "fail"}}, None), "right")
        self.assertEqual(against_python.judge_ours({"rules": {"a.c": None, "registration.no_meta_kernel": None}, "verdicts": {"fail"}}, None), "false alarm")
        self.assertEqual(against_python.judge_ours({"rules": {}, "verdicts": {"pass"}}, None), "silent")
        self.assertEqual(against_python.judge_ours({"rules": {}, "verdicts": {"skip"}}, None), "unusable")


class Cost(unittest.TestCase):
    def result(self, check, variant="plain", verdict="pass", seconds=1.0, dtype="-", sample="sample"):
        return {"operator": "ns::op", "check": check, "verdict": verdict, "seconds": seconds, "case": f"ns::op/{check}/cpu/{dtype}/{sample}/{variant}"}

    def test_counterparts_are_the_three_plain_cases_of_one_sample(self):
        results = [self.result(check) for check in our_side.COUNTERPARTS]
        results += [self.result("alias", "x.sliced"), self.result("meta", dtype="int64"), self.result("alias", sample="second"), self.result("dtype")]
        self.assertEqual(our_side.counterpart_seconds({"results": results}, "ns::op"), 3.0)

    def test_none_where_one_of_them_proved_nothing(self):
        results = [self.result("alias"), self.result("mutation"), self.result("meta", verdict="skip")]
        self.assertIsNone(our_side.counterpart_seconds({"results": results}, "ns::op"))

    def test_what_loading_took_is_the_worker_s_own_word(self):
        self.assertAlmostEqual(our_side.beyond_loading({"run": {"loading_cpu_seconds": 0.25}}, 0.75), 0.5)

    def test_ratios_are_of_the_look_alikes_that_have_both_figures(self):
        rows = [row("alias", f"ns::ok{i}", None, "silent", "silent") for i in range(5)] + [row("alias", "ns::bad", "a.b", "found", "found")]
        rows[0]["our_seconds"] = None
        rows[-1]["our_counterparts"] = 1
        rows[1]["python_grad_seconds"] = None
        quick, battery = against_python.cost_lines(rows)
        self.assertIn("ratio 100 (half of 5 operators", quick)
        self.assertIn("ratio 0.5 (half of 4 operators", battery)
        self.assertIn("take 40 ms on what they pass; ratio 0.25 (half of 3 operators", battery)

    def test_python_counts_where_all_its_tests_came_to_an_end(self):
        told = python_row(again={"a": 1.0, "b": 2.0}, grad={"a": 3.0})
        self.assertEqual(against_python.python_seconds(told, ["a", "b"]), 3.0)
        self.assertIsNone(against_python.python_seconds(told, ["a", "b"], "grad"))


class ParityCost(unittest.TestCase):
    def report(self, *cases):
        return {"results": [{"operator": "ns::op", "check": case.split("/")[0], "case": f"ns::op/{case}", "seconds": seconds} for case, seconds in cases]}

    def test_one_sample_as_it_stands_and_the_operator_as_such(self):
        report = self.report(("alias/cpu/-/again/plain", 1.0), ("alias/cpu/-/first/plain", 9.0), ("alias/cpu/-/again/x.sliced", 9.0),
                             ("alias/cpu/int64/again/plain", 9.0), ("registration/-/-/-/-", 2.0), ("determinism/cpu/-/-/-", 9.0),
                             ("determinism/cpu/-/again/plain", 4.0), ("memory/cpu/-/again/plain", 9.0), ("alias/cuda-sim/-/again/plain", 9.0))  # fmt: skip
        self.assertEqual(sum(seconds for _, seconds in parity_costs.own_cases(report, "ns::op", "again")), 7.0)
        self.assertEqual(list(parity_costs.own_cases(report, "ns::other", "again")), [])

    def test_the_longest_is_of_the_first_time(self):
        reports = [self.report(("autograd/cpu/-/first/plain", seconds), ("autograd/cpu/-/again/plain", 9.0)) for seconds in (1.0, 3.0)]
        self.assertEqual(parity_costs.longest(reports, ["ns::op"], "autograd"), 3.0)

    def test_every_case_has_a_sample(self):
        written = parity_costs.check_parity.read_json("parity.expect.json")
        names = {case["operator"] for case in written["cases"].values()}
        self.assertEqual({name: sample["operator"] for name, sample in parity_costs.first_samples(names).items()}, {name: name for name in names})


class Precision(unittest.TestCase):
    listed = {"seed": 0, "warnings": 1, "hold_out": ["kept"], "libraries": [{"name": "open", "version": "1"}, {"name": "kept", "version": "2"}]}

    def problem(self, number, severity="error"):
        return {"id": f"{number:016x}", "severity": severity, "operators": ["ns::op"], "rule": "a.b", "message": "", "standing": None, "repro": ""}

    def library(self, name, *problems):
        return {"name": name, "operators": 3, "called": 2, "seconds": 1.0, "cases": 9, "groups": 4, "json": 2**20, "junit": 0, "problems": problems}

    def label(self, number, label, second=""):
        return {f"{number:016x}": {"id": f"{number:016x}", "label": label, "second": second}}

    def test_only_operators_and_classes_count_as_called(self):
        def result(operator, check, verdict="pass"):
            return {"operator": operator, "check": check, "verdict": verdict, "rule": None, "severity": None}

        results = [result("ns::op", "memory"), result("ns::Box", "class"), result("ns::other", "registration"), result("ns::other", "memory", "skip"),
                   result("library::ns.so", "state")]  # fmt: skip
        report = {"results": results, "operators": [{"name": "ns::op"}, {"name": "ns::other"}], "classes": [{"name": "ns::Box"}], "problems": [], "libraries": [],
                  "tool": {}}  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder) / "one"
            for end, value in ((".json", report), (".run", {"seconds": 1.0}), (".xml", None)):
                base.with_suffix(end).write_text(json.dumps(value), encoding="utf-8")
            row = precision.figures({"name": "one"}, base)
        self.assertEqual((row["operators"], row["called"], row["cases"]), (3, 2, 5))

    def test_disagreement_counts_as_false(self):
        known = self.label(1, "true") | self.label(2, "true", "input") | self.label(3, "input", "input")
        counts = precision.counted([self.problem(number) for number in (1, 2, 3, 4)], known)
        self.assertEqual(dict(counts), {"true": 1, "input": 1, "false": 1, "unlabelled": 1})
        self.assertEqual(precision.share(counts), "25–50 %")

    def test_the_hold_out_is_apart(self):
        rows = [self.library("open", self.problem(1), self.problem(2, "warning")), self.library("kept", self.problem(3), self.problem(4, "warning"))]
        known = {"open": self.label(1, "true"), "kept": self.label(3, "false")}
        lines = precision.precision_table(self.listed, rows, known).splitlines()[2:]
        self.assertEqual([line.split("|")[1].strip() for line in lines], ["open 1", "**corpus**", "hold-out: kept 2", "**hold-out**"])
        self.assertEqual([line.split("|")[-2].strip() for line in lines], ["100 %", "100 %", "0 %", "0 %"])
        self.assertEqual([row["name"] for row, _ in precision.drawn_warnings(self.listed, rows)], ["open"])

    def test_sections_that_a_run_does_not_write_are_kept(self):
        page = "# Precision\n\ntext\n\n## The hold-outs\n\n| a |\n\n## Recall on planted defects\n\nold\n"
        self.assertEqual(precision.kept_sections(page, "table\n\n## Recall on planted defects\n\nnew"), ["## The hold-outs\n\n| a |"])

    def test_nothing_found_has_no_precision(self):
        self.assertEqual(precision.share(precision.counted([], {})), "–")

    def test_labels_of_what_is_gone_are_counted(self):
        rows = [self.library("open", self.problem(1))]
        self.assertIn("open 1", precision.stale_line(rows, {"open": self.label(1, "true") | self.label(2, "true")}))

    def test_costs_are_of_libraries_that_both_have(self):
        after = [self.library("open", self.problem(1)), self.library("kept")]
        lines = precision.cost_table([self.library("open")], after).splitlines()[2:]
        self.assertEqual(lines, ["| open | 1 → 1 | 9 → 9 | 4 → 4 | 1 | 1.0 → 1.0 | 0.0 → 0.0 |", "| **all** | 1 → 1 | 9 → 9 | 4 → 4 | 1 | 1.0 → 1.0 | 0.0 → 0.0 |"])


class Tables(unittest.TestCase):
    rows = [row("alias", "ns::bad", "alias.undeclared_input", "missed", "found"), row("alias", "ns::crash", "exit", "dies", "found"),
            row("alias", "ns::ok", None, "false alarm", "silent"), row("alias", "ns::ok_view", None, "refuses", "silent")]  # fmt: skip
    head = {"torch": "2", "python": "3", "tests": ["test_schema"], "default": ["test_schema"]}

    def test_summary_counts(self):
        line = against_tables.summary(self.rows).splitlines()[2]
        self.assertEqual(line, "| `alias` | 2 | 0 (1 end it) | 2 | 2 | 1 (1 refused) | 0 | 20 | 10 |")

    def test_what_opcheck_c_owes_is_named(self):
        rows = self.rows + [row("alias", "ns::bad2", "alias.x", "found", "missed")]
        self.assertEqual(against_tables.shortcomings(rows), ["opcheck-c: ns::bad2: missed: alias.x"])

    def test_every_line_of_a_table_has_as_many_cells(self):
        for text in (against_tables.summary(self.rows), against_tables.evidence(self.head, self.rows, ["a line"])):
            widths, section = {}, 0
            for line in text.splitlines():
                if line.startswith("|"):
                    widths.setdefault(section, set()).add(line.replace("\\|", "").count("|"))
                else:
                    section += 1
            self.assertTrue(all(len(width) == 1 for width in widths.values()), widths)

    def test_a_cell_does_not_say_where_this_was_built(self):
        self.assertEqual(against_tables.cell(f"RuntimeError: {against_tables.ROOT}/fixtures/a.cpp:3: a|b"), "RuntimeError: fixtures/a.cpp:3: a\\|b")

    def test_the_summary_keeps_what_is_around_the_markers(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / against_tables.SUMMARY).parent.mkdir(parents=True)
            (root / against_tables.SUMMARY).write_text(f"before\n{against_tables.BEGIN}\nwritten before\n{against_tables.END}\nafter\n", encoding="utf-8")
            against_tables.write(self.head, self.rows, ["a line"], root)
            text = (root / against_tables.SUMMARY).read_text(encoding="utf-8")
            self.assertTrue(text.startswith(f"before\n{against_tables.BEGIN}\n"), text)
            self.assertTrue(text.endswith(f"{against_tables.END}\nafter\n"), text)
            self.assertNotIn("written before", text)
            self.assertIn("ns::bad", (root / against_tables.EVIDENCE).read_text(encoding="utf-8"))

    def test_a_summary_without_markers_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / against_tables.SUMMARY).parent.mkdir(parents=True)
            (root / against_tables.SUMMARY).write_text("mine", encoding="utf-8")
            self.assertRaises(SystemExit, against_tables.write, self.head, self.rows, [], root)
            self.assertEqual((root / against_tables.SUMMARY).read_text(encoding="utf-8"), "mine")


def versions_script():
    path = str(pathlib.Path(__file__).resolve().parents[2] / "scripts/versions")
    spec = importlib.util.spec_from_loader("versions", importlib.machinery.SourceFileLoader("versions", path))
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


class Versions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.versions = versions_script()
        self.versions.EVIDENCE, self.versions.DATA = (pathlib.Path(self.folder.name) / name for name in ("versions.md", "versions.json"))

    def row(self, **more):
        return {"cuda": "12", "standard": "17", "seconds": 80, "passed": 5, "skipped": 1, "failed": [], "date": "2026-11-25", **more}

    def run_main(self, *words):
        with mock.patch.object(sys, "argv", ["versions", *words]), contextlib.redirect_stderr(io.StringIO()) as errors:
            return self.versions.main(), errors.getvalue()

    def test_a_test_that_was_not_built_is_no_skip(self):
        path = pathlib.Path(self.folder.name) / "junit.xml"
        path.write_text('''<testsuite><testcase name="a" status="run"/><testcase name="b" status="fail"><failure message=""/></testcase>
            <testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>SKIP: a
SKIP: /some/where/lib.so: no GPU</system-out></testcase>
            <testcase name="d" status="notrun"><skipped message="Unable to find executable"/></testcase>
            <testcase name="e" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase></testsuite>''', encoding="utf-8")
        labels = {"a": ["real", "gpu"], "c": ["real", "gpu"], "another": ["unit"]}
        self.assertEqual(self.versions.outcomes(path, labels), {"passed": 1, "skipped": 2, "failed": ["b", "d"], "labels": {"real": [1, 2], "gpu": [1, 2]},
                                                        "reasons": {"lib.so: no GPU": 1, "no reason was given": 1}})  # fmt: skip

    def test_rows_are_in_the_order_of_versions_and_failures_are_named(self):
        labels = {"cli": [5, 6]}
        self.versions.write({"2.10": self.row(whole=True, labels=labels, reasons={"no GPU": 1}), "2.9": self.row(failed=["contract.x"])}, ["2.11", "2.9", "2.10"])
        text = self.versions.EVIDENCE.read_text(encoding="utf-8")
        self.assertLess(text.index("| 2.9 | 12 | 17 | 80 | 7 | 5 | 1 | 1 |"), text.index("| 2.10 | 12 | 17 | 80 | 6 | 5 | 1 | 0 |"))
        for line in ("- 2.9: `contract.x`", "Not run by this script yet: 2.11.", "Only the tests with the labels `unit` and `contract` were run with 2.9.",
                     "| libtorch | cli |", "| 2.10 | 5/6 |", "- no GPU (2.10: 1)"):  # fmt: skip
            self.assertIn(line, text.splitlines())

    def test_a_version_that_cannot_be_built_does_not_stop_the_others(self):
        broken = subprocess.CalledProcessError(1, ["scripts/setup", "--torch=2.7"])
        with mock.patch.object(self.versions, "measure", side_effect=[broken, self.row()]):
            status, errors = self.run_main("2.7", "2.8")
        self.assertEqual(status, 1)
        self.assertIn("libtorch 2.7 could not be tested", errors)
        self.assertEqual(list(json.loads(self.versions.DATA.read_text(encoding="utf-8"))), ["2.8"])

    def test_tests_that_are_run_again_after_a_correction(self):
        path = pathlib.Path(self.folder.name) / "junit.xml"
        path.write_text('''<testsuite><testcase name="before" status="run"/><testcase name="a" status="run"/><testcase name="b" status="fail"/>
            <testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>SKIP: no GPU</system-out></testcase></testsuite>''', encoding="utf-8")
        labels = {"a": ["real"], "b": ["real"], "c": ["real"], "before": ["real"]}
        row = self.row(failed=["a", "b", "c", "is gone"], labels={"real": [1, 5]}, reasons={"no GPU": 1}, whole=True)
        after = self.versions.after_another_run(row, row["failed"], path, labels)
        self.assertEqual((after["passed"], after["skipped"], after["failed"]), (6, 2, ["b", "is gone"]))
        self.assertEqual((after["labels"], after["reasons"]), ({"real": [2, 5]}, {"no GPU": 2}))
        self.assertEqual((row["passed"], row["failed"], row["labels"]), (5, ["a", "b", "c", "is gone"], {"real": [1, 5]}))
        self.versions.write({"2.9": after}, ["2.9"])
        lines = self.versions.EVIDENCE.read_text(encoding="utf-8").splitlines()
        today = after["again"][0]["date"]
        for line in (f"- 2.9, on {today}: passed `a`", f"- 2.9, on {today}: skipped `c`", "- 2.9: `b`, `is gone`"):
            self.assertIn(line, lines)

    def test_again_is_for_versions_with_failures(self):
        self.versions.write({"2.8": self.row(failed=["a"]), "2.9": self.row()}, ["2.8", "2.9"])
        with mock.patch.object(self.versions, "measure", side_effect=[self.row()]) as measured:
            self.assertEqual(self.run_main("--again", "2.8", "2.9")[0], 0)
        self.assertEqual([call.args[0] for call in measured.call_args_list], ["2.8"])
        with self.assertRaises(SystemExit) as ended:
            self.run_main("--again", "2.9")
        self.assertEqual(ended.exception.code, 2)

    def test_a_version_that_is_not_supported(self):
        with self.assertRaises(SystemExit) as ended:
            self.run_main("2.5")
        self.assertEqual(ended.exception.code, 2)


class WrittenLists(unittest.TestCase):
    planted = {name: row["primary"] for path in our_side.FIXTURES.glob("*.expect.json") for name, row in our_side.read_expectations(path).items()}

    def test_they_name_operators_that_are_there(self):
        for name in REVIEWED["operators"]:
            self.assertTrue(fnmatch.filter(self.planted, name), name)
        for spot in against_tables.read_blind_spots():
            with self.subTest(spot["defect"]):
                self.assertTrue(spot["operators"])
                self.assertTrue(all(self.planted.get(name) for name in spot["operators"]), spot["operators"])

    def test_they_name_rules_that_are_planted(self):
        rules = {rule for entry in REVIEWED["messages"] for rule in entry.get("rules", [])} | set(REVIEWED["not_compared"])
        self.assertEqual(rules - set(self.planted.values()), set())


def aten_report():
    """As opcheck-c writes it: an object of a list a line."""
    operators = [
        {"name": "aten::a", "sample_source": "searched", "sample_detail": "found after 1 try", "search": {"state": "rich", "cpu_seconds": 0.5}},
        {"name": "aten::b", "sample_source": "none", "sample_detail": "impossible here: it has no kernel for the CPU", "search": {"state": "impossible here"}},
        {"name": "aten::c", "sample_source": "none", "sample_detail": "not found in 300 tries; last: expected 4-D"},
        {"name": "aten::d", "sample_source": "none", "sample_detail": ""},
        {"name": "aten::elsewhere", "sample_source": "none"},
    ]
    results = [("aten::a", "alias", "pass", None), ("aten::a", "stride", "error", "signal.SIGSEGV"), ("aten::a", "stride", "fail", "stride.wrong_result"),
               ("aten::b", "registration", "pass", None), ("aten::c", "alias", "skip", None), ("aten::d", "registration", "fail", "registration.tags")]  # fmt: skip
    rows = [{"operator": name, "check": check, "verdict": verdict, "rule": rule, "seconds": 1.0} for name, check, verdict, rule in results]

    def part(name, items):
        return f'  "{name}": [\n    ' + ",\n    ".join(map(json.dumps, items)) + "\n  ],\n"

    return ('{\n  "format": "opcheck-c/report/1",\n  "run": {"complete": true, "seed": 0},\n' + part("operators", operators) + part("notes", ["a word"])
            + '  "classes": [],\n' + part("results", rows) + '  "summary": {}\n}\n').splitlines(keepends=True)  # fmt: skip


class AtenCoverage(unittest.TestCase):
    def test_what_is_counted(self):
        coverage = aten.Coverage(aten_report())
        self.assertEqual(json.loads("".join(aten_report()))["notes"], ["a word"])  # it is a report
        self.assertEqual(set(coverage.operators), {"aten::a", "aten::b", "aten::c", "aten::d"})  # what has no result was not selected
        self.assertEqual(coverage.with_input(), {"aten::a"})
        self.assertEqual(coverage.called, {"aten::a"})
        self.assertEqual(coverage.reasons(), {"not found by the search": ["aten::c", "aten::d"], "no kernel for the CPU": ["aten::b"]})
        self.assertEqual(coverage.unreasoned(), ["aten::d"])
        self.assertEqual(coverage.findings, {"aten::a": {"signal.SIGSEGV", "stride.wrong_result"}, "aten::d": {"registration.tags"}})
        self.assertTrue(coverage.complete)
        self.assertEqual(coverage.notes, ["a word"])

    def test_it_is_written_down(self):
        coverage = aten.Coverage(aten_report())
        cost = {"cpu": 60, "wall": 90, "parent_mib": 40, "worker_mib": 200, "report_mib": 1, "journal_mib": 1}
        text = aten.evidence(coverage, cost, "1/20")
        for words in ("| with a valid input | 1 | 25.0 % |", "| `aten::b` | no kernel for the CPU |", "1.0 minutes of processor time", "--shard 1/20"):
            self.assertIn(words, text)


class PythonModules(unittest.TestCase):
    ROWS = [{"module": "right", "correct": True, "operators": 4, "ours": 0.8, "theirs": 0.2, "defects": 0, "found": 0, "python_found": 0, "alike": 4, "alarms": 0,
             "python_alarms": 1, "python_alone": []},
            {"module": "wrong", "correct": False, "operators": 2, "ours": 4.0, "theirs": 0.4, "defects": 2, "found": 1, "python_found": 1, "alike": 0, "alarms": 0,
             "python_alarms": 0, "python_alone": ["ns::b"]}]  # fmt: skip

    def test_the_ratio_that_is_wanted_is_of_the_correct_modules(self):
        line = python_modules.cost_line(self.ROWS)
        self.assertIn("200 ms of CPU an operator", line)
        self.assertIn("50 ms, over the 4 operators of the correct modules; ratio 4, wanted: at most 2. Over all modules: 8.", line)

    def test_a_line_for_each_module_and_two_sums(self):
        lines = python_modules.summary(self.ROWS).splitlines()[2:]
        self.assertEqual(lines, ["| `right` | 0 | 0 | 0 | 4 | 1 | 0 | 50 | 200 | 4.00 |", "| `wrong` | 2 | 1 | 1 | 0 | 0 | 0 | 200 | 2000 | 10.00 |",
                                 "| **correct modules** | 0 | 0 | 0 | 4 | 1 | 0 | 50 | 200 | 4.00 |", "| **all** | 2 | 1 | 1 | 4 | 1 | 0 | 100 | 800 | 8.00 |"])  # fmt: skip
        self.assertEqual(python_modules.alone_line(self.ROWS), "Found by Python's opcheck alone: `ns::b`.")
        self.assertEqual(python_modules.alone_line(self.ROWS[:1]), "Found by Python's opcheck alone: nothing.")

    def test_who_finds_what(self):
        expectations = {"ns::a": {"primary": "meta.shape", "allowed": ["meta.alias"]}, "ns::b": {"primary": "x.y", "or": ["x.z"]}, "ns::c": {"primary": None}}
        result = {"severity": "error", "message": "m", "evidence": {}, "check": "meta", "case": "c"}
        report = {"results": [{**result, "operator": "ns::a", "verdict": "fail", "rule": "meta.alias"}, {**result, "operator": "ns::b", "verdict": "fail", "rule": "x.z"},
                              {**result, "operator": "ns::c", "verdict": "pass", "rule": None}]}  # fmt: skip
        theirs = {name: {"operator": name, "failures": failures, "end": "ran"} for name, failures in (("ns::a", {"test_schema": "wrong"}), ("ns::b", {}), ("ns::c", {}))}
        found = python_modules.who_finds(report, theirs, expectations)
        self.assertEqual(found, {"defects": 2, "found": 1, "python_found": 1, "alike": 1, "alarms": 0, "python_alarms": 0, "python_alone": ["ns::a"]})

    def test_each_operator_has_a_sample(self):
        names = [name for name, expectations, samples in python_modules.modules() if set(expectations) == set(samples)]
        self.assertIn("correct_python", names)
        self.assertEqual(names, sorted(path.name.removesuffix(".expect.json") for path in python_modules.FOLDER.glob("*.expect.json")))


class Scale(unittest.TestCase):
    def test_row(self):
        end = {"seconds": 6.0, "job_seconds": 5.0, "idle_seconds": 1.0}
        self.assertEqual(scale.row(4, end, 12.0).split(), ["4", "6.0", "0.50", "20", "%"])
        self.assertEqual(scale.row(1, {"seconds": 1.0, "job_seconds": 0, "idle_seconds": 0}, 1.0).split(), ["1", "1.0", "1.00", "0", "%"])

    def test_broken_off(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as journal:
            journal.write('{"t":"run"}\n{"t":"end","complete":false}\n')
            journal.flush()
            with self.assertRaises(SystemExit):
                scale.end_of(journal.name)
            journal.write('{"t":"end","complete":true,"seconds":2}\n')
            journal.flush()
            self.assertEqual(scale.end_of(journal.name)["seconds"], 2)


class Skips(unittest.TestCase):
    @staticmethod
    def result(verdict, operator="ns::a", **more):
        return {"check": "alias", "operator": operator, "case": f"{operator}/alias/cpu/-/s/plain", "verdict": verdict, "reason": None, "message": "", "evidence": {}, **more}

    def test_names_and_numbers_do_not_make_another_reason(self):
        texts = ("argument 'x' of ns::a has 3 elements", "argument 'other' of lib::b.out has 17 elements")
        self.assertEqual(len({skips.reason_of(text) for text in texts}), 1)

    def test_a_table_has_a_row_for_each_reason_and_what_passes_rest_on(self):
        results = [self.result("skip", reason="not_applicable", message="ns::a declares no alias"),
                   self.result("skip", "ns::b", reason="not_applicable", message="ns::b declares no alias"),
                   self.result("skip", reason="rejected", message="expected 3 dims"),
                   self.result("pass", evidence={"calls": 2, "compared": 8}), self.result("pass", "ns::b")]  # fmt: skip
        told = skips.tally([{"results": results}])
        self.assertEqual([row[:5] for row in skips.skip_rows(told)], [["alias", "not_applicable", 2, 2, "… declares no alias"]])
        self.assertEqual(list(skips.pass_rows(told)), [["alias", 2, 2, "1", 1, "4", 1]])
        self.assertEqual(list(skips.other_rows(told)), [["alias", 1, 0, 0, 0, 0]])


class Ecosystem(unittest.TestCase):
    program = """# ns::op: stride.wrong_result
# opcheck-c 0.1.0 found it with libtorch 2.11.0:
#   /build/bin/opcheck-c run --samples /runs/found.json --torch /venv/torch --case 'ns::op/memory/cpu/-/s-1/x.sliced' /wheels/ns/_C.so
import sys
import torch
ctypes.CDLL("/wheels/ns/base.so", ctypes.RTLD_GLOBAL)
torch.ops.load_library("/wheels/ns/_C.so")
"""

    def row(self, name, problems, known, **more):
        report = {"tool": {"version": "0.1.0", "torch": "2.11.0"}, "results": 90, "summary": {"checked": 3, "operators": 4}}
        return {"entry": {"name": name, "version": "1.0", "get": "wheel"} | more, "name": name, "report": report, "problems": problems, "failed": [], "since": None,
                "labels": {one: {"label": label, "second": label, "source": "a.cpp:1", "why": "because", "call": "op(x)"} for one, label in known.items()},
                "seconds": 2.4}  # fmt: skip

    @staticmethod
    def problem(one, rule, severity="error"):
        return {"id": one, "rule": rule, "severity": severity, "operators": ["ns::op"], "message": f"<{rule}>", "repro": "opcheck-c run lib.so",
                "cases": ["ns::op/memory/cpu/-/s-1/x.sliced"]}  # fmt: skip

    def rows(self):
        problems = [self.problem("a", "meta.rejects"), self.problem("b", "signal.SIGSEGV"), self.problem("c", "memory.out_of_bounds_read"),
                    self.problem("d", "stride.wrong_result"), self.problem("w", "state.printed", "warning")]  # fmt: skip
        return [self.row("one", problems, {"a": "true", "b": "true", "c": "false", "w": "true"}),
                self.row("aten", [self.problem("e", "signal.SIGSEGV")], {"e": "true"}, get="libtorch")]  # fmt: skip

    def test_the_strongest_true_errors_come_first(self):
        self.assertEqual([problem["id"] for _, problem, _ in ecosystem.strongest(self.rows())], ["b", "a"])

    def test_a_program_for_readers_names_no_folder(self):
        text = ecosystem.for_readers(self.program, {"preload": ["ns/base.so"], "libraries": ["ns/_C.so"]}, pathlib.Path("/runs"))
        self.assertIn('torch.ops.load_library(os.path.join(sysconfig.get_path("platlib"), "ns/_C.so"))', text)
        self.assertIn("#   opcheck-c run --samples found.json --case 'ns::op/memory/cpu/-/s-1/x.sliced' ns/_C.so\nimport os\nimport sysconfig\nimport sys\n", text)
        self.assertIn('ctypes.CDLL(os.path.join(sysconfig.get_path("platlib"), "ns/base.so"), ctypes.RTLD_GLOBAL)', text)
        self.assertNotIn("/wheels", text)

    def test_the_index_counts_what_readers_decided(self):
        rows = self.rows()
        rows[0]["since"] = dict.fromkeys(("worse", "changed", "gone"), 0) | {"new": 2, "fixed": 1}
        page = ecosystem.index(rows, ["three <1.0>:\n did not build"], ["four 1.0"], [("01-one.md", "ns::op: <x>")], reports=True)
        numbers = "".join(f"<td class=n>{number}</td>" for number in ("3 of 4", 90, 4, 2, 0, 1, 1, 1, 2))
        self.assertIn(f'<a href="one.html">one 1.0</a></td>{numbers}<td><a href="one.compare.html">2 new, 1 fixed</a></td>', page)
        self.assertIn("<td>2 libraries</td><td class=n>6 of 8</td><td class=n>180</td><td class=n>5</td><td class=n>3</td>", page)
        self.assertIn("<li>three &lt;1.0&gt;: did not build</li>", page)
        self.assertIn("Not part of this run: four 1.0.", page)
        self.assertIn('<a href="issues/01-one.md">ns::op: &lt;x&gt;</a>', page)
        self.assertNotIn(".html", ecosystem.index(rows, [], [], [], reports=False))

    def test_an_issue_has_the_call_and_its_program(self):
        row, problem, label = ecosystem.strongest(self.rows())[0]
        text = ecosystem.issue_text(row, problem, label, "print()\n", "ns::op: FAILS: x", "\n\nA control.")
        for words in ("# ns::op: <signal.SIGSEGV>", "one 1.0, torch 2.11.0", "because (a.cpp:1)", "```python\nop(x)\n```", "ns::op: FAILS: x\n```\n\nA control.\n\n```python",
                      "```python\nprint()\n```"):  # fmt: skip
            self.assertIn(words, text)

    def test_a_message_is_turned_round_for_readers_of_an_issue(self):
        problem = self.problem("l", "signal.SIGSEGV") | {"message": "depends on the layout of `x`, `y`: segmentation fault at address 0x7f in f, while the operator ran"}
        self.assertEqual(ecosystem.said(problem), "segmentation fault in f, if `x` or `y` is not contiguous")
        self.assertEqual(ecosystem.said(problem | {"cases": ["ns::op/stride/cpu/-/s-1/x.neg"]}), "segmentation fault in f, with another layout of `x` or `y`")

    def test_a_call_that_words_explain_is_no_python(self):
        self.assertEqual(ecosystem.call_block("x = 1; op(x)  # 3; or 4"), "```python\nx = 1\nop(x)  # 3; or 4\n```")
        self.assertEqual(ecosystem.call_block("op(x) gives 3"), "```text\nop(x) gives 3\n```")

    def control(self, body, **more):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "p.py"
            path.write_text(f"import sys\nclass torch: Tensor = bytes\ndef arguments():\n    return [1], {{}}\n{body}\n")
            return ecosystem.control_of(self.problem("l", "signal.SIGSEGV") | more, path, sys.executable, folder)

    def test_a_layout_is_to_blame_only_if_contiguous_tensors_do_not_fail(self):
        self.assertEqual(self.control("print(arguments())", change="layout"), "\n\nWith `.contiguous()` on every tensor it prints `([1], {})`.")
        self.assertIsNone(self.control("sys.exit(1)", change="layout"))
        self.assertEqual(self.control("print(1)", change="values"), "")

    def options(self, folder, **more):
        return type("Options", (), {"folder": folder, "parts": 2, "before": None, "issues": 10} | more)

    def test_a_second_call_runs_only_what_is_missing(self):
        entry, ran = {"name": "one", "version": "1.0"}, []

        def opcheck(_, words, log):
            ran.append(words)
            log.write_text("worker died\n")
            return 3 if len(ran) == 2 else 1

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(ecosystem, "opcheck", opcheck), contextlib.redirect_stderr(io.StringIO()):
            options, place = self.options(pathlib.Path(folder)), pathlib.Path(folder) / "one"
            with self.assertRaisesRegex(corpus.NotAvailable, "one 1.0, part 2: opcheck-c ended with 3: worker died"):
                ecosystem.run_parts(options, "tool", entry, ["lib.so"], place)
            parts = ecosystem.run_parts(options, "tool", entry, ["lib.so"], place)
        self.assertEqual([words[2] for words in ran], ["1/2", "2/2", "2/2"])
        self.assertEqual([part.name for part in parts], ["1-of-2.json.zst", "2-of-2.json.zst"])


if __name__ == "__main__":
    unittest.main()
