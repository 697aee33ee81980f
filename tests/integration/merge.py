"""merge.py OPCHECK_C FIXTURES FOLDER: run --shard, and report merge, which makes one run of its parts. FIXTURES has libbroken_alias.so and libbroken_class.so."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

OPCHECK, FIXTURES, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
LIBRARIES = [FIXTURES / "libbroken_alias.so", FIXTURES / "libbroken_class.so"]
FEW = ("--device", "cpu", "--check", "registration,alias,class", "--no-search", "--jobs", "1", "--baseline", "known.json")
PARTS = 4
VARYING = ("seconds", "cpu_seconds", "repro", "address", "max_rss_kib")


def call(*arguments, code):
    done = subprocess.run([OPCHECK, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=FOLDER)
    assert code is None or done.returncode == code, (code, done)
    return done


def run(name, *arguments, libraries=LIBRARIES, code=1):
    call("run", "--json", name, *FEW, *arguments, *libraries, code=code)


def merge(*parts, code, name="merged.json"):
    done = call("report", "merge", "--json", name, *parts, code=code)
    return load(name), done.stderr


def refuses(*parts):
    """Nothing is written; the message."""
    (FOLDER / "refused.json").unlink(missing_ok=True)
    done = call("report", "merge", "--json", "refused.json", *parts, code=2)
    assert not (FOLDER / "refused.json").exists()
    return done.stderr


def load(name):
    return json.loads((FOLDER / name).read_text())


def plain(value):
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items() if key not in VARYING}
    return [plain(member) for member in value] if isinstance(value, list) else value


def same(whole, merged):
    """But for the order of an operator's results: those that are confirmed come later."""
    for report in (whole, merged):
        report["results"].sort(key=lambda one: one["case"])
    for field in ("tool", "libraries", "operators", "classes", "results", "problems", "known", "summary"):
        assert plain(whole[field]) == plain(merged[field]), (field, whole[field], merged[field])
    assert whole["run"]["basis"] == merged["run"]["basis"] and merged["run"]["complete"] and "shard" not in merged["run"]


def parts():
    return [f"part{part}.json" for part in range(1, PARTS + 1)]


def equal_to_the_run_in_one_piece():
    call("run", "--write-baseline", "known.json", *FEW[:-2], "--op", "*view*", *LIBRARIES, code=0)
    run("whole.json")
    whole = load("whole.json")
    assert len(whole["results"]) > 50 and len(whole["problems"]) > 5 and len(whole["classes"]) > 0 and len(whole["known"]) > 0
    for part, name in enumerate(parts(), 1):
        run(name, "--journal", f"part{part}.journal", "--shard", f"{part}/{PARTS}")
        assert load(name)["run"]["shard"]["part"] == part and load(name)["run"]["shard"]["of"] == PARTS
    merged, message = merge(*parts(), code=1)
    assert not message, message
    same(whole, merged)
    assert merged["run"]["argv"][1:3] == ["report", "merge"]


def other_forms_and_another_order():
    call("report", "render", "--json", "part3.json.zst", "part3.journal", code=0)
    merged, _ = merge("part4.json", "part2.journal", "part3.json.zst", "part1.json", code=1)
    same(load("whole.json"), merged)
    call("report", "merge", "--junit", "merged.xml", *parts(), code=1)
    call("report", "render", "--junit", "rendered.xml", "whole.json", code=0)
    texts = [re.sub(r'(time|timestamp)="[^"]*"', "", (FOLDER / name).read_text()) for name in ("merged.xml", "rendered.xml")]
    assert len(texts[0]) > 1000 and len(texts[0].splitlines()) == len(texts[1].splitlines())
    shown = [call("report", *words, code=code).stdout.splitlines() for words, code in ((("merge", *parts()), 1), (("render", "whole.json"), 0))]
    assert shown[0][-1] == shown[1][-1] and shown[0][-1].startswith("FAILED: "), shown


def lines_of_others():
    """A report that another program has written anew, in one line or in many."""
    for indent in (None, 2):
        (FOLDER / "rewritten.json").write_text(json.dumps(load("part2.json"), indent=indent))
        merged, _ = merge("part1.json", "rewritten.json", "part3.json", "part4.json", code=1)
        same(load("whole.json"), merged)


def a_missing_part_is_named():
    merged, message = merge("part1.json", "part4.json", code=3)
    for part in (2, 3):
        assert f"part {part} of 4 is missing" in message and f"--shard {part}/4" in message, message
    assert not merged["run"]["complete"] and any("part 2 of 4 is missing" in note for note in merged["notes"])
    assert len(merged["results"]) == sum(len(load(name)["results"]) for name in ("part1.json", "part4.json"))


