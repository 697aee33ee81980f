"""The command opcheck-c, and `python -m opcheck_c`."""

import os
import sys

from opcheck_c import CMAKE_DIR, PROGRAM


def main():
    if sys.argv[1:] == ["--cmake-dir"]:
        print(CMAKE_DIR)
        return 0
    os.environ.setdefault("PYTHON", sys.executable)  # for --python
    try:
        os.execv(PROGRAM, ["opcheck-c", *sys.argv[1:]])
    except OSError as error:
        print(f"opcheck-c: cannot run {PROGRAM}: {error.strerror}. This wheel is for Linux on x86-64; install it again.", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
