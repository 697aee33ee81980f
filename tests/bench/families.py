"""The families of tries of the search: how many operators of the corpus only one of them opened.

An operator is open if the search finds arguments that it accepts. Each library is searched with all families, and then once without each family that made a
try for an open operator: those that stay closed were opened by it alone. A family that opens none may still bring a second shape, or options: the operators
that then have less are the last column."""

import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from against_tables import machine, table
from processes import ROOT

EVIDENCE = "reports/evidence/search_families.md"
STATES = ("rich", "found")


def names():
    """Of all families, in the order of their table."""
    text = (ROOT / "harness/search/draft/search_inside.h").read_text(encoding="utf-8")
    rows = text[text.index("#define OPC_SEARCH_FAMILIES") : text.index("typedef enum opc_search_family")]
    return re.findall(r'X\(\w+, "([\w-]+)"\)', rows)


def searches(tool, arguments, without=""):
    """What the search says of each operator. A library that cannot be loaded has none."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        environment = {**os.environ, "OPC_SEARCH_WITHOUT": without}
        command = [tool, "run", "--jobs", "2", "--check", "alias", "--json", report, *arguments]
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if not os.path.exists(report):
            return {}
        with open(report, encoding="utf-8") as file:
            operators = json.load(file)["operators"]
    return {operator["name"]: operator["search"] for operator in operators if operator.get("search")}


def corpus(build, python, folder):
    """(name, arguments) of what is searched: the installed libraries, the operators of tests/real/aten300.txt, and the fixtures, away from their samples."""
    site = pathlib.Path(python).parent.parent
    found = [path for pattern in ("torchvision/*.so", "torchaudio/lib/libtorchaudio*.so") for path in sorted(site.glob(f"lib/python*/site-packages/{pattern}"))]
    for path in sorted((build / "fixtures").glob("lib*.so")):
        copy = pathlib.Path(folder) / path.name
        copy.symlink_to(path)
        found.append(copy)
    aten = (ROOT / "tests/real/aten300.txt").read_text(encoding="utf-8").split()
    wanted = [option for name in aten for option in ("--op", name)]
    return [(path.name, [str(path)]) for path in found] + [("aten300", ["--namespace", "aten", *wanted])]


def measure(tool, name, arguments):
    """(library, open operators, {family: operators that are closed without it}, {family: operators that have less without it})."""
    everything = searches(tool, arguments)
    opened = {operator: search for operator, search in everything.items() if search["state"] in STATES}
    used = {family for search in opened.values() for family in search["families"]} - {"seed"}
    closed, less = {}, {}
    for family in sorted(used):
        concerned = [operator for operator, search in opened.items() if family in search["families"]]
        options = ["--namespace", "aten"] if name == "aten300" else arguments
        chosen = [option for operator in concerned for option in ("--op", operator)]
        without = searches(tool, [*options, *chosen], family)
        closed[family] = [o for o in concerned if without.get(o, {}).get("state") not in STATES]
        less[family] = [o for o in concerned if opened[o]["state"] == "rich" and without.get(o, {}).get("state") == "found" or family == "option" and opened[o]["families"][family][2]]
    return name, opened, closed, less


def main(tool, build, python, write):
    rows = {family: [0, 0, [], 0] for family in names()}
    libraries, total = 0, 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, opened, closed, less in pool.map(lambda entry: measure(tool, *entry), corpus(build, python, folder)):
            libraries, total = libraries + bool(opened), total + len(opened)
            print(f"{name}: {len(opened)} open", file=sys.stderr, flush=True)
            for search in opened.values():
                for family in search["families"]:
                    rows[family][0] += 1
                if search.get("found_by"):  # not of arguments that another operator accepted
                    rows[search["found_by"]][1] += 1
            for family, operators in closed.items():
                rows[family][2] += operators
            for family, operators in less.items():
                rows[family][3] += len(operators)
    printed = [[family, str(tried), str(first), str(len(alone)), str(less)] for family, (tried, first, alone, less) in rows.items()]
    text = table(["family", "made a try for", "its try was accepted first", "only it opened", "have less without it"], printed)
    head = f"{total} operators of {libraries} libraries accept arguments that the search found, on {datetime.date.today().isoformat()}, {machine()}. How many of them each family …"
    print("\n".join(["", head, "", text]))
    for family, (_, _, alone, _) in rows.items():
        if alone:
            print(f"only {family}: {', '.join(sorted(alone)[:12])}")
    if write:
        (ROOT / EVIDENCE).write_text(f"# Families of tries\n\n`scripts/bench --search --write` measured this. {head}\n\n{text}\n", encoding="utf-8")
    return 0
