#!/usr/bin/env python3
"""The comparison of a GPU's values with the simulated device's, from synthetic reports."""
import unittest

import compare_values


def result(case, digest=None, rule=None, check="device", **kernels):
    evidence = {} if digest is None else {"digest": digest, "kernels": {"exact": 1, **kernels}}
    return {"operator": case.split("/")[0], "check": check, "case": case, "rule": rule, "verdict": "fail" if rule else "pass", "evidence": evidence}


def compared(gpu, machine):
    return compare_values.compare({"results": gpu}, {"results": machine})


class Comparison(unittest.TestCase):
    def test_equal(self):
        counts, differ = compared([result("o::p/device/cuda/-/s/plain", "01")], [result("o::p/device/cuda-sim/-/s/plain", "01")])
        self.assertEqual((counts["equal"], counts["differ"], differ), (1, 0, []))
        self.assertEqual(compare_values.wrong_with(counts, differ), [])

    def test_other_bits_of_exact_instructions(self):
        counts, differ = compared([result("o::p/device/cuda/-/s/plain", "01"), result("o::p/device/cuda/-/s/x.nan", "07")],
                                  [result("o::p/device/cuda-sim/-/s/plain", "02"), result("o::p/device/cuda-sim/-/s/x.nan", "07")])
        self.assertEqual((counts["equal"], differ), (1, ["o::p/device/-/s/plain"]))
        self.assertEqual(len(compare_values.wrong_with(counts, differ)), 1)

    def test_other_bits_that_are_allowed(self):
        rows = (("bounded", {"bounded": 1}, None), ("libtorch", {"replaced": 2}, None), ("changing", {}, "determinism.run_to_run"))
        for name, kernels, rule in rows:
            gpu, machine = [result("o::p/device/cuda/-/s/plain", "01")], [result("o::p/device/cuda-sim/-/s/plain", "02", **kernels)]
            if rule:
                gpu.append(result("o::p/determinism/cuda/-/s/plain", rule=rule, check="determinism"))
            counts, differ = compared(gpu, machine)
            self.assertEqual((counts.get(name), differ), (1, []))

    def test_nothing_to_compare_is_wrong(self):
        counts, differ = compared([result("o::p/device/cuda/-/s/plain", "01")], [result("o::p/device/cuda-sim/-/s/plain")])
        self.assertEqual(counts["only_gpu"], 1)
        self.assertEqual(len(compare_values.wrong_with(counts, differ)), 1)


if __name__ == "__main__":
    unittest.main()
