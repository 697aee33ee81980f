#!/usr/bin/env bash
# modules.sh OPCHECK_C PYTHON FIXTURES FOLDER: --python with good and bad modules, operators and interpreters.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/../expect.sh"
opcheck_c="$1" python="$2" fixtures="$3" folder="$4"
rm -rf "$folder"
mkdir -p "$folder/site/my_package"
cd "$folder"
export PYTHON="$python"

run() { "$opcheck_c" run "$@"; }

# operators <namespace> <name> <body of a function of x>…: what registers them, with fakes
operators() {
  local namespace="$1"
  shift
  printf 'import ctypes, os, signal, sys, threading, time\nimport torch\n'
  while [[ $# -gt 0 ]]; do
    printf 'def %s(x):\n    %s\n' "$1" "$2"
    printf '_ = torch.library.custom_op("%s::%s", %s, mutates_args=(), schema="(Tensor x) -> Tensor")\n' "$namespace" "$1" "$1"
    printf '_.register_fake(lambda x: torch.empty_like(x + 1))\n'
    shift 2
  done
}

expect "operators and where they were defined" 0 "correct_python.py:" "$opcheck_c" list --python "$fixtures/correct_python.py"
expect "those of torch.library too" 0 "correct_python::twice(Tensor x) -> Tensor" "$opcheck_c" list --python "$fixtures/correct_python.py"
expect "not those of the host" 0 "no:opcheck_c_host" "$opcheck_c" list --python "$fixtures/correct_python.py"

operators my_ops one 'return x + 1' >site/my_package/ops.py
touch site/my_package/__init__.py
expect "a module by its name" 0 "PASSED: 1 of 1" env PYTHONPATH="$folder/site" "$opcheck_c" run --python my_package.ops --check alias,meta,mutation --json one.json
one_case="$(sed -nE 's#.*"case": *"([^"]*/alias/[^"]*)".*#\1#p' one.json | head -n 1)"
expect "its case can be run again" 0 "PASSED: 1 of 1" env PYTHONPATH="$folder/site" "$opcheck_c" run --python my_package.ops --case "$one_case"
(cd site && expect "a module in the working directory" 0 "PASSED: 1 of 1" "$opcheck_c" run --python my_package.ops --check alias)

# ---- modules ----
printf 'def helper():\n    raise KeyError("no such thing")\nhelper()\n' >raises.py
expect "a module that raises" 4 "KeyError: 'no such thing' (at $folder/raises.py:2)" run --python raises.py
printf 'import sys\nsys.exit(3)\n' >exits.py
expect "a module that exits" 4 "SystemExit: 3" run --python exits.py
printf 'import os\nos._exit(3)\n' >ends.py
expect "a module that ends the process" 4 "ends.py could not be loaded" run --python ends.py
printf 'def f(:\n' >syntax.py
expect "a module with a mistake" 4 "SyntaxError" run --python syntax.py --json syntax.json
expect "a module that is not there" 4 "ModuleNotFoundError: No module named 'no_such_module'" run --python no_such_module
printf 'x = 1\n' >nothing.py
expect "a module without operators" 5 "registers no operators when it is imported" run --python nothing.py
{ operators prints one 'return x + 1'; printf 'print("hello"); sys.stderr.write("and here"); os.write(1, b"raw")\n'; } >prints.py
expect "a module that prints" 0 "PASSED: 1 of 1" run --python prints.py --check alias
{ operators threads one 'return x + 1'; printf 'threading.Thread(target=lambda: time.sleep(1000), daemon=True).start()\n'; } >threads.py
expect "a module that starts a thread" 0 "starts threads while it loads" run --python threads.py --check alias
{ printf 'import numpy\n'; operators uses_numpy one 'return x + 1'; } >uses_numpy.py
expect "NumPy's threads do not count" 0 "no:starts threads" run --python uses_numpy.py --check alias
{ operators like_scipy one 'assert os.environ["OPENBLAS_NUM_THREADS"] == "3"; return x + 1'
  printf 'if os.environ["OPENBLAS_NUM_THREADS"] != "1":\n    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n'; } >like_scipy.py
expect "nor SciPy's, which start when the module imports it" 0 "no:starts threads" env OPENBLAS_NUM_THREADS=3 "$opcheck_c" run --python like_scipy.py --check alias
expect "the operators see the user's setting" 0 "PASSED: 1 of 1" env OPENBLAS_NUM_THREADS=3 "$opcheck_c" run --python like_scipy.py --check alias

printf 'import torch\ntorch.library.define("by_define::one", "(Tensor x) -> Tensor")\n' >by_define.py
expect "the line of torch.library.define" 0 "$folder/by_define.py:2" "$opcheck_c" list --python by_define.py --format json
printf 'import torch\n@torch.library.custom_op("only_cuda::one", mutates_args=(), device_types="cuda")\ndef one(x: torch.Tensor) -> torch.Tensor:\n    return x + 1\n' >only_cuda.py
expect "an operator for CUDA alone" 5 "it has no kernel for the CPU" run --python only_cuda.py --verbose

mkdir torch
operators near one 'raise ValueError("no")' >torch/my_host.py
expect "a name like ours, in a folder called torch" 0 "$folder/torch/my_host.py:5" "$opcheck_c" list --python torch/my_host.py --format json
rm -r torch

{ operators half one 'return x + 1'; printf 'raise KeyError("later")\n'; } >half.py
expect "a module that raises after it registered an operator" 4 "no:half::one" run --python half.py
expect "beside one that does not" 4 "by_define.py  1 operator," "$opcheck_c" list --python half.py --python by_define.py

# What other packages register while they are imported.
mkdir -p lib/site-packages/other lib/site-packages/mine
operators other one 'return x + 1' >lib/site-packages/other/__init__.py
printf 'def define(name):\n    import torch\n    torch.library.define(name, "(Tensor x) -> Tensor")\n' >lib/site-packages/other/helper.py
{ operators mine one 'return x + 1'; printf 'import other.helper\nother.helper.define("mine::by_helper")\n'; } >lib/site-packages/mine/__init__.py
printf 'import other\n' >lib/site-packages/wrapper.py
export PYTHONPATH="$folder/lib/site-packages"
expect "operators of an imported package" 0 "the module imports are not checked: other (1)" "$opcheck_c" list --python mine
expect "are not listed" 0 "no:other::one" "$opcheck_c" list --python mine
expect "what its functions define for the module is" 0 "mine::by_helper" "$opcheck_c" list --python mine
expect "nor checked" 0 "no:other::one" run --python mine --check alias --verbose
expect "but by name" 0 "PASSED: 1 of 1" run --python mine --check alias --op 'other::*'
expect "or by namespace" 0 "PASSED: 1 of 1" run --python mine --check alias --namespace other
expect "or by package" 0 "no:not checked: other" "$opcheck_c" list --python mine --python other
expect "a module that only imports" 0 "other::one" "$opcheck_c" list --python wrapper
printf 'import other\nimport torch\ntorch.library.define("by_file::one", "(Tensor x) -> Tensor")\n' >imports.py
expect "a file" 0 "the module imports are not checked: other (1)" "$opcheck_c" list --python imports.py
printf 'import other\nimport torch\ntorch.library.define("named_file::one", "(Tensor x) -> Tensor")\n' >lib/site-packages/named.py
expect "a file that is installed" 0 "the module imports are not checked: other (1)" "$opcheck_c" list --python lib/site-packages/named.py
printf 'import other, torch\ntorch.library.define("adds_kernel::one", "(Tensor x) -> Tensor")\ntorch.library.impl("other::one", "CUDA", lambda x: x)\n' >adds_kernel.py
expect "another package's operator to which the module adds a kernel" 0 "other::one" "$opcheck_c" list --python adds_kernel.py
unset PYTHONPATH

# ---- operators ----
operators odd exits 'os._exit(3)' system_exit 'sys.exit(1)' interrupt 'raise KeyboardInterrupt' crashes 'ctypes.string_at(0)' \
  thread 'threading.Thread(target=time.sleep, args=(100,), daemon=True).start(); return x + 1' folder 'os.chdir("/"); return x + 1' \
  handler 'signal.signal(signal.SIGUSR1, signal.SIG_IGN); return x + 1' fine 'return x + 1' >odd.py
expect "odd operators do not end the run" 1 "the working directory is /" run --python odd.py --check state,alias --verbose
expect "a handler is seen" 1 "SIGUSR1 is ignored" run --python odd.py --check state --op odd::handler
expect "and the others are checked" 0 "PASSED: 1 of 1" run --python odd.py --op odd::fine --check state,alias
# Fake kernels that behave so only on FakeTensors: check meta does not see it.
for how in 'sys.exit(1)' 'ctypes.string_at(0)' 'os._exit(3)' 'raise KeyError("k" * 20000)'; do
  operators odd_fake one 'return x + 1' | sed '$d' >odd_fake.py
  printf '@_.register_fake\ndef _(x):\n    if any(isinstance(size, torch.SymInt) for size in x.shape):\n        %s\n    return torch.empty_like(x + 1)\n' "$how" >>odd_fake.py
  printf '{"format": "opcheck-c/samples/1", "samples": [{"operator": "odd_fake::one", "name": "one", "args": [{"tensor": {"shape": [3, 4]}}]}]}' >odd_fake.samples.json
  case "$how" in
    sys*) says='fake.rejects' ;;
    raise*) says='KeyError' ;;
    *) says='operator ran on FakeTensors' ;;
  esac
  expect "a fake kernel with $how" 1 "$says" run --python odd_fake.py --check fake,meta
