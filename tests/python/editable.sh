#!/usr/bin/env bash
# editable.sh OPCHECK_C PYTHON FOLDER: --python in a virtual environment, on a package that is installed there in editable mode. The environment takes
# torch from PYTHON's, by a .pth file. Exit status 77: PYTHON can make no environment or install nothing.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/../expect.sh"
opcheck_c="$1" python="$2" folder="$3"
leave() {
  printf 'SKIP: %s\n' "$*"
  exit 77
}
rm -rf "$folder"
mkdir -p "$folder/project/src/my_package"
cd "$folder"
unset PYTHON PYTHONPATH

"$python" -m venv --without-pip environment >output 2>&1 || leave "$python makes no virtual environment: $(tail -n 1 output)"
installed="$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
site="$(environment/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
printf '%s\n' "$installed" >"$site/torch_of_the_tests.pth"

printf 'from setuptools import setup\nsetup(name="my_package", version="1", package_dir={"": "src"}, packages=["my_package"])\n' >project/setup.py
touch project/src/my_package/__init__.py
# operator <what the fake kernel returns>
operator() {
  printf 'import torch\n\n\n@torch.library.custom_op("my_ops::one_more", mutates_args=())\ndef one_more(x: torch.Tensor) -> torch.Tensor:\n    return x + 1\n\n\n' >project/src/my_package/ops.py
  printf 'one_more.register_fake(lambda x: torch.empty_like(%s))\n' "$1" >>project/src/my_package/ops.py
}
operator 'x + 1'
environment/bin/python -c 'import pip, setuptools' 2>output || leave "no pip and setuptools beside $python: $(tail -n 1 output)"
environment/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --editable project >output 2>&1 || {
  cat output
  exit 1
}

run=("$opcheck_c" run --check alias,meta --python my_package.ops)
expect "the package is in the environment" 0 "PASSED: 1 of 1" "${run[@]}" --python-executable environment/bin/python
expect "and its file is that of the project" 0 "$folder/project/src/my_package/ops.py:" "$opcheck_c" list --python my_package.ops --python-executable environment/bin/python --format json
expect "an active environment" 0 "PASSED: 1 of 1" env PATH="$folder/environment/bin:$PATH" "${run[@]}"
expect "but not in the Python that it was made with" 4 "No module named 'my_package'" "${run[@]}" --python-executable "$python"
operator 'x.flatten()'
expect "a change is seen without another installation" 1 "meta.shape" "${run[@]}" --python-executable environment/bin/python
exit "$((failures > 0))"
