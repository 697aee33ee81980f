# shellcheck shell=bash disable=SC2034
# Shared by the scripts of this folder: what is needed, where it is, and the one way to build. Sourced, never run.

# --- What is needed: the only place that says so --------------------------------------------------------------------------------

# The versions of libtorch that the bridge is written for and tested with. The first is the default.
OPC_TORCH_SUPPORTED=(2.11 2.6 2.7 2.8 2.9 2.10 2.12 2.13 2.14 2.15)
# The oldest and the newest: in CI each gets a worker and a few tests.
OPC_TORCH_SMOKE=(2.6 2.15)

OPC_DEBIAN_PACKAGES=(
  gcc g++ cmake ninja-build ccache pkg-config libjansson-dev libxml2-dev libxml2-utils libelf-dev libdw-dev libxxhash-dev zlib1g-dev libzstd-dev
  libzip-dev libseccomp-dev nlohmann-json3-dev libcmocka-dev python3-venv python3-pip valgrind patchelf dpkg-dev zsh groff-base)
# --full: the browser of tests/html.
OPC_DEBIAN_BROWSER=(chromium)
# --full: the cluster of tests/slurm.
OPC_DEBIAN_SLURM=(slurmctld slurmd slurm-client munge)
# scripts/fuzz: a compiler with libFuzzer.
OPC_DEBIAN_FUZZ=(clang libclang-rt-dev)

# The small set of each: libtorch_cpu loads with these, and CPU kernels run. Versions as torch's own metadata asks; the CUDA runtime second.
declare -A OPC_PIP_SMALL_OF=(
  [2.6]="torch==2.6.0 nvidia-cuda-runtime-cu12==12.4.127 nvidia-cuda-cupti-cu12==12.4.127"
  [2.7]="torch==2.7.1 nvidia-cuda-runtime-cu12==12.6.77 nvidia-cuda-cupti-cu12==12.6.80"
  [2.8]="torch==2.8.0 nvidia-cuda-runtime-cu12==12.8.90 nvidia-cuda-cupti-cu12==12.8.90"
  [2.9]="torch==2.9.1 nvidia-cuda-runtime-cu12==12.8.90 nvidia-cuda-cupti-cu12==12.8.90"
  [2.10]="torch==2.10.0 nvidia-cuda-runtime-cu12==12.8.90 nvidia-cuda-cupti-cu12==12.8.90"
  [2.11]="torch==2.11.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85"
  [2.12]="torch==2.12.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85"
  [2.13]="torch==2.13.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85"
  [2.14]="torch==2.14.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85"
  [2.15]="torch==2.15.0 nvidia-cuda-runtime==13.2.86 nvidia-cuda-cupti==13.2.86"
)

# A compiler for .cu files; its headers and libraries are spread over these. Only installed for the first version.
OPC_PIP_NVCC=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-cccl==13.0.85)

# The headers for the wrappers of CUDA 12's runtime, whichever 12 a libtorch is built for; the second has crt/. There is no nvcc of CUDA 12 in wheels.
OPC_PIP_CUDA12=(nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-nvcc-cu12==12.9.86)

# --full: what a Python that imports torch, libtorch_cuda and the tests need; clang-format is tests/structure's, pytest that of tests/python.
# The last three are those of tests/html.
opc_pip_tests="junitparser==4.0.2 lxml==6.0.2 pydantic-sarif==0.1.1 jsonschema==4.26.0 tap.py[yaml]==3.2.1 check-jsonschema==0.39.0 clang-format==14.0.6 pytest==9.2.0 html5lib==1.1 playwright==1.65.2 axe-playwright-python==0.1.8"
declare -A OPC_PIP_FULL_OF=(
  [2.6]="torch==2.6.0 torchvision==0.21.0 torchaudio==2.6.0 $opc_pip_tests"
  [2.7]="torch==2.7.1 torchvision==0.22.1 torchaudio==2.7.1 $opc_pip_tests"
  [2.8]="torch==2.8.0 torchvision==0.23.0 torchaudio==2.8.0 $opc_pip_tests"
  [2.9]="torch==2.9.1 torchvision==0.24.1 torchaudio==2.9.1 $opc_pip_tests"
  [2.10]="torch==2.10.0 torchvision==0.25.0 torchaudio==2.10.0 $opc_pip_tests"
  [2.11]="torch==2.11.0 torchvision==0.26.0 torchaudio==2.11.0 $opc_pip_tests"
  [2.12]="torch==2.12.0 torchvision==0.27.0 torchaudio==2.11.0 $opc_pip_tests"
  [2.13]="torch==2.13.0 torchvision==0.28.0 torchaudio==2.11.0 $opc_pip_tests"
  [2.14]="torch==2.14.0 torchvision==0.29.0 torchaudio==2.11.0 $opc_pip_tests"
  [2.15]="torch==2.15.0 torchvision==0.29.2 torchaudio==2.11.0 $opc_pip_tests"
)

