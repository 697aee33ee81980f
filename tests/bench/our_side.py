"""opcheck-c on the broken operators and their look-alikes: what it says, and what it costs. Standard library only."""

import json
import os
import statistics
import sys
import tempfile

from processes import ROOT, timed

sys.path.insert(0, str(ROOT / "tests/contract"))
from matrix import arguments_of, findings_of, read_expectations  # noqa: E402  (the contract matrix reads the same files)

FIXTURES = ROOT / "fixtures/broken"
# What torch.library.opcheck calls test_schema and test_faketensor.
COUNTERPARTS = ("alias", "mutation", "meta")
REPORTED = (0, 1, 5)  # nothing found, a finding, nothing ran: the report tells
TURNS = 3  # of listing and of the whole run of a look-alike, whose cost is compared: the least of them is the one that other programs disturbed least


def libraries(build):
    """(name, library, expectations) of every broken library that is built."""
    for path in sorted(FIXTURES.glob("*.expect.json")):
        name = path.name.removesuffix(".expect.json")
        if name == "class":
            continue  # torch.library.opcheck is of operators alone
        library = build / f"fixtures/libbroken_{name}.so"
        if library.exists():
            yield name, str(library), read_expectations(path)
        else:
            print(f"bench: {library} is not built and is left out", file=sys.stderr)


def options_of(name):
    """What every run of that library is given, beside its samples: tests/contract/matrix.py."""
    with open(FIXTURES / f"{name}.expect.json", encoding="utf-8") as stream:
        return json.load(stream).get("options", [])


def beyond_loading(report, seconds):
    """Of a whole process tree's CPU seconds. The worker tells itself what loading took: that is ten times a battery, and drifts by as much as one takes."""
    return seconds - report["run"]["loading_cpu_seconds"]


def run_report(tool, arguments, library):
    """The report, and CPU seconds of the whole process tree beyond loading."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        _, seconds, _ = timed([tool, "run", "--strict", "--json", path, *arguments, library], ok=REPORTED)
        with open(path, encoding="utf-8") as stream:
            report = json.load(stream)
    return report, beyond_loading(report, seconds)


def list_seconds(tool, library):
    """CPU seconds beyond loading: of the program itself, and of a process that starts and ends."""
    with tempfile.TemporaryFile() as stream:
        _, seconds, _ = timed([tool, "list", "--format", "json", library], output=stream)
        stream.seek(0)
        return beyond_loading(json.load(stream), seconds)


def sample_file(name):
    return str(FIXTURES / f"{name}.samples.json")


def samples_of(tool, name, library, expectations):
    """By operator: those of the file, and for operators that have none there what the search finds, so that both sides get the same."""
    with open(sample_file(name), encoding="utf-8") as stream:
        listed = json.load(stream)["samples"]
    bare = sorted(set(expectations) - {sample["operator"] for sample in listed})
    if bare:
        with tempfile.TemporaryDirectory() as folder:
            saved = os.path.join(folder, "found.json")
            selected = [word for operator in bare for word in ("--op", operator)]
            timed([tool, "run", "--check", "alias", "--samples", sample_file(name), "--save-samples", saved, *selected, library], ok=REPORTED)
            if os.path.exists(saved):
                with open(saved, encoding="utf-8") as stream:
                    listed += [sample for sample in json.load(stream)["samples"] if sample["operator"] in bare]
    return {operator: [sample for sample in listed if sample["operator"] == operator] for operator in expectations}


def counterpart_seconds(report, operator):
    """Of the checks that correspond to Python's schema and fake-tensor tests, on the first unmodified sample, in a child that ran other
    checks before. None where one of them had nothing to prove."""
    seconds = {}
    for result in report["results"]:
        if result["operator"] != operator or result["check"] not in COUNTERPARTS or result["verdict"] != "pass":
            continue
        _, _, device, dtype, _, variant = result["case"].rsplit("/", 5)
        if (device, dtype, variant) == ("cpu", "-", "plain"):
            seconds.setdefault(result["check"], result["seconds"])
    return sum(seconds.values()) if len(seconds) == len(COUNTERPARTS) else None


def check_library(tool, name, library, expectations):
    """By operator: the rules that were found, CPU seconds beyond loading and listing, and those of the counterparts."""
    rows, lists = {}, []
    for operator, expectation in expectations.items():
        arguments = ["--samples", sample_file(name), "--op", operator, *arguments_of(expectation, str(FIXTURES))]
        turns, listings = [], []
        for _ in range(1 if expectation["primary"] else TURNS):
            listings.append(list_seconds(tool, library))
            turns.append(run_report(tool, arguments, library))
        lists.append(min(listings))
        reports = [report for report, _ in turns]
        counterparts = [seconds for report in reports if (seconds := counterpart_seconds(report, operator)) is not None]
        rows[operator] = {
            "rules": {rule: found for report in reports for rule, found in findings_of(report, operator).items()},
            "verdicts": {result["verdict"] for result in reports[0]["results"] if result["operator"] == operator},
            "seconds": min(seconds for _, seconds in turns),
            "counterparts": min(counterparts, default=None),
        }
    for row in rows.values():
        row["seconds"] -= statistics.median(lists)
    print(f"bench: opcheck-c: {name}: {len(rows)} operators", file=sys.stderr)
    return rows
