#!/usr/bin/env bash
# usage: places.sh OPCHECK PYTHON MODULE LIBRARY: findings about the kernels that a Python module adds to a C++ library's operators name its lines, and the module is not
# taken for one that registers nothing.
set -euo pipefail
opcheck="$1" python="$2" module="$3" library="$4" failed=0
name="$(basename "$module")"
line_of() { grep -nF -- "$1" "$module" | head -n 1 | cut -d: -f1; }
fakes="$(dirname "$module")/broken_python.py" # a decorator's function, which torch.library.custom_op asks for later
output="$("$opcheck" run --check meta,registration,autograd,alias --op '*::plus_one' --op '*::scale' --op '*::weighted' --op '*::positive' \
          --samples "${module%.py}.samples.json" --python "$module" --python-executable "$python" "$library" 2>&1 || true)"
output+="$("$opcheck" run --check meta --op '*::fake_is_real' --python "$fakes" --python-executable "$python" 2>&1 || true)"
in_one_line="$(tr -s ' \n' ' ' <<<"$output")" # messages are wrapped
holds() {
  grep -qF -- "$1" <<<"$in_one_line" && return 0
  echo "missing: $1"
  failed=1
}
holds "Meta kernel lambda ($name:$(line_of 'fake("plus_one")'))"
holds "derivative lambda ($name:$(line_of 'derivative("weighted"'))"
holds "CPU kernel lambda ($name:$(line_of 'library.impl("positive"'))"
holds "Meta kernel _ (broken_python.py:$(($(grep -nF '@fake_is_real.register_fake' "$fakes" | cut -d: -f1) + 1)))"
holds "none for Meta tensors; Python module ${name%.py} registers none either"
holds "$name registers no operators of its own; it adds kernels to 11 operators of other libraries"
[[ "$failed" -eq 0 ]] || printf '%s\n' "$output"
exit "$failed"
