"""opcheck-c checks PyTorch custom operators in shared libraries. It is a program: run `opcheck-c --help`.

Importing this package imports no torch."""

import os

ROOT = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(ROOT, "bin", "opcheck-c")
# For CMake: -DOpcheckC_DIR=…, or $(python -m opcheck_c --cmake-dir).
CMAKE_DIR = os.path.join(ROOT, "lib", "cmake", "OpcheckC")
# For CI systems: bash "$(python -m opcheck_c --ci-script)" run; its head lists the variables that it takes.
CI_SCRIPT = os.path.join(ROOT, "ci.sh")
