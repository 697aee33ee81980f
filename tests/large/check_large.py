"""check_large.py OPCHECK-C MANY.so: a library of 5,000 operators, a tenth of them wrong, and nine with names that no parser would take.

What is asserted: all are listed, shards are parts of the whole, each report can be read and says the same, no control character reaches the terminal,
which ends with what matters, and opcheck-c itself stays small."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
from processes import timed  # noqa: E402

MANY, ODD, PARENT_MIB, SCREENS = 5000, 9, 100, 150
problems = []


def expect(condition, text):
    if not condition:
        problems.append(text)


def run(tool, library, *arguments):
    """The report, the terminal's text, the JUnit document's root, and the parent's peak memory in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        report, junit, shown = (os.path.join(folder, name) for name in ("r.json", "r.xml", "out.txt"))
        # What it prints goes to a file through a shell: timed() throws it away.
        command = ["sh", "-c", 'exec "$@" > "$SHOWN"', "sh", tool, "run", *arguments, "--json", report, "--junit", junit, library]
        os.environ["SHOWN"] = shown
        _, _, marks = timed(command, ok=(0, 1), watch=True)
        with open(report, encoding="utf-8") as stream:
            found = json.load(stream)
        text = pathlib.Path(shown).read_bytes()
        return found, text, xml.etree.ElementTree.parse(junit).getroot(), marks["parent"] / 1024


def names_of(report):
    return {result["operator"] for result in report["results"]}


def check_list(tool, library):
    """All of them, as they are listed."""
    listed = subprocess.run([tool, "list", "--format", "json", library], check=True, stdout=subprocess.PIPE)
    names = {operator["name"] for operator in json.loads(listed.stdout)["operators"]}
    expect(len(names) == MANY + ODD, f"{len(names)} operators are listed")
    expect("odd::new\nline" in names and "odd::sönderling" in names, "a name does not come through")
    return len(names)


def check_shards(tool, library):
    """Shards: none has what another one has, together they have all."""
    chosen = ["--check", "registration", "--op", "many::op_12?", "--op", "many::op_120?"]
    whole = names_of(run(tool, library, *chosen)[0])
    parts = [names_of(run(tool, library, *chosen, "--shard", f"{k}/3")[0]) for k in (1, 2, 3)]
    expect(len(whole) == 20, f"{len(whole)} operators match")
    expect(sum(map(len, parts)) == len(whole) and set().union(*parts) == whole, "the shards are not parts of the whole")


def check_calls(tool, library, sanitized):
    """Some of them with inputs that are searched: more findings than a screen holds."""
    report, text, _, mib = run(tool, library, "--check", "alias", "--op", "many::op_4[0-3]?3", "--op", "many::op_40?1")
    wrong = {result["operator"] for result in report["results"] if result["verdict"] == "fail" and result["rule"].startswith("alias.")}
    expect(wrong == {name for name in names_of(report) if name.endswith("3")}, f"found {len(wrong)} of {len(names_of(report))} operators")
    expect(len(wrong) == 40 and len(names_of(report)) == 50, f"{len(wrong)} of {len(names_of(report))} are wrong")
    expect(sanitized or mib < PARENT_MIB, f"opcheck-c took {mib:.0f} MiB")
    lines = text.decode().splitlines()
    expect(len(lines) <= SCREENS, f"{len(lines)} lines for {len(wrong)} problems")
    expect(len(report["problems"]) == len({problem["id"] for problem in report["problems"]}) == len(wrong), f"{len(report['problems'])} problems")
    heads = [line for line in lines if line.startswith("FAIL ")]
    expect(len(heads) == 1 and f" and {len(wrong) - 1} more  alias." in heads[0], f"one rule in {len(wrong)} operators is not one entry: {heads}")
    last = f"FAILED: {len(wrong)} problems ({len(wrong)} errors) in {len(wrong)} operators; 50 of 50 operators and classes checked"
    expect(lines[-1] == last, f"the last line is {lines[-1]!r}")
    return mib


def check_odd(tool, library):
    """Names that a shell, XML or a terminal takes for something of its own."""
    for by_case in (False, True):
        chosen = ["--check", "registration,alias", "--namespace", "odd", *(["--junit-cases", "case"] if by_case else [])]
        report, text, junit, _ = run(tool, library, *chosen)
        expect(len(names_of(report)) == ODD, f"{len(names_of(report))} odd operators have a result")
        cases = [(case.get("classname"), case.get("name")) for case in junit.iter("testcase")]
        wanted = {result["case"] if by_case else f"{result['operator']}/{result['check']}" for result in report["results"]}
        expect(len(cases) == len(wanted) == len(set(cases)), f"JUnit's testcases are others: {len(cases)}, not {len(wanted)}")
    expect(not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", text), "a control character reaches the terminal")
    failed = [r for r in report["results"] if r["verdict"] == "fail" and r["check"] == "alias"]
    expect({r["operator"] for r in failed} == names_of(report), "an odd operator is not found out")
    for name in ("odd::a b", "odd::per%cent$HOME`id`", "odd::apo'strophe"):
        first = next((r for r in failed if r["operator"] == name), None)
        if first:
            again = run(tool, library, "--case", first["case"])[0]
            expect({(r["case"], r["verdict"]) for r in again["results"]} == {(first["case"], "fail")}, f"--case does not reproduce {first['case']!r}")


def main():
    tool, library = sys.argv[1:3]
    listed = check_list(tool, library)
    check_shards(tool, library)
    check_odd(tool, library)
    sanitized = "--sanitized" in sys.argv[3:]
    mib = check_calls(tool, library, sanitized)
    print(f"{listed} operators; opcheck-c {mib:.0f} MiB{', not judged: a sanitizer keeps what is freed' if sanitized else ''}")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
