"""check_formats.py OPCHECK_C JOURNALS: SARIF, GitLab's code quality, TAP and GitHub's annotations, made from journals, say what the JSON report says.

JOURNALS: a folder with *.jsonl. Where they are installed (setup --full), pydantic-sarif (models made from the official schema), jsonschema and `tap` (of PyPI)
validate the files too; prove does where there is one.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import journals

try:
    import jsonschema
    from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifModel
    from tap.parser import Parser as TapParser
except ImportError:
    jsonschema = SarifModel = TapParser = None

OPCHECK = os.path.abspath(sys.argv[1])
HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = json.loads((HERE / "gitlab.schema.json").read_text())
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MIB = 1 << 20


def rendered(journal, folder, *options):
    """All formats of a journal, and the exit code that a run with these options had."""
    files = {name: str(folder / f"r.{name}") for name in ("json", "sarif", "gitlab", "tap")}
    summary = folder / "summary.md"
    summary.unlink(missing_ok=True)
    command = [OPCHECK, "report", "render", *[word for name, file in files.items() for word in (f"--{name}", file)], "--github", *options, str(journal)]
    done = subprocess.run(command, capture_output=True, cwd=folder, env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)}, check=False)
    assert done.returncode == 0, done.stderr.decode()
    texts = {name: pathlib.Path(file).read_text(encoding="utf-8") for name, file in files.items()}
    report = json.loads(texts["json"])
    ends = [record for record in map(read_record, open(journal, "rb")) if record.get("t") == "end"]
    code = ends[-1]["exit_code"] if report["run"]["complete"] else 3
    return report, texts, done.stdout.decode("utf-8"), summary.read_text(encoding="utf-8"), code


def read_record(text):
    try:
        return json.loads(text)
    except ValueError:
        return {}


def levels(report, strict):
    return {problem["id"]: "error" if strict or problem["severity"] == "error" else "warning" for problem in report["problems"]}


def id_of(fingerprint):
    return fingerprint.split("-")[0]


def check_path(path):
    assert path and not path.startswith(("/", "./")) and ".." not in path.split("/"), path


# --- each format: what it says, as {problem id: level} and whether something else failed ---


def read_sarif(text):
    log = json.loads(text)
    if SarifModel:
        SarifModel.model_validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    found = {}
    for result in run["results"]:
        fingerprints = result["partialFingerprints"]
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert fingerprints["primaryLocationLineHash"] == fingerprints["opcheckProblem/v1"] + ":1"
        (location,) = result["locations"]
        artifact = location["physicalLocation"]["artifactLocation"]
        assert artifact["uriBaseId"] in run["originalUriBaseIds"] and re.fullmatch(r"[A-Za-z0-9._~/%-]+", artifact["uri"]), artifact
        check_path(urllib.parse.unquote(artifact["uri"]))
        assert not CONTROL.search(result["message"]["text"]) and len(result["message"]["text"]) < 16384
        assert fingerprints["opcheckProblem/v1"] not in found, "a fingerprint is there twice"
        found[fingerprints["opcheckProblem/v1"]] = result["level"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] == (not invocation["toolExecutionNotifications"])
    assert len(rules) == len({rule["id"] for rule in rules})
    return found, len(invocation["toolExecutionNotifications"])


def read_gitlab(text):
    issues = json.loads(text)
    if jsonschema:
        jsonschema.validate(issues, SCHEMA)
    assert len(issues) == len({issue["fingerprint"] for issue in issues}), "a fingerprint is there twice"
    for issue in issues:
        check_path(issue["location"]["path"])
        assert not CONTROL.search(issue["description"]) and len(issue["description"]) < 16384
    problems = [issue for issue in issues if not issue["check_name"].startswith(("load.", "harness."))]
    kinds = {"critical": "error", "minor": "warning"}
    return {issue["fingerprint"]: kinds[issue["severity"]] for issue in problems}, len(issues) - len(problems)


def read_tap(text):
    """name -> (ok, directive, yaml text), and the troubles."""
    points, plan = {}, None
    for match in re.finditer(r"^(not )?ok (\d+) - (.*?)( # (SKIP|TODO)(.*))?\n((?:  .*\n)*)|^1\.\.(\d+)$", text, re.M):
        if match[8]:
            plan = int(match[8])
            continue
        name = re.sub(r"\\([#\\])", r"\1", match[3])
        assert int(match[2]) == len(points) + 1 and name not in points, match[0]
        points[name] = (not match[1], match[5], match[7] or "")
    assert text.startswith("TAP version 13\n") and plan == len(points), plan
    rest = re.sub(r"^(TAP version 13|(not )?ok .*|1\.\.\d+|  .*)\n", "", text, flags=re.M)
    assert not rest, rest
    return points


def validate_tap(file):
    if shutil.which("prove"):
        done = subprocess.run(["prove", "--exec", "cat", file], capture_output=True, check=False)
        output = done.stdout.decode()
        assert "Parse errors" not in output, output
        yield "prove", done.returncode == 0
    if TapParser:
        lines = [line for line in TapParser().parse_file(file)]
        tests = [line for line in lines if line.category == "test"]
        assert not [line for line in lines if line.category == "unknown"], "tap.py does not know a line"
        assert all(line.yaml_block is not None for line in tests if not line.ok and not line.todo), "a failure without a block"
        yield "tap.py", all(line.ok or line.todo for line in tests)


def read_github(text):
    """[(kind, properties, message)] as the runner reads them."""
    commands = []
    for line in text.split("\n")[:-1]:
        match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        assert match, f"no command: {line[:200]!r}"
        properties = dict(pair.split("=", 1) for pair in match[2].split(","))
        commands.append((match[1], {key: urllib.parse.unquote(value) for key, value in properties.items()}, urllib.parse.unquote(match[3])))
        assert not CONTROL.search(commands[-1][2]) and len(line) < 65536
    return commands


def check_github(commands, summary, wanted, troubles):
    for kind, count in (("error", troubles + list(wanted.values()).count("error")), ("warning", list(wanted.values()).count("warning"))):
        assert sum(command[0] == kind for command in commands) == min(10, count), f"{kind}: {count}"
    left_out = sum(max(0, list(wanted.values()).count(kind) + (troubles if kind == "error" else 0) - 10) for kind in ("error", "warning"))
    notices = [command for command in commands if command[0] == "notice"]
    assert len(notices) == (left_out > 0) and (not notices or f"{left_out} more" in notices[0][2]), notices
    for _, properties, _ in commands:
        if "file" in properties:
            check_path(properties["file"])
            assert int(properties["line"]) >= 1
    size = len(summary.encode())
    assert size <= MIB, size
    rows = re.findall(r"^\| (error|warning) \|(?: [^|]* \|){5}$", summary, re.M)
    cut = re.search(r"^(\d+) more problems are left out", summary, re.M)
    assert len(rows) + (int(cut[1]) if cut else 0) == len(wanted), f"{len(rows)} rows of {len(wanted)}"
    assert not cut or size > MIB - 4096, "much room is left"
    assert "<script" not in summary and "](" not in summary


def check_tap(points, report, strict):
    expected = {}
    for result in report["results"]:
        kinds = expected.setdefault(f"{result['operator']}/{result['check']}", set())
        bad = result["verdict"] in ("fail", "error")
        kinds.add(("fail" if strict or result["severity"] == "error" else "warning") if bad else "known" if result["reason"] == "xfail" else result["verdict"])
    others = {name: point for name, point in points.items() if name not in expected}
    assert all(not ok and not directive for ok, directive, _ in others.values()), others
    for name, kinds in expected.items():
        ok, directive, block = points[name]
        wanted = (False, None) if "fail" in kinds else (False, "TODO") if "known" in kinds else (True, None) if kinds != {"skip"} else (True, "SKIP")
        assert (ok, directive) == wanted, f"{name}: {kinds} is {ok}, {directive}"
        assert bool(block) == bool(kinds & {"fail", "warning"}), name
    shown = {number for _, _, block in points.values() for number in re.findall(r'^    - "(\w+)"', block, re.M)}
    shown |= {number for _, _, block in points.values() for number in re.findall(r'^  - "(\w+)"', block, re.M)}
    assert shown == {problem["id"] for problem in report["problems"]}, "the ids of the problems differ"
    return len(others)


def check_journal(journal, folder, *options):
    strict = "--strict" in options
    report, texts, output, summary, code = rendered(journal, folder, *options)
    wanted = levels(report, strict)
    sarif, sarif_troubles = read_sarif(texts["sarif"])
    gitlab, gitlab_troubles = read_gitlab(texts["gitlab"])
    points = read_tap(texts["tap"])
    for found in (sarif, gitlab):
        assert {id_of(name): level for name, level in sorted(found.items(), reverse=True)} == wanted, f"{found}, not {wanted}"
    tap_troubles = check_tap(points, report, strict)
    assert sarif_troubles == gitlab_troubles == tap_troubles, (sarif_troubles, gitlab_troubles, tap_troubles)
    check_github(read_github(output), summary, wanted, tap_troubles)
    failed = code != 0 or (strict and report["summary"]["warnings"] > 0)
    assert failed == (tap_troubles > 0 or "error" in wanted.values()), f"exit code {code}: {wanted}"
    for tool, passed in validate_tap(str(folder / "r.tap")):
        assert passed == (not failed), f"{tool}: {passed}, the exit code is {code}"
    print(f"{pathlib.Path(journal).stem} {' '.join(options)}: {len(wanted)} problems, {tap_troubles} troubles, {len(points)} test points")
    return report, texts, output, summary


def written(folder, name, lines):
    path = folder / f"{name}.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def check_places(folder):
    """Where a problem is, in a repository."""
    repository = folder / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / "csrc" / "a b").mkdir(parents=True)
    (repository / "lib").mkdir()
    for file in ("csrc/scale.cpp", "csrc/a b/100%.cpp", "lib/libmy_ops.so", "setup.py"):
        (repository / file).write_text("")
    places = {
        f"{repository}/csrc/scale.cpp:9": ("csrc/scale.cpp", 9),
        "/elsewhere/build/csrc/scale.cpp:12": ("csrc/scale.cpp", 12),
        "../csrc/a b/100%.cpp:3": ("csrc/a b/100%.cpp", 3),
        "csrc/gone.cpp:4": ("csrc/gone.cpp", 4),
        "/usr/lib/python3/setup.py:5": ("lib/libmy_ops.so", 1),
        "/elsewhere/other.cpp:6": ("lib/libmy_ops.so", 1),
        "../other.cpp:6": ("lib/libmy_ops.so", 1),
        "unknown": ("lib/libmy_ops.so", 1),
    }
    lines = list(journals.head())
    for number, place in enumerate(places):
        lines += [journals.operator(f"n::op{number}", registered_at=place), journals.failing(f"n::op{number}")]
    journal = written(repository, "places", lines + [journals.end(1)])
    wanted = sorted(places.values())
    for where, options in ((repository, ()), (folder, ("--source-root", str(repository))), (repository / "csrc", ("--source-root", ".."))):
        sarif, gitlab = where / "p.sarif", where / "p.json"
        done = subprocess.run([OPCHECK, "report", "--sarif", str(sarif), "--gitlab", str(gitlab), "--github", *options, str(journal)], capture_output=True,
                              cwd=where, check=True, env={**os.environ, "GITHUB_STEP_SUMMARY": ""})
        issues = [issue["location"] for issue in json.loads(gitlab.read_text())]
        # The library's path is relative to the folder of the run: found only from there.
        library = "lib/libmy_ops.so" if where == repository else None
        found = sorted((issue["path"], issue["lines"]["begin"]) for issue in issues)
        assert [place for place in found if "libmy_ops" not in place[0]] == [place for place in wanted if "libmy_ops" not in place[0]], found
        assert library is None or found == wanted, found
        results = json.loads(sarif.read_text())["runs"][0]["results"]
        uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
        assert "csrc/a%20b/100%25.cpp" in uris, uris
        annotated = [properties.get("file") for _, properties, _ in read_github(done.stdout.decode())]
        assert annotated.count(None) == 4 and "csrc/a b/100%.cpp" in annotated, annotated


def fails(status, message, *arguments, **environment):
    done = subprocess.run([OPCHECK, *map(str, arguments)], capture_output=True, check=False, env={**os.environ, **environment})
    assert done.returncode == status and message in done.stderr.decode(), (done.returncode, done.stderr.decode())


def check_bad_targets(folder, journal):
    for name in ("sarif", "gitlab", "tap"):
        fails(3, "does not exist; make it first", "report", f"--{name}", folder / "gone" / "r", journal)
        fails(3, "No space left on device", "report", f"--{name}", "/dev/full", journal)
    fails(3, "GITHUB_STEP_SUMMARY", "report", "--github", journal, GITHUB_STEP_SUMMARY=str(folder / "gone" / "summary.md"))
    fails(3, "No space left on device", "report", "--github", journal, GITHUB_STEP_SUMMARY="/dev/full")
    fails(2, "No such file", "report", "--source-root", folder / "gone", "--sarif", folder / "r", journal)
    fails(2, "give a folder", "report", "--source-root", journal, "--sarif", folder / "r", journal)


def check_full_summary(folder, journal):
    """What other commands of the step have written counts."""
    summary = folder / "summary.md"
    summary.write_bytes(b"x" * (MIB - 100))
    done = subprocess.run([OPCHECK, "report", "--github", str(journal)], capture_output=True, check=True, env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)})
    assert summary.stat().st_size <= MIB and b"::error " in done.stdout


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for journal in sorted(pathlib.Path(sys.argv[2]).resolve().glob("*.jsonl")):
            check_journal(journal, folder)
            check_journal(journal, folder, "--strict")
        own = {"none": journals.problems(0, 0), "odd": journals.problems(0, 2), "some": journals.problems(12, 15), "many": journals.problems(3500, 10),
               "known": journals.known(), "hostile": journals.hostile(10)}
        for name, lines in own.items():
            journal = written(folder, name, lines)
            check_journal(journal, folder)
        check_journal(folder / "odd.jsonl", folder, "--strict")
        check_places(folder)
        check_bad_targets(folder, folder / "some.jsonl")
        check_full_summary(folder, folder / "some.jsonl")
    print("validated with", "pydantic-sarif, jsonschema and tap.py" if SarifModel else "none of pydantic-sarif, jsonschema and tap.py (setup --full)")


main()
