#!/usr/bin/env bash
# opcheck.sh install|run: the shell part of the GitHub action and the GitLab template in this folder. The wheel has it too: python -m opcheck_c --ci-script
#
#   install   installs $OPCHECK_C_PACKAGE with pip
#   run       checks the libraries, and leaves all reports in $OPCHECK_C_OUTPUT. The exit status is that of opcheck-c run
#
#   OPCHECK_C_PACKAGE     what pip is given (default: opcheck-c): a version, a wheel
#   OPCHECK_C_LIBRARIES   libraries, wheels or folders, one a line; * and ? are expanded. May be empty if the options say --python or --namespace
#   OPCHECK_C_OPTIONS     further options of opcheck-c run; quotes keep words together
#   OPCHECK_C_BASELINE    a file of known problems, which do not fail the job (opcheck-c run --baseline); empty for none
#   OPCHECK_C_OUTPUT      the folder for the reports (default: opcheck-c-report)
set -euo pipefail

die() {
  printf 'opcheck.sh: %s\n' "$*" >&2
  exit 2
}

python() { if command -v python3 >/dev/null; then python3 "$@"; else command python "$@"; fi; }

# Where pip puts commands need not be on PATH.
opcheck_c() { if command -v opcheck-c >/dev/null; then opcheck-c "$@"; else python -m opcheck_c "$@"; fi; }

libraries=()
find_libraries() {
  local line found
  while IFS= read -r line; do
    line="${line#"${line%%[![:space:]]*}"}" line="${line%"${line##*[![:space:]]}"}"
    [[ -n "$line" ]] || continue
    mapfile -t found < <(compgen -G "$line" || true)
    [[ ${#found[@]} -gt 0 ]] || die "OPCHECK_C_LIBRARIES: there is no file $line in $PWD"
    libraries+=("${found[@]}")
  done <<<"${OPCHECK_C_LIBRARIES:-}"
}

run() {
  local output="${OPCHECK_C_OUTPUT:-opcheck-c-report}" options=() words=()
  find_libraries
  if [[ -n "${OPCHECK_C_OPTIONS:-}" ]]; then
    xargs -r -n 1 true <<<"$OPCHECK_C_OPTIONS" 2>/dev/null || die "OPCHECK_C_OPTIONS: a quote is not closed: $OPCHECK_C_OPTIONS"
    mapfile -t words < <(xargs -r -n 1 printf '%s\n' <<<"$OPCHECK_C_OPTIONS")
  fi
  if [[ -n "${OPCHECK_C_BASELINE:-}" ]]; then
    [[ -f "$OPCHECK_C_BASELINE" ]] || die "OPCHECK_C_BASELINE: there is no file $OPCHECK_C_BASELINE in $PWD; make it with opcheck-c run --write-baseline $OPCHECK_C_BASELINE LIBRARY, and commit it"
    options+=(--baseline "$OPCHECK_C_BASELINE")
  fi
  mkdir -p "$output" || die "OPCHECK_C_OUTPUT: the folder $output cannot be made"
  options+=(--journal "$output/run.jsonl" --junit "$output/junit.xml" --sarif "$output/opcheck-c.sarif" --gitlab "$output/quality.json"
    --html "$output/report.html")
  [[ "${GITHUB_ACTIONS:-}" != true ]] || options+=(--github)
  opcheck_c run "${options[@]}" "${words[@]}" -- "${libraries[@]}"
}

case "${1:-}" in
  install) python -m pip install --disable-pip-version-check "${OPCHECK_C_PACKAGE:-opcheck-c}" ;;
  run) run ;;
  *) die "usage: opcheck.sh install|run" ;;
esac
