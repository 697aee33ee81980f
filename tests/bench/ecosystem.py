"""A report of every public operator library, an index of them, and issue texts for the strongest true problems: what scripts/ecosystem does."""

import collections
import datetime
import html
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import corpus
import labels
from precision import REPORTED, counted, of_severity
from processes import ROOT, environment

EVIDENCE = ROOT / "reports/evidence/ecosystem"
# What a user of the operator would fear most comes first. What matches no line comes last.
STRENGTH = (r"signal\.", r"memory\.out_of_bounds_write", r"memory\.", r"stride\.wrong_result", r"(dtype|equivalent|empty)\.", r"mutation\.", r"autograd\.wrong", r"autograd\.",
            r"alias\.", r"(meta|fake|symbolic|functionalisation)\.")  # fmt: skip
ISSUES_OF_A_LIBRARY = 2


# --- Running --------------------------------------------------------------------------------------------------------------------


def opcheck(tool, words, log):
    """The exit status; the output goes to the log."""
    with open(log, "w", encoding="utf-8") as stream:
        return subprocess.run([tool, *words], stdout=stream, stderr=subprocess.STDOUT, check=False).returncode


def last_lines(log):
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return "\n  ".join(lines[-corpus.LOG_LINES :])


def run_parts(options, tool, entry, words, folder):
    """The reports of all parts; raises NotAvailable. Parts that are there are taken as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    earlier = options.before / entry["name"] / "report.json.zst" if options.before else None
    times = ["--shard-times", str(earlier)] if earlier and earlier.is_file() else []
    parts = [folder / f"{k}-of-{options.parts}.json.zst" for k in range(1, options.parts + 1)]
    for k, part in enumerate(parts, 1):
        log, done = folder / f"{k}-of-{options.parts}.txt", folder / f"{k}-of-{options.parts}.done"
        if done.is_file():
            continue
        print(f"ecosystem: {corpus.quoted(entry)}, part {k} of {options.parts}", file=sys.stderr)
        code = opcheck(tool, ["run", "--shard", f"{k}/{options.parts}", *times, "--json", str(part), *words], log)
        if code not in REPORTED:
            raise corpus.NotAvailable(f"{corpus.quoted(entry)}, part {k}: opcheck-c ended with {code}: {last_lines(log)}")
        done.touch()
    return parts


def compare(options, tool, name, report):
    """What report compare sums up, or None where there is nothing to compare with."""
    earlier = options.before / name / "report.json.zst" if options.before else None
    if not earlier or not earlier.is_file():
        return None
    page, summary = options.folder / f"{name}.compare.html", options.folder / name / "compare.json"
    log = options.folder / name / "compare.txt"
    code = opcheck(tool, ["report", "compare", "--html", str(page), "--json", str(summary), str(earlier), str(report)], log)
    if code not in (0, 1):
        raise corpus.NotAvailable(f"{name}: its report cannot be compared with {earlier}: {last_lines(log)}")
    return json.loads(summary.read_text(encoding="utf-8"))["summary"]


def read_report(path):
    """The report without its results, which nobody needs here and which take most of the memory."""
    text = subprocess.run(["zstd", "-dcq", str(path)], check=True, stdout=subprocess.PIPE).stdout
    report = json.loads(text)
    report["results"] = len(report["results"])
    return report


def check_library(options, tool, entry, python):
    """A row of the index; raises NotAvailable."""
    name, folder = entry["name"], options.folder / entry["name"]
    parts = run_parts(options, tool, entry, corpus.arguments(entry, python, whole=True), folder)
    report = folder / "report.json.zst"
    code = opcheck(tool, ["report", "merge", "--json", str(report), "--html", str(options.folder / f"{name}.html"), *map(str, parts)], folder / "merge.txt")
    if code not in REPORTED:
        raise corpus.NotAvailable(f"{corpus.quoted(entry)}: its parts cannot be merged (exit {code}): {last_lines(folder / 'merge.txt')}")
    found = read_report(report)
    failed = [f"{os.path.basename(one['path'])} did not load: {one['error']['message']}" for one in found["libraries"] if one["status"] != "loaded"]
    return {"entry": entry, "name": name, "report": found, "problems": found["problems"], "failed": failed, "since": compare(options, tool, name, report),
            "labels": labels.read(name), "seconds": found["run"]["seconds"]}  # fmt: skip


# --- Issue texts ----------------------------------------------------------------------------------------------------------------


def strength(problem):
    return next((place for place, pattern in enumerate(STRENGTH) if re.match(pattern, problem["rule"])), len(STRENGTH))


def strongest(rows):
    """[(row, problem, label)] of the errors that are labelled true, the strongest first. libtorch's own operators are left out: their labels are
    about opcheck-c, not about PyTorch."""
    true = [(row, problem, row["labels"][problem["id"]]) for row in rows if row["entry"]["get"] != "libtorch" for problem in of_severity(row, "error")
            if problem["id"] in row["labels"] and labels.standing_label(row["labels"][problem["id"]]) == "true"]  # fmt: skip
    return sorted(true, key=lambda one: (strength(one[1]), one[0]["name"], one[1]["id"]))


def ran(python, path, folder):
    """(exit status, what it prints) of a program; (None, "") if it takes too long."""
    try:
        ended = subprocess.run([python, str(path)], capture_output=True, text=True, errors="replace", timeout=120, check=False, cwd=folder)
    except subprocess.TimeoutExpired:
        return None, ""
    return ended.returncode, ended.stdout.strip()


def program_of(tool, row, problem, path, python, folder):
    """Has opcheck-c write a program that shows the problem, and runs it: what it prints, or None if there is no program or it does not fail."""
    command = [tool, *shlex.split(problem["repro"])[1:], "--emit", "python", str(path)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, cwd=folder)
    code, printed = ran(python, path, folder) if path.is_file() else (None, "")
    return printed if code == 1 else None


CONTIGUOUS = """def contiguous(value):
    if isinstance(value, torch.Tensor):
        return value.resolve_conj().resolve_neg().contiguous()
    if isinstance(value, dict):
        return {name: contiguous(item) for name, item in value.items()}
    return [contiguous(item) for item in value] if isinstance(value, (list, tuple)) else value


