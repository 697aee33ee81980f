#!/usr/bin/env python3
"""The progress line on a terminal counts up only, from the search for inputs to the last case.

    progress.py OPCHECK LIBRARY"""

import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile


def shown_on_a_terminal(command):
    """What the command writes to its standard error, a terminal, and its exit code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # the last writer has left
        pass
    os.close(ours)
    return shown.decode(errors="replace"), process.wait()


def main():
    tool, library = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        alone = pathlib.Path(folder) / pathlib.Path(library).name  # without its samples, so that inputs are searched
        alone.symlink_to(pathlib.Path(library).resolve())
        shown, code = shown_on_a_terminal([tool, "run", "--check", "alias,mutation", "--jobs", "2", str(alone)])
    counts = [(int(done), int(total)) for done, total in re.findall(r"(\d+) of (\d+) operators", shown)]
    mistakes = [f"{before[0]} operators were done, then {after[0]}" for before, after in zip(counts, counts[1:]) if after[0] < before[0]]
    mistakes += [f"{done} of {total} are done" for done, total in counts if done > total]
    if "searching inputs" not in shown:
        mistakes.append("the search shows no progress")
    if code not in (0, 1) or not counts or counts[-1][0] != counts[-1][1] or counts[-1][1] < 2:
        mistakes.append(f"exit {code}; the last count is {counts[-1:]}")
    print("\n".join(mistakes[:10]))
    print(f"{len(counts)} progress lines, {len(mistakes)} mistakes")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
