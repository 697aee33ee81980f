#!/usr/bin/env python3
"""contributing.py ROOT [--write]: CONTRIBUTING.md's table of folders, between its two marks, has a row for each row of harness/layers.txt.

    | folder | what belongs in it | may include |

Folders and what they may include are those of layers.txt, in its order, with "–" for nothing; the texts are written by hand, and none is empty.
The functions in the path of one result are defined in the files beside them. README.md has a row for each check. Besides, what stands there and in harness/checks/README.md between `<!-- FILE -->` and `<!-- end of FILE -->` is FILE as it is, in a block of code.
--write makes the table anew and keeps the texts, and copies the files.
"""
import glob
import os
import re
import sys

import layers

FILE, BEGIN, END = "CONTRIBUTING.md", "<!-- folders -->", "<!-- end of folders -->"
HEAD = ["| folder | what belongs in it | may include |", "|---|---|---|"]
TUTORIAL = "harness/checks/README.md"  # the whole of a small check
REMEDY = "run tests/structure/contributing.py . --write"


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def row(folder, text, names):
    return f"| {folder} | {text}{' ' if text else ''}| {', '.join(names) or '–'} |"


def check(rows, table, first):
    """The errors of a table, a list of lines that starts with line `first`."""
    errors, folders = [], list(rows)
    if table[:2] != HEAD:
        errors.append(f"{FILE}:{first}: the table does not start with the line `{HEAD[0]}`; {REMEDY}")
    found = [(number, cells(line)) for number, line in enumerate(table, first) if line.startswith("|") and line not in HEAD]
    for number, fields in found:
        if len(fields) != 3:
            errors.append(f"{FILE}:{number}: this row has not three columns")
        elif fields[0] not in rows:
            errors.append(f"{FILE}:{number}: {fields[0]} has no row in {layers.FILE}; {REMEDY}")
        elif fields[2] != (", ".join(rows[fields[0]]) or "–"):
            errors.append(f"{FILE}:{number}: {fields[0]} may include something else: {', '.join(rows[fields[0]]) or '–'}; {REMEDY}")
        elif not fields[1]:
            errors.append(f"{FILE}:{number}: {fields[0]} has no text; write what belongs in it")
    named = [fields[0] for _, fields in found]
    missing = [folder for folder in folders if folder not in named]
    if missing:
        errors.append(f"{FILE}:{first}: there is no row for {', '.join(missing)}; {REMEDY}")
    elif [name for name in named if name in rows] != folders:
        errors.append(f"{FILE}:{first}: rows are doubled, or not in the order of {layers.FILE}; {REMEDY}")
    return errors


QUOTED = re.compile(r"<!-- (\S+) -->\n```(\w+)\n(.*?)```\n<!-- end of \1 -->", re.DOTALL)


def quote(root, text):
    """The text with all quoted files as they are now."""
    def as_it_is(match):
        with open(os.path.join(root, match[1]), encoding="utf-8") as file:
            return f"<!-- {match[1]} -->\n```{match[2]}\n{file.read()}```\n<!-- end of {match[1]} -->"
    return QUOTED.sub(as_it_is, text)


PATH = re.compile(r"^\|[^|]*\| `(opc_\w+)` \| `([^`]+\.c)` \|$", re.MULTILINE)


def path_errors(root, text):
    """The functions of the path of one result that are not defined in the file beside them."""
    for match in PATH.finditer(text):
        try:
            with open(os.path.join(root, match[2]), encoding="utf-8") as file:
                found = re.search(rf"^\w.*\b{match[1]}\(", file.read(), re.MULTILINE)
        except FileNotFoundError:
            found = None
        if not found:
            yield f"{FILE}:{text.count(chr(10), 0, match.start()) + 1}: {match[2]} does not define {match[1]}; name the function that does this step"


CHECK = re.compile(r"^OPC_CHECK\(\w+, [^,]+, (\w+),", re.MULTILINE)
FRONT = "README.md"
FRONT_HEAD = "| check | proves, for each input and variant |"


def front_errors(root):
    """Checks without a row in the front page's table, and rows without a check."""
    named, listed = set(), []
    for path in glob.glob(os.path.join(root, "harness/checks/*/check_*.def")):
        with open(path, encoding="utf-8") as file:
            named.update(CHECK.findall(file.read()))
    if named:
        with open(os.path.join(root, FRONT), encoding="utf-8") as file:
            table = file.read().partition(FRONT_HEAD)[2].partition("\n\n")[0]
        listed = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    yield from (f"{FRONT}: the table of checks has no row for {name}" for name in sorted(named - set(listed)))
    yield from (f"{FRONT}: the table of checks has a row for {name}, and there is no such check" for name in sorted(set(listed) - named))


def main(root, write):
    allowed = layers.Layers(root)
    path = os.path.join(root, FILE)
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if lines.count(BEGIN) != 1 or lines.count(END) != 1 or lines.index(END) < lines.index(BEGIN):
        return layers.report("structure.contributing", allowed.errors + [f"{FILE}: the table of folders must be between a line {BEGIN} and a line {END}"])
    begin, end = lines.index(BEGIN) + 1, lines.index(END)
    table = [line for line in lines[begin:end] if line.strip()]
    if write:
        texts = {fields[0]: fields[1] for fields in map(cells, table) if len(fields) == 3 and fields[0] != "folder" and fields[0].strip("-")}
        for folder in texts.keys() - allowed.rows.keys():
            print(f"{folder} has no row in {layers.FILE}, its text is dropped: {texts[folder]}")
        table = HEAD + [row(folder, texts.get(folder, ""), names) for folder, names in allowed.rows.items()]
        lines[begin:end] = table
        with open(path, "w", encoding="utf-8") as file:
            file.write(quote(root, "\n".join(lines)))
    errors = check(allowed.rows, table, begin + 1)
    text = "\n".join(lines)
    if not write and quote(root, text) != text:
        errors.append(f"{FILE}: a file that it quotes is another one now; {REMEDY}")
    errors += [*path_errors(root, text), *front_errors(root)]
    tutorial = os.path.join(root, TUTORIAL)
    if os.path.exists(tutorial):
        with open(tutorial, encoding="utf-8") as file:
            text = file.read()
        if write:
            with open(tutorial, "w", encoding="utf-8") as file:
                file.write(quote(root, text))
        elif quote(root, text) != text:
            errors.append(f"{TUTORIAL}: a file that it quotes is another one now; {REMEDY}")
    return layers.report("structure.contributing", allowed.errors + errors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--write" in sys.argv[2:]))