def arguments():
    return tuple(map(contiguous, arguments_as_found()))


def arguments_as_found():"""


def control_of(problem, path, python, folder):
    """A sentence that says what the program prints when every tensor is contiguous, for a problem that only another layout shows; "" for any other problem. None: it
    fails then, too, so that it does not show what the layout does."""
    if problem.get("change") != "layout":
        return ""
    control = path.with_suffix(".control.py")
    control.write_text(path.read_text(encoding="utf-8").replace("def arguments():", CONTIGUOUS, 1), encoding="utf-8")
    code, printed = ran(python, control, folder)
    return f"\n\nWith `.contiguous()` on every tensor it prints `{printed}`." if code == 0 else None


def for_readers(program, entry, folder):
    """The program as its readers need it: the library comes from site-packages, wherever it was for the run, and the line that opcheck-c was run with names no folders."""
    text = program.replace(f"{folder}/", "")
    for name in (*entry.get("preload", []), *entry["libraries"]):
        text = re.sub(rf"(?<=[\s\"'])/[^\s\"']*/{re.escape(name)}(?=[\s\"'])", name, text)
    text = re.sub(r'(torch\.ops\.load_library|ctypes\.CDLL)\("([^"/][^"]*)"', r'\1(os.path.join(sysconfig.get_path("platlib"), "\2")', text)
    text = re.sub(r"^#   \S*/opcheck-c ", "#   opcheck-c ", text, flags=re.MULTILINE)
    text = re.sub(r"^(#   opcheck-c .*?)--torch \S+ ", r"\1", text, flags=re.MULTILINE)
    lines = text.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("import "))
    needed = [f"import {name}" for name in ("os", "sysconfig") if "sysconfig." in text and f"import {name}" not in lines]
    return "\n".join([*lines[:first], *needed, *lines[first:]])


NOT_CONTIGUOUS = re.compile(r"\.(transposed|permuted|channels_last|sliced|padded|expanded\d+|repeated\d+)$")


def said(problem):
    """The message of a problem for somebody who does not know opcheck-c."""
    text = problem["message"].split(". The arguments were found")[0]
    text = re.sub(r" at address 0x[0-9a-f]+| \(on guarded memory\)|, while the operator ran", "", text)
    text = re.sub(r"\bstorage has 1 bytes\b", "storage has 1 byte", text)
    found = re.match(r"depends on the (layout|values|dtype) of (`[^`]*`(?:, `[^`]*`)*): ", text)
    if not found:
        return text
    names = " or ".join(found[2].rsplit(", ", 1))
    strided = found[1] == "layout" and NOT_CONTIGUOUS.search(problem["cases"][0])
    return f"{text[found.end():]}, {f'if {names} is not contiguous' if strided else f'with another {found[1]} of {names}'}"


def call_block(call):
    """The call of a label, a statement a line; as plain text where words explain it."""
    code, mark, comment = call.partition("  # ")
    lines = code.replace("; ", "\n") + mark + comment
    try:
        compile(lines, "label", "exec")
    except SyntaxError:
        return f"```text\n{lines}\n```"
    return f"```python\n{lines}\n```"


def issue_text(row, problem, label, program, printed, control):
    entry, operators = row["entry"], ", ".join(f"`{name}`" for name in problem["operators"])
    return f"""# {', '.join(problem['operators'])}: {said(problem).splitlines()[0]}

