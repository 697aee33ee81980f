"""watch.py OPCHECK_C GOOD.so BROKEN.so TORCH_ROOT: run --watch, with a library that is built again in the ways in which linkers and build systems do it."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

OPCHECK, GOOD, BROKEN, TORCH = sys.argv[1:]
WAITING = "waiting for a rebuild; Ctrl-C ends\n"


def until_waiting(process):
    """What is printed until it waits."""
    lines = []
    for line in process.stdout:
        if line == WAITING:
            return "".join(lines)
        lines.append(line)
    raise AssertionError(f"it ended: {''.join(lines)}{process.stderr.read()}")


def write_slowly(target, source):
    """As a linker does: the file is there, and not whole, for longer than the harness waits for quiet."""
    data = pathlib.Path(source).read_bytes()
    target.unlink()
    with open(target, "wb", buffering=0) as file:
        for part in (data[: len(data) // 2], data[len(data) // 2 :]):
            file.write(part)
            time.sleep(1)


def rename(target, source):
    beside = target.with_suffix(".tmp")
    shutil.copy(source, beside)
    beside.rename(target)


def clean_build(target, source):
    shutil.rmtree(target.parent)
    time.sleep(0.5)
    target.parent.mkdir()
    shutil.copy(source, target)


def wrong_usage(*arguments):
    done = subprocess.run([OPCHECK, "run", "--watch", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done
    return done.stderr


def main():
    with tempfile.TemporaryDirectory() as name:
        library = pathlib.Path(name) / "build" / "libmine.so"
        library.parent.mkdir()
        shutil.copy(GOOD, library)
        temporary = pathlib.Path(name) / "tmp"
        temporary.mkdir()
        command = [OPCHECK, "run", "--watch", "--torch", TORCH, "--check", "alias,mutation", "--jobs", "1", str(library)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary)})
        try:
            first = until_waiting(process)
            assert "PASSED" in first, first
            write_slowly(library, BROKEN)
            broken = until_waiting(process)
            assert "alias.input_returned" in broken and "FAILED" in broken and "could not be loaded" not in broken, broken
            rename(library, GOOD)
            good = until_waiting(process)
            assert "fixed" in good and "alias.input_returned" in good and "PASSED" in good, good
            clean_build(library, BROKEN)
            again = until_waiting(process)
            assert "alias.input_returned" in again and "FAILED" in again, again
            (library.parent / "other.o").write_text("not the library")
            time.sleep(1.5)
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=30)
            assert process.returncode == 1 and not rest, (process.returncode, rest)
        finally:
            process.kill()
        assert not list(temporary.iterdir()), list(temporary.iterdir())
        assert "--list-cases" in wrong_usage("--list-cases", library)
        assert "--journal" in wrong_usage("--journal", library.parent / "j", library)
        assert "name the library" in wrong_usage("--namespace", "aten")
    print(broken)
    print(good)


main()
