#!/usr/bin/env bash
# needs.sh SCRIPTS/PACKAGE: what scripts/package says that a machine lacks, on machines that are made up.
set -euo pipefail
package="$1"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\nfor name in $INSTALLED; do echo "$name installed"; done\n' >"$folder/dpkg-query"
printf '#!/bin/sh\necho "$USER_ID"\n' >"$folder/id"
chmod +x "$folder/dpkg-query" "$folder/id"

# expect USER_ID INSTALLED EXIT TEXT ARGUMENT…
expect() {
  local user="$1" installed="$2" code="$3" text="$4" got=0 said
  shift 4
  said="$(PATH="$folder:$PATH" USER_ID="$user" INSTALLED="$installed" OPC_DEPS="$folder/deps" "$package" "$@" 2>&1)" || got=$?
  [[ "$got" == "$code" && "$said" == *"$text"* && (-n "$text" || -z "$said") ]] || {
    printf 'scripts/package %s as user %s with [%s]: exit %s, not %s, and not "%s" in:\n%s\n' "$*" "$user" "$installed" "$got" "$code" "$text" "$said"
    exit 1
  }
}

expect 0 "patchelf debootstrap" 0 "" wheel --needs
expect 0 "patchelf" 1 "Debian package debootstrap" wheel --needs
expect 0 "patchelf" 0 "" wheel --here --needs
expect 1000 "patchelf debootstrap" 1 "root: a wheel for other machines" wheel --needs
expect 1000 "" 1 "Debian package dpkg-dev" deb --needs
expect 1000 "patchelf debootstrap" 1 "this needs root: a wheel for other machines" wheel
