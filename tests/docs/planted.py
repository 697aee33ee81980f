#!/usr/bin/env python3
"""Each rule of this folder's tests can fail: a small tree that follows all rules passes, and each test plants one violation in it."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TOOL = """#!/bin/sh
case "$1 $2" in
  "--help ") printf '%s\\n' '  run  check' '' 'Examples:' '  opcheck-c run x' '  opcheck-c run --strict x' ;;
  "run --help") printf '%s\\n' '--check=CHECK --strict' 'Examples:' '  opcheck-c run x' '  opcheck-c run --check y x' ;;
  "run --strict") exit 1 ;;
  *) echo "1 case, in 0.1 s" ;;
esac
"""
FRONT = """# tool

See [the base](harness/base/README.md#how-it-works) and [the site](https://example.org).

```sh
build/bin/opcheck-c run libmy_ops.so         # all checks
build/bin/opcheck-c run --check x other.so   # needs a GPU
```

1. A step:

   ```sh
   build/bin/opcheck-c run indented.so
   ```

```console
$ build/bin/opcheck-c run x
1 case, in 0.7 s
```

```json
"relations": [1, 2]
```
"""
BASE = """# harness/base: what all use

**What is here:** texts, recommended for all.
**Read first:** [text.h](text.h) and [page](README.md).
**May include:** nothing.

## How it works

```c
int mend; /* code may have any word */
```
"""
TREE = {
    "README.md": FRONT,
    "CONTRIBUTING.md": "# To work here\n",
    "harness/base/README.md": BASE,
    "harness/base/text.h": "/* A text that is reported. */\n",
    "reports/evidence/measured.md": "# Measured\n",
    "fixtures/README.md": "# fixtures\n",
    "tests/README.md": "# tests\n",
    "ops/op.cpp": "// An operator.\n",
    "scripts/test": "#!/bin/sh\n",
    "build/bin/opcheck-c": TOOL,
    "libops.so": "",
}


class Planted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="opcheck-docs-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path, text in TREE.items():
            self.write(path, text)
        os.chmod(self.root / "build/bin/opcheck-c", 0o755)
        self.write("tests/docs/words.txt", (HERE / "words.txt").read_text(encoding="utf-8"))

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def replace(self, path, old, new):
        text = (self.root / path).read_text(encoding="utf-8")
        self.assertIn(old, text)
        self.write(path, text.replace(old, new))

    def run_script(self, name, *arguments):
        return subprocess.run([sys.executable, str(HERE / name), str(self.root), *map(str, arguments)], capture_output=True, text=True, check=False)

    def assert_pages(self, *wanted):
        ended = self.run_script("pages.py", self.root / "build", "--library", self.root / "libops.so")
        self.assertEqual(ended.returncode, 1 if wanted else 0, ended.stdout + ended.stderr)
        for text in wanted:
            self.assertIn(text, ended.stdout)

    def assert_words(self, *wanted):
        ended = self.run_script("words.py")
        self.assertEqual(ended.returncode, 1 if wanted else 0, ended.stdout + ended.stderr)
        for text in wanted:
            self.assertIn(text, ended.stdout)

    def test_a_tree_that_follows_all_rules(self):
        self.assert_pages()
        self.assert_words()

    def test_a_link_that_leads_nowhere(self):
        self.replace("README.md", "harness/base/README.md#how-it-works", "harness/other.md")
        self.assert_pages("README.md:3: harness/other.md leads nowhere")

    def test_a_heading_that_is_not_there(self):
        self.replace("harness/base/README.md", "## How it works", "## How it worked")
        self.assert_pages("README.md:3: harness/base/README.md has no heading #how-it-works")

    def test_a_front_page_that_is_too_long(self):
        self.write("README.md", FRONT + "\n" * 200)
        self.assert_pages("at most 200 fit a front page")

    def test_a_folder_without_a_page(self):
        self.write("harness/model/model.h", "\n")
        self.assert_pages("harness/model/README.md is missing")

    def test_a_page_of_another_form(self):
        self.replace("harness/base/README.md", " and [page](README.md)", "")
        self.assert_pages("harness/base/README.md does not start with a heading")

    def test_json_that_is_none(self):
        self.replace("README.md", "[1, 2]", "[1, 2")
        self.assert_pages("README.md:22: no JSON")

    def test_a_command_that_fails(self):
        self.replace("README.md", "run libmy_ops.so ", "run --strict libmy_ops.so ")
        self.assert_pages("README.md:6: exit status 1: build/bin/opcheck-c run --strict")

    def test_an_indented_command_that_fails(self):
        self.replace("README.md", "run indented.so", "run --strict indented.so")
        self.assert_pages("README.md:13: exit status 1: build/bin/opcheck-c run --strict indented.so")

    def test_a_script_without_a_mark(self):
        self.replace("README.md", "build/bin/opcheck-c run indented.so", "scripts/test")
        self.assert_pages("README.md:13: a script installs or builds")

    def test_an_option_that_a_marked_command_does_not_have(self):
        self.replace("README.md", "--check x", "--chek x")
        self.assert_pages("README.md:7: build/bin/opcheck-c run has no option --chek")

    def test_a_marked_command_that_is_none(self):
        self.replace("README.md", "run --check x other.so", "run 'other.so")
        self.assert_pages("README.md:7: is no command of the shell")

    def test_a_program_that_is_not_there(self):
        self.replace("README.md", "build/bin/opcheck-c run --check x", "build/bin/opcheck run --check x")
        self.assert_pages("README.md:7: there is no program build/bin/opcheck")

    def test_help_with_one_example(self):
        self.replace("build/bin/opcheck-c", "'  opcheck-c run --check y x'", "")
        self.assert_pages("build/bin/opcheck-c run --help has 1 examples")

    def test_help_with_an_example_that_is_wrong(self):
        self.replace("build/bin/opcheck-c", "run --check y x", "run --chek y x")
        self.assert_pages("build/bin/opcheck-c run --help: build/bin/opcheck-c run has no option --chek")

    def test_output_that_is_another(self):
        self.replace("README.md", "1 case, in", "2 cases, in")
        self.assert_pages("README.md:17: prints something else")

    def test_a_listed_word(self):
        self.replace("harness/base/text.h", "is reported", "is\n * told")
        self.replace("README.md", "See ", "Mend ")
        self.assert_words('harness/base/text.h:1: "is told": is reported', 'README.md:3: "mend": fix')


if __name__ == "__main__":
    unittest.main()
