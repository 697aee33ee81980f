"""The public libraries that precision is measured on: reads tests/real/corpus.json, and gets each library as it says.

What is fetched and built stays in the folder "corpus" of OPC_DEPS, never in the repository; what is there already is taken as it is. "get" is
installed (in the Python of scripts/setup --full), wheel (unpacked, without its dependencies but those that "with" names), source (built for the CPU against that Python's torch), or
libtorch (nothing to get)."""

import json
import os
import pathlib
import subprocess
import sys
import zipfile

from processes import ROOT

REAL = ROOT / "tests/real"
GETS = ("installed", "wheel", "source", "libtorch")
LOG_LINES = 5


class NotAvailable(Exception):
    """A library could not be fetched, built or found; the text says which and why."""


def read():
    with open(REAL / "corpus.json", encoding="utf-8") as stream:
        return json.load(stream)


def cache():
    folder = pathlib.Path(os.environ.get("OPC_DEPS") or ROOT / "build/deps").resolve() / "corpus"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def quoted(entry):
    return f"{entry['name']} {entry['version']}"


def step(entry, what, command, log, **more):
    """Runs one command; its output goes to the log, whose last lines are the reason where it fails."""
    with open(log, "w", encoding="utf-8") as stream:
        try:
            code = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, check=False, **more).returncode
        except OSError as error:
            raise NotAvailable(f"{quoted(entry)} {what}: {error}") from error
    if code:
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        raise NotAvailable("\n  ".join([f"{quoted(entry)} {what} (exit {code}, {log}):", *lines[-LOG_LINES:]]))


def download(entry, python, folder, kind, extra=(), variables=None):
    """The archive of that kind, downloaded where it is not there yet."""
    found = sorted(folder.glob(kind))
    if not found:
        command = [python, "-m", "pip", "download", "--no-deps", *extra, "--dest", str(folder), f"{entry['name']}=={entry['version']}"]
        step(entry, "could not be downloaded", command, folder / "download.log", env={**os.environ, **(variables or {})})
        found = sorted(folder.glob(kind))
    if not found:
        raise NotAvailable(f"{quoted(entry)} could not be downloaded: no {kind} came")
    return found[0]


def build_tools(entry, python):
    """pip wants the package "wheel" where nothing is built in isolation; it goes beside the libraries, not into the Python."""
    folder = cache() / "tools"
    if not (folder / "wheel").is_dir():
        step(entry, "could not be built, for want of the package wheel", [python, "-m", "pip", "install", "--target", str(folder), "wheel"], cache() / "tools.log")
    return folder


def unpacked_wheel(entry, python):
    folder = cache() / f"{entry['name']}-{entry['version']}"
    folder.mkdir(exist_ok=True)
    archives = [download(entry, python, folder, "*.whl", ["--only-binary", ":all:"])]
    for name, version in entry.get("with", {}).items():
        beside = folder / name
        beside.mkdir(exist_ok=True)
        archives.append(download({"name": name, "version": version}, python, beside, "*.whl", ["--only-binary", ":all:"]))
    unpacked = folder / "unpacked"
    if not missing(unpacked, entry):
        return unpacked
    for archive in archives:
        try:
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(unpacked)
        except (OSError, zipfile.BadZipFile) as error:
            raise NotAvailable(f"{quoted(entry)} could not be unpacked: {error}") from error
    return unpacked


def built_source(entry, python):
    folder = cache() / f"{entry['name']}-{entry['version']}"
    built = folder / "built"
    if not missing(built, entry):
        return built
    folder.mkdir(exist_ok=True)
    variables = {"PYTHONPATH": str(build_tools(entry, python)), "FORCE_ONLY_CPU": "1", "MAX_JOBS": str(len(os.sched_getaffinity(0)))}
    archive = download(entry, python, folder, "*.tar.gz", ["--no-binary", ":all:", "--no-build-isolation"], variables)
    step(entry, "could not be unpacked", ["tar", "--extract", "--file", str(archive), "--directory", str(folder)], folder / "unpack.log")
    source = folder / archive.name.removesuffix(".tar.gz")
    print(f"bench: building {quoted(entry)}, 1 to 15 minutes; {folder / 'build.log'}", file=sys.stderr)
    command = [python, "setup.py", "build_ext", "--build-lib", str(built), "--build-temp", str(folder / "objects")]
    step(entry, "did not build", command, folder / "build.log", cwd=source, env={**os.environ, **variables})
    return built


def installed(entry, python):
    code = "import importlib.metadata as m, sysconfig, sys; print(sysconfig.get_paths()['platlib']); print(m.version(sys.argv[1]))"
    ended = subprocess.run([python, "-c", code, entry["name"]], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise NotAvailable(f"{quoted(entry)} is not installed: run scripts/setup --full")
    folder, version = ended.stdout.split()
    if version.split("+")[0] != entry["version"]:
        raise NotAvailable(f"{quoted(entry)} is wanted, and {version} is installed")
    return pathlib.Path(folder)


def missing(folder, entry):
    return [name for name in [*entry.get("preload", []), *entry["libraries"]] if not (folder / name).is_file()]


def torch_root(entry):
    """The libtorch that the library is run with, whichever workers the build has: the first one's, or that of the version that it is built for."""
    other = {"OPC_TORCH": entry["torch"]} if "torch" in entry else {}
    root = subprocess.run(["bash", "-c", 'source "$1/scripts/lib.sh" && opc_load_env && printf %s "$TORCH_ROOT"', "-", str(ROOT)], capture_output=True, text=True, check=False,
                          env={name: value for name, value in os.environ.items() if name not in ("TORCH_ROOT", "OPC_TORCH")} | other)  # fmt: skip
    if root.returncode and not other:
        raise NotAvailable(f"{quoted(entry)}: there is no libtorch; run scripts/setup --full")
    if root.returncode:
        raise NotAvailable(f"{quoted(entry)} is for libtorch {entry['torch']}: run scripts/setup --torch={entry['torch']}, then build again")
    return root.stdout


def library_folder(entry, python):
    """Where the paths of the entry begin, as they would in site-packages; None for libtorch's own operators. Raises NotAvailable."""
    if entry["get"] == "libtorch":
        return None
    folder = {"installed": installed, "wheel": unpacked_wheel, "source": built_source}[entry["get"]](entry, python)
    lost = missing(folder, entry)
    if lost:
        raise NotAvailable(f"{quoted(entry)} has no {', '.join(lost)} in {folder}")
    return folder


def arguments(entry, python, whole=False):
    """What opcheck-c is given to run the library; whole: all of its operators, where the entry names some. Raises NotAvailable."""
    named = "operators" in entry and not (whole and entry["libraries"])
    names = (REAL / entry["operators"]).read_text(encoding="utf-8").split() if named else []
    selection = [word for name in names for word in ("--op", name)]
    torch = ["--torch", torch_root(entry)]
    folder = library_folder(entry, python)
    if not folder:
        return [*entry["arguments"], *selection, *torch]
    preloads = [word for name in entry.get("preload", []) for word in ("--preload", str(folder / name))]
    return [*selection, *torch, *preloads, *(str(folder / name) for name in entry["libraries"])]
