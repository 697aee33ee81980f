#!/usr/bin/env python3
"""words.py ROOT [FOLDER…]: no file that people read has a word of tests/docs/words.txt, outside the blocks of code on pages.

Looks at pages, sources, tables and scripts below the folders (default: all that the project has). A word must be whole: "recommend" has no "mend".
"""
import pathlib
import re
import sys

FOLDERS = ("README.md", "CONTRIBUTING.md", "harness", "ops", "fixtures", "reports", "scripts", "tests")
KINDS = {".md", ".c", ".h", ".cpp", ".cu", ".def", ".py", ".sh", ".cmake", ".txt", ""}
# What a script wrote from the words of other programs, labels that quote a finding as it was reported, and the list and its tests.
LEFT_OUT = ("reports/evidence/against-python.md", "reports/evidence/aten.md", "tests/real/labels/", "tests/docs/")
FENCED = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)


def read_words(path):
    words = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        listed, equals, replacement = line.partition(" = ")
        if not equals or not replacement.strip():
            raise SystemExit(f"{path}:{number}: expected WORD, WORD = REPLACEMENT")
        words.update({word.strip(): replacement.strip() for word in listed.split(",")})
    return words


def pattern_of(words):
    """Spaces in a word are any white space, with the marks of a comment that goes on in the next line."""
    space = r"[\s*#/|\"]+"
    return re.compile(r"(?<![\w-])(" + "|".join(space.join(map(re.escape, word.split())) for word in sorted(words, key=len, reverse=True)) + r")(?![\w-])", re.IGNORECASE)


def without_code(text):
    """Blocks of code as empty lines, so that line numbers stay."""
    return FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)


def files(root, folders):
    for name in folders:
        start = root / name
        for path in sorted(start.rglob("*")) if start.is_dir() else [start]:
            place = path.relative_to(root).as_posix()
            if path.is_file() and path.suffix in KINDS and "__pycache__" not in place and not place.startswith(LEFT_OUT):
                yield place, path


def found(root, folders):
    words = read_words(root / "tests/docs/words.txt")
    wanted = pattern_of(words)
    for place, path in files(root, folders):
        text = path.read_text(encoding="utf-8", errors="replace")
        text = without_code(text) if path.suffix == ".md" else text
        for match in wanted.finditer(text):
            word = re.sub(r"[\s*#/|\"]+", " ", match[1]).lower()
            yield f"{place}:{text.count(chr(10), 0, match.start()) + 1}: \"{word}\": {words[word]}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    errors = list(found(root, sys.argv[2:] or FOLDERS))
    print("\n".join(errors) or "no listed word")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
