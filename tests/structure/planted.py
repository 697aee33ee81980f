#!/usr/bin/env python3
"""planted.py ROOT [CC [DEPS]]: each rule of this folder's tests can fail. ROOT is not read.

A small tree that follows all rules passes; each test plants one violation in it, runs a script as its test does, and wants it to fail and to name
the offender.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import format as clang_format

HERE = os.path.dirname(os.path.abspath(__file__))
CC, DEPS = "cc", ""

TREE = {
    "harness/layers.txt": "# a comment\nbase:\nmodel/json: base\nmodel/value: model/json\n\nrun: model # a group\nreports: base\n",
    "harness/base/text.h": "#pragma once\ntypedef struct opc_text {\n  int size;\n} opc_text_t;\nint opc_text_size(const opc_text_t *text);\n",
    "harness/base/text.c": '#include "base/text.h"\nint opc_text_size(const opc_text_t *text) { return text->size; }\n',
    "harness/base/dtype.def": "X(float32)\n",
    "harness/model/json/read.h": '#pragma once\n#include "base/text.h"\nint opc_read(const opc_text_t *text);\n',
    "harness/model/json/read.c": '// The inverse of write.c; tables are base/*.def, and model/json/*.c are all\n#include "model/json/read.h"\n'
                                 '\n#include <stdio.h>\nint opc_read(const opc_text_t *text) { return opc_text_size(text); }\n',
    "harness/model/json/write.c": '#include "base/text.h"\nstatic int helper(void) { return 1; }\nint opc_write(void) { return helper(); }\n',
    "harness/model/json/write_absent.c": "int opc_write(void) { return 0; }\n",
    "harness/model/value/value.h": "#pragma once\nint opc_value(void);\n",
    "harness/model/value/value.c": '#include "model/value/value.h"\n\n#include "base/text.h"\n#include "model/json/read.h"\n'
                                   "static int helper(void) { return 0; }\n"
                                   "int opc_value(void) {\n  opc_text_t text = {helper()};\n  return opc_read(&text) + opc_text_size(&text);\n}\n",
    "harness/run/run.c": '#include "model/value/value.h"\nint opc_run(void);\nint opc_run(void) { return opc_value(); }\n',
    "reports/report.h": "#pragma once\nint opc_report(void);\n",
    "reports/report.c": '#include "reports/report.h"\n// See <sys/mman.h>, torch/library.h, "my_ops.cpp" and my.samples.json.\nint opc_report(void) { return 0; }\n',
    "scripts/test": "#!/usr/bin/env bash\n# Runs harness/run/run.c.\n",
    "CONTRIBUTING.md": "# To work here\nWrite `harness/model/json/NAME.c`.\n\n<!-- folders -->\n"
                       "| folder | what belongs in it | may include |\n|---|---|---|\n| base | texts | – |\n| model/json | JSON | base |\n"
                       "| model/value | values | model/json |\n| run | runs | model |\n| reports | reports | base |\n<!-- end of folders -->\n",
    ".clang-format": "BasedOnStyle: Google\nColumnLimit: 120\n",
}


class Planted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="opcheck-structure-")
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for path, text in TREE.items():
            self.write(path, text)

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def change(self, path, old, new):
        text = self.read(path)
        self.assertIn(old, text)
        self.write(path, text.replace(old, new))

    def add(self, path, text):
        self.write(path, self.read(path) + text)

    def row(self, old, new):
        self.change("harness/layers.txt", old + "\n", new + "\n")

    def run_script(self, script, *arguments):
        done = subprocess.run([sys.executable, "-S", "-E", os.path.join(HERE, script), self.root, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def passes(self, script, *arguments):
        status, shown = self.run_script(script, *arguments)
        self.assertEqual((status, shown.count("error")), (0, 0), shown)
        return shown

    def fails(self, script, *wanted, arguments=(), count=1):
        """The script fails with `count` errors, and says each of `wanted`."""
        status, shown = self.run_script(script, *arguments)
        self.assertEqual(status, 1, shown)
        for words in wanted:
            self.assertIn(words, shown)
        self.assertEqual(len(shown.strip().split("\n")), count + 1, shown)


class Layers(Planted):
    def test_correct(self):
        self.passes("sources.py")

    def test_unknown_name(self):
        self.row("reports: base", "reports: base nowhere")
        self.fails("sources.py", "harness/layers.txt:7: reports names nowhere")

    def test_no_file(self):
        os.remove(os.path.join(self.root, "harness/layers.txt"))
        self.fails("sources.py", "harness/layers.txt: there is no such file", count=6)

    def test_no_row(self):
        self.row("base:", "base")
        self.fails("sources.py", "harness/layers.txt:2: this line is not `FOLDER: NAME NAME …`", "the folder base has no row", count=4)

    def test_doubled_row(self):
        self.row("reports: base", "reports: base\nbase: run")
        self.fails("sources.py", "harness/layers.txt:8: base has a row already, in line 2")

    def test_own_name(self):
        self.row("reports: base", "reports: base reports")
        self.fails("sources.py", "harness/layers.txt:7: reports names itself")

    def test_own_group(self):
        self.row("model/json: base", "model/json: base model")
        self.fails("sources.py", "harness/layers.txt:3: model/json names the group model, of which it is a member")

    def test_circle_of_rows(self):
        self.row("base:", "base: model/value")
        self.fails("sources.py", "these rows are a circle: base → model/value → model/json → base")

    def test_check_without_a_table(self):
        self.row("reports: base", "catalogue:\nchecks/meta: base\nreports: base")
        self.write("harness/checks/meta/check_meta.c", "int opc_meta(void);\nint opc_meta(void) { return 0; }\n")
        self.write("harness/checks/meta/check_meta.def", "OPC_CHECK(CALLS, OPC_OF_OPERATOR, meta, \"…\")\nOPC_RULE(meta, shape, ERROR, ALWAYS, \"…\")\n")
        self.write("harness/catalogue/checks.def", '#include "checks/meta/check_meta.def"\n')
        self.passes("sources.py")
        self.write("harness/catalogue/checks.def", "\n")
        self.fails("sources.py", "harness/checks/meta/check_meta.c:1: harness/catalogue/checks.def does not include checks/meta/check_meta.def")
        self.write("harness/catalogue/checks.def", '#include "checks/meta/check_meta.def"\n')
        self.add("harness/checks/meta/check_meta.c", 'const char *const rules[] = {"meta.shape"};\n')
        self.fails("sources.py", "harness/checks/meta/check_meta.c:3: name the rule meta.shape as OPC_RULE_meta_shape")

    def test_circle_through_a_group(self):
        self.row("model/json: base", "model/json: base run")
        self.fails("sources.py", "these rows are a circle: model/json → run → model/json")

    def test_a_folder_is_no_group(self):
        self.row("run: model # a group", "run: model # a group\nrun/inside: run base")
        self.write("harness/run/inside/inside.c", '#include "base/text.h"\n')
        self.passes("sources.py")

    def test_base_is_not_implied(self):
        self.row("reports: base", "reports:")
        self.change("reports/report.c", "#include", '#include "base/text.h"\n#include')
        self.fails("sources.py", "reports/report.c:1: reports may not include base (base/text.h)")


class Sources(Planted):
    def test_unlisted_include(self):
        self.change("harness/model/json/read.c", "#include <stdio.h>", '#include "model/value/value.h"')
        self.fails("sources.py", "harness/model/json/read.c:4: model/json may not include model/value (model/value/value.h)",
                   "move what is needed down, out of model/value")

    def test_unlisted_include_in_brackets(self):
        self.change("harness/base/text.c", '#include "base/text.h"', '#include "base/text.h"\n#  include <reports/report.h>')
        self.fails("sources.py", "harness/base/text.c:2: base may not include reports")

    def test_include_in_a_comment(self):
        self.add("harness/base/text.c", '/*\n#include "reports/report.h"\n*/\n')
        self.passes("sources.py")

    def test_unlisted_folder(self):
        self.write("harness/model/other/other.c", "int opc_other;\n")
        self.fails("sources.py", "harness/model/other/other.c:1: the folder model/other has no row")

    def test_empty_folder(self):
        self.row("reports: base", "reports: base\nmodel/other: base")
        self.write("harness/model/other/CMakeLists.txt", "")
        self.fails("sources.py", "harness/layers.txt:8: model/other: there is no source in harness/model/other")

    def test_include_of_nothing(self):
        self.change("harness/run/run.c", "model/value/value.h", "model/value/gone.h")
        self.fails("sources.py", 'harness/run/run.c:1: "model/value/gone.h" is no file')

    def test_circle_of_headers(self):
        self.change("harness/base/text.h", "#pragma once\n", '#pragma once\n#include "base/more.h"\n')
        self.write("harness/base/more.h", '#pragma once\n#include "base/text.h"\n')
        self.fails("sources.py", "in a circle: harness/base/more.h → harness/base/text.h → harness/base/more.h")

    def test_doubled_types(self):
        kinds = {"struct opc_text {\n  int x;\n};": "opc_text", "typedef enum {\n  A\n} opc_text_t;": "opc_text_t", "typedef int opc_text_t[2];": "opc_text_t",
                 "typedef int (*opc_text_t)(int);": "opc_text_t", "typedef int opc_text_t(int);": "opc_text_t", "union opc_text {\n  int x;\n};": "opc_text",
                 "class opc_text final {};": "opc_text", "using opc_text_t = int;": "opc_text_t", "enum class opc_text : int { kOne };": "opc_text"}
        for text, name in kinds.items():
            with self.subTest(text):
                self.write("reports/report.h", f"#pragma once\n{text}\n")
                self.fails("sources.py", f"{name} is a type that", "harness/base/text.h:", "reports/report.h:")

    def test_named_types_are_no_definitions(self):
        self.write("reports/report.h", "#pragma once\nstruct opc_text;\nint opc_report(const struct opc_text *text);\nnamespace other {\nstruct opc_text {};\n}\n")
        self.passes("sources.py")

    def test_doubled_declaration(self):
        for text in ("int opc_value(void);", 'extern "C" {\nint opc_value(void);\n}', "OPC_MACRO(x)\nextern int *\nopc_value(int x, int (*f)(int));",
                     "__attribute__((noreturn)) void opc_value(void);", "void (*opc_value(int x))(int);"):
            with self.subTest(text):
                self.write("reports/report.h", f"#pragma once\n{text}\n")
                self.fails("sources.py", "opc_value is a function that", "harness/model/value/value.h:2", "reports/report.h:")

    def test_doubled_definition(self):
        for path in ("reports/report.c", "reports/report.cpp"):
            with self.subTest(path):
                self.write(path, "static const int x[] = {1};\nconst int *opc_value(void) { return x; }\n")
                self.fails("sources.py", "opc_value is a function that reports/report.c", ":2 defines too", "harness/model/value/value.c:6")
                os.remove(os.path.join(self.root, path))

    def test_doubled_static(self):
        self.write("reports/more.cpp", "static int opc_value(int x) { return x; }\nnamespace {\nint opc_run() { return '{'; }\n}\n")
        self.passes("sources.py")

    def test_absent_stands_for_its_own_file_alone(self):
        os.rename(os.path.join(self.root, "harness/model/json/write_absent.c"), os.path.join(self.root, "harness/base/write_absent.c"))
        self.fails("sources.py", "opc_write is a function that")

    def test_versions_stand_for_each_other(self):
        for name, fine in (("report_12", True), ("report_13", True), ("other_12", False)):
            self.write(f"reports/{name}.c", "int opc_of_version(void) { return 0; }\n")
            with self.subTest(name):
                self.passes("sources.py") if fine else self.fails("sources.py", "opc_of_version is a function that")

    def test_headers_of_one_name(self):
        self.write("reports/text.h", "#pragma once\n")
        self.fails("sources.py", "harness/base/text.h:1: reports/text.h is a header of the same name")

    def test_comments(self):
        for path, text, name, line in (
                ("harness/base/text.c", "/* Two lines:\n * model/gone.h says more. */\n", "model/gone.h", 4),
                ("harness/base/text.h", "// DESIGN.md says why.\n", "DESIGN.md", 6),
                ("harness/base/dtype.def", "// gone.c reads it\n", "gone.c", 2),
                ("reports/report.c", "// read by json/gone*.c\n", "json/gone*.c", 4),
                ("reports/report.c", "// read by report.{c,h} and report.{h,def}\n", "report.{h,def}", 4),
                ("scripts/test", "x=1 # see harness/run/gone.c\n", "harness/run/gone.c", 3),
                ("scripts/part.py", '"""Reads gone.py."""\nx = "lost.py"  # and gone_too.json\n', "gone.py", 1),
                ("tests/CMakeLists.txt", "# run_gone.c\n", "run_gone.c", 1),
                ("tests/part.cmake", "# What harness/gone has, and harness/model.\n", "harness/gone", 1),
                ("tests/kind/README.md", "Text with gone.cpp.\n", "gone.cpp", 1),
                ("CONTRIBUTING.md", "\nand `harness/model/NAME.c`\n", "harness/model/NAME.c", 14)):
            with self.subTest(path + " " + name):
                self.write(path, TREE.get(path, "") + text)
                self.fails("sources.py", f"{path}:{line}: {name} is named here")
                if path in TREE:
                    self.write(path, TREE[path])
                else:
                    os.remove(os.path.join(self.root, path))

    def test_comments_about_others(self):
        self.add("harness/base/text.c", "// <sys/mman.h>, cuda_runtime_api.h, c10/core/Device.h, https://x.org/a.md, conv.cpp:34, stdio.h, out.json, \"gone.c\"\n"
                                        "// text.h, base/text.h, harness/base/text.h, ../base/text.h, text.{c,h}, *.def, .cu\nstatic const char *x = \"// gone.c\";\n")
        self.passes("sources.py")


class Calls(Planted):
    def build(self, *left_out, archive=True):
        """Compiles the tree as CMake would: a library beside each folder's objects, else objects of targets of the folder above."""
        build = os.path.join(self.root, "build")
        for path in sorted(TREE):
            folder, name = os.path.split(path)
            target = "opc_" + folder.removeprefix("harness/").replace("/", "_")
            if path.endswith(".c") and not path.endswith("_absent.c") and folder not in left_out:
                top, _, below = folder.partition("/")
                into = os.path.join(build, *([folder, "CMakeFiles", target + ".dir"] if archive else [top, "CMakeFiles", target + ".dir", below]))
                os.makedirs(into, exist_ok=True)
                subprocess.run([CC, "-c", "-I", "harness", "-I", ".", "-o", os.path.join(into, name + ".o"), path], cwd=self.root, check=True)
                if archive:
                    subprocess.run(["ar", "qcS", os.path.join(build, folder, f"lib{target}.a"), os.path.join(into, name + ".o")], check=True)
        return build

    def test_correct(self):
        self.assertNotIn("not built", self.passes("calls.py", self.build()))

    def test_nothing_built(self):
        self.fails("calls.py", "no library of any folder was found", arguments=[os.path.join(self.root, "build")], count=2)

    def test_a_folder_that_was_not_built(self):
        self.assertEqual(self.passes("calls.py", self.build("harness/run", "reports")).strip(), "not built: run, reports")

    def test_declared_here_and_called_upwards(self):
        self.change("harness/base/text.h", "int opc_text_size", "int opc_value(void);\nint opc_text_size")
        self.change("harness/base/text.c", "return text->size", "return text->size + opc_value()")
        self.fails("calls.py", "harness/base/text.c uses opc_value of harness/model/value/value.c, but base may not include model/value", arguments=[self.build()])

    def test_a_table_is_used_upwards(self):
        self.add("harness/run/run.c", "const int opc_table[] = {1};\n")
        self.change("reports/report.c", "int opc_report(void) { return 0; }", "extern const int opc_table[];\nint opc_report(void) { return opc_table[0]; }")
        for archive in (True, False):
            with self.subTest(archive=archive):
                self.fails("calls.py", "reports/report.c uses opc_table of harness/run/run.c", arguments=[self.build(archive=archive)])
                shutil.rmtree(os.path.join(self.root, "build"))

    def test_circle_in_a_folder(self):
        self.change("harness/model/json/write.c", "return helper()", "return helper() + opc_read(0)")
        self.change("harness/model/json/write.c", "static", "int opc_read(const opc_text_t *text);\nstatic")
        self.change("harness/model/json/read.c", "int opc_read", "int opc_write(void);\nint opc_read")
        self.change("harness/model/json/read.c", "return opc_text_size(text)", "return opc_text_size(text) + opc_write()")
        self.fails("calls.py", "harness/model/json: these files use each other in a circle: read.c uses opc_write of write.c; write.c uses opc_read of read.c",
                   arguments=[self.build()])

    def test_in_front_of_the_system(self):
        self.add("harness/run/run.c", "char *mkdtemp(char *name) { return name; }\n")
        self.change("reports/report.c", "int opc_report(void) { return 0; }", "char *mkdtemp(char *name);\nint opc_report(void) { return mkdtemp(0) != 0; }")
        self.passes("calls.py", self.build())


