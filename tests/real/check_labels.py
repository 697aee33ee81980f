"""Holds tests/real/corpus.json and the label files against each other. Standard library only, no network, no build.

    check_labels.py [--planted]    the second is the test of the test: mistakes that it must name"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import corpus  # noqa: E402
import labels  # noqa: E402

RIGHT = {"id": "0123456789abcdef", "operators": ["ns::op"], "rule": "stride.wrong_result", "severity": "error", "label": "true", "source": "a/b.cpp:12",
         "why": "because", "call": "ns::op(x.t())", "second": ""}  # fmt: skip
PLANTED = (({"label": "maybe"}, "unknown label"), ({"source": "b.cpp"}, "FILE:LINE"), ({"call": ""}, "no valid call"), ({"why": ""}, "does not say why"),
           ({"id": "1"}, "no problem's id"), ({"second": "yes"}, "second reader"), ({"severity": "note"}, "unknown severity"), ({"rule": ""}, "no rule"))  # fmt: skip


def corpus_mistakes(listed):
    wrong = [f"corpus.json: {entry['name']}: unknown way to get it: {entry['get']}" for entry in listed["libraries"] if entry["get"] not in corpus.GETS]
    wrong += [f"corpus.json: {entry['name']}: no libraries and no operators" for entry in listed["libraries"] if not entry["libraries"] and "operators" not in entry]
    wrong += [f"corpus.json: {entry['name']}: no file {entry['operators']}" for entry in listed["libraries"]
              if "operators" in entry and not (corpus.REAL / entry["operators"]).is_file()]  # fmt: skip
    if len(listed["hold_out"]) < 2:
        wrong.append("corpus.json: fewer than two libraries are held out")
    return wrong


def planted_mistakes():
    wrong = [f"a right label is refused: {line}" for line in labels.mistakes_of(RIGHT, "right")]
    for change, word in PLANTED:
        found = labels.mistakes_of({**RIGHT, **change}, "planted")
        if not any(word in line for line in found):
            wrong.append(f"{change} is not refused: {found}")
    short = {key: value for key, value in RIGHT.items() if key != "why"}
    if not labels.mistakes_of(short, "planted"):
        wrong.append("a label without a reason is not refused")
    if labels.standing_label({**RIGHT, "second": "input"}) != "false" or labels.standing_label({**RIGHT, "second": "true"}) != "true":
        wrong.append("disagreement does not count as false")
    keys = [("lib", f"{number:016x}") for number in range(50)]
    if labels.drawn(keys, 10, 0) - labels.drawn(keys[:-1], 10, 0) - {keys[-1]} or len(labels.drawn(keys, 10, 0)) != 10:
        wrong.append("the draw is not stable")
    return wrong


def main():
    listed = corpus.read()
    wrong = planted_mistakes() if "--planted" in sys.argv[1:] else corpus_mistakes(listed) + labels.mistakes(listed)
    counts = {entry["name"]: len(labels.read(entry["name"])) for entry in listed["libraries"]} if not wrong else {}
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