**Library:** {entry['name']} {entry['version']}, torch {row['report']['tool']['torch']}, on the CPU

**What:** {operators}: {said(problem)} (rule `{problem['rule']}`)

**A valid call that shows it:**

{call_block(label['call'])}

**Why:** {label['why']} ({label['source']})

The program below shows it. It exits with 1 if the operator fails, and prints:

```text
{printed}
```{control}

```python
{program.strip()}
```

Found with opcheck-c {row['report']['tool']['version']}; problem {problem['id']}.
"""


def write_issues(options, tool, rows, python):
    """[(file name, title)]. A problem without a program that shows it is passed over."""
    folder = options.folder / "issues"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    written, of_library = [], collections.Counter()
    for row, problem, label in strongest(rows):
        if len(written) == options.issues:
            break
        if of_library[row["name"]] == ISSUES_OF_A_LIBRARY:
            continue
        path = options.folder / row["name"] / f"{problem['id']}.py"
        printed = program_of(tool, row, problem, path, python, options.folder / row["name"])
        control = control_of(problem, path, python, options.folder / row["name"]) if printed is not None else None
        if control is None:
            continue
        of_library[row["name"]] += 1
        program = for_readers(path.read_text(encoding="utf-8"), row["entry"], options.folder / row["name"])
        text = issue_text(row, problem, label, program, printed, control)
        name = f"{len(written) + 1:02}-{row['name']}-{problem['rule']}.md"
        (folder / name).write_text(text, encoding="utf-8")
        written.append((name, text.splitlines()[0].removeprefix("# ")))
    return written


# --- The index ------------------------------------------------------------------------------------------------------------------

STYLE = """:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #8884; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
tr.sum td { font-weight: 600 }"""


def cell(text, number=False):
    return f"<td{' class=n' if number else ''}>{text}</td>"


def since_words(since):
    if not since:
        return "–"
    words = [f"{since[key]} {key}" for key in ("new", "worse", "fixed", "changed", "gone") if since[key]]
    return ", ".join(words) or "the same"


def row_cells(row, reports):
    entry, summary = row["entry"], row["report"]["summary"]
    labelled = counted(of_severity(row, "error"), row["labels"])
    name = html.escape(corpus.quoted(entry))
    compared = html.escape(since_words(row["since"]))
    if reports:
        name = f'<a href="{row["name"]}.html">{name}</a>'
        compared = f'<a href="{row["name"]}.compare.html">{compared}</a>' if row["since"] else compared
    numbers = [f"{summary['checked']} of {summary['operators']}", row["report"]["results"], len(of_severity(row, "error")), labelled["true"], labelled["input"],
               labelled["false"], labelled["unlabelled"], len(of_severity(row, "warning")), f"{row['seconds']:.0f}"]  # fmt: skip
    failed = "".join(f"<br>{html.escape(line)}" for line in row["failed"])
    return cell(name + failed) + "".join(cell(number, True) for number in numbers) + cell(compared)


def sum_cells(rows):
    errors = collections.Counter()
    for row in rows:
        errors.update(counted(of_severity(row, "error"), row["labels"]))
    of = [sum(row["report"]["summary"][key] for row in rows) for key in ("checked", "operators")]
    numbers = [f"{of[0]} of {of[1]}", sum(row["report"]["results"] for row in rows), sum(errors.values()), errors["true"], errors["input"], errors["false"],
               errors["unlabelled"], sum(len(of_severity(row, "warning")) for row in rows), f"{sum(row['seconds'] for row in rows):.0f}"]  # fmt: skip
    return cell(f"{len(rows)} libraries") + "".join(cell(number, True) for number in numbers) + cell("")


def index(rows, lost, unasked, issues, reports):
    """lost: sentences. unasked: names of the corpus that were not to be checked. reports: whether the pages of the libraries are beside the index."""
    tool = rows[0]["report"]["tool"] if rows else {"version": "–"}
    versions = ", ".join(sorted({row["report"]["tool"]["torch"] for row in rows}))
    head = ["library", "operators checked", "results", "errors", "true", "input", "false", "not read", "warnings", "seconds", "since the last run"]
    titles = "".join(f"<th{' class=n' if 0 < place < len(head) - 1 else ''}>{word}</th>" for place, word in enumerate(head))
    lines = "\n".join(f"<tr>{row_cells(row, reports)}</tr>" for row in rows)
    missing = "".join(f"<li>{html.escape(' '.join(line.split()))}</li>" for line in lost)
    texts = "".join(f'<li><a href="issues/{name}">{html.escape(title)}</a></li>' for name, title in issues)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Public operator libraries, checked by opcheck-c</title>
<style>
{STYLE}
</style></head><body>
<h1>Public operator libraries, checked by opcheck-c</h1>
<p>{datetime.date.today().isoformat()}, opcheck-c {tool['version']}, libtorch {html.escape(versions)}. Written by <code>scripts/ecosystem</code>. No library has samples: all inputs were
found by the search. Of the errors, <em>true</em> is a defect that a valid call shows, <em>input</em> needs input that no user would pass, <em>false</em> is a mistake of opcheck-c,
as one or two readers of the source decided. <em>Not read</em>: nobody has decided yet.</p>
<table><thead><tr>{titles}</tr></thead><tbody>
{lines}
<tr class="sum">{sum_cells(rows)}</tr>
</tbody></table>
{f'<h2>Not checked</h2><ul>{missing}</ul>' if lost else ''}
{f'<p>Not part of this run: {", ".join(unasked)}.</p>' if unasked else ''}
{f'<h2>Issue texts</h2><p>The strongest true problems, each with a program that shows it. Nothing was sent.</p><ol>{texts}</ol>' if issues else ''}
</body></html>
"""


