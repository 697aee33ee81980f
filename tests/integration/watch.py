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


def break_link(target, source):
    """A build whose library needs a symbol that nothing has: it is whole, and cannot be loaded."""
    beside = target.with_suffix(".tmp")
    data = pathlib.Path(source).read_bytes()
    assert b"aoti_torch_library_def\0" in data
    beside.write_bytes(data.replace(b"aoti_torch_library_def\0", b"aoti_torch_library_xyz\0"))
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
        baseline = pathlib.Path(name) / "known.txt"
        baseline.write_text("")
        temporary = pathlib.Path(name) / "tmp"
        temporary.mkdir()
        command = [OPCHECK, "run", "--watch", "--torch", TORCH, "--check", "alias,mutation", "--jobs", "1", "--baseline", str(baseline), str(library)]
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
            break_link(library, GOOD)
            failed = until_waiting(process)
            assert "can no longer be loaded" in failed, failed
            clean_build(library, BROKEN)
            again = until_waiting(process)
            assert "alias.input_returned" in again and "FAILED" in again and "before the rebuild" in again, again
            baseline.write_text("a mistake\n")
            rename(library, GOOD)
            mistake = until_waiting(process)
            assert "PASSED" not in mistake, mistake
            baseline.write_text("")
            rename(library, GOOD)
            repaired = until_waiting(process)
            assert "fixed" in repaired and "before the rebuild" in repaired and "PASSED" in repaired, repaired
            rename(library, BROKEN)
            last = until_waiting(process)
            assert "FAILED" in last, last
            (library.parent / "other.o").write_text("not the library")
            time.sleep(1.5)
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=30)
            assert process.returncode == 1 and not rest, (process.returncode, rest)
        finally:
            process.kill()
        assert not list(temporary.iterdir()), list(temporary.iterdir())
        (library.parent / "known.txt").write_text("a mistake\n")
        assert "--list-cases" in wrong_usage("--list-cases", library)
        assert "--journal" in wrong_usage("--journal", library.parent / "j", library)
        assert "--init-samples" in wrong_usage("--init-samples", library.parent / "s.json", library)
        assert "known.txt:1:1" in wrong_usage("--baseline", library.parent / "known.txt", library)
        assert "name the library" in wrong_usage("--namespace", "aten")
    print(broken)
    print(good)


main()