class Contributing(Planted):
    def test_correct(self):
        self.passes("contributing.py")

    def test_another_row(self):
        for old, new, wanted in (
                ("| model/json | JSON | base |", "| model/json | JSON | – |", "CONTRIBUTING.md:8: model/json may include something else: base"),
                ("| base | texts | – |", "| base |  | – |", "CONTRIBUTING.md:7: base has no text"),
                ("| base | texts | – |\n", "", "there is no row for base"),
                ("| run | runs | model |\n", "| run | runs | model |\n| gone | x | – |\n", "CONTRIBUTING.md:11: gone has no row"),
                ("| base | texts | – |\n| model/json | JSON | base |\n", "| model/json | JSON | base |\n| base | texts | – |\n", "not in the order"),
                ("<!-- folders -->\n", "", "must be between a line <!-- folders -->"),
                ("| folder | what", "| place | what", "does not start with the line")):
            with self.subTest(wanted):
                self.write("CONTRIBUTING.md", TREE["CONTRIBUTING.md"])
                self.change("CONTRIBUTING.md", old, new)
                self.fails("contributing.py", wanted, count=2 if "place" in new else 1)

    def test_write(self):
        self.row("reports: base", "new: base model/json\nreports:")
        self.row("run: model # a group", "")
        self.fails("contributing.py", "there is no row for new", "run has no row", "reports may include something else: –", count=3)
        self.fails("contributing.py", "new has no text", "its text is dropped: runs", arguments=["--write"], count=2)
        self.assertIn("| new | | base, model/json |\n| reports | reports | – |\n<!-- end of folders -->\n", self.read("CONTRIBUTING.md"))
        self.change("CONTRIBUTING.md", "| new | |", "| new | what is new |")
        self.passes("contributing.py", "--write")
        self.passes("contributing.py")

    def test_table_of_checks(self):
        self.write("harness/checks/numerics/check_dtype.def", 'OPC_CHECK(CALLS, OPC_OF_OPERATOR, dtype, "each dtype")\n')
        head = "| check | proves, for each input and variant |\n|---|---|\n"
        self.write("README.md", head + "| `dtype` | each dtype |\n\n| `other` |\n")
        self.passes("contributing.py")
        self.write("README.md", head + "| `stride` | strides |\n")
        self.fails("contributing.py", "has no row for dtype", "has a row for stride", count=2)

    def test_quoted_file(self):
        self.write("example.c", "int one;\n")
        self.write("CONTRIBUTING.md", TREE["CONTRIBUTING.md"] + "\n<!-- example.c -->\n```c\nint two;\n```\n<!-- end of example.c -->\n")
        self.fails("contributing.py", "CONTRIBUTING.md: a file that it quotes is another one now")
        self.passes("contributing.py", "--write")
        self.assertIn("int one;", self.read("CONTRIBUTING.md"))
        self.passes("contributing.py")