def write_evidence(folder, rows, lost, unasked, issues):
    shutil.rmtree(EVIDENCE, ignore_errors=True)
    shutil.copytree(folder / "issues", EVIDENCE / "issues")
    (EVIDENCE / "index.html").write_text(index(rows, lost, unasked, issues, reports=False), encoding="utf-8")


# --- The whole ------------------------------------------------------------------------------------------------------------------


def main(options):
    listed, python = corpus.read(), environment().get("PYTHON", sys.executable)
    unknown = sorted(set(options.library or []) - {entry["name"] for entry in listed["libraries"]})
    if unknown:
        sys.exit("\n".join(f"tests/real/corpus.json has no library {name}" for name in unknown))
    tool = str((options.build / "bin/opcheck-c").resolve())
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    rows, lost, unasked = [], [], []
    for entry in listed["libraries"]:
        if options.library and entry["name"] not in options.library:
            unasked.append(corpus.quoted(entry))
            continue
        try:
            rows.append(check_library(options, tool, entry, python))
        except corpus.NotAvailable as error:
            lost.append(str(error))
            print(f"ecosystem: {error}", file=sys.stderr)
    issues = write_issues(options, tool, rows, python)
    page = options.folder / "index.html"
    page.write_text(index(rows, lost, unasked, issues, reports=True), encoding="utf-8")
    if options.write:
        write_evidence(options.folder, rows, lost, unasked, issues)
    print(f"{page}: {len(rows)} libraries, {len(lost)} not checked, {len(issues)} issue texts")
    return 1 if lost else 0
