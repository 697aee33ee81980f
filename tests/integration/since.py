"""since.py OPCHECK_C LIBRARIES FOLDER: run --since, which takes the results of unchanged libraries over. LIBRARIES has libsince_one.so to libsince_four.so,
repaired/libsince_two.so and libsince_helper.so; they are copied, and changed, in FOLDER."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

OPCHECK, LIBRARIES, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
FIELDS = ("verdict", "severity", "rule", "reason", "message", "standing", "evidence")
ALL = ("libsince_one.so", "libsince_two.so", "libsince_three.so", "libsince_four.so")
FEW = ("--device", "cpu", "--check", "registration,stride,class")


def run(*arguments, code):
    done = subprocess.run([OPCHECK, "run", *map(str, arguments)], capture_output=True, text=True, check=False, cwd=FOLDER)
    assert done.returncode == code, (code, done)
    return done


def report(name, *arguments, code=1):
    done = run("--json", name, *FEW, *arguments, code=code)
    whole = json.loads((FOLDER / name).read_text())
    whole["printed"] = done.stdout
    return whole


def taken(whole):
    """The operators whose results were taken over, all of them."""
    of = {}
    for one in whole["results"]:
        of.setdefault(one["operator"], set()).add(one.get("taken_over", False))
    assert all(len(marks) == 1 for marks in of.values()), of
    names = sorted(name for name, marks in of.items() if marks == {True})
    last = whole["printed"].splitlines()[-1]
    plural = "" if len(names) == 1 else "s"
    assert whole["run"]["since"]["taken_over"] == len(names) and whole["run"]["since"]["checked"] == len(of) - len(names)
    assert (f"; {len(names)} operator{plural} taken over (--since)" in last) == bool(names), last
    return names


def same(whole, other):
    """The same results and problems, and what a report says of each operator."""
    cases = [{one["case"]: [one[field] for field in FIELDS] for one in each["results"]} for each in (whole, other)]
    assert cases[0] == cases[1], {case for case in cases[0] if cases[0][case] != cases[1].get(case)} ^ (cases[1].keys() - cases[0].keys())
    assert [one["case"] for one in whole["results"]] == [one["case"] for one in other["results"]]
    assert [one["id"] for one in whole["problems"]] == [one["id"] for one in other["problems"]]
    assert whole["summary"] == other["summary"], (whole["summary"], other["summary"])
    for one, two in zip(whole["operators"], other["operators"], strict=True):
        for field in ("name", "sample_source", "coverage", "finished", "inputs"):
            assert one.get(field) == two.get(field), (one["name"], field)


def same_junit(one, two):
    texts = [re.sub(r'(time|timestamp)="[^"]*"|\S+\.found-samples\.json', "", (FOLDER / name).read_text()) for name in (one, two)]
    assert texts[0] == texts[1]


def note(whole):
    found = [one for one in whole["notes"] if one.startswith("--since")]
    assert len(found) == 1, whole["notes"]
    return found[0]


def copy(*names):
    for name in names:
        shutil.copy(LIBRARIES / name, FOLDER / pathlib.Path(name).name)


def touch(name):
    """Another build of the same: bytes after the end of the sections are no part of what is loaded."""
    with open(FOLDER / name, "ab") as file:
        file.write(b"another build")


def one_library_after_the_other():
    full = report("full.json", "--junit", "full.xml", *ALL)
    names = sorted({one["operator"] for one in full["results"]})
    assert len(names) == 7 and all(one["finished"] for one in full["operators"] + full["classes"]), names
    assert "since" not in full["run"] and not any("taken_over" in one for one in full["results"])
    found = json.loads((FOLDER / "full.found-samples.json").read_text())

    again = report("again.json", "--junit", "again.xml", "--since", "full.json", *ALL)
    assert taken(again) == names, taken(again)
    same(full, again)
    same_junit("full.xml", "again.xml")
    # The lines to paste name this run's own file of samples, which has those that were taken over.
    assert json.loads((FOLDER / "again.found-samples.json").read_text()) == found
    findings = [one for one in again["results"] if one.get("repro")]
    assert findings and all("--samples again.found-samples.json" in one["repro"] for one in findings if one["standing"].startswith("searched")), findings[0]
    line = findings[0]["repro"].replace(findings[0]["repro"].split()[0], OPCHECK, 1)
    assert subprocess.run(line, shell=True, cwd=FOLDER, stdout=subprocess.DEVNULL, check=False).returncode == 1, line

    # libsince_two.so is built again without its defect; "caller" calls an operator of it.
    copy("repaired/libsince_two.so")
    whole = report("whole.json", "--junit", "whole.xml", *ALL)
    new = report("new.json", "--junit", "new.xml", "--since", "again.json", *ALL)
    assert taken(new) == ["since_four::Holder", "since_four::helped", "since_one::dense", "since_one::twice"], taken(new)
    assert "3 are checked: 3 in libraries that have changed, or use one that has" in note(new), note(new)
    same(whole, new)
    same_junit("whole.xml", "new.xml")
    assert {one["operators"][0] for one in full["problems"]} >= {"since_one::dense", "since_two::dense"}
    assert "since_two::dense" not in {one["operators"][0] for one in new["problems"] if one["rule"].startswith("stride")}
    compared = subprocess.run([OPCHECK, "report", "compare", "full.json", "new.json"], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert compared.returncode == 0 and "fixed" in compared.stdout, compared

    # The report of this run in place of the one of then, a compressed one, and a journal.
    shutil.copy(FOLDER / "new.json", FOLDER / "loop.json")
    shutil.copy(FOLDER / "new.found-samples.json", FOLDER / "loop.found-samples.json")
    loop = report("loop.json", "--since", "loop.json", *ALL)
    assert taken(loop) == names
    same(whole, loop)
    with gzip.open(FOLDER / "packed.json.gz", "wb") as packed:
        packed.write((FOLDER / "loop.json").read_bytes())
    run("--since", "packed.json.gz", "--journal", "run.journal", *FEW, *ALL, code=1)
    from_journal = report("from_journal.json", "--since", "run.journal", *ALL)
    assert taken(from_journal) == names
    same(whole, from_journal)

    # A library that another one is linked against.
    touch("libsince_helper.so")
    helped = report("helped.json", "--since", "loop.json", *ALL)
    assert taken(helped) == [name for name in names if not name.startswith("since_four::")], taken(helped)

    # Fewer libraries, one more operator, a filter.
    one = report("one.json", "--since", "loop.json", "libsince_one.so")
    assert taken(one) == ["since_one::dense", "since_one::twice"]
    more = report("more.json", "--since", "one.json", *ALL[:2])
    assert taken(more) == ["since_one::dense", "since_one::twice"] and "2 are checked" in note(more), note(more)
    assert taken(report("glob.json", "--since", "loop.json", "--op", "dense", "--budget", 1000, *ALL)) == ["since_one::dense", "since_two::dense"]
    # Only one operator was checked then.
    report("dense.json", "--op", "since_one::dense", "libsince_one.so")
    rest = report("rest.json", "--since", "dense.json", "libsince_one.so")
    assert taken(rest) == ["since_one::dense"] and "1 is checked: 1 of which it does not have all results" in note(rest), note(rest)


def what_was_not_finished():
    run("--journal", "killed.journal", *FEW, "libsince_one.so", code=1)
    lines = (FOLDER / "killed.journal").read_text().splitlines(keepends=True)
    end = next(i for i, line in enumerate(lines) if json.loads(line)["t"] == "finished")
    (FOLDER / "killed.journal").write_text("".join(lines[: end + 1]))
    done = json.loads(lines[end])["operator"]
    assert taken(report("resumed.json", "--since", "killed.journal", "libsince_one.so")) == [done]
    run("--budget", 1000, "--journal", "budget.journal", *FEW, "libsince_one.so", code=1)
    assert taken(report("after_budget.json", "--since", "budget.journal", "libsince_one.so")) == []


def other_inputs():
    samples = {"format": "opcheck-c/samples/1", "samples": [{"operator": "since_one::dense", "args": [{"tensor": {"shape": [2, 3], "fill": {"file": "x.npy"}}}]}]}
    (FOLDER / "x.npy").write_bytes(npy(1))
    (FOLDER / "libsince_one.samples.json").write_text(json.dumps(samples))
    assert taken(report("sampled.json", "--since", "loop.json", "libsince_one.so")) == ["since_one::twice"]
    assert taken(report("sampled.json", "--since", "sampled.json", "libsince_one.so")) == ["since_one::dense", "since_one::twice"]
    (FOLDER / "x.npy").write_bytes(npy(2))
    values = report("values.json", "--since", "sampled.json", "libsince_one.so")
    assert taken(values) == ["since_one::twice"] and "1 with other samples or recipes" in note(values), note(values)
    (FOLDER / "libsince_one.samples.json").unlink()


def npy(value):
    import struct

    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<6f", *[value] * 6)


def expected_failures():
    """What a line may be about is checked again, and no line counts as unused because of what was taken over."""
    (FOLDER / "known.txt").write_text("since_one::dense/stride/*  strides are ignored\n")
    known = ("--xfail", "known.txt", "--strict", "libsince_one.so")
    old = report("known.json", *known, code=0)
    new = report("known_again.json", "--since", "known.json", *known, code=0)
    assert taken(new) == ["since_one::twice"] and "1 that lines of --xfail may be about" in note(new), note(new)
    same(old, new)
    (FOLDER / "known.txt").write_text("# no line any more\n")
    edited = report("edited.json", "--since", "known.json", *known)
    assert taken(edited) == [] and "everything is checked, because the file of --xfail is not as it was then" in note(edited), note(edited)
    # A baseline is about problems, whichever run found them.
    run("--since", "loop.json", "--write-baseline", "base.txt", *FEW, "libsince_one.so", code=0)
    assert "since_one::dense" in (FOLDER / "base.txt").read_text()
    assert taken(report("based.json", "--since", "loop.json", "--baseline", "base.txt", "libsince_one.so", code=0)) == ["since_one::dense", "since_one::twice"]


def everything_is_checked():
    (FOLDER / "copied").mkdir()
    shutil.copy(LIBRARIES / "libsince_one.so", FOLDER / "copied" / "libsince_five.so")
    for since, arguments, why in (
        ("loop.json", ("--seed", 1, "libsince_one.so"), "--seed is not as it was then"),
        ("loop.json", ("--untrusted-input", "libsince_one.so"), "--untrusted-input is not as it was then"),
        ("one.json", ("copied/libsince_five.so",), "it is about other libraries"),
    ):
        whole = report("whole.json", "--since", since, *arguments)
        assert taken(whole) == [] and why in note(whole), note(whole)
    old = json.loads((FOLDER / "loop.json").read_text())
    for change, why in (({"libtorch": "2.9.9"}, "it was made with libtorch 2.9.9, and this is "), (None, "it does not say how it was made")):
        old["run"]["basis"] = {**old["run"]["basis"], **change} if change else None
        (FOLDER / "old.json").write_text(json.dumps(old))
        whole = report("whole.json", "--since", "old.json", "libsince_one.so")
        assert taken(whole) == [] and why in note(whole), note(whole)


def bad_files():
    text = (FOLDER / "loop.json").read_text()
    (FOLDER / "cut.json").write_text(text[: len(text) * 2 // 3])
    (FOLDER / "none.json").write_text('{"samples": []}')
    for name, words in (("cut.json", "is cut off"), ("none.json", "neither a JSON report nor a journal"), ("missing.json", "leave it out of the first run")):
        done = run("--since", name, *FEW, "libsince_one.so", code=2)
        assert words in done.stderr and not done.stdout, done


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
copy(*ALL, "libsince_helper.so")
os.environ["LD_LIBRARY_PATH"] = ""
one_library_after_the_other()
what_was_not_finished()
other_inputs()
expected_failures()
everything_is_checked()
bad_files()
print("ok")