done
rm odd_fake.samples.json
# The search asks the fake kernel too, and goes on without it if that ends the process.
operators bad_fake one 'return x + 1' | sed '$d' >bad_fake.py
printf '_.register_fake(lambda x: ctypes.string_at(0))\n' >>bad_fake.py
expect "inputs although the fake kernel crashes" 0 "PASSED: 1 of 1" run --python bad_fake.py --check alias

# Compiled at the first call: by another program, once; or in each process.
operators builds once "os.path.exists('$folder/built') or os.system('timeout 5 sh -c \"while :; do :; done\"; touch $folder/built'); return x + 1" >builds.py
{ operators compiles each_time 'compiled.get("in") == os.getpid() or time.sleep(1.5); compiled["in"] = os.getpid(); return x + 1' \
    never 'time.sleep(60); return x + 1'
  printf 'compiled = {}\n'; } >compiles.py
expect "an operator that waits for a compiler" 0 "PASSED: 1 of 1" run --python builds.py --check alias --timeout 2
echo precious >older
operators changes one "os.system('echo x 2>/dev/null >>$folder/older'); return x + 1" >changes.py
expect "but an older file beside the module stays" 0 "state.outside" run --python changes.py --check state
grep -qx precious older || failures=$((failures + 1))
expect "and one that compiles by itself" 0 "PASSED: 1 of 1" run --python compiles.py --check alias --op compiles::each_time
expect "one that never returns" 5 "if the operator compiles at its first call, give a longer --timeout" run --python compiles.py --check alias --op compiles::never --timeout 1 --verbose

