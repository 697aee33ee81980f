"""budget.py OPCHECK_C QUICK_OPS.so SAMPLES FAST.so FOLDER: run --budget, which leaves out what there is no time for. QUICK_OPS.so has an operator that sleeps, so
that a second is never enough; of FAST.so everything is checked. Nothing here depends on how much was left out."""

import json
import pathlib
import subprocess
import sys

OPCHECK, QUICK, SAMPLES, FAST, FOLDER = sys.argv[1:]
FIELDS = ("verdict", "severity", "rule", "reason", "standing")


def run(*arguments, code):
    """code: the exit status, or a tuple of them."""
    done = subprocess.run([OPCHECK, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode in (code if isinstance(code, tuple) else (code,)), (code, done)
    return done


def report(name, *arguments, code):
    file = pathlib.Path(FOLDER) / name
    done = run("run", "--json", file, *arguments, code=code)
    return json.loads(file.read_text()), done.stdout.splitlines()[-1]


def with_enough_time():
    """The same cases in another order: every case and problem is as without a limit."""
    whole, _ = report("whole.json", FAST, code=1)
    limited, last = report("limited.json", "--budget", 100000, FAST, code=1)
    cases = [{one["case"]: [one[field] for field in FIELDS] for one in each["results"]} for each in (whole, limited)]
    assert cases[0] == cases[1], {case for case in cases[0] if cases[0][case] != cases[1].get(case)} ^ (cases[1].keys() - cases[0].keys())
    assert [one["id"] for one in whole["problems"]] == [one["id"] for one in limited["problems"]]
    assert limited["run"]["budget"] == {"seconds": 100000, "left_out": {"cases": 0, "operators": 0}}
    assert "left out" not in last and "budget" not in whole["run"]


def with_too_little():
    known = pathlib.Path(FOLDER) / "known.txt"
    known.write_text("quick_ops::dense/*  strides are ignored\nquick_ops::sleeps/*  nothing is wrong with it\n")
    _, last = report("old.json", "--samples", SAMPLES, "--op", "dense", QUICK, code=1)
    new, last = report("new.json", "--samples", SAMPLES, "--budget", 1, "--strict", "--xfail", known, QUICK, code=(0, 5))  # 5: a busy machine needs the second to load libtorch
    left_out = new["run"]["budget"]["left_out"]
    assert left_out["cases"] > 0 and left_out["operators"] in (1, 2), left_out
    assert f"; {left_out['cases']} cases of {left_out['operators']} operator" in last and last.endswith("left out (--budget 1)"), last
    late = [one for one in new["results"] if one["reason"] == "budget"]
    assert late and all("the time of the run was up by then (--budget)" in one["message"] for one in late), late
    assert all(one["rule"] != "xfail.unexpected_pass" for one in new["results"]), "a case that was left out might have failed"
    # A check that calls nothing takes no time.
    assert any(one["check"] == "registration" and one["verdict"] == "pass" for one in new["results"])


def with_too_little_for_an_operator():
    known = pathlib.Path(FOLDER) / "known_of_one.txt"
    known.write_text("quick_ops::sleeps/*  nothing is wrong with it\n")
    new, _ = report("one.json", "--samples", SAMPLES, "--op", "sleeps", "--operator-time", 0.01, "--xfail", known, QUICK, code=(0, 5))
    assert {"pass", "skip"} == {one["verdict"] for one in new["results"]} and any(one["reason"] == "budget" for one in new["results"])
    assert any("others could not be tried in this run: the line stays" in note for note in new["notes"]), new["notes"]


def with_none():
    """What no time was left for is not fixed, and a line of the baseline stays."""
    baseline = pathlib.Path(FOLDER) / "baseline.txt"
    arguments = ("--samples", SAMPLES, "--op", "dense")
    run("run", *arguments, "--write-baseline", baseline, QUICK, code=0)
    before = baseline.read_text()
    new, last = report("none.json", *arguments, "--budget", 0.001, "--baseline", baseline, "--write-baseline", baseline, QUICK, code=5)
    assert baseline.read_text() == before and "stride" in before
    assert last.startswith("NOTHING CHECKED") and last.endswith("of 1 operator left out (--budget 0.001)"), last
    compared = pathlib.Path(FOLDER) / "compared.json"
    run("report", "compare", "--json", compared, pathlib.Path(FOLDER) / "old.json", pathlib.Path(FOLDER) / "none.json", code=0)
    kinds = {one["kind"] for one in json.loads(compared.read_text())["problems"]}
    assert kinds == {"gone"}, kinds
    assert new["summary"]["checked"] == 0
    # It was not searched either.
    _, last = report("searched.json", "--op", "dense", "--budget", 0.001, QUICK, code=5)
    assert last.endswith("of 1 operator left out (--budget 0.001)"), last


pathlib.Path(FOLDER).mkdir(parents=True, exist_ok=True)
with_enough_time()
with_too_little()
with_too_little_for_an_operator()
with_none()
print("ok")
