"""What torch.library.opcheck's four default tests cost on the parity cases, and what corresponds to them in opcheck-c. Standard library only."""

import json
import os
import sys
import tempfile

import our_side
from against_python import median_of, python_seconds, ratio_words
from processes import ROOT

sys.path.insert(0, str(ROOT / "tests/parity"))
import check_parity  # noqa: E402  (the same operators, samples and fake kernels)

# All that has a part in one of the four tests, each whole: gradients against differences and bits under changing conditions go beyond them.
CHECKS = ("registration", "alias", "mutation", "meta", "functionalisation", "symbolic", "autograd", "determinism")
AGAIN = "again"


def first_samples(operators):
    listed = [sample for name in check_parity.SAMPLES for sample in check_parity.read_json(name)["samples"]]
    return {name: next(sample for sample in listed if sample["operator"] == name) for name in operators}


def own_cases(report, operator, sample):
    """(check, seconds) of the operator as such and of that unmodified sample: of what calls it apart from any sample only determinism goes further."""
    for result in report["results"]:
        _, _, device, dtype, name, variant = result["case"].rsplit("/", 5)
        of_sample = (device, dtype, name, variant) == ("cpu", "-", sample, "plain")
        of_operator = (dtype, name, variant) == ("-", "-", "-") and device in ("cpu", "-") and result["check"] != "determinism"
        if result["operator"] == operator and result["check"] in CHECKS and (of_sample or of_operator):
            yield result["check"], result["seconds"]


def our_reports(tool, library, samples):
    """Each sample stands there twice: the second time the child is warm, as the process is in which Python's tests run again."""
    listed = [{**sample, "name": name} for sample in samples.values() for name in ("first", AGAIN)]
    selected = [word for operator in samples for word in ("--namespace", operator.partition("::")[0], "--op", operator)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "twice.json")
        with open(path, "w", encoding="utf-8") as stream:
            json.dump({"format": "opcheck-c/samples/1", "samples": listed}, stream)
        return [our_side.run_report(tool, ["--samples", path, *selected], library)[0] for _ in range(our_side.TURNS)]


def longest(reports, operators, check):
    """Of a child's first case of that check: it also pays for the parts of libtorch that it is the first to use."""
    return max(seconds for report in reports for name in operators for found, seconds in own_cases(report, name, "first") if found == check)


def cost_line(build, tool, python):
    written = check_parity.read_json("parity.expect.json")
    samples = first_samples(sorted({case["operator"] for case in written["cases"].values()}))
    library = str(build / "fixtures/libparity_ops.so")
    head, theirs = check_parity.python_verdicts(python, library, list(samples.values()), list(samples))
    reports = our_reports(tool, library, samples)
    rows = [{"python": python_seconds(theirs[name], head["default"]),
             "ours": min(sum(seconds for _, seconds in own_cases(report, name, AGAIN)) for report in reports)} for name in samples]  # fmt: skip
    return (f"The parity cases, one operator and one sample in a warm process: Python's four default tests {median_of(rows, 'python') * 1e3:.0f} ms of "
            f"CPU, the checks {', '.join(CHECKS)} {median_of(rows, 'ours') * 1e3:.2f} ms; ratio {ratio_words(rows, 'python', 'ours')}, wanted: at least "
            f"20. In a child that was not warm autograd takes at most {longest(reports, samples, 'autograd') * 1e3:.1f} ms, wanted: 20; symbolic "
            f"{longest(reports, samples, 'symbolic') * 1e3:.2f} ms, wanted: 1 a call.")  # fmt: skip
