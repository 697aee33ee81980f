"""Unit test of how check_parity.py holds two verdicts against the expectation file. Standard library only."""

import copy
import json
import unittest

import check_parity

EXPECTED = {
    "torches": ["2.11", "2.15"],
    "tests": {"test_schema": ["alias.*"], "test_faketensor": ["meta.*"]},
    "cases": {
        "A": {"operator": "ns::a", "python": {"test_schema": "^RuntimeError: .*aliasing"}, "ours": {"test_schema": ["alias.input"]}, "beyond": ["empty.shape"]},
        "B": {"operator": "ns::b", "ours": {"test_faketensor": ["meta.stride"]}, "differs": {"test_faketensor": "strides"}},
    },
    "since": {"2.13": {"B": {"python": {"test_faketensor": "Stride"}, "differs": {"test_faketensor": None}}}, "2.14": {"A": {"beyond": []}}},
}
THEIRS = {"ns::a": {"end": "ran", "failures": {"test_schema": "RuntimeError: x was aliasing"}}, "ns::b": {"end": "ran", "failures": {}}}
OURS = {"ns::a": {"found": {"alias.input": ("case", "text"), "empty.shape": ("case", "text")}, "passed": True},
        "ns::b": {"found": {"meta.stride": ("case", "text")}, "passed": True}}  # fmt: skip


class Mistakes(unittest.TestCase):
    def setUp(self):
        self.expected, self.theirs, self.ours = copy.deepcopy((EXPECTED, THEIRS, OURS))

    def assert_told(self, words):
        wrong = list(check_parity.mistakes(self.expected, self.theirs, self.ours))
        self.assertEqual(len(wrong), 1, wrong)
        self.assertIn(words, wrong[0])

    def test_nothing_where_all_is_as_expected(self):
        self.assertEqual(list(check_parity.mistakes(self.expected, self.theirs, self.ours)), [])

    def test_python_passes_all_at_once(self):
        self.theirs["ns::a"]["failures"].clear()
        self.assert_told('test_schema of Python is to fail with "^RuntimeError: .*aliasing": it passes')

    def test_python_fails_with_other_words(self):
        self.theirs["ns::a"]["failures"]["test_schema"] = "RuntimeError: x was mutated"
        self.assert_told("x was mutated")

    def test_python_fails_all_at_once(self):
        self.theirs["ns::b"]["failures"]["test_schema"] = "RuntimeError: new"
        self.assert_told("test_schema of Python is to pass: RuntimeError: new")

    def test_python_dies(self):
        self.theirs["ns::b"].update(end="died", how="SIGSEGV", test="test_schema")
        self.assert_told("did not come to an end: died: SIGSEGV in test_schema")

    def test_a_finding_is_gone(self):
        del self.ours["ns::a"]["found"]["alias.input"]
        self.assert_told("opcheck-c did not find alias.input")

    def test_a_finding_is_new(self):
        self.ours["ns::b"]["found"]["leak.memory"] = ("case", "text")
        self.assert_told("opcheck-c is not to find leak.memory: case: text")

    def test_nothing_passed(self):
        self.ours["ns::b"]["passed"] = False
        self.assert_told("nothing passed")

    def test_python_alone_finds_something(self):
        self.expected["cases"]["A"]["ours"] = {}
        del self.ours["ns::a"]["found"]["alias.input"]
        self.assert_told("test_schema fails in Python alone")

    def test_a_difference_needs_a_reason(self):
        del self.expected["cases"]["B"]["differs"]
        self.assert_told("no reason is given")

    def test_a_reason_needs_a_difference(self):
        self.expected["cases"]["A"]["differs"] = {"test_schema": "why"}
        self.assert_told("a reason for a difference, and there is none")

    def test_a_rule_stands_with_the_test_that_it_is_about(self):
        self.expected["tests"]["test_schema"].append("empty.*")
        self.assert_told("empty.shape is about test_schema")
        self.expected["tests"].update(test_schema=["mutation.*"])
        self.assert_told("alias.input is not about test_schema")

    def test_no_operator_is_forgotten(self):
        self.ours["ns::c"] = self.ours["ns::b"]
        self.expected["cases"]["C"] = self.expected["cases"]["B"]
        self.assertEqual(list(check_parity.forgotten(self.expected, self.ours)), ["ns::c is in the library and in no case", "ns::b is in two cases"])


class Versions(unittest.TestCase):
    def test_the_oldest_is_as_it_is_written(self):
        self.assertEqual(check_parity.expected_of(EXPECTED, "2.11.0+cu130")["cases"], EXPECTED["cases"])

    def test_later_ones_differ_where_since_says_so(self):
        cases = check_parity.expected_of(EXPECTED, "2.13.1")["cases"]
        self.assertEqual(cases["A"], EXPECTED["cases"]["A"])
        self.assertEqual(cases["B"], {**EXPECTED["cases"]["B"], "python": {"test_faketensor": "Stride"}, "differs": {}})
        self.assertEqual(check_parity.expected_of(EXPECTED, "2.15.0")["cases"]["A"]["beyond"], [])
        self.assertNotIn("python", EXPECTED["cases"]["B"])


class Readme(unittest.TestCase):
    def test_the_differences_are_counted_and_listed(self):
        block = check_parity.readme_block(EXPECTED)
        self.assertIn("opcheck-c give the same verdict in 3 of 4 (with 2.15 in 4)", block.replace("\n", " "))
        self.assertIn("| B `b` | `faketensor` | passes | `meta.stride` | strides |", block)
        self.assertIn("`empty.shape` in A", block)

    def test_every_case_of_the_file_has_known_tests(self):
        with open(check_parity.FOLDER / "parity.expect.json", encoding="utf-8") as stream:
            written = json.load(stream)
        for version in written["torches"]:
            for name, case in check_parity.expected_of(written, version)["cases"].items():
                for part in ("python", "ours", "differs"):
                    self.assertLessEqual(set(case.get(part, {})), set(written["tests"]), name)


if __name__ == "__main__":
    unittest.main()
