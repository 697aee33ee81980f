"""A search is a function of the library and the seed: not of the load of the machine, nor of how many operators run at once, nor of which were selected.

    search_twice.py OPCHECK_C PACKAGE LIBRARY[,LIBRARY…] OPERATOR

Searches the library (path inside the package's folder, of which a release has one) twice, once alone and once with all processors busy and several operators at once; compares what was
tried and what was saved. Then OPERATOR alone, which must come to the same samples. Then the saved samples are loaded again, and must be accepted."""

import json
import os
import subprocess
import sys
import tempfile

from real_library import library_of


def run(tool, folder, name, arguments):
    report, samples = os.path.join(folder, f"{name}.json"), os.path.join(folder, f"{name}.samples.json")
    command = [tool, "run", "--check", "mutation", "--json", report, *arguments]
    ended = subprocess.run([*command[:2], "--save-samples", samples, *command[2:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if ended.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit {ended.returncode}\n{ended.stdout}")
    with open(report, encoding="utf-8") as stream:
        searches = {o["name"]: o["search"] for o in json.load(stream)["operators"] if "search" in o}
    for search in searches.values():
        del search["cpu_seconds"], search["seconds"]
    with open(samples, encoding="utf-8") as stream:
        return searches, json.load(stream)["samples"], samples


def main():
    tool, package, library, operator = sys.argv[1:5]
    path = library_of(package, library.split(","))
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        searches, samples, file = run(tool, folder, "alone", ["--jobs", "1", path])
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
        try:
            loaded_searches, loaded_samples, _ = run(tool, folder, "busy", ["--jobs", "4", path])
        finally:
            for process in busy:
                process.kill()
                process.wait()
        for name, search in searches.items():
            if search != loaded_searches[name]:
                problems.append(f"{name}: {search}\n    under load: {loaded_searches[name]}")
        if samples != loaded_samples:
            problems.append("the samples saved under load are others")
        _, own, _ = run(tool, folder, "own", ["--op", operator, path])
        if own != [s for s in samples if s["operator"] == operator]:
            problems.append(f"{operator} alone comes to other samples: {own}")
        ended = subprocess.run([tool, "run", "--check", "mutation", "--samples", file, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if ended.returncode not in (0, 1) or "sample.rejected" in ended.stdout:
            problems.append(f"the saved samples are not accepted: exit {ended.returncode}\n{ended.stdout}")
    print(f"{len(searches)} searches, {len(samples)} samples")
    if not samples or problems:
        sys.exit("\n".join(problems) or "nothing was found")


if __name__ == "__main__":
    main()
