"""What the search for inputs came to: operators by state, tries and processor time an operator, and what each kind of edit was worth.

    search_table.py REPORT.json [--all]

REPORT is what `opcheck-c run --json` wrote; the fields are operators[].search of it. --all names every operator, not only those without inputs."""

import collections
import json
import statistics
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as stream:
        report = json.load(stream)
    searched = [(o, o["search"]) for o in report["operators"] if "search" in o]
    if not searched:
        sys.exit("no operator of this report was searched")

    states = collections.Counter(s["state"] for _, s in searched)
    print(f"{len(searched)} operators searched: " + ", ".join(f"{n} {state}" for state, n in states.most_common()))
    for name, key in (("tries", "tries"), ("CPU seconds", "cpu_seconds"), ("seconds", "seconds")):
        values = [s.get(key, 0) for _, s in searched]
        print(f"{name:>12}: median {statistics.median(values):.4g}, mean {statistics.mean(values):.4g}, largest {max(values):.4g}, sum {sum(values):.4g}")

    families = collections.defaultdict(lambda: [0, 0, 0])
    for _, search in searched:
        for family, counts in search["families"].items():
            families[family] = [a + b for a, b in zip(families[family], counts)]
    print(f"\n{'edit':<16}{'tried':>8}{'new place':>11}{'kept':>7}")
    for family, (tried, moved, kept) in sorted(families.items(), key=lambda item: -item[1][0]):
        print(f"{family:<16}{tried:>8}{moved:>11}{kept:>7}")

    print()
    for operator, search in searched:
        if "--all" in sys.argv[2:] or search["state"] not in ("rich", "found"):
            print(f"{search['state']:<16}{search['tries']:>5} tries {search['crashes']:>4} crashes {search['cpu_seconds']:7.2f} s  {operator['name']}: {operator.get('sample_detail', '')}")


if __name__ == "__main__":
    main()