# --- Where it is ----------------------------------------------------------------------------------------------------------------

OPC_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
OPC_DEPS="${OPC_DEPS:-$OPC_ROOT/build/deps}"
[[ "$OPC_DEPS" == /* ]] || OPC_DEPS="$PWD/$OPC_DEPS"
export OPC_DEPS

opc_say() { printf 'opcheck-c: %s\n' "$*" >&2; }
opc_die() {
  opc_say "$@"
  exit 1
}

# Registry addresses are nobody's business in a log.
opc_show_log_end() { tail -n 5 "$1" | sed -E 's#https?://[^ ]*#(address)#g; s#host=[^ ,)]*#host=(address)#g; s/^/    /' >&2; }

# Prints those of Debian's packages $@ that are not installed; on other systems, those without a program of their name.
opc_missing_packages() {
  local name installed
  if ! command -v dpkg-query >/dev/null; then
    for name in "$@"; do command -v "$name" >/dev/null || printf '%s\n' "$name"; done
    return 0
  fi
  installed="$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)"
  for name in "$@"; do
    # pkgconf provides pkg-config on newer releases.
    if [[ "$name" == pkg-config ]] && command -v pkg-config >/dev/null; then continue; fi
    grep -qx "$name installed" <<<"$installed" || printf '%s\n' "$name"
  done
}

# Installs those of Debian's packages $@ that are missing.
opc_install_packages() {
  local missing=() root=() log="$OPC_DEPS/apt.log"
  mapfile -t missing < <(opc_missing_packages "$@")
  [[ ${#missing[@]} -gt 0 ]] || return 0
  command -v apt-get >/dev/null || opc_die "these are missing, and there is no apt-get: ${missing[*]}. Install them and run this again."
  if [[ "$(id -u)" -ne 0 ]]; then
    command -v sudo >/dev/null || opc_die "these packages are missing, and there is no sudo; as root: apt-get install ${missing[*]}"
    root=(sudo)
  fi
  opc_say "installing Debian packages: ${missing[*]}"
  mkdir -p "$OPC_DEPS"
  "${root[@]}" apt-get update >"$log" 2>&1 || opc_say "apt-get update failed; going on with the lists that are there"
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 || {
    opc_show_log_end "$log"
    opc_die "apt-get could not install ${missing[*]}; the whole log is $log"
  }
}

# Which libtorch: OPC_TORCH in the environment (2.15), else the first. Each other version is installed beside the first, with stamps of its own, and
# built in a folder of its own.
opc_torch_named="${OPC_TORCH:-}"
OPC_TORCH="${OPC_TORCH:-${OPC_TORCH_SUPPORTED[0]}}"
[[ -n "${OPC_PIP_SMALL_OF[$OPC_TORCH]:-}" ]] || opc_die "libtorch $OPC_TORCH is not supported; supported are: ${OPC_TORCH_SUPPORTED[*]}"
opc_torch_suffix="" opc_torch_folder=""
[[ "$OPC_TORCH" == "${OPC_TORCH_SUPPORTED[0]}" ]] || opc_torch_suffix="-$OPC_TORCH" opc_torch_folder="/torch-$OPC_TORCH"
read -ra OPC_PIP_SMALL <<<"${OPC_PIP_SMALL_OF[$OPC_TORCH]}"
read -ra OPC_PIP_FULL <<<"${OPC_PIP_FULL_OF[$OPC_TORCH]}"
OPC_VENV="$OPC_DEPS/venv$opc_torch_suffix"
OPC_BUILD="${OPC_BUILD:-$OPC_ROOT/build$opc_torch_folder}"
[[ "$OPC_BUILD" == /* ]] || OPC_BUILD="$PWD/$OPC_BUILD"

# Prints the version (2.11) of the libtorch in $1; fails where there is none.
opc_torch_version() {
  local header text
  for header in "$1/include/torch/headeronly/version.h" "$1/include/torch/csrc/api/include/torch/version.h"; do
    [[ -f "$header" ]] || continue
    text="$(sed -nE 's/^#define TORCH_VERSION_(MAJOR|MINOR) ([0-9]+)$/\2/p' "$header" | head -n 2 | paste -sd.)"
    [[ "$text" == *.* ]] && printf '%s\n' "$text" && return 0
  done
  return 1
}

opc_torch_supported() {
  local version wanted
  version="$(opc_torch_version "$1")" || return 1
  for wanted in "${OPC_TORCH_SUPPORTED[@]}"; do
    [[ "$version" == "$wanted" ]] && return 0
  done
  return 1
}

# Prints the folder of the torch that Python $1 would import, without importing it (that takes seconds).
opc_torch_of_python() {
  "$1" -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0])' 2>/dev/null
}

# The stamp that setup writes last for "small" or "full". Line 1 is what was asked for, then TORCH_ROOT=… and PYTHON=….
opc_stamp_file() { printf '%s/stamps/%s%s\n' "$OPC_DEPS" "$1" "$opc_torch_suffix"; }
opc_stamp_value() { sed -n "s/^$2=//p" "$(opc_stamp_file "$1")" 2>/dev/null | head -n 1; }

# Sets TORCH_ROOT and PYTHON (empty: none) from the environment's TORCH_ROOT, else from what setup noted.
opc_load_env() {
  local stage
  PYTHON=""
  if [[ -n "${TORCH_ROOT:-}" ]]; then
    [[ -z "$opc_torch_named" || "$(opc_torch_version "$TORCH_ROOT")" == "$opc_torch_named" ]] ||
      opc_die "libtorch $opc_torch_named is asked for, and TORCH_ROOT is $TORCH_ROOT: unset one of the two"
    local beside="${TORCH_ROOT%/lib/python3*}/bin/python3"
    if [[ "$TORCH_ROOT" == */lib/python3* && -x "$beside" && -f "$(opc_stamp_file full)" ]]; then
      PYTHON="$beside"
    fi
    return 0
  fi
  TORCH_ROOT=""
  for stage in full small; do
    TORCH_ROOT="$(opc_stamp_value "$stage" TORCH_ROOT)"
    [[ -n "$TORCH_ROOT" && -d "$TORCH_ROOT/lib" ]] || continue
    PYTHON="$(opc_stamp_value "$stage" PYTHON)"
    return 0
  done
  return 1
}

