#!/usr/bin/env bash
# junit_readers.sh OPCHECK_C XMLLINT PYTHON JOURNAL: what opcheck-c makes of a journal is valid, and says the same as the JSON report.
# PYTHON may be empty: then only the schema is asked.
set -euo pipefail
opcheck_c="$1" xmllint="$2" python="$3" journal="$4"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
for cases in operator case; do
  "$opcheck_c" report render --junit-cases "$cases" --junit "$folder/report.xml" --json "$folder/report.json" "$journal"
  "$xmllint" --noout --nonet --schema "$here/junit-10.xsd" "$folder/report.xml"
  [[ -z "$python" ]] || "$python" "$here/read_back.py" "$folder/report.xml" "$folder/report.json" "$cases"
done
