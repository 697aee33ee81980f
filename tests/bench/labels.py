"""Labels of the problems that opcheck-c finds in the corpus: tests/real/labels/LIBRARY.json, keyed by the problem's id. tests/real/labels/README.md says what
they mean."""

import hashlib
import json
import re

from corpus import REAL

FOLDER = REAL / "labels"
LABELS = ("true", "input", "false")
SEVERITIES = ("error", "warning")
FIELDS = ("id", "operators", "rule", "severity", "label", "source", "why", "call", "second")
SOURCE = re.compile(r"^[^\s:]+(\.[A-Za-z]+|/[^\s:]+):\d+$")


def read(name):
    """By id; empty where nothing is labelled yet."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        return {}
    with open(path, encoding="utf-8") as stream:
        return {entry["id"]: entry for entry in json.load(stream)["labels"]}


def standing_label(entry):
    """What counts: where the second reader disagrees, a finding that one of the two took for true is false."""
    second = entry.get("second") or entry["label"]
    return entry["label"] if second == entry["label"] else "false"


def mistakes_of(entry, where):
    wrong = [f"{where}: no {field}" for field in FIELDS if field not in entry]
    wrong += [f"{where}: unknown field {field}" for field in sorted(set(entry) - set(FIELDS))]
    if wrong:
        return wrong
    if not re.fullmatch(r"[0-9a-f]{16}", str(entry["id"])):
        wrong.append(f"{where}: the id is no problem's id")
    if entry["label"] not in LABELS:
        wrong.append(f"{where}: unknown label {entry['label']}; known are: {', '.join(LABELS)}")
    if entry["second"] not in ("", *LABELS):
        wrong.append(f"{where}: unknown label of the second reader, {entry['second']}")
    if entry["severity"] not in SEVERITIES:
        wrong.append(f"{where}: unknown severity {entry['severity']}")
    if not isinstance(entry["operators"], list) or not entry["operators"] or not entry["rule"]:
        wrong.append(f"{where}: names no operators or no rule")
    if not SOURCE.match(str(entry["source"])):
        wrong.append(f"{where}: the source is no FILE:LINE: {entry['source']}")
    if not entry["why"]:
        wrong.append(f"{where}: does not say why")
    if entry["label"] == "true" and entry["severity"] == "error" and not entry["call"]:
        wrong.append(f"{where}: true, and no valid call that shows it")
    return wrong


def mistakes(corpus):
    """What is wrong with corpus.json and the label files."""
    names = [entry["name"] for entry in corpus["libraries"]]
    wrong = [f"corpus.json: {name} is listed twice" for name in sorted({name for name in names if names.count(name) > 1})]
    wrong += [f"corpus.json: {name} is a hold-out and no library" for name in corpus["hold_out"] if name not in names]
    for path in sorted(FOLDER.glob("*.json")):
        if path.stem not in names:
            wrong.append(f"{path.name}: no library of that name in corpus.json")
        try:
            with open(path, encoding="utf-8") as stream:
                found = json.load(stream)
            entries = found["labels"]
            if not found.get("read"):
                wrong.append(f"{path.name}: does not say which source was read")
        except (ValueError, KeyError, TypeError) as error:
            wrong.append(f"{path.name}: cannot be read: {error}")
            continue
        ids = [entry.get("id") for entry in entries]
        wrong += [f"{path.name}: {one} is labelled twice" for one in sorted({str(one) for one in ids if ids.count(one) > 1})]
        for entry in entries:
            wrong += mistakes_of(entry, f"{path.name}: {entry.get('id')}")
    return wrong


def drawn(warnings, count, seed):
    """That many of [(library, id)], the same whatever else is there: by a hash, so that one that comes or goes moves one place."""
    return set(sorted(warnings, key=lambda key: hashlib.sha256(f"{seed} {key[0]} {key[1]}".encode()).hexdigest())[:count])
