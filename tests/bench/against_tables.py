"""The comparison in words: the summary in reports/evidence/README.md, and the whole table with its evidence."""

import datetime
import json
import os
import re

from against_python import count, median_of
from processes import ROOT

EVIDENCE = "reports/evidence/against-python.md"
SUMMARY = "reports/evidence/README.md"
BEGIN = "<!-- against-python: written by scripts/bench --against-python --write -->"
END = "<!-- /against-python -->"


def cell(text, limit=150):
    """One line of a Markdown table; what would end the cell or begin markup is taken out of the way, and so is the folder that this was built in."""
    text = re.sub(r"\s+", " ", text).replace(f"{ROOT}/", "").replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def words(names):
    return ", ".join(f"`{name}`" for name in names)


def milliseconds(seconds):
    return "" if seconds is None else f"{seconds * 1e3:.0f}"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        names = re.findall(r"^model name\s*:\s*(.+)$", stream.read(), re.MULTILINE)
    return f"{len(os.sched_getaffinity(0))} processors, {names[0] if names else os.uname().machine}"


def setting(head):
    return f"{datetime.date.today().isoformat()}, torch {head['torch']}, Python {head['python']}, {machine()}"


def with_aside(number, aside, word):
    return f"{number} ({aside} {word})" if aside else str(number)


def summary_row(name, rows):
    broken, alike = [r for r in rows if r["primary"]], [r for r in rows if not r["primary"]]
    found, ended = count(broken, "python", "found"), count(broken, "python", "dies", "hangs")
    alarms, refused = count(alike, "python", "false alarm"), count(alike, "python", "refuses")
    our_alarms, our_refused = count(alike, "ours", "false alarm"), count(alike, "ours", "refuses")
    return [name, len(broken), with_aside(found, ended, "end it"), count(broken, "ours", "found"), len(alike),
            with_aside(alarms, refused, "refused"), with_aside(our_alarms, our_refused, "refused"),
            milliseconds(median_of(alike, "python_seconds")), milliseconds(median_of(alike, "our_seconds"))]  # fmt: skip


def summary(rows):
    """One line a check, and the sum."""
    head = ["check", "defects", "found by Python", "found by opcheck-c", "look-alikes", "false alarms of Python", "of opcheck-c",
            "Python, ms an operator", "opcheck-c, ms an operator"]  # fmt: skip
    checks = sorted({row["check"] for row in rows})
    lines = [summary_row(f"`{check}`", [row for row in rows if row["check"] == check]) for check in checks]
    return table(head, [*lines, [f"**{word}**" if word != "" else "" for word in summary_row("all", rows)]])


def shortcomings(rows):
    """What opcheck-c owes: a line for each defect that it missed and each false alarm."""
    owed = [row for row in rows if row["ours"] not in ("found", "silent", "refuses", "right")]
    return [f"opcheck-c: {row['operator']}: {row['ours']}: {row['primary'] or ', '.join(row['our_rules'])}" for row in owed]


def listed(lines):
    return "\n".join(f"- {line}" for line in lines)


def readme_block(head, rows, costs):
    return f"""{BEGIN}
`torch.library.opcheck` with all its tests, and `opcheck-c run`, on the same operators with the same samples: each planted defect of
`fixtures/broken`, and the correct operators that look like it.

- *End it*: the interpreter crashes or hangs. In a test suite, the rest of the run is lost (here each operator has its own process).
- *Refused*: torch.compile accepts no operator with such a schema or tag. This counts neither as a find nor as a false alarm. The same holds for
  correct reports of Python beyond the planted defect.

[Operator by operator]({EVIDENCE.rpartition("/")[2]}).

{summary(rows)}

Milliseconds are CPU time without loading, as medians of the look-alikes: Python's four default tests on the one sample, and opcheck-c's whole
battery with all variants. {setting(head)}.

{listed(costs)}
{END}"""


def detail_row(row):
    said = f"`{cell(row['detail'])}`" if row["detail"] else ""
    ours = row["ours"] if row["ours"] != "false alarm" else f"false alarm: {', '.join(row['our_rules'])}"
    return [f"`{row['operator']}`", f"`{row['primary']}`" if row["primary"] else "", row["python"], ours,
            milliseconds(row["python_seconds"]), milliseconds(row["our_seconds"]), said, cell(row["note"])]  # fmt: skip


def read_blind_spots():
    with open(ROOT / "tests/bench/blind_spots.json", encoding="utf-8") as stream:
        return json.load(stream)["blind_spots"]


def blind_spots(rows):
    """What opcheck was known to miss: each defect with the operators that plant it."""
    by_name = {row["operator"]: row for row in rows}
    planted = [(spot["defect"], by_name[name]) for spot in read_blind_spots() for name in spot["operators"] if name in by_name]
    return table(["defect", "operator", "Python", "opcheck-c"],
                 [[defect, f"`{row['operator']}`", row["python"], row["ours"]] for defect, row in planted])  # fmt: skip


def evidence(head, rows, costs):
    columns = ["operator", "rule that it breaks", "Python", "opcheck-c", "Python, ms", "opcheck-c, ms", "what Python says", "note"]
    parts = [f"""# opcheck-c against torch.library.opcheck

Written by `scripts/bench --against-python --write`. {setting(head)}.

Python runs {words(head["tests"])}. Its milliseconds are CPU time of the default ones ({words(head["default"])})
on the first sample, in a process that has run opcheck before. opcheck-c's are those of `opcheck-c run --op OPERATOR` beyond
`opcheck-c list`: the whole battery with all variants, the fork, and where there is a finding its confirmation in fresh processes. Of both
the least of three runs counts (of a defect the only one). In the sums they are the medians of the look-alikes.

Of a defect: *found*, a test fails because of it; *missed*; *dies* and *hangs*, the interpreter ends with the operator. Of a look-alike:
*silent*, *false alarm*. Of both: *right*, a test fails for something else that is true; *refuses*, a test fails for every operator with such
a schema or tag; *unusable*, Python cannot be given the operator.

{summary(rows)}

{listed(costs)}
"""]  # fmt: skip
    parts.append(f"## Known blind spots of opcheck\n\n{blind_spots(rows)}\n")
    for check in sorted({row["check"] for row in rows}):
        mine = [row for row in rows if row["check"] == check]
        parts.append(f"## {check}\n")
        parts.append(table(columns, [detail_row(row) for row in sorted(mine, key=lambda row: row["primary"] is None)]) + "\n")
    return "\n".join(parts)


def with_block(text, block):
    """The text of the page with this in the place of what stands between the same two markers, the block's first and last line."""
    first, last = block.partition("\n")[0], block.rpartition("\n")[2]
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise SystemExit(f"{SUMMARY} has no lines {first} and {last} to write between")
    return before + block + after


def write(head, rows, costs, root=ROOT):
    """Rewrites the summary's part between its markers, and the evidence."""
    readme, kept = root / SUMMARY, root / EVIDENCE
    text = with_block(readme.read_text(encoding="utf-8"), readme_block(head, rows, costs))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(evidence(head, rows, costs), encoding="utf-8")
    readme.write_text(text, encoding="utf-8")
