"""pytest --opcheck-c TARGET: the operators of a Python module or a library as tests, one for each operator and check.

opcheck-c runs once a session, while pytest collects. Its JUnit report says which tests there are, and how each ended."""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import pytest

from opcheck_c import PROGRAM

NAME = "opcheck-c"


class OpcheckFinding(Exception):
    """A broken rule, or a crash; its text is the report's."""


class OpcheckWarning(Warning):
    """What opcheck-c reports as a warning."""


def pytest_addoption(parser):
    group = parser.getgroup(NAME, "operators of PyTorch")
    group.addoption("--opcheck-c", action="append", default=[], metavar="TARGET",
                    help="check the operators of a Python module (my_package.ops, my_ops.py) or a library (libmy_ops.so, a wheel, folder/); repeatable: --opcheck-c=TARGET")  # fmt: skip
    group.addoption("--opcheck-c-options", action="append", default=[], metavar="OPTIONS", help="options of opcheck-c run: --opcheck-c-options='--samples my.json --strict'")


def pytest_configure(config):
    config.addinivalue_line("markers", "opcheck_c: a check of an operator, from --opcheck-c")


def is_library(target):
    name = os.path.basename(target)
    return name.endswith((".so", ".whl")) or ".so." in name or (os.sep in target and not name.endswith(".py"))


def command_of(config):
    targets = config.getoption("--opcheck-c")
    options = [option for text in config.getoption("--opcheck-c-options") for option in shlex.split(text)]
    modules = [target for target in targets if not is_library(target)]
    if modules and importlib.util.find_spec("torch") is None:
        raise pytest.UsageError(f"--opcheck-c {modules[0]}: this Python, {sys.executable}, has no torch, which a module with operators imports: "
                                "pip install torch, or run pytest with the Python that has it")  # fmt: skip
    program = PROGRAM if os.path.exists(PROGRAM) else shutil.which(NAME)
    if not program:
        raise pytest.UsageError("--opcheck-c: there is no program opcheck-c, neither in the package opcheck_c nor on the PATH: pip install opcheck-c")
    for module in modules:
        options += ["--python", module]
    if modules:
        options += ["--python-executable", sys.executable]
    return [program, "run", *options, *(target for target in targets if is_library(target))]


def run(config):
    """{"code", "output", "report"} of the one run of this session; report: its JUnit, "" for none."""
    if hasattr(config, "workerinput"):  # a process of pytest-xdist: the one that started it has run opcheck-c
        return config.workerinput["opcheck_c"]
    if not hasattr(config, "opcheck_c"):
        command = command_of(config)
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter:
            reporter.ensure_newline()
            reporter.write_line(shlex.join([NAME, *command[1:]]))
        paths = [str(path) for path in config.getini("pythonpath")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])}
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.xml")
            ended = subprocess.run([*command, "--junit", report], cwd=config.invocation_params.dir, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False)  # fmt: skip
            text = ""
            if os.path.exists(report):
                with open(report, encoding="utf-8") as file:
                    text = file.read()
        config.opcheck_c = {"code": ended.returncode, "output": ended.stdout, "report": text}
    return config.opcheck_c


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    if node.config.getoption("--opcheck-c"):
        node.workerinput["opcheck_c"] = run(node.config)


@pytest.hookimpl(tryfirst=True)  # before -k and -m select
def pytest_collection_modifyitems(session, config, items):
    if not config.getoption("--opcheck-c"):
        if config.getoption("--opcheck-c-options"):
            raise pytest.UsageError("--opcheck-c-options: there is nothing to check; name it with --opcheck-c TARGET")
        return
    ended = run(config)
    if ended["code"] == 2 or not ended["report"]:
        raise pytest.UsageError(ended["output"].strip())
    parent = OpcheckRun.from_parent(session, name=NAME, nodeid=NAME)
    cases = [Case(element) for element in ElementTree.fromstring(ended["report"]).iter("testcase")]
    if ended["code"] != 0 and not any(case.broken for case in cases) and not any(case.warning and is_strict(config) for case in cases):
        cases.append(Case(ElementTree.Element("testcase", name="run"), ended["output"]))
    items.extend(OpcheckItem.from_parent(parent, name=case.name, case=case) for case in cases)


def pytest_terminal_summary(terminalreporter, config):
    ended = getattr(config, "opcheck_c", None)
    if ended and ended["output"].strip():
        terminalreporter.section(NAME)
        terminalreporter.write_line(ended["output"].strip().splitlines()[-1])


def is_strict(config):
    return any("--strict" in shlex.split(text) for text in config.getoption("--opcheck-c-options"))


class Case:
    """One test of the JUnit report. broken: the text of a finding, or None; so are warning and skipped."""

    def __init__(self, element, broken=None):
        self.name = element.get("name")
        finding = element.find("failure") if element.find("error") is None else element.find("error")
        self.broken = broken if finding is None else finding.text or finding.get("message")
        self.warning = element.findtext("system-out")
        skipped = element.find("skipped")
        self.skipped = None if skipped is None else skipped.get("message")


class OpcheckRun(pytest.Collector):
    def collect(self):
        return []


class OpcheckItem(pytest.Item):
    def __init__(self, *, case, **arguments):
        super().__init__(**arguments)
        self.case = case
        self.add_marker("opcheck_c")

    def runtest(self):
        case = self.case
        if case.broken or (case.warning and is_strict(self.config)):
            raise OpcheckFinding(case.broken or case.warning)
        if case.warning:
            self.add_report_section("call", NAME, case.warning)
            self.warn(OpcheckWarning(case.warning.splitlines()[0]))
        if case.skipped is not None:
            pytest.skip(case.skipped)

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, OpcheckFinding):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.config.rootpath / NAME, 0, self.name
