"""What the neighbours of samples cost (--neighbours): all broken operators, and the bugs that happened, with their samples. Standard library only."""

import json
import os
import subprocess
import sys
import tempfile

from processes import ROOT

ENDS = (0, 1)  # nothing found, findings
WITHOUT, WITH = ["--neighbours", "0"], []


def libraries(folder):
    """(library, its sample file)."""
    for kind, prefix in (("broken", "libbroken_"), ("real_bugs", "libreal_")):
        for samples in sorted((ROOT / "fixtures" / kind).glob("*.samples.json")):
            yield folder / f"{prefix}{samples.name.removesuffix('.samples.json')}.so", samples


def run(tool, words, library, samples, report):
    """Seconds in cases, and the number of cases."""
    command = [tool, "run", *words, "--samples", str(samples), "--json", report, str(library)]
    if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode not in ENDS:
        sys.exit(f"bench: this run did not end as it should: {' '.join(command)}")
    with open(report, encoding="utf-8") as stream:
        results = json.load(stream)["results"]
    return sum(result["seconds"] for result in results), len(results)


def measure(runs, tool, folder):
    """The number of libraries; for each run the seconds with neighbours, and without; the numbers of cases, without and with."""
    pairs, seconds, counts = list(libraries(folder)), [], []
    with tempfile.TemporaryDirectory() as where:
        for _ in range(runs):
            turns = [[run(tool, words, *pair, os.path.join(where, "r.json")) for words in (WITHOUT, WITH)] for pair in pairs]
            seconds.append([sum(turn[side][0] for turn in turns) for side in (0, 1)])
            counts = [sum(turn[side][1] for turn in turns) for side in (0, 1)]
    return len(pairs), [both[1] for both in seconds], [both[0] for both in seconds], counts