def a_part_that_stopped():
    lines = (FOLDER / "part2.journal").read_text().splitlines(keepends=True)
    (FOLDER / "stopped.journal").write_text("".join(line for line in lines if not line.startswith('{"t":"end"')))
    merged, message = merge("part1.json", "stopped.journal", "part3.json", "part4.json", code=3)
    assert "stopped.journal stopped early: run it again" in message and not merged["run"]["complete"], message


def doubled_parts_are_refused():
    assert "part1.json and part1.journal are both part 1 of 4" in refuses("part1.json", "part1.journal", "part2.json")
    assert "is in two parts, part1.json and whole.json" in refuses("part1.json", "whole.json")


def foreign_parts_are_refused():
    run("seed.json", "--shard", f"2/{PARTS}", "--seed", "1")
    assert "part1.json and seed.json are no parts of one run: they differ in --seed" in refuses("part1.json", "seed.json")
    run("options.json", "--shard", f"2/{PARTS}", "--timeout", "9")
    assert "they differ in --timeout" in refuses("part1.json", "options.json")
    run("third.json", "--shard", "2/3")
    assert "part1.json is part of a run in 4 parts, and third.json of one in 3" in refuses("part1.json", "third.json")
    run("times.json", "--shard", f"2/{PARTS}", "--op", "*input*", code=None)
    assert "part1.json and times.json are no parts of one run: other operators" in refuses("part1.json", "times.json")
    shutil.copy(LIBRARIES[0], FOLDER / "libchanging.so")
    run("before.json", "--shard", "1/2", libraries=[FOLDER / "libchanging.so"], code=5)
    with open(FOLDER / "libchanging.so", "ab") as file:
        file.write(b"another build")
    run("after.json", "--shard", "2/2", libraries=[FOLDER / "libchanging.so"], code=5)
    assert "they checked different files" in refuses("before.json", "after.json")


def a_machine_without_the_library():
    shutil.copy(LIBRARIES[0], FOLDER / "libsome.so")
    run("has1.json", "--shard", "1/2", libraries=[FOLDER / "libsome.so"], code=5)
    (FOLDER / "libsome.so").unlink()
    run("has2.json", "--shard", "2/2", libraries=[FOLDER / "libsome.so"], code=4)
    merged, message = merge("has1.json", "has2.json", code=4)
    assert "has2.json could not load" in message and "libsome.so" in message and not merged["run"]["complete"], message


def other_libraries_are_no_doubles():
    for name, library in zip(("alias.json", "class.json"), LIBRARIES, strict=True):
        run(name, libraries=[library])
    merged, message = merge("alias.json", "class.json", code=1)
    assert not message and merged["run"]["complete"], message
    for field in ("results", "problems"):
        assert len(merged[field]) == len(load("whole.json")[field])


def damaged_files_are_named():
    text = (FOLDER / "part2.json").read_text()
    (FOLDER / "cut.json").write_text(text[: len(text) // 2])
    assert "cut.json is cut off" in refuses("part1.json", "cut.json")
    (FOLDER / "damaged.json").write_text(text.replace('"verdict":"pass"', '"verdict":"passed"'))
    assert "are damaged" in refuses("part1.json", "damaged.json", "part3.json", "part4.json")
    (FOLDER / "other.json").write_text('{"format": "something"}')
    assert "other.json has the format something" in refuses("part1.json", "other.json")
    assert "nowhere.json" in refuses("nowhere.json")


def shards_take_as_long_as_each_other():
    """By the times of an earlier run: one operator takes as long as all others together."""
    whole = load("whole.json")
    slow = whole["results"][0]["operator"]
    others = {one["operator"] for one in whole["results"]} - {slow}
    for one in whole["results"]:
        one["seconds"] = 0.0
    for operator in {slow} | others:
        next(one for one in whole["results"] if one["operator"] == operator)["seconds"] = float(len(others)) if operator == slow else 1.0
    (FOLDER / "earlier.json").write_text(json.dumps(whole))
    seen = []
    for part in (1, 2):
        run(f"long{part}.json", "--shard", f"{part}/2", "--shard-times", "earlier.json", code=1 if part == 2 else None)
        seen.append({one["operator"] for one in load(f"long{part}.json")["results"]})
    assert seen == [{slow}, others], seen
    assert "--shard-times: give --shard K/N" in call("run", *FEW, "--shard-times", "earlier.json", *LIBRARIES, code=2).stderr


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
for step in (equal_to_the_run_in_one_piece, other_forms_and_another_order, lines_of_others, a_missing_part_is_named, a_part_that_stopped,
             doubled_parts_are_refused, foreign_parts_are_refused, a_machine_without_the_library, other_libraries_are_no_doubles,
             damaged_files_are_named, shards_take_as_long_as_each_other):
    step()
    print(step.__name__.replace("_", " "), "holds")
