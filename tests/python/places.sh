#!/usr/bin/env bash
# usage: places.sh OPCHECK PYTHON MODULE LIBRARY: findings about the kernels that a Python module adds to a C++ library's operators name its lines, and the module is not
# taken for one that registers nothing.
set -euo pipefail
opcheck="$1" python="$2" module="$3" library="$4" failed=0
name="$(basename "$module")"
line_of() { grep -nF -- "$1" "$module" | head -n 1 | cut -d: -f1; }
output="$("$opcheck" run --check meta,registration,autograd,alias --op '*::plus_one' --op '*::scale' --op '*::weighted' --op '*::positive' \
          --samples "${module%.py}.samples.json" --python "$module" --python-executable "$python" "$library" 2>&1 || true)"
in_one_line="$(tr -s ' \n' ' ' <<<"$output")" # messages are wrapped
holds() {
  grep -qF -- "$1" <<<"$in_one_line" && return 0
  echo "missing: $1"
  failed=1
}
holds "Meta kernel registered at $name:$(line_of 'fake("plus_one")')"
holds "derivative registered at $name:$(line_of 'torch.library.register_autograd(')" # the innermost line of the user's code
holds "CPU kernel registered at $name:$(line_of 'library.impl("positive"')"
holds "none for Meta tensors; Python module ${name%.py} registers none either"
holds "$name registers no operators of its own; it adds kernels to 11 operators of other libraries"
[[ "$failed" -eq 0 ]] || printf '%s\n' "$output"
exit "$failed"
