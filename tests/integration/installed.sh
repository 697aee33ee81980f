#!/usr/bin/env bash
# installed.sh SOURCE BUILD FOLDER VERSION TORCH_ROOT [OTHER_VERSION OTHER_ROOT]: the wheel and the Debian package of this build, each installed where nothing
# else is, check the reference operators with the torch beside them.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/../expect.sh"
source="$1" build="$2" folder="$3" version="$4" torch="$5" other_version="${6:-}" other_torch="${7:-}"
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
unset VIRTUAL_ENV CONDA_PREFIX LD_LIBRARY_PATH PYTHONPATH TORCH_ROOT OPC_TORCH
export PATH=/usr/bin:/bin HOME="$folder/no_home" OPC_BUILD="$build"

# A site-packages/torch as a wheel has it at run time: no headers.
use_torch() {
  rm -rf "$site/torch" "$site/nvidia"
  [[ -n "$1" ]] || return 0
  mkdir "$site/torch"
  ln -s "$1/lib" "$site/torch/lib"
  cp "$1/version.py" "$site/torch/version.py"
  if [[ -d "$1/../nvidia" ]]; then ln -s "$1/../nvidia" "$site/nvidia"; fi
}

# A library as its author gives it away: it does not say where libtorch is.
give_away() { cp "$1" "$2" && patchelf --remove-rpath "$2"; }

give_away "$build/lib/libidentity_conv_ops.so" libmine.so

wheel="$("$source/scripts/package" wheel --here --out="$folder")"
/usr/bin/python3 -m venv venv
site="$(echo venv/lib/python3*/site-packages)"
venv/bin/python3 -m pip install --quiet --no-index --no-deps --disable-pip-version-check "$wheel"
opcheck_c=venv/bin/opcheck-c

use_torch "$torch"
expect "the wheel checks a library" 0 "PASSED: 2 of 2" "$opcheck_c" run --strict --json report.json libmine.so
expect "with the torch beside it" 0 "\"torch\": \"$version." cat report.json
expect "python -m" 0 "PASSED: 2 of 2" venv/bin/python3 -m opcheck_c run --strict libmine.so
for file in bash-completion/completions/opcheck-c zsh/site-functions/_opcheck-c man/man1/opcheck-c.1; do
  expect "$file" 0 "opcheck" head -n 1 "venv/share/$file"
done
expect "the script for CI" 0 "PASSED: 2 of 2" env OPCHECK_C_LIBRARIES="libmi*.so" OPCHECK_C_OUTPUT=ci PATH="$PWD/venv/bin:$PATH" \
  bash "$(venv/bin/python3 -m opcheck_c --ci-script)" run
expect "libtorch's own operators" 0 "PASSED: 1 of 1" "$opcheck_c" run --namespace aten --op 'aten::relu' --check alias
if [[ -e "$torch/lib/libtorch_cuda.so" ]]; then
  expect "the simulated device" 0 "PASSED: 1 of 1" "$opcheck_c" run --namespace aten --op 'aten::relu' --device cuda-sim --check launch,capture
fi
expect "what it would use" 0 "opcheck-worker-$version, because " "$opcheck_c" inspect libmine.so
expect "and where that is" 0 "opcheck-worker-$version: libtorch in $(realpath "$site/torch")/lib (beside opcheck-c)" "$opcheck_c" devices
expect "CMake's package" 0 "OpcheckCConfig.cmake" ls "$(venv/bin/python3 -m opcheck_c --cmake-dir)"
expect "the plugin for pytest" 0 "opcheck-c = opcheck_c.pytest_plugin" cat "$site"/opcheck_c-*.dist-info/entry_points.txt
expect "pip knows its files" 0 "opcheck_c/bin/opcheck-c" venv/bin/python3 -m pip show --files opcheck-c

# A package that brings a build for each libtorch.
mkdir -p "package/torch-$version/lib" package/torch-9.8/lib package/torch-9.9/lib
for build_for in "$version" 9.8 9.9; do cp libmine.so "package/torch-$build_for/lib/"; done
expect "of several builds the one that fits" 0 "PASSED: 2 of 2" "$opcheck_c" run --strict package
expect "is named" 0 "package/torch-$version/lib/libmine.so: there are 3 builds of it; this is the one in the folder torch-$version, for libtorch $version" "$opcheck_c" list package
rm -r "package/torch-$version"
expect "and if none fits" 4 "needs libtorch 9.9 (its folder is torch-9.9), but there are workers for" "$opcheck_c" run package

if [[ -n "$other_version" ]]; then
  give_away "$build/torch-$other_version/lib/libidentity_conv_ops.so" libother.so
  use_torch "$other_torch"
  expect "another torch" 0 "PASSED: 2 of 2" "$opcheck_c" run --strict --json report.json libother.so
  expect "is the one that was used" 0 "\"torch\": \"$other_version." cat report.json
fi

use_torch ""
expect "without torch" 3 "no libtorch is installed here: install torch in the active Python environment" "$opcheck_c" run libmine.so
expect "inspect says so" 0 "none: no libtorch is installed here" "$opcheck_c" inspect libmine.so
mkdir -p "$site/torch/lib"
ln -s "$torch/lib/libtorch_cpu.so" "$site/torch/lib/libtorch_cpu.so"
printf "__version__ = '9.9.0+cpu'\n" >"$site/torch/version.py"
expect "a torch that is newer than any worker" 3 "no worker fits the libtorch that is installed here, 9.9 in $(realpath "$site/torch")" "$opcheck_c" run libmine.so
expect "devices says so" 0 "9.9 in $(realpath "$site/torch") (beside opcheck-c): no worker for it" "$opcheck_c" devices
use_torch ""

# The Debian package, in a root folder of its own; torch is in the active environment.
deb="$(TORCH_ROOT="$torch" "$source/scripts/package" deb --here --out="$folder" 2>deb.log)" || cat deb.log
dpkg-deb -x "$deb" root
mkdir -p active/lib
ln -s "$PWD/venv/lib/"python3* active/lib/
use_torch "$torch"
VIRTUAL_ENV="$PWD/active" expect "the Debian package checks a library" 0 "PASSED: 2 of 2" root/usr/bin/opcheck-c run --strict libmine.so
VIRTUAL_ENV="$PWD/active" expect "with the active environment's torch" 0 "(in VIRTUAL_ENV)" root/usr/bin/opcheck-c inspect libmine.so
expect "it names what it needs" 0 "libjansson4" dpkg-deb -f "$deb" Depends
exit "$((failures > 0))"
