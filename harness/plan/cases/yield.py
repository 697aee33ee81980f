#!/usr/bin/env python3
"""Writes yield.def from JSON reports: yield.py REPORT.json… > harness/plan/cases/yield.def

The reports are of runs without --budget, on the CPU: of every library of fixtures/broken with its samples, and of
torchvision, torchaudio and torch-sparse without samples. A problem is an operator with a rule. Those that an unmodified
sample shows need no variant. Of the others, the pair of check and transformation comes first that shows the most
problems which no earlier pair has shown, for each second that its cases took. The first pairs with half of these
problems have turn 1, up to 80 % turn 2, 95 % turn 3, all turn 4; pairs that are not listed have turn 5.
"""

import json
import pathlib
import re
import sys

SHARES = (0.5, 0.8, 0.95, 1.0)


def transformations():
    text = (pathlib.Path(__file__).parent.parent / "variant" / "variant.def").read_text()
    return sorted(re.findall(r'^OPC_TRANSFORMATION\("([^"]+)"', text, re.M), key=len, reverse=True)


def what_of(case, names):
    """As what_of of yield.c says; None: an unmodified sample, or no sample is needed."""
    dtype, sample, variant = case.rsplit("/", 3)[1:]
    if sample == "-":
        return "all samples" if case.split("/")[-4] != "-" else None
    if dtype != "-":
        return "dtype"
    if variant == "plain":
        return None
    step = variant.partition(".")[2] or variant
    return next((name for name in names if step.startswith(name)), step.partition("+")[0])


def main():
    names, cost, shown, plain = transformations(), {}, {}, set()
    for path in sys.argv[1:]:
        for result in json.loads(pathlib.Path(path).read_text())["results"]:
            pair, problem = what_of(result["case"], names), (result["operator"], result["rule"])
            if pair is None:
                plain |= {problem} if result["verdict"] in ("fail", "error") else set()
                continue
            pair = (result["check"], pair)
            cost[pair] = cost.get(pair, 0) + result["seconds"]
            if result["verdict"] in ("fail", "error"):
                shown.setdefault(pair, set()).add(problem)
    left = set().union(*shown.values()) - plain
    total, found, order = len(left), 0, []
    while left:
        best = max(shown, key=lambda pair: (len(shown[pair] & left) / max(cost[pair], 0.001), pair))
        found += len(shown[best] & left)
        left -= shown[best]
        order.append((best, next(i + 1 for i, share in enumerate(SHARES) if found <= share * total + 0.5), cost[best]))
    print("/* Written by yield.py, which says how: OPC_YIELD(check, transformation, turn). Of another dtype the word is")
    print(' * "dtype", of a case about all samples "all samples". */')
    for (check, what), turn, _ in sorted(order, key=lambda row: (row[1], row[0])):
        print(f'OPC_YIELD({check}, "{what}", {turn})')
    whole = sum(cost.values())
    for turn in (1, 2, 3, 4):
        seconds = sum(row[2] for row in order if row[1] == turn)
        print(f"turn {turn}: {sum(r[1] == turn for r in order)} pairs, {seconds:.1f} of {whole:.1f} s", file=sys.stderr)
    print(f"{total} problems need a variant, {len(plain)} do not", file=sys.stderr)


if __name__ == "__main__":
    main()
