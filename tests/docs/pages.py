#!/usr/bin/env python3
"""pages.py ROOT BUILD [--library LIBRARY]: what the pages say can be done can be done.

Pages are README.md, CONTRIBUTING.md and every README.md below harness, fixtures, reports and tests, and reports/evidence/*.md.
- Every link leads to a file, and to a heading where it names one.
- README.md has at most 200 lines. Each folder right below harness has a README.md, which starts with a heading, "**What is here:**", "**Read first:**"
  with two links, and "**May include:**".
- Blocks ```json are JSON, as they are or between braces.
- Each line of a block ```sh is a command and must end with 0. A comment that starts with one of MARKS says why a command is not run here: it must be
  correct for the shell, its program must exist, and the program's help must have its options.
- A block ```console is commands after "$ ", each with what it prints.
- The help of each command of opcheck-c has two examples or more, correct as a marked command is. Those that need no file but libmy_ops.so end with 0.
Commands run in a folder of their own that has links to the project's folders and to BUILD; libmy_ops.so there is a copy of LIBRARY.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap

MARKS = ("minutes", "network", "root", "needs a GPU", "needs scripts/setup --full", "needs your wheel")
LINES_MOST = 200  # of README.md
SECONDS_MOST = 120  # of a command
BLOCK = re.compile(r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)")
SECONDS = re.compile(r"in \d+\.\d+ s\b")


class Page:
    def __init__(self, root, path):
        self.name, self.path, self.text = path.relative_to(root).as_posix(), path, path.read_text(encoding="utf-8")

    def blocks(self, kind):
        """(line, text) of each block of code of a kind."""
        for block in BLOCK.finditer(self.text):
            if block["kind"] == kind:
                yield self.text.count("\n", 0, block.start("text")) + 1, textwrap.dedent(block["text"])

    def anchors(self):
        prose = BLOCK.sub("", self.text)
        heads = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def read_pages(root):
    paths = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "reports/evidence").glob("*.md"))]
    for folder in ("harness", "fixtures", "reports", "tests"):
        paths += sorted((root / folder).rglob("README.md"))
    return [Page(root, path) for path in dict.fromkeys(paths)]


# ---- what needs no build ----


def link_errors(root, pages):
    anchors = {page.path.resolve(): page.anchors() for page in pages}
    for page in pages:
        prose = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page.text)
        for link in LINK.finditer(prose):
            place, _, anchor = link[1].partition("#")
            if re.match(r"[a-z]+:", place):
                continue
            target = (page.path.parent / place).resolve() if place else page.path.resolve()
            where = f"{page.name}:{prose.count(chr(10), 0, link.start()) + 1}"
            if not target.exists():
                yield f"{where}: {link[1]} leads nowhere"
            elif anchor and anchor not in anchors.get(target, ()):
                yield f"{where}: {place or page.name} has no heading #{anchor}"


def form_errors(root, pages):
    named = {page.name: page for page in pages}
    lines = named["README.md"].text.count("\n")
    if lines > LINES_MOST:
        yield f"README.md has {lines} lines; at most {LINES_MOST} fit a front page"
    for folder in sorted(path.name for path in (root / "harness").iterdir() if path.is_dir()):
        name = f"harness/{folder}/README.md"
        if name not in named:
            yield f"{name} is missing"
            continue
        top = named[name].text.partition("\n## ")[0]
        first = re.search(r"^\*\*Read first:\*\*(.*?)^\*\*May include:\*\* \S", top, re.DOTALL | re.MULTILINE)
        if not top.startswith(f"# harness/{folder}: ") or "\n**What is here:** " not in top or not first or len(LINK.findall(first[1])) != 2:
            yield f"{name} does not start with a heading \"# harness/{folder}: …\", \"**What is here:**\", \"**Read first:**\" with two links, and \"**May include:**\""


def json_errors(pages):
    for page in pages:
        for line, text in page.blocks("json"):
            try:
                json.loads(text if text.lstrip().startswith("{") else "{" + text + "}")
            except ValueError as error:
                yield f"{page.name}:{line}: no JSON: {error}"


# ---- commands ----


class Commands:
    def __init__(self, folder):
        self.folder, self.helps, self.ran, self.parsed = folder, {}, 0, 0

    def shell(self, command, *options):
        return subprocess.run(["bash", *options, "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=SECONDS_MOST, check=False, stdin=subprocess.DEVNULL)

    def help_of(self, words):
        """The help of a program, or of its subcommand, without the examples; a script without help is its own."""
        if words not in self.helps:
            path = self.folder / words[0]
            script = len(words) == 1 and path.read_bytes()[:2] == b"#!"
            self.helps[words] = path.read_text(encoding="utf-8") if script else self.shell(shlex.join([*words, "--help"])).stdout.partition("Examples:\n")[0]
        return self.helps[words]

    def run_errors(self, command):
        self.ran += 1
        try:
            ended = self.shell(command)
        except subprocess.TimeoutExpired:
            return [f"did not end within {SECONDS_MOST} s: {command}"]
        return [f"exit status {ended.returncode}: {command}\n{(ended.stdout + ended.stderr)[-800:]}"] if ended.returncode else []

    def parse_errors(self, command):
        self.parsed += 1
        if self.shell(command, "-n").returncode:
            return [f"is no command of the shell: {command}"]
        words = shlex.split(command.partition(" | ")[0], comments=True)
        if "/" not in words[0]:
            return [] if shutil.which(words[0]) else [f"there is no program {words[0]}: {command}"]
        if not os.access(self.folder / words[0], os.X_OK):
            return [f"there is no program {words[0]}: {command}"]
        program = tuple(words[:2]) if words[0].endswith("/opcheck-c") else (words[0],)
        own = words[1 : words.index("--")] if "--" in words else words[1:]
        options = [word.partition("=")[0] for word in own if word.startswith("--")]
        return [f"{' '.join(program)} has no option {option}: {command}" for option in options if not re.search(re.escape(option) + r"\b", self.help_of(program))]

    def console_errors(self, text):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, wanted = part.partition("\n")
            self.ran += 1
            printed = self.shell(command).stdout
            if SECONDS.sub("in 0.0 s", printed).strip() != SECONDS.sub("in 0.0 s", wanted).strip():
                yield f"prints something else: {command}\n{printed}"


def command_errors(pages, commands):
    for page in pages:
        for line, text in page.blocks("sh"):
            for number, command in enumerate(text.splitlines(), line):
                if not command.strip() or command.startswith("#"):
                    continue
                comment = re.search(r"\s# (.*)$", command)
                marked = comment and comment[1].startswith(MARKS)
                if command.startswith("scripts/") and not marked:
                    yield f"{page.name}:{number}: a script installs or builds, so say in a comment what it needs ({', '.join(MARKS)}): {command}"
                    continue
                for error in (commands.parse_errors if marked else commands.run_errors)(command):
                    yield f"{page.name}:{number}: {error}"
        for line, text in page.blocks("console"):
            yield from (f"{page.name}:{line}: {error}" for error in commands.console_errors(text))


def help_errors(commands):
    tool = "build/bin/opcheck-c"
    named = re.findall(r"^  ([a-z]+)  +\S", commands.shell(f"{tool} --help").stdout, re.MULTILINE)
    if not named:
        yield f"{tool} --help lists no command"
    for name in ["", *named]:
        text = commands.shell(f"{tool} {name} --help").stdout.partition("Examples:\n")[2]
        examples = [line.strip().partition("   ")[0] for line in text.splitlines() if line.startswith("  ")]
        if len(examples) < 2:
            yield f"{tool} {name} --help has {len(examples)} examples"
        for example in examples:
            command = re.sub(r"^opcheck-c\b", tool, example)
            check = commands.run_errors if runs_here(command, tool) else commands.parse_errors
            yield from (f"{tool} {name} --help: {error}" for error in check(command))


def runs_here(command, tool):
    """Whether it is a quick command that needs no file but libmy_ops.so."""
    files = re.findall(r"\S+\.(?:so|json|jsonl|xml|pt2|whl)\b", command)
    return bool(re.match(rf"{tool} (list|inspect|explain|checks|devices)\b", command)) and "|" not in command and set(files) <= {"libmy_ops.so"}


def all_errors(root, build, library):
    pages = read_pages(root)
    errors = [*link_errors(root, pages), *form_errors(root, pages), *json_errors(pages)]
    if not build:
        return errors, f"{len(pages)} pages"
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        for name in ("fixtures", "harness", "ops", "reports", "scripts", "tests"):
            (place / name).symlink_to(root / name)
        (place / "build").symlink_to(build)
        shutil.copy(library, place / "libmy_ops.so")
        commands = Commands(place)
        errors += [*command_errors(pages, commands), *help_errors(commands)]
        return errors, f"{len(pages)} pages, {commands.ran} commands run, {commands.parsed} parsed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path, nargs="?", help="without it no command is looked at")
    parser.add_argument("--library", type=pathlib.Path)
    options = parser.parse_args()
    if options.build and not options.library:
        parser.error("BUILD needs --library")
    errors, counts = all_errors(options.root.resolve(), options.build and options.build.resolve(), options.library)
    print("\n".join([*errors, counts]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