operators says refuses 'raise ValueError("x is not to my taste")' >says.py
printf '{"format": "opcheck-c/samples/1", "samples": [{"operator": "says::refuses", "name": "refused", "args": [{"tensor": {"shape": [2]}}]}]}' >says.samples.json
# The terminal may break the line before the path; the JUnit file has it in one piece.
expect "what an operator raises, and where; samples beside the module" 1 "says.py:4)" run --python says.py --check alias --junit says.xml
grep -qF "is not to my taste (at $folder/says.py:4)" says.xml || failures=$((failures + 1))

# All frames are torch's and the host's: then there is no place.
printf 'import torch\nlibrary = torch.library.Library("in_torch", "FRAGMENT")\nlibrary.define("cosine(Tensor x) -> Tensor")\nlibrary.impl("cosine", torch.nn.functional.cosine_similarity, "CPU")\n' >in_torch.py
printf '{"format": "opcheck-c/samples/1", "samples": [{"operator": "in_torch::cosine", "name": "one", "args": [{"tensor": {"shape": [2]}}]}]}' >in_torch.samples.json
expect "no place in the host" 1 "no:host.py" run --python in_torch.py --check alias

# ---- interpreters ----
printf '#!/bin/sh\necho hello\n' >not_python
chmod +x not_python
expect "a program that is no Python" 2 "does not answer as a Python does" run --python prints.py --python-executable ./not_python
expect "no such program" 2 "cannot be executed: No such file or directory" run --python prints.py --python-executable /no/such/python
/usr/bin/python3 -m venv --without-pip bare
expect "a Python without torch" 2 "bare/bin/python3 has no torch: install it there" run --python prints.py --python-executable bare/bin/python3
expect "another libtorch" 2 "--torch cannot be combined with --python" run --python prints.py --torch /no/such/torch
expect "a GPU" 2 "--python cannot be combined with --device cuda yet" run --python prints.py --device cuda
expect "Valgrind" 2 "--python cannot be combined with --tool memcheck yet" run --python prints.py --tool memcheck
exit "$((failures > 0))"