class Dialect(Planted):
    def test_wrong(self):
        self.write("harness/model/value/value.c", self.read("harness/model/value/value.c").replace("helper", "value_helper"))
        self.passes("dialect.py")
        head = "harness/run/run.c"
        for code, wanted in (
                ("int one(int status) {\n  if (status == OPC_OK) status = 2;\n  return status;\n}\n", "harness/run/run.c:5: a chain of statuses"),
                ("int one(char *p) {\n  return p == NULL;\n}\n", "harness/run/run.c:5: a comparison with NULL"),
                ("int one(void) {\n  OPC_SCOPED(clear) int x = 0;\n  goto end;\nend:\n  return x;\n}\n", "harness/run/run.c:4: one has goto and OPC_SCOPED"),
                ("static int helper(void) { return 2; }\nint one(void) { return helper(); }\n", "static helper is also in harness/model/json/write.c")):
            with self.subTest(wanted):
                self.write(head, TREE[head] + code)
                self.fails("dialect.py", wanted)
        self.write(head, TREE[head] + "/* p == NULL */\nconst char *one(void) { return \"status == OPC_OK\"; }\n")
        self.passes("dialect.py")


class Format(Planted):
    def test_wrong(self):
        if clang_format.find_program(DEPS) is None:
            self.assertEqual(self.run_script("format.py", DEPS)[0], 77)
            self.skipTest("no clang-format 14")
        self.passes("format.py", DEPS)
        self.add("reports/report.c", "int  x ;\n")
        self.fails("format.py", "reports/report.c: clang-format would change this file", "-i reports/report.c", arguments=[DEPS])


if __name__ == "__main__":
    CC, DEPS = sys.argv[2] if len(sys.argv) > 2 else CC, sys.argv[3] if len(sys.argv) > 3 else DEPS
    unittest.main(argv=sys.argv[:1])
