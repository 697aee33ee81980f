"""The command opcheck-c, and `python -m opcheck_c`."""

import os
import sys

from opcheck_c import CI_SCRIPT, CMAKE_DIR, PROGRAM


def main():
    paths = {"--cmake-dir": CMAKE_DIR, "--ci-script": CI_SCRIPT}
    if len(sys.argv) == 2 and sys.argv[1] in paths:
        print(paths[sys.argv[1]])
        return 0
    os.environ.setdefault("PYTHON", sys.executable)  # for --python
    try:
        os.execv(PROGRAM, ["opcheck-c", *sys.argv[1:]])
    except OSError as error:
        print(f"opcheck-c: cannot run {PROGRAM}: {error.strerror}. This wheel is for Linux on x86-64; install it again.", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