# Prints the folders of the other versions that setup has installed, as a CMake list: they get a worker beside the first one's.
opc_other_torches() {
  local version root roots=()
  [[ -z "$opc_torch_suffix" ]] || return 0
  for version in "${OPC_TORCH_SUPPORTED[@]:1}"; do
    root="$(sed -n 's/^TORCH_ROOT=//p' "$OPC_DEPS/stamps/full-$version" "$OPC_DEPS/stamps/small-$version" 2>/dev/null | head -n 1 || true)"
    if [[ -f "$root/lib/libtorch_cpu.so" && "$(opc_torch_version "$TORCH_ROOT" || true)" != "$version" ]]; then roots+=("$root"); fi
  done
  (IFS=';' && printf '%s' "${roots[*]}")
}

# --- The one way to build -------------------------------------------------------------------------------------------------------

# Configures and builds target $1 into $OPC_BUILD. Further arguments go to the configuration.
opc_build() {
  local target="$1"
  shift
  opc_load_env || opc_die "no libtorch: run scripts/setup first"
  opc_say "building in $OPC_BUILD"
  mkdir -p "$OPC_BUILD"
  local log="$OPC_BUILD/configure.log"
  if ! cmake -S "$OPC_ROOT" -B "$OPC_BUILD" -G Ninja -DTORCH_ROOT="$TORCH_ROOT" -DOPC_DEPS="$OPC_DEPS" -DOPC_PYTHON="$PYTHON" \
    -DOPC_MORE_TORCH_ROOTS="$(opc_other_torches)" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    opc_die "the configuration failed (above, and in $log)"
  fi
  grep -h 'opcheck-c:' "$log" | sed 's/^-- //' >&2 || true
  cmake --build "$OPC_BUILD" --target "$target" >&2 || opc_die "the build failed (above)"
}
